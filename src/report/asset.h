// The parts of pages: skeletons, styles and scripts of page/, and the charting library; embedded at build. Private to
// report/.
#pragma once

#include <string_view>

namespace ridge::report {

// The text of the file <name>.*; empty when there is none.
std::string_view asset(std::string_view name);

}  // namespace ridge::report
