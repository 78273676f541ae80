// Everything read from a machine, as paths and texts: files of /proc, /sys and /etc, and the output of tools and probes
// under tools/. The doctor judges nothing else, so a machine can be recorded as one text file and judged elsewhere.
//
// The text form (also that of tests/machines/*.tree): `=== PATH: LINE` is a file of one line, `=== PATH` one with the
// lines that follow. PATH has no leading slash. `=== missing/PATH: REASON` says why a file or tool is missing,
// `=== failed/PATH: REASON` why a tool or probe has no output, `=== timeout/PATH: REASON` that reading it was given up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ridge::machine {

struct Tree {
  std::map<std::string, std::string> files;  // path → text
  std::map<std::string, Error> missing;      // path → reason; kNotFound: not there, kTimeout: given up, else kFailed
};

Tree parse_tree(std::string_view text);
std::string format_tree(const Tree& tree);
// One file in that form, as format_tree would write it.
std::string format_tree_file(std::string_view path, std::string_view text);

// Reads a recorded machine: a file in the text form, or a folder that holds proc/, sys/, etc/, tools/.
Result<Tree> read_tree(const std::string& path);
// Writes the files below `folder`, for readers that want a root folder.
Status unpack_tree(const Tree& tree, const std::string& folder);

// The text, or why there is none.
void save_answer(Tree& tree, const std::string& path, const Result<std::string>& text);

// Trimmed; nullopt if missing.
std::optional<std::string> text_at(const Tree& tree, const std::string& path);
std::optional<int64_t> number_at(const Tree& tree, const std::string& path);
Result<Json> json_at(const Tree& tree, const std::string& path);
// Why `path` is missing; its message alone.
Error error_at(const Tree& tree, const std::string& path);
std::string reason_at(const Tree& tree, const std::string& path);
// Names directly below a folder, ascending: children("sys/class/net") → {"eth0", "lo"}.
std::vector<std::string> children(const Tree& tree, const std::string& folder);
// Paths with that prefix and suffix.
std::vector<std::string> paths_like(const Tree& tree, std::string_view begin, std::string_view end);

}  // namespace ridge::machine
