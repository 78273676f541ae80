#include "serve/public_text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace ridge::serve {
namespace {

namespace fs = std::filesystem;

// True if a path may continue to the left of a place behind this character.
bool belongs_to_path(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || byte >= 0x80 || c == '/' || c == '.' || c == '_' || c == '-';
}

void replace_folder(std::string& text, const std::string& folder, const std::string& name) {
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    if (at > 0 && belongs_to_path(text[at - 1])) {
      ++at;
      continue;
    }
    text.replace(at, folder.size(), name);
    at += name.size();
  }
}

std::string with_slash(const std::string& folder) { return folder.ends_with('/') ? folder : folder + "/"; }

}  // namespace

std::string without_folders(std::string text, const std::vector<FolderName>& folders) {
  std::vector<FolderName> all;
  for (const auto& [folder, name] : folders) {
    if (folder.empty()) continue;
    all.emplace_back(with_slash(folder), name);
    std::error_code error;
    if (const fs::path real = fs::canonical(folder, error); !error) all.emplace_back(with_slash(real.string()), name);
  }
  // The innermost first.
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for (const auto& [folder, name] : all) replace_folder(text, folder, name);
  return text;
}

}  // namespace ridge::serve
