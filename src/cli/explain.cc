// ridge explain TERM-OR-ERROR: the meaning of a term, an option, an error code or a pasted message, and the remedy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/next_steps.h"
#include "catalogue/catalogue.h"
#include "cli/help.h"
#include "cli/next_text.h"
#include "cli/page_options.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "explain/answer.h"
#include "explain/plain.h"

namespace ridge::cli {
namespace {

using explain::Answer;

constexpr const char* kExplainVerb = "explain";

struct ExplainOptions {
  std::vector<std::string> query;
  std::string language;
  std::optional<std::string> list;
  bool json = false;
};

void declare(CLI::App& app, ExplainOptions& options) {
  app.add_option("TERM-OR-ERROR", options.query);
  declare_language(app, options.language);
  app.add_option("--list", options.list)->expected(0, 1);
  app.add_flag("--json", options.json);
}

// Own options go first and everything else behind "--", because users ask about options: ridge explain --max-batch.
std::vector<std::string> arranged(std::span<const std::string> arguments) {
  std::vector<std::string> own;
  std::vector<std::string> query = {"--"};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      query.insert(query.end(), arguments.begin() + static_cast<long>(i) + 1, arguments.end());
      break;
    }
    const bool is_list = argument == "--list";
    if (argument == kListWords || argument == "--json" || argument == "--help" || argument == "-h" ||
        argument == "--quiet" || argument.starts_with("--lang=") || argument.starts_with("--list=") ||
        argument.starts_with("--color=")) {
      own.push_back(argument);
    } else if (argument == "--lang" || argument == "--color" || is_list) {
      own.push_back(argument);
      if (i + 1 < arguments.size() && !arguments[i + 1].starts_with('-')) own.push_back(arguments[++i]);
    } else {
      query.push_back(argument);
    }
  }
  own.insert(own.end(), query.begin(), query.end());
  return own;
}

// Chinese characters, U+4E00 to U+9FFF, begin with E4 to E9 in UTF-8.
bool has_chinese(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char byte) { return byte >= 0xE4 && byte <= 0xE9; });
}

// A question in Chinese is answered in Chinese.
Language language_for(const ExplainOptions& options, std::string_view query) {
  if (options.language.empty() && has_chinese(query)) return Language::kChinese;
  return language_of_option(options.language);
}

// The last kMostText bytes of standard input: the newest lines of a log.
std::string read_input() {
  std::string text;
  std::array<char, 65536> block;
  while (const size_t count = std::fread(block.data(), 1, block.size(), stdin)) {
    text.append(block.data(), count);
    if (text.size() > 2 * explain::kMostText) text.erase(0, text.size() - explain::kMostText);
  }
  return text;
}

std::string query_of(const ExplainOptions& options) {
  if (options.query.size() == 1 && options.query.front() == "-") return read_input();
  return fmt::format("{}", fmt::join(options.query, " "));
}

// Every verb with its options.
std::vector<explain::Flag> all_flags() {
  std::vector<explain::Flag> flags;
  for (const char* verb :
       {"doctor",        "make",         "describe",     "gpus", "plan",          "size",      "bench",
        "bench-decoder", "bench-device", "bench-server", "tune", "tune-language", "serve",     "show",
        "compare",       "history",      "power",        "lab",  "explain",       "completion"}) {
    std::vector<explain::Flag> some = explain::flags_in(verb, cli_help(verb));
    flags.insert(flags.end(), some.begin(), some.end());
  }
  return flags;
}

struct Labels {
  std::string_view where, what, why, first, deeper, hurts, wrong, ridge, see, source;
};

const Labels& labels(Language language) {
  static constexpr Labels kEnglish = {"lies in",    "what",   "why",      "first", "then",
                                      "hurts when", "not so", "in ridge", "see",   "source"};
  static constexpr Labels kChinese = {"症结",     "说明", "原因",     "先做", "再查",
                                      "何时有害", "辨误", "在 ridge", "参见", "出处"};
  return language == Language::kChinese ? kChinese : kEnglish;
}

std::string_view heading(Language language) { return language == Language::kChinese ? "接下来：" : "next:"; }

void show_answer(const Answer& answer, const std::string& query, Language language) {
  constexpr size_t kIndent = 13;
  const Labels& names = labels(language);
  print(answer.title);
  auto show_answers = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) print(paragraph("  " + std::string(label), text, kIndent, prose_columns()));
  };
  if (!answer.matched.empty() && answer.matched != query && answer.matched.size() < 200)
    show_answers(language == Language::kChinese ? "依据" : "read", "\"" + answer.matched + "\"");
  show_answers(names.where, answer.where);
  show_answers(names.what, answer.what);
  show_answers(names.why, answer.why);
  show_answers(names.first, answer.first);
  show_answers(names.deeper, answer.deeper);
  show_answers(names.hurts, answer.hurts);
  show_answers(names.wrong, answer.wrong);
  show_answers(names.ridge, answer.ridge);
  show_answers(names.see, fmt::format("{}", fmt::join(answer.see, ", ")));
  show_answers(names.source, answer.source);
}

// Topics to look up after the first answer; else all that there are. The language of the question is kept.
std::vector<std::string> next_of(const ExplainOptions& options, const std::vector<Answer>& answers) {
  constexpr size_t kMost = 2;
  std::string words = "ridge explain ";
  if (!options.language.empty()) words += "--lang " + options.language + " ";
  std::vector<std::string> lines;
  for (const std::string& see : answers.front().see)
    if (lines.size() < kMost) lines.push_back(words + app::shell_word(see));
  if (lines.empty()) lines.push_back(words + "--list");
  return lines;
}

void show_answers(const std::vector<Answer>& answers, const explain::Match& found, const std::string& query,
                  Language language) {
  const bool chinese = language == Language::kChinese;
  if (found.words_only)
    print(chinese ? "这段文本本身没有收录，只认识其中的词：\n" : "The text itself is not known, only words of it:\n");
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) print("");
    show_answer(answers[i], query, language);
  }
  if (found.left_out > 0)
    say(chinese
            ? fmt::format("ridge explain：另有 {} 条未列出，请只粘贴关键的几行", found.left_out)
            : fmt::format("ridge explain: {} more were left out; paste only the lines that matter", found.left_out));
  if (found.unread > 0)
    say(chinese ? fmt::format("ridge explain：文本过长，开头 {} 字节未读", found.unread)
                : fmt::format("ridge explain: the text is too long; its first {} bytes were not read", found.unread));
}

bool names_device(const std::string& query) {
  const Result<std::vector<catalogue::CatalogueDevice>> devices = catalogue::catalogue();
  return devices && !catalogue::match_devices(*devices, query).empty();
}

int not_found(const std::string& query, const explain::Match& found, Language language) {
  const bool chinese = language == Language::kChinese;
  constexpr size_t kShown = 80;
  const std::string shown = query.size() > kShown ? "" : " '" + explain::message_text(query) + "'";
  std::string message =
      chinese ? fmt::format("ridge explain：没有找到{}", shown)
              : fmt::format("ridge explain: nothing is known about{}", shown.empty() ? " this text" : shown);
  if (!found.near.empty())
    message += fmt::format("{}{}{}", chinese ? "；您要找的是不是：" : "; did you mean: ",
                           fmt::join(found.near, chinese ? "、" : ", "), chinese ? "？" : "?");
  say(message);
  say(chinese ? "ridge explain --list 列出全部条目。" : "ridge explain --list shows all entries.");
  return kNo;
}

int show_list(const explain::Book& book, const ExplainOptions& options, Language language) {
  const std::vector<std::string> subjects = explain::list_subjects();
  const std::string& subject = *options.list;
  if (!subject.empty() && std::find(subjects.begin(), subjects.end(), subject) == subjects.end()) {
    say(fmt::format("ridge explain: there is no list '{}'; the lists are: {}", subject, fmt::join(subjects, ", ")));
    return kUsage;
  }
  const std::vector<explain::Listing> rows = explain::list(book, subject, language);
  if (options.json) {
    print(dump_json(json_of(rows), true));  // a list, which has no place for `about`
    return kDone;
  }
  std::vector<std::vector<std::string>> cells;
  for (const explain::Listing& row : rows) cells.push_back({row.kind, row.id, row.title});
  print(table({"kind", "id", "title"}, cells, "lll"));
  if (!rows.empty()) print_next({"ridge explain " + app::shell_word(rows.front().id)}, heading(language));
  return kDone;
}

}  // namespace

int explain(std::span<const std::string> arguments) {
  ExplainOptions options;
  CLI::App app;
  declare(app, options);
  const std::vector<std::string> in_order = arranged(arguments);
  if (ParseResult parsed = parse(app, kExplainVerb, in_order); !parsed.go_on) return parsed.exit;
  Result<explain::Book> book = explain::open_book(all_flags());
  if (!book) return fail(kExplainVerb, book.error());
  if (options.list) return show_list(*book, options, language_of_option(options.language));
  const std::string query = query_of(options);
  const Language language = language_for(options, query);
  if (query.find_first_not_of(" \t\r\n") == std::string::npos) {
    say("ridge explain: name a term or an error, or paste a message; ridge explain --list shows all entries");
    return kUsage;
  }
  const explain::Match found = explain::find(*book, query);
  const std::vector<Answer> answers = explain::answers(*book, found, language);
  if (options.json) {
    print_json(typed(kExplainVerb, arguments), json_of(explain::Explanation{query, language, answers, found}));
    return answers.empty() ? kNo : kDone;
  }
  if (answers.empty() && names_device(query)) {
    print(language == Language::kChinese ? "目录中的 GPU" : "a GPU of the catalogue");
    return print_next({"ridge gpus " + app::shell_word(query)}, heading(language)), kDone;
  }
  if (answers.empty()) return not_found(query, found, language);
  show_answers(answers, found, query, language);
  print_next(next_of(options, answers), heading(language));
  return kDone;
}

}  // namespace ridge::cli
