// Requests of a language model as they once came: a table of times and lengths. Plans and loads read the same file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "llm/simulate.h"

namespace ridge::llm {

// A table with the columns seconds, prompt, output [tokens]. Errors: no such file or columns, decreasing times.
Result<std::vector<Request>> read_trace(const std::string& path);

// The shortest and the longest of its requests [tokens].
struct Lengths {
  int64_t prompt_min = 0, prompt_max = 0, output_min = 0, output_max = 0;
};
Lengths lengths_of(const std::vector<Request>& trace);

}  // namespace ridge::llm
