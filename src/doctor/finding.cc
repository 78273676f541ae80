#include "doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace ridge::doctor {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, 4> kVerdicts = {
    {{Verdict::kFail, "fail"},
     {Verdict::kWarn, "warn"},
     {Verdict::kOk, "ok"},
     {Verdict::kNotApplicable, "not_applicable"}}};

constexpr size_t kNamedInSummary = 4;

size_t rank(const std::vector<std::string_view>& areas, const std::string& area) {
  return static_cast<size_t>(std::find(areas.begin(), areas.end(), area) - areas.begin());
}

// "clock governor (cpu), swap in use (memory) and 3 more"; titles about a GPU name it themselves.
std::string names(const Diagnosis& diagnosis, Verdict verdict) {
  std::vector<std::string> all;
  for (const Finding& finding : diagnosis.findings)
    if (finding.verdict == verdict)
      all.push_back(finding.area == "gpu" ? finding.title : fmt::format("{} ({})", finding.title, finding.area));
  size_t shown = std::min(all.size(), kNamedInSummary);
  std::string text = fmt::format("{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return all.size() > shown ? fmt::format("{} and {} more", text, all.size() - shown) : text;
}

std::string summary_of(const Diagnosis& diagnosis) {
  if (diagnosis.fails > 0) {
    std::string text = "This machine is not ready: " + names(diagnosis, Verdict::kFail) + ".";
    if (diagnosis.warnings > 0)
      text += fmt::format(" Also {}: {}.", counted(diagnosis.warnings, "warning"), names(diagnosis, Verdict::kWarn));
    return text;
  }
  if (diagnosis.warnings > 0)
    return fmt::format("This machine works, with {}: {}.", counted(diagnosis.warnings, "warning"),
                       names(diagnosis, Verdict::kWarn));
  if (diagnosis.ok == 0) return "Nothing could be checked here.";
  return fmt::format("This machine is ready: no problems found ({} passed).", counted(diagnosis.ok, "check"));
}

int count(const std::vector<Finding>& findings, Verdict verdict) {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                        [&](const Finding& finding) { return finding.verdict == verdict; }));
}

}  // namespace

NameTable<Verdict> names_of(Verdict) { return kVerdicts; }
std::string_view verdict_name(Verdict verdict) { return name_of(kVerdicts, verdict); }

Diagnosis diagnose(std::vector<Finding> findings, const std::vector<std::string_view>& areas) {
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    size_t left = rank(areas, a.area), right = rank(areas, b.area);
    return left != right ? left < right : a.verdict < b.verdict;
  });
  Diagnosis diagnosis;
  diagnosis.findings = std::move(findings);
  diagnosis.fails = count(diagnosis.findings, Verdict::kFail);
  diagnosis.warnings = count(diagnosis.findings, Verdict::kWarn);
  diagnosis.ok = count(diagnosis.findings, Verdict::kOk);
  diagnosis.not_applicable = count(diagnosis.findings, Verdict::kNotApplicable);
  diagnosis.ready = diagnosis.fails == 0;
  diagnosis.summary = summary_of(diagnosis);
  return diagnosis;
}

Json to_json(const Diagnosis& diagnosis) { return json_of(diagnosis); }

}  // namespace ridge::doctor
