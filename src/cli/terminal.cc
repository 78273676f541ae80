#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/letter_case.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/utc.h"
#include "cli/help.h"
#include "cli/interruption.h"
#include "cli/number_checks.h"
#include "cli/own_colours.h"
#include "cli/paragraph.h"
#include "cli/synonyms.h"
#include "cli/table.h"
#include "machine/probe.h"

namespace ridge::cli {
namespace {

enum class ColourMode { kAuto, kAlways, kNever };

struct OutputForm {
  ColourMode colour = ColourMode::kAuto;
  bool quiet = false;
};
OutputForm form;                 // set by parse(), before any other thread starts
std::atomic<bool> left = false;  // the reader of standard output has

void put(std::FILE* file, std::string_view text) {
  erase_progress();
  std::fwrite(text.data(), 1, text.size(), file);
  if (text.empty() || text.back() != '\n') std::fwrite("\n", 1, 1, file);
  if (std::fflush(file) != 0 && errno == EPIPE && file == stdout) left = true;
}

void put_fitted(std::FILE* file, std::string_view text, size_t columns) {
  const std::string clean = in_locale(for_terminal(without_controls(text, LineEnds::kKept)));
  put(file, columns == kUnbounded ? clean : fitted(clean, columns));
}

size_t columns_of_file(int file) {
  winsize size{};
  const bool terminal = ioctl(file, TIOCGWINSZ, &size) == 0;
  if (terminal && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long given = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return given > 0 ? static_cast<size_t>(given) : terminal ? 80 : kUnbounded;
}

// NO_COLOR as no-color.org defines it.
bool has_colour(int file) {
  if (form.colour != ColourMode::kAuto) return form.colour == ColourMode::kAlways;
  const char* refused = std::getenv("NO_COLOR");
  return takes_escapes(file) && (refused == nullptr || *refused == '\0');
}

// Word by word, so that a line break leaves no colour behind. Codes: ECMA-48, "Select Graphic Rendition".
std::string painted_for(int file, Meaning meaning, std::string_view text) {
  if (!has_colour(file)) return std::string(text);
  constexpr std::string_view kGreen = "32", kYellow = "33", kMagenta = "35", kRed = "1;31";
  constexpr std::array kCodes = {kGreen, kGreen, kYellow, kMagenta, kRed, kRed};  // in the order of Meaning
  const std::string_view code = kCodes[static_cast<size_t>(meaning)];
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = std::min(text.find_first_not_of(" \n", at), text.size());
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    result += text.substr(at, begin - at);
    if (end > begin) result += coloured(code, text.substr(begin, end - begin));
    at = end;
  }
  return result;
}

// Options of every verb; docs/cli/ridge.md explains them.
struct CommonOptions {
  std::string colour = "auto";
  bool quiet = false;
};

void declare(CLI::App& app, CommonOptions& options) {
  app.add_option("--color", options.colour)->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--quiet,-q", options.quiet);
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) sub->fallthrough();
}

void apply(const CommonOptions& options) {
  form.quiet = options.quiet;
  form.colour = options.colour == "always"  ? ColourMode::kAlways
                : options.colour == "never" ? ColourMode::kNever
                                            : ColourMode::kAuto;
  if (options.quiet && log::level() < log::Level::kWarning) log::set_level(log::Level::kWarning);
}

// Prints the words of `app`, or of the subcommand that `arguments` name.
void print_words(const CLI::App& app, std::span<const std::string> arguments) {
  const auto all = [](const CLI::App*) { return true; };
  const CLI::App* at = &app;
  for (const CLI::App* sub : app.get_subcommands(all))
    if (sub->get_name() == arguments.front()) at = sub;
  for (const CLI::App* sub : at->get_subcommands(all)) print_verbatim(sub->get_name());
  for (const CLI::Option* option : at->get_options()) {
    for (const std::string& name : option->get_lnames()) print_verbatim("--" + name);
    for (const std::string& name : option->get_snames()) print_verbatim("-" + name);
  }
}

// Detects a model or folder that is given with and without its option, which cli/synonyms.h has made an argument.
std::string named_twice(std::span<const std::string> given) {
  const bool named = std::any_of(given.begin(), given.end(), [](const std::string& word) {
    return word == "--model" || word.starts_with("--model=");
  });
  return named ? "the model is named twice: as an argument and by --model" : "";
}

// Names the words of `given` that `app` could not place; `arguments` has its options' own names.
std::string not_understood(const CLI::App& app, std::span<const std::string> given,
                           std::span<const std::string> arguments) {
  const std::vector<std::string> rest = app.remaining();
  const std::string& first = rest.front();
  if (first.starts_with("--")) {
    const std::string name = first.substr(0, first.find('='));
    if (const std::string own = instead_of(app, name); !own.empty()) return "unknown option " + name + own;
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options())
      for (const std::string& longer : option->get_lnames()) known.push_back("--" + longer);
    for (const std::string& synonym : synonyms_for(app)) known.push_back(synonym);
    return "unknown option " + name + did_you_mean(name, known);
  }
  if (const std::string twice = named_twice(given); !twice.empty()) return twice;
  const auto at = std::find(arguments.begin(), arguments.end(), first);
  const CLI::Option* before =
      at == arguments.begin() || at == arguments.end() ? nullptr : app.get_option_no_throw(*(at - 1));
  if (before == nullptr || before->get_items_expected_max() > 0) {
    std::string all = "not understood: " + CLI::detail::join(rest, " ");
    if (app.get_option_no_throw("--lock-clocks") != nullptr && std::isdigit(static_cast<unsigned char>(first[0])) != 0)
      return all + "; did you mean --limit " + first + "?";
    const CLI::Option* model = app.get_option_no_throw("MODEL");
    if (model == nullptr || model->count() == 0) return all;
    return all + "; it takes one model, and has " + model->results().front() +
           " (ridge compare sets two kept results side by side)";
  }
  const std::string name = *(at - 1);
  const bool document = name == "--json" || name == "--csv";
  return name + " takes no value, given '" + first + "'" +
         (document ? "; the result goes to standard output: " + name + " > " + first : "");
}

// Probed once.
const Result<machine::Machine>& this_machine() {
  static const Result<machine::Machine> machine = machine::probe();
  return machine;
}

// Rephrases CLI11's complaint about an option's value.
std::string wrong_value(const CLI::App& app, const CLI::ParseError& error) {
  std::string said = error.what();
  const std::string_view convert = "Could not convert: ", equals = " = ", missing = " required ";
  if (const size_t at = said.find(equals); said.starts_with(convert) && at != std::string::npos) {
    const std::string name = said.substr(convert.size(), at - convert.size());
    const std::string value = said.substr(at + equals.size());
    const CLI::Option* option = app.get_option_no_throw(name);
    const bool flag = option != nullptr && option->get_items_expected_max() == 0;
    return name + ": expected " + (flag ? "true or false" : "a whole number") + ", given '" + value + "'";
  }
  const std::string_view not_in = " not in {";
  if (const size_t at = said.find(": "), of = said.rfind(not_in); of != std::string::npos && at < of) {
    const std::string choices = said.substr(of + not_in.size(), said.size() - of - not_in.size() - 1);
    return said.substr(0, at) + ": expected one of " + choices + ", given '" + said.substr(at + 2, of - at - 2) + "'";
  }
  if (const size_t at = said.find(": "); said.ends_with(" missing") && said.find(missing) != std::string::npos)
    return said.substr(0, at) + " needs a value";
  return said;
}

}  // namespace

ParseResult parse(CLI::App& app, std::string_view verb, std::span<const std::string> arguments) {
  CommonOptions common;
  declare(app, common);
  if (std::find(arguments.begin(), arguments.end(), kListWords) != arguments.end()) {
    print_words(app, arguments);
    return {false, kDone};
  }
  const std::vector<std::string> words = with_own_names(app, arguments);
  try {
    // CLI11 takes a vector from its end.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    if (const std::string wrong = wrong_values(app); !wrong.empty()) throw CLI::ValidationError(wrong);
    apply(common);
    return {true, kDone};
  } catch (const CLI::CallForHelp&) {
    print_help(verb);
    return {false, kDone};
  } catch (const CLI::ExtrasError&) {  // its own message has the arguments in reverse
    fail(verb, invalid(not_understood(app, arguments, words)));
    say("ridge " + std::string(verb) + " --help lists the options.");
    return {false, kUsage};
  } catch (const CLI::ParseError& e) {
    fail(verb, invalid(wrong_value(app, e)));
    say("ridge " + std::string(verb) + " --help lists the options.");
    return {false, kUsage};
  }
}

bool asks_for_help(std::span<const std::string> arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(arguments.begin(), end, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

int fail(std::string_view verb, const Error& error) {
  say(painted_for(STDERR_FILENO, Meaning::kFailed, "ridge " + std::string(verb) + ":") + " " + error.message);
  return kFailed;
}

bool reader_left() { return left; }

// Names: dircolors of GNU coreutils, "TERM", and terminals that came since.
bool takes_escapes(int file) {
  constexpr std::string_view kBegin[] = {"xterm",     "screen",  "tmux",  "rxvt",   "linux",   "vt",    "con",
                                         "cygwin",    "ansi",    "st-",   "putty",  "kitty",   "foot",  "iterm",
                                         "alacritty", "wezterm", "gnome", "mlterm", "ghostty", "Eterm", "konsole"};
  const char* given = std::getenv("TERM");
  const std::string_view name = given == nullptr ? "" : given;
  const bool known = name == "st" || name.find("color") != std::string_view::npos ||
                     std::any_of(std::begin(kBegin), std::end(kBegin),
                                 [&](std::string_view begin) { return name.starts_with(begin); });
  return known && isatty(file) == 1;
}

void print(std::string_view text) { put_fitted(stdout, text, output_columns()); }
void print_verbatim(std::string_view text) { put(stdout, text); }
void print_help(std::string_view verb) { print(help_for_terminal(cli_help(verb), prose_columns())); }
void say(std::string_view text) { put_fitted(stderr, text, error_columns()); }
void say_note(std::string_view text) {
  if (!form.quiet) say(text);
}

std::string note_text(std::string_view note) { return form.quiet ? "" : "note: " + std::string(note) + "\n"; }

app::Command typed(std::string_view verb, std::span<const std::string> arguments) {
  return app::command_of(verb, arguments, now_in_utc());
}

Json document(const app::Command& command, const Json& members) {
  return app::document(app::about(command, this_machine()), members);
}

void print_json(const app::Command& command, const Json& members) {
  put(stdout, dump_json(document(command, members), true));
}

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                  std::string_view columns) {
  std::vector<std::vector<std::string>> shown = rows;
  for (std::vector<std::string>& row : shown)
    for (std::string& cell : row) cell = in_locale(without_controls(cell, LineEnds::kEscaped));
  return table_text(header, shown, columns, output_columns());
}

std::string painted(Meaning meaning, std::string_view text) { return painted_for(STDOUT_FILENO, meaning, text); }

std::string warning_text(std::string_view sentence) {
  const size_t end = std::min(sentence.find_first_of(":,."), sentence.size());
  return painted(Meaning::kWarning, sentence.substr(0, end)) + std::string(sentence.substr(end));
}

size_t output_columns() { return columns_of_file(STDOUT_FILENO); }
size_t error_columns() { return columns_of_file(STDERR_FILENO); }
size_t prose_columns() {
  const size_t columns = output_columns();
  return columns == kUnbounded ? 80 : std::min<size_t>(columns, 100);
}
void show_log_as_text() {
  if (isatty(STDERR_FILENO) != 1) return;
  log::set_writer([](log::Level level, std::string_view message) {
    const bool bad = level >= log::Level::kWarning;
    const Meaning meaning = level == log::Level::kWarning ? Meaning::kWarning : Meaning::kFailed;
    const std::string_view label = level == log::Level::kWarning ? "warning:" : "error:";
    say(bad ? painted_for(STDERR_FILENO, meaning, label) + " " + std::string(message) : std::string(message));
  });
}
bool is_quiet() { return form.quiet; }

bool terminal_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = lower_case(value);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::string in_locale(std::string_view text) {
  static const bool utf8 = terminal_is_utf8();
  std::string result(text);
  if (utf8) return result;
  constexpr std::pair<std::string_view, std::string_view> kAscii[] = {
      {"µ", "u"}, {"×", "x"},  {"·", "-"},   {"±", "+-"}, {"≤", "<="}, {"≥", ">="}, {"≈", "~"}, {"–", "-"},
      {"—", "-"}, {"→", "->"}, {"…", "..."}, {"°", ""},   {"“", "\""}, {"”", "\""}, {"‘", "'"}, {"’", "'"}};
  for (const auto& [sign, ascii] : kAscii)
    for (size_t at = result.find(sign); at != std::string::npos; at = result.find(sign, at + ascii.size()))
      result.replace(at, sign.size(), ascii);
  return result;
}

void say_budget(std::string_view verb, double seconds) {
  say_note(fmt::format("ridge {}: up to {:g} s (--seconds)", verb, seconds));
}

app::RunControl interruptible(std::string_view what) { return interruptible(what, what); }

app::RunControl interruptible(std::string_view what, std::string_view verb) {
  listen_for_interruption();
  app::RunControl control;
  control.interrupted = interrupted;
  control.progress = [progress = std::make_shared<Progress>(what)](const std::string& step, double share) {
    progress->update(step, share);
  };
  control.note = [verb = std::string(verb)](const std::string& sentence) {
    say_note("ridge " + verb + ": " + sentence);
  };
  return control;
}

Status check_writable(std::initializer_list<std::string> files) {
  for (const std::string& file : files)
    if (!file.empty()) RIDGE_TRY(check_writable_file(file));
  return {};
}

Status write_result(const app::Command& command, const std::string& path, const std::string& content) {
  if (path.empty()) return {};
  RIDGE_TRY(write_file_atomically(path, content));
  say_note("ridge " + command.verb + ": wrote " + path);
  return {};
}

Status keep(const app::Command& command, const std::string& path, const Json& members) {
  return path.empty() ? Status() : write_result(command, path, dump_json(document(command, members), true) + "\n");
}

Result<std::map<std::string, std::string>> parse_assignments(const char* option,
                                                             const std::vector<std::string>& values) {
  std::map<std::string, std::string> parsed;
  for (const std::string& value : values) {
    const size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{Code::kInvalid, std::string(option) + " takes KEY=VALUE, given '" + value + "'"};
    parsed[value.substr(0, equals)] = value.substr(equals + 1);
  }
  return parsed;
}

}  // namespace ridge::cli
