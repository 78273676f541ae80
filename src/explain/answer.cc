#include "explain/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/letter_case.h"

namespace ridge::explain {
namespace {

struct ErrorClass {
  std::string_view kind;
  std::array<std::string_view, kLanguages> text;
};

// The classes of data/error_codes.csv.
constexpr ErrorClass kErrorClasses[] = {
    {"app",
     {"the program: its calls, sizes or indices; the machine is most likely well",
      "程序本身：调用、尺寸或下标有误，机器多半没有问题"}},
    {"env",
     {"the environment: driver, libraries, container, limits or permissions",
      "运行环境：驱动、库、容器、系统限额或权限"}},
    {"hw", {"the hardware: board, memory, link, power or cooling", "硬件：板卡、显存、链路、供电或散热"}},
    {"build",
     {"the build: machine code for this architecture is missing or damaged",
      "编译产物：缺少适合本架构的机器码，或文件已损坏"}},
    {"ok", {"nothing is wrong: this value is information", "没有出错：这是一个状态值"}},
};

constexpr std::array<const char*, kLanguages> kOnlyLabel = {
    "\"{}\": the vendor's catalogue has this label and says nothing more.",
    "“{}”：厂商目录里只有这个英文简称，没有更多说明。"};

std::string id_of(const ErrorCode& code) { return fmt::format("{} {}", code.family, code.number); }

std::string title_of(const ErrorCode& code) {
  std::string title = fmt::format("{} {} · {}", upper_case(code.family), code.number, code.name);
  return code.alias.empty() ? title : title + " · " + code.alias;
}

void append(std::string& text, const std::string& more, Language language) {
  if (more.empty()) return;
  if (!text.empty() && language == Language::kEnglish) text += ' ';
  text += more;
}

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::string sentence(std::string text, Language language) {
  if (text.empty() || language != Language::kEnglish) return text;
  if (std::isalnum(static_cast<unsigned char>(text.back())) != 0 || text.back() == ')') text += '.';
  return text;
}

std::string cause_of(const ErrorCode& code, Language language) {
  const std::string& english = code.in(Language::kEnglish).cause;
  if (code.only_label) return fmt::format(fmt::runtime(kOnlyLabel[static_cast<size_t>(language)]), english);
  return sentence(code.in(language).cause, language);
}

Answer answer_for(const Entry& entry, Language language) {
  const Wording& wording = entry.in(language);
  Answer answer;
  answer.kind = entry.subject;
  answer.id = entry.id;
  answer.title = wording.name;
  answer.what = wording.what;
  answer.why = wording.why;
  answer.first = wording.first;
  answer.deeper = wording.deeper;
  answer.hurts = wording.hurts;
  answer.wrong = wording.wrong;
  answer.ridge = wording.ridge;
  answer.see = entry.see;
  answer.see.insert(answer.see.end(), entry.codes.begin(), entry.codes.end());
  answer.source = entry.source;
  return answer;
}

// The text that group entries add to one of their codes.
void deepen(Answer& answer, const Entry& entry, Language language) {
  const Wording& wording = entry.in(language);
  append(answer.deeper, wording.deeper, language);
  append(answer.wrong, wording.wrong, language);
  append(answer.ridge, wording.ridge, language);
  add_once(answer.see, entry.id);
  for (const std::string& id : entry.see) add_once(answer.see, id);
  if (!entry.source.empty()) answer.source += "; " + entry.source;
}

Answer answer_for(const Book& book, const ErrorCode& code, Language language) {
  Answer answer;
  answer.kind = "code";
  answer.id = id_of(code);
  answer.title = title_of(code);
  for (const ErrorClass& error_class : kErrorClasses)
    if (error_class.kind == code.kind) answer.where = error_class.text[static_cast<size_t>(language)];
  answer.why = cause_of(code, language);
  answer.first = sentence(code.in(language).action, language);
  answer.source = code.source;
  for (const Entry& entry : book.entries)
    if (std::find(entry.codes.begin(), entry.codes.end(), answer.id) != entry.codes.end())
      deepen(answer, entry, language);
  return answer;
}

Answer answer_for(const Flag& flag, Language language) {
  Answer answer;
  answer.kind = flag.name.empty() ? "verb" : "flag";
  std::string verb = flag.verb;
  std::replace(verb.begin(), verb.end(), '-', ' ');  // docs/cli/bench-device.md documents "ridge bench device"
  answer.id = "ridge " + verb + (flag.name.empty() ? "" : " " + flag.name);
  answer.title = answer.id;
  answer.what = language == Language::kChinese && !flag.chinese.empty() ? flag.chinese : flag.text;
  answer.source = "docs/cli/" + flag.verb + ".md";
  return answer;
}

// "terms" lists all four files of terms, "errors" messages and codes; every other word lists itself.
bool belongs(std::string_view kind, std::string_view subject) {
  if (subject.empty() || subject == kind) return true;
  if (subject == "terms") return kind == "hardware" || kind == "serving" || kind == "distributed";
  return subject == "errors" && kind == "codes";
}

}  // namespace

std::vector<Answer> answers(const Book& book, const Match& found, Language language) {
  std::vector<Answer> all;
  for (const Hit& hit : found.hits) {
    Answer answer = hit.kind == HitKind::kCode    ? answer_for(book, book.codes[hit.position], language)
                    : hit.kind == HitKind::kEntry ? answer_for(book.entries[hit.position], language)
                                                  : answer_for(book.flags[hit.position], language);
    answer.matched = hit.matched;
    all.push_back(std::move(answer));
  }
  return all;
}

std::vector<Listing> list(const Book& book, std::string_view subject, Language language) {
  std::vector<Listing> rows;
  for (std::string_view each : kSubjects) {  // subject by subject, in the order of the files
    if (!belongs(each, subject)) continue;
    for (const Entry& entry : book.entries)
      if (entry.subject == each) rows.push_back({entry.subject, entry.id, entry.in(language).name});
  }
  if (belongs("codes", subject))
    for (const ErrorCode& code : book.codes) rows.push_back({"codes", id_of(code), code.name});
  if (belongs("flags", subject))
    for (const Flag& flag : book.flags)
      rows.push_back({"flags", flag.name.empty() ? flag.verb : flag.name, "ridge " + flag.verb});
  return rows;
}

std::vector<std::string> list_subjects() {
  std::vector<std::string> words(std::begin(kSubjects), std::end(kSubjects));
  words.insert(words.end(), {"codes", "flags"});
  return words;
}

}  // namespace ridge::explain
