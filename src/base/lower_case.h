// Text whose case does not count: names of devices, variables, codes. ASCII only; other bytes stay.
#pragma once

#include <string>
#include <string_view>

namespace ridge {

std::string lower_case(std::string_view text);

}  // namespace ridge
