// Options about a model that several verbs take. Errors are wrong usage.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::cli {

// The values of --engine-option KEY=VALUE.
Result<std::map<std::string, std::string>> parse_engine_options(const std::vector<std::string>& options);

}  // namespace ridge::cli
