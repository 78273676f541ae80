#include "checkpoint/graph_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/file.h"
#include "base/read_number.h"

namespace ridge::checkpoint {
namespace {

namespace fs = std::filesystem;

// "" where there is none.
std::string_view attribute(std::string_view tag, const std::string& name) {
  const std::string begin = " " + name + "=\"";
  const size_t at = tag.find(begin);
  if (at == std::string_view::npos) return {};
  tag.remove_prefix(at + begin.size());
  return tag.substr(0, tag.find('"'));
}

// Its first number: 4 of "u4", 8 of "f8e4m3". 0: it has none.
int64_t bits_of(std::string_view type) {
  const size_t begin = std::min(type.find_first_of("0123456789"), type.size());
  const size_t end = std::min(type.find_first_not_of("0123456789", begin), type.size());
  int64_t bits = 0;
  return read_number(type.substr(begin, end - begin), bits) && bits <= 64 ? bits : 0;
}

}  // namespace

std::string graph_file(const std::string& folder) { return folder + "/openvino_model.xml"; }

bool is_graph_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_regular_file(graph_file(folder), error)) return false;
  for (const auto& file : fs::directory_iterator(folder, error))
    if (file.path().extension() == ".safetensors") return false;
  return true;
}

// <data element_type="f16" shape="96, 64" offset="0" size="12288"/> is a constant's; no other layer has all of these.
Result<GraphConstants> graph_constants(const std::string& folder) {
  RIDGE_ASSIGN(const std::string text, read_file(graph_file(folder)));
  GraphConstants constants;
  std::map<std::string, int64_t> values;
  constexpr std::string_view kData = "<data ";
  for (size_t at = text.find(kData); at != std::string::npos; at = text.find(kData, at + 1)) {
    const std::string_view tag = std::string_view(text).substr(at, text.find('>', at) - at);
    const std::string type(attribute(tag, "element_type"));
    int64_t size = 0;
    const bool constant = !attribute(tag, "offset").empty() && read_number(attribute(tag, "size"), size) && size >= 0;
    if (!constant || bits_of(type) == 0 || size > INT64_MAX / 8 - constants.bytes) continue;
    constants.bytes += size;
    values[type] += 8 * size / bits_of(type);
  }
  if (values.empty()) return invalid(graph_file(folder) + " has no constants: it is not an exported model");
  constants.type = std::ranges::max_element(values, {}, [](const auto& entry) { return entry.second; })->first;
  return constants;
}

}  // namespace ridge::checkpoint
