// Letters in one case: text whose case does not count, names in tables. ASCII only; other bytes stay.
#pragma once

#include <string>
#include <string_view>

namespace ridge {

std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

}  // namespace ridge
