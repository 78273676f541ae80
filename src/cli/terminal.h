// Terminal and script output shared by all verbs: options, errors, tables, progress. Only cli/ prints.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/run_control.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/verb.h"
#include "report/page.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace ridge::cli {

// Parses `arguments` into `app` (options are bound by the verb). kDone means go on; otherwise return the value: help was
// printed (0) or the usage is wrong (2, message on stderr).
struct ParseResult {
  bool go_on = false;
  int exit = kDone;
};
ParseResult parse(CLI::App& app, std::string_view verb, std::span<const std::string> arguments);
// An argument for which parse() prints what may follow the ones before it, options and subcommands, one per line, and parses nothing (`ridge completion`).
constexpr std::string_view kListWords = "--ridge-list-words";
// Whether they hold --help or -h before a "--": what follows that belongs to a command.
bool asks_for_help(std::span<const std::string> arguments);

// "ridge bench: <message>" on stderr; the exit status that fits the code (kInvalid from options is kUsage by the verb).
int fail(std::string_view verb, const Error& error);

void print(std::string_view text);  // to stdout, with a newline
void print_json(const Json& json);  // indented, to stdout
void say(std::string_view text);    // to stderr, with a newline

// Columns padded to their widest cell; numbers right-aligned by the caller's choice per column ('l' or 'r').
std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                  std::string_view alignment);

// Columns of the terminal on stdout; else of $COLUMNS, else 80.
int terminal_columns();
// Whether text may hold more than ASCII: by LC_ALL, LC_CTYPE or LANG, the first that is set.
bool terminal_is_utf8();

// Progress on stderr: one redrawn bar on a terminal, a line per step otherwise. One thread.
class Progress {
 public:
  explicit Progress(std::string_view what);
  ~Progress();
  void update(std::string_view step, double share_done);  // share 0…1
  void finish();

 private:
  std::string what_;
  std::string last_step_;
  bool terminal_;
  bool drawn_ = false;
  int last_percent_ = -1;
};

// Show progress on stderr until the last copy is destroyed; the second ends early on Ctrl-C, with partial results.
app::RunControl shown_progress(std::string_view what);
app::RunControl interruptible(std::string_view what);

// Writes a verb's page, unless `path` is empty, and says so. Error: it cannot be written, or there is no such language.
Status write_page(std::string_view verb, const std::string& path, report::PageKind kind, const Json& json,
                  const std::string& language);

// The values of an option KEY=VALUE.
Result<std::map<std::string, std::string>> parse_assignments(const char* option,
                                                             const std::vector<std::string>& values);

}  // namespace ridge::cli
