#include "machine/tree.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/proc_text.h"

namespace ridge::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "=== ";
constexpr std::pair<std::string_view, Code> kMissing[] = {
    {"missing/", Code::kNotFound}, {"failed/", Code::kFailed}, {"timeout/", Code::kTimeout}};
constexpr uintmax_t kLargestRecorded = 16 << 20;  // a file, and
constexpr size_t kMostFiles = 100'000,
                 kMostBytes = 256 << 20;  // all together: a recorded machine has hundreds, of some MiB

void save(Tree& tree, std::string_view path, std::string text) {
  if (path.empty()) return;
  for (const auto& [prefix, code] : kMissing)
    if (path.starts_with(prefix)) {
      tree.missing[std::string(path.substr(prefix.size()))] = {code, std::string(trim(text))};
      return;
    }
  tree.files[std::string(path)] = std::move(text);
}

Result<Tree> read_folder(const std::string& folder) {
  Tree tree;
  std::error_code failure;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, failure);
  if (failure) return Error{Code::kNotFound, "read recorded machine " + folder + ": " + failure.message()};
  struct statfs system {};
  if (statfs(folder.c_str(), &system) == 0 && (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC))
    return invalid(folder + " is this machine's own, not a recorded one; leave out --root to judge this machine");
  size_t looked_at = 0, bytes = 0;
  for (; entries != fs::recursive_directory_iterator(); entries.increment(failure)) {
    if (failure) return Error{Code::kFailed, "read recorded machine " + folder + ": " + failure.message()};
    if (++looked_at > kMostFiles || bytes > kMostBytes)
      return invalid(folder +
                     " has too many files for a recorded machine; name a folder that holds only its proc/ and sys/");
    const fs::directory_entry& entry = *entries;
    if (!entry.is_regular_file(failure) || entry.file_size(failure) > kLargestRecorded) continue;
    Result<std::string> text = read_file(entry.path().string(), kLargestRecorded);
    if (text) bytes += text->size();
    if (text) save(tree, fs::relative(entry.path(), folder, failure).string(), std::move(*text));
  }
  return tree;
}

}  // namespace

Tree parse_tree(std::string_view text) {
  Tree tree;
  std::string_view path;
  std::string content;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(kHeader)) {
      content.append(line).append("\n");
      continue;
    }
    save(tree, path, std::move(content));
    line.remove_prefix(kHeader.size());
    size_t colon = line.find(": ");
    path = line.substr(0, colon);
    content = colon == std::string_view::npos ? "" : std::string(line.substr(colon + 2)) + "\n";
  }
  save(tree, path, std::move(content));
  return tree;
}

std::string format_tree_file(std::string_view path, std::string_view text) {
  std::string result(kHeader);
  result.append(path);
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.find('\n') == std::string_view::npos && !text.empty()) return result.append(": ").append(text).append("\n");
  result.append("\n");
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(kHeader)) result.append(" ");  // a line of the file must not look like a header
    result.append(line).append("\n");
  }
  return result;
}

std::string format_tree(const Tree& tree) {
  std::string text;
  for (const auto& [path, content] : tree.files) text += format_tree_file(path, content);
  for (const auto& [path, error] : tree.missing)
    for (const auto& [prefix, code] : kMissing)
      if (error.code == code) text += format_tree_file(std::string(prefix) + path, error.message);
  return text;
}

Result<Tree> read_tree(const std::string& path) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) return read_folder(path);
  RIDGE_ASSIGN(std::string text, read_file(path));
  Tree tree = parse_tree(text);
  if (tree.files.empty())
    return Error{Code::kInvalid, path +
                                     " is not a recorded machine: expected lines '=== PATH: TEXT', as "
                                     "ridge doctor --record writes them, or a folder with proc/ and sys/"};
  return tree;
}

Status unpack_tree(const Tree& tree, const std::string& folder) {
  for (const auto& [path, content] : tree.files) {
    fs::path target = fs::path(folder) / path;
    // A recorded machine is untrusted: it must not write anywhere else.
    if (fs::path(path).is_absolute() || target.lexically_normal().string().rfind(folder, 0) != 0)
      return Error{Code::kInvalid, "recorded machine: the path " + path + " leads out of its folder"};
    std::error_code failure;
    fs::create_directories(target.parent_path(), failure);
    if (!(std::ofstream(target) << content))
      return Error{Code::kFailed, "unpack recorded machine: cannot write " + target.string()};
  }
  return {};
}

void save_answer(Tree& tree, const std::string& path, const Result<std::string>& text) {
  if (text) {
    tree.files[path] = *text;
    return;
  }
  const Code code = text.error().code;
  tree.missing[path] = {code == Code::kNotFound || code == Code::kTimeout ? code : Code::kFailed, text.error().message};
}

std::optional<std::string> text_at(const Tree& tree, const std::string& path) {
  auto found = tree.files.find(path);
  if (found == tree.files.end()) return std::nullopt;
  return std::string(trim(found->second));
}

std::optional<int64_t> number_at(const Tree& tree, const std::string& path) {
  auto found = tree.files.find(path);
  return found == tree.files.end() ? std::nullopt : to_number(found->second);
}

Result<Json> json_at(const Tree& tree, const std::string& path) {
  auto found = tree.files.find(path);
  if (found == tree.files.end()) return error_at(tree, path);
  return parse_json(found->second, path);
}

Error error_at(const Tree& tree, const std::string& path) {
  auto found = tree.missing.find(path);
  if (found != tree.missing.end()) return found->second;
  return {Code::kNotFound,
          path.starts_with("tools/") ? "it was not asked" : "/" + path + " is not there or cannot be read"};
}

std::string reason_at(const Tree& tree, const std::string& path) { return error_at(tree, path).message; }

std::vector<std::string> children(const Tree& tree, const std::string& folder) {
  std::vector<std::string> names;
  const std::string prefix = folder + "/";
  for (auto at = tree.files.lower_bound(prefix); at != tree.files.end() && at->first.starts_with(prefix); ++at) {
    std::string name = at->first.substr(prefix.size(), at->first.find('/', prefix.size()) - prefix.size());
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> paths_like(const Tree& tree, std::string_view begin, std::string_view end) {
  std::vector<std::string> paths;
  for (auto at = tree.files.lower_bound(std::string(begin)); at != tree.files.end() && at->first.starts_with(begin);
       ++at)
    if (at->first.ends_with(end)) paths.push_back(at->first);
  return paths;
}

}  // namespace ridge::machine
