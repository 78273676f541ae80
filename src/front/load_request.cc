#include "front/load_request.h"

#include <string_view>
#include <utility>

namespace ridge::front {
namespace {

constexpr std::string_view kFile = "file:";
constexpr size_t kLongestPath = 255;  // [bytes]

// A file's path below the model's folder: relative, and never outside it.
bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath || path.find('\0') != std::string_view::npos ||
      path.find('\\') != std::string_view::npos)
    return false;
  while (true) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

bool names_file(std::string_view key) { return key.starts_with(kFile); }

Status add_file(serve::LoadRequest& request, const std::string& key, std::string content) {
  std::string path = key.substr(kFile.size());
  if (!is_safe_path(path))
    return invalid("'" + key.substr(0, 80) + "' does not name a file below the model's folder; use file:VERSION/NAME");
  request.files.emplace_back(std::move(path), std::move(content));
  return {};
}

Error unknown_load_parameter(const std::string& key) {
  return invalid("unknown parameter '" + key + "'; a load takes 'config' and 'file:VERSION/NAME'");
}

Status check_load(const serve::LoadRequest& request) {
  if (request.files.empty() || request.config_json) return {};
  return invalid("files replace the model's folder and need the parameter 'config' beside them");
}

}  // namespace ridge::front
