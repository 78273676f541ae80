// The values of an option that may be a series: "8", "1,4,16", "1..64" (doubling), "100..1000:100". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/token_figures.h"

namespace ridge::cli {

// Each above 0. `option` names it in the error. At most 64 values.
Result<std::vector<double>> parse_steps(const char* option, std::string_view text);
// Likewise of whole numbers.
Result<std::vector<int>> parse_whole_steps(const char* option, std::string_view text);
// Tokens of a prompt or an answer: "1024", or a range "128..1024".
Result<client::TokenRange> parse_token_range(const char* option, std::string_view text);

}  // namespace ridge::cli
