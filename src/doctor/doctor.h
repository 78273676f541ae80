// The doctor in two steps: gather (gather.h), then judge. This header is the second step: pure, facts in, diagnosis
// out.
#pragma once

#include <string>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace ridge::doctor {

// `areas`: those to judge; empty: all. The names are those of areas() (areas.h).
Diagnosis judge(const Facts& facts, const std::vector<std::string>& areas = {});

// Checks names of areas; the error lists them all.
Status check_areas(const std::vector<std::string>& names);

}  // namespace ridge::doctor
