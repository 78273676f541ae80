// Terminal and script output shared by all verbs: options, errors, tables, colour. Only cli/ prints. The form of the
// output (width, colour, quiet) belongs to the process, as its standard output does; parse() sets it once.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/about.h"
#include "app/run_control.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace ridge::cli {

// Parses `arguments` into `app` (options are bound by the verb), and the options of every verb: --color, --quiet. kDone
// means go on; otherwise return the value: help was printed (0) or the usage is wrong (2, message on stderr).
struct ParseResult {
  bool go_on = false;
  int exit = kDone;
};
ParseResult parse(CLI::App& app, std::string_view verb, std::span<const std::string> arguments);
// An argument for which parse() prints what may follow the ones before it, options and subcommands, one per line, and
// parses nothing (`ridge completion`).
constexpr std::string_view kListWords = "--ridge-list-words";
// True if --help or -h stands before a "--": words behind that belong to a command.
bool asks_for_help(std::span<const std::string> arguments);

// True if the file is a terminal that understands colours and the movements of its cursor, by the name in TERM: not
// without one, nor by one that is not known.
bool takes_escapes(int file);

// "ridge bench: <message>" on stderr; the exit status that fits the code (kInvalid from options is kUsage by the verb).
int fail(std::string_view verb, const Error& error);

// Prints to stdout, with a newline. Lines wider than the terminal are broken (cli/paragraph.h); output to a file or
// pipe has no width, unless COLUMNS gives one. Outside UTF-8 locales "µ", "×", "±" and the like become ASCII.
void print(std::string_view text);
void print_verbatim(std::string_view text);  // what a program reads: CSV, scripts
void print_help(std::string_view verb);      // docs/cli/<verb>.md
// Likewise to stderr. A note is not said with --quiet.
void say(std::string_view text);
void say_note(std::string_view text);

// The command line of a verb, given now.
app::Command typed(std::string_view verb, std::span<const std::string> arguments);
// Adds the members that this machine and `command` contribute to a result.
Json document(const app::Command& command, const Json& members);
// It, indented, to stdout.
void print_json(const app::Command& command, const Json& members);

// "note: …", a line of a result; empty with --quiet.
std::string note_text(std::string_view note);

// table_text (cli/table.h) for standard output. Cells may hold names from files: their control characters are escaped.
std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                  std::string_view columns);

// Meaning of a word, shown as a colour of the terminal. The word itself always says it too.
enum class Meaning { kOk, kBetter, kWarning, kRejected, kFailed, kRegressed };
// `text`, for print() to standard output; without colour as it is (--color, NO_COLOR, no terminal).
std::string painted(Meaning meaning, std::string_view text);
// A sentence that warns: its beginning, up to the first colon, comma or full stop, in the colour of warnings.
std::string warning_text(std::string_view sentence);

// Columns of standard output and error: the terminal's; else $COLUMNS, else kUnbounded.
size_t output_columns();
size_t error_columns();
// Columns for running text: at most 100, which the eye follows; 80 without a terminal.
size_t prose_columns();
// True if text may hold more than ASCII, by LC_ALL, LC_CTYPE or LANG, the first that is set.
bool terminal_is_utf8();
// `text`, or its ASCII form where the locale is not UTF-8.
std::string in_locale(std::string_view text);
// From now on a terminal shows warnings and errors as say() does, not as log lines; elsewhere nothing changes.
void show_log_as_text();
bool reader_left();  // of standard output: a pipe's other end is closed
bool is_quiet();     // --quiet: no progress, no notes

// Before the work: the time that it takes at most.
void say_budget(std::string_view verb, double seconds);

// Shows progress and notes on stderr until the last copy is destroyed, and ends early on Ctrl-C, with partial results.
app::RunControl interruptible(std::string_view what);
// The same with notes that name the verb, where `what` is a step of it.
app::RunControl interruptible(std::string_view what, std::string_view verb);

// Before the work: that these files can be written; an empty name is none.
Status check_writable(std::initializer_list<std::string> files);
// Writes `content` to a file, unless `path` is empty, and says so.
Status write_result(const app::Command& command, const std::string& path, const std::string& content);
// Keeps the document of `members` in a file (-o), likewise; `ridge show` shows it.
Status keep(const app::Command& command, const std::string& path, const Json& members);

// The values of an option KEY=VALUE.
Result<std::map<std::string, std::string>> parse_assignments(const char* option,
                                                             const std::vector<std::string>& values);

}  // namespace ridge::cli
