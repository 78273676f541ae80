// The areas of the doctor: the files that each needs, and how it judges them. Judging is pure: facts in, findings out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace ridge::doctor {

using Findings = std::vector<Finding>;

struct Area {
  std::string_view name;
  std::vector<std::string> files;  // patterns for capture()
  std::function<Findings(const Facts&)> judge;
};

// In display order.
const std::vector<Area>& areas();
std::vector<std::string_view> area_names();

Findings judge_cpu(const Facts& facts);
Findings judge_memory(const Facts& facts);
Findings judge_limits(const Facts& facts);
Findings judge_network(const Facts& facts);
Findings judge_gpus(const Facts& facts);
Findings judge_kernel_log(const Facts& facts);
Findings judge_versions(const Facts& facts);
Findings judge_engines(const Facts& facts);
Findings judge_clock(const Facts& facts);

// A finding whose verdict and evidence are still open.
Finding about(std::string_view area, std::string_view id, std::string_view title, std::string_view origin);
Finding ok(Finding finding, std::string evidence);
Finding not_applicable(Finding finding, std::string reason);
Finding warn(Finding finding, std::string evidence, std::string remedy);
Finding fail(Finding finding, std::string evidence, std::string remedy);
// Adds its command, if it is bad.
Finding with_command(std::string command, Finding finding);

}  // namespace ridge::doctor
