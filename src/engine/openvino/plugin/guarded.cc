#include "engine/openvino/plugin/guarded.h"

#include <sstream>

namespace ridge::engine::openvino::plugin {

std::string plain_message(const std::string& what) {
  std::istringstream lines(what);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line.starts_with("Exception from ")) continue;
    text += (text.empty() ? "" : " ") + line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
  }
  return text.empty() ? what : text;
}

ov::Core& core() {
  static auto* core = new ov::Core;
  return *core;
}

}  // namespace ridge::engine::openvino::plugin
