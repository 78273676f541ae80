#include "doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/areas.h"

namespace ridge::doctor {

Diagnosis judge(const Facts& facts, const std::vector<std::string>& wanted) {
  std::vector<Finding> findings;
  for (const Area& area : areas()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), area.name) == wanted.end()) continue;
    for (Finding& finding : area.judge(facts)) findings.push_back(std::move(finding));
  }
  return diagnose(std::move(findings), area_names());
}

Status check_areas(const std::vector<std::string>& names) {
  std::vector<std::string_view> known = area_names();
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error{Code::kInvalid,
                   fmt::format("--area {}: there is no such area; the areas are {}", name, fmt::join(known, ", "))};
  return {};
}

}  // namespace ridge::doctor
