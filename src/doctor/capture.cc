#include "doctor/capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/child_process.h"
#include "base/descriptor.h"

namespace ridge::doctor {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr int kMostHangs = 3;
constexpr std::string_view kAsked = "asked/";
constexpr std::string_view kAskedHeader = "=== asked/";

// Reads with a small buffer: files of /sys return their text only to a read from the start.
bool read_some(const std::string& file, std::string& text, std::string& reason) {
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor) {
    reason = std::strerror(errno);
    return false;
  }
  char block[65536];
  ssize_t got = 0;
  while (text.size() < kMostBytes && (got = read(descriptor.number(), block, sizeof block)) > 0)
    text.append(block, static_cast<size_t>(got));
  if (got < 0) reason = std::strerror(errno);
  return got >= 0 || !text.empty();
}

std::vector<std::string> expand(const std::string& root, const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob((root + "/" + pattern).c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i] + root.size() + 1);
  globfree(&found);
  return paths;
}

bool is_pattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

// Writes file after file in the tree's text form; the path before opening, so that the parent knows which one hung.
int read_files(const std::string& root, const std::vector<std::string>& patterns, const std::set<std::string>& skip,
               int output) {
  for (const std::string& pattern : patterns) {
    std::vector<std::string> paths = is_pattern(pattern) ? expand(root, pattern) : std::vector<std::string>{pattern};
    for (const std::string& path : paths) {
      if (skip.contains(path)) continue;
      if (!write_all(output, std::string(kAskedHeader) + path + "\n")) return 1;
      std::string text, reason;
      std::string entry;
      if (read_some(root + "/" + path, text, reason))
        entry = machine::format_tree_file(path, text);
      else if (!is_pattern(pattern))
        entry = machine::format_tree_file("missing/" + path, "/" + path + ": " + reason);
      if (!write_all(output, entry)) return 1;
    }
  }
  return 0;
}

}  // namespace

std::string take_captured(machine::Tree& tree, std::string output, bool timed_out, std::set<std::string>& done) {
  std::string hung;
  size_t last_asked = output.rfind(kAskedHeader);
  if (timed_out && last_asked != std::string::npos) {
    size_t begin = last_asked + kAskedHeader.size();
    hung = output.substr(begin, output.find('\n', begin) - begin);
    output.erase(last_asked);
    done.insert(hung);
  }
  machine::Tree read = machine::parse_tree(output);
  for (auto& [path, text] : read.files) {
    if (path.starts_with(kAsked))
      done.insert(path.substr(kAsked.size()));
    else
      tree.files[path] = std::move(text);
  }
  tree.missing.merge(read.missing);
  return hung;
}

void capture(machine::Tree& tree, const std::string& root, const std::vector<std::string>& patterns,
             Nanoseconds limit) {
  std::set<std::string> done;
  for (int hangs = 0; hangs < kMostHangs; ++hangs) {
    Result<ChildRun> run =
        run_function({.time = limit}, [&](int output) { return read_files(root, patterns, done, output); });
    if (!run) {
      for (const std::string& pattern : patterns) machine::save_answer(tree, pattern, run.error());
      return;
    }
    const bool timed_out = run->end == ChildEnd::kTimeout;
    std::string hung = take_captured(tree, std::move(run->output), timed_out, done);
    if (!hung.empty())
      tree.missing[hung] = {Code::kTimeout,
                            fmt::format("reading /{} did not end within {:.3g} s", hung, to_seconds(limit))};
    if (!timed_out) return;
  }
}

}  // namespace ridge::doctor
