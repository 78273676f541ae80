#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/file.h"
#include "base/lower_case.h"
#include "base/nearest.h"
#include "cli/help.h"
#include "cli/interruption.h"
#include "cli/synonyms.h"

namespace ridge::cli {
namespace {

constexpr int kBarCells = 30;

void put(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

void put_line(std::FILE* file, std::string_view text) {
  put(file, text);
  if (text.empty() || text.back() != '\n') put(file, "\n");
  std::fflush(file);
}

// Columns on a terminal: UTF-8 continuation bytes take none.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(std::string_view text, size_t width, bool right) {
  std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

std::string table_row(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                      std::string_view alignment) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += padded(cells[i], widths[i], i < alignment.size() && alignment[i] == 'r');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Of `app`, or of the subcommand that `arguments` name.
void print_words(const CLI::App& app, std::span<const std::string> arguments) {
  const auto all = [](const CLI::App*) { return true; };
  const CLI::App* at = &app;
  for (const CLI::App* sub : app.get_subcommands(all))
    if (sub->get_name() == arguments.front()) at = sub;
  for (const CLI::App* sub : at->get_subcommands(all)) print(sub->get_name());
  for (const CLI::Option* option : at->get_options()) {
    for (const std::string& name : option->get_lnames()) print("--" + name);
    for (const std::string& name : option->get_snames()) print("-" + name);
  }
}

// What `app` could not place.
std::string not_understood(const CLI::App& app, std::span<const std::string> arguments) {
  const std::vector<std::string> rest = app.remaining();
  const std::string& first = rest.front();
  if (first.starts_with("--")) {
    const std::string name = first.substr(0, first.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options())
      for (const std::string& longer : option->get_lnames()) known.push_back("--" + longer);
    return "unknown option " + name + did_you_mean(name, known);
  }
  const auto at = std::find(arguments.begin(), arguments.end(), first);
  const CLI::Option* before =
      at == arguments.begin() || at == arguments.end() ? nullptr : app.get_option_no_throw(*(at - 1));
  if (before == nullptr || before->get_items_expected_max() > 0)
    return "not understood: " + CLI::detail::join(rest, " ");
  const std::string name = *(at - 1);
  const bool document = name == "--json" || name == "--csv";
  return name + " takes no value, given '" + first + "'" +
         (document ? "; the result goes to standard output: " + name + " > " + first : "");
}

}  // namespace

ParseResult parse(CLI::App& app, std::string_view verb, std::span<const std::string> arguments) {
  if (std::find(arguments.begin(), arguments.end(), kListWords) != arguments.end()) {
    print_words(app, arguments);
    return {false, kDone};
  }
  const std::vector<std::string> words = with_own_names(app, arguments);
  try {
    // CLI11 takes a vector from its end.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return {true, kDone};
  } catch (const CLI::CallForHelp&) {
    std::string_view text = cli_help(verb);
    print(text.empty() ? std::string_view(app.help()) : text);
    return {false, kDone};
  } catch (const CLI::ExtrasError&) {  // its own message has the arguments in reverse
    say("ridge " + std::string(verb) + ": " + not_understood(app, words));
    say("ridge " + std::string(verb) + " --help lists the options.");
    return {false, kUsage};
  } catch (const CLI::Error& e) {
    say("ridge " + std::string(verb) + ": " + e.what());
    say("ridge " + std::string(verb) + " --help lists the options.");
    return {false, kUsage};
  }
}

bool asks_for_help(std::span<const std::string> arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(arguments.begin(), end, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

int fail(std::string_view verb, const Error& error) {
  say("ridge " + std::string(verb) + ": " + error.message);
  return kFailed;
}

void print(std::string_view text) { put_line(stdout, text); }
void print_json(const Json& json) { put_line(stdout, dump_json(json, true)); }
void say(std::string_view text) { put_line(stderr, text); }

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                  std::string_view alignment) {
  std::vector<size_t> widths;
  auto widen = [&](const std::vector<std::string>& cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  };
  widen(header);
  for (const auto& row : rows) widen(row);
  std::string text = header.empty() ? "" : table_row(header, widths, alignment);
  for (const auto& row : rows) text += table_row(row, widths, alignment);
  return text;
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  int given = columns == nullptr ? 0 : static_cast<int>(std::strtol(columns, nullptr, 10));
  return given > 0 ? given : 80;
}

bool terminal_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = lower_case(value);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

Progress::Progress(std::string_view what) : what_(what), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { finish(); }

void Progress::update(std::string_view step, double share_done) {
  int percent = static_cast<int>(std::lround(100 * std::clamp(share_done, 0.0, 1.0)));
  bool new_step = step != last_step_;
  if (!new_step && (!terminal_ || percent == last_percent_)) return;
  last_step_ = step;
  last_percent_ = percent;
  if (!terminal_) return say(what_ + ": " + last_step_);
  int full = kBarCells * percent / 100;
  std::string bar =
      std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(kBarCells - full), '.');
  put(stderr, "\r\x1b[K" + what_ + " [" + bar + "] " + padded(std::to_string(percent), 3, true) + " % " + last_step_);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::finish() {
  if (drawn_) put(stderr, "\r\x1b[K");
  drawn_ = false;
}

app::RunControl shown_progress(std::string_view what) {
  app::RunControl control;
  control.progress = [progress = std::make_shared<Progress>(what)](const std::string& step, double share) {
    progress->update(step, share);
  };
  return control;
}

app::RunControl interruptible(std::string_view what) {
  listen_for_interruption();
  app::RunControl control = shown_progress(what);
  control.interrupted = interrupted;
  return control;
}

Status write_page(std::string_view verb, const std::string& path, report::PageKind kind, const Json& json,
                  const std::string& language) {
  if (path.empty()) return {};
  RIDGE_ASSIGN(const report::Language known, report::language_from_name(language));
  RIDGE_TRY(write_file_atomically(path, report::page(kind, json, known)));
  say("ridge " + std::string(verb) + ": wrote " + path);
  return {};
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
