// ridge lab: starts ridge-lab, a program of its own (src/lab/main.cc), and shows its documents by it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/child_process.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/kept.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {
namespace {

constexpr const char* kLabProgram = "ridge-lab";

// Beside this program; else its name, which is looked up in PATH.
std::string lab_program() {
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / kLabProgram;
  return ::access(beside.c_str(), X_OK) == 0 ? beside.string() : kLabProgram;
}

Error no_lab(const std::string& reason) {
  return {
      Code::kUnavailable,
      "start ridge-lab: " + reason +
          "; it is a program of its own, in the Debian package and the archive of a release, or built from a clone by "
          "./dev build, and is looked for beside ridge and in PATH"};
}

Result<std::string> shown_by_lab(const std::vector<std::string>& what) {
  std::vector<std::string> words = {lab_program(), "show"};
  words.insert(words.end(), what.begin(), what.end());
  Result<std::string> text = output_of_program({.arguments = words}, {.time = from_seconds(60)});
  if (!text) return no_lab(text.error().message);
  return text;
}

}  // namespace

Status show_lab(const Json& document) {
  RIDGE_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string file = folder.path() + "/lab.json";
  RIDGE_TRY(write_file_atomically(file, dump_json(document)));
  RIDGE_ASSIGN(const std::string text, shown_by_lab({file}));
  print_verbatim(text);
  return {};
}

Result<Json> lab_schema(std::string_view kind) {
  RIDGE_ASSIGN(const std::string text, shown_by_lab({"--schema", std::string(kind)}));
  return parse_json(text, "ridge-lab");
}

int lab(std::span<const std::string> arguments) {
  const std::string program = lab_program();
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(program.c_str(), pointers.data());
  return fail("lab", no_lab(errno == ENOENT ? "not found" : std::strerror(errno)));
}

}  // namespace ridge::cli
