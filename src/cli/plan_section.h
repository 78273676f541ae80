// What a form of `ridge plan MODEL` (load, cost, training …) adds to the answer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/verb.h"

namespace ridge::cli {

// Members of the JSON object, the same as text, and whether the answer is no.
struct Section {
  std::vector<std::pair<std::string, Json>> members;
  std::string text;
  int exit = kDone;
};

}  // namespace ridge::cli
