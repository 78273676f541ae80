#include "explain/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "explain/data.h"
#include "explain/plain.h"

namespace ridge::explain {
namespace {

// The Chinese wording joins the English entry of the same id; both must have it.
Status join(std::vector<Entry>& english, std::vector<Entry> chinese, std::string_view subject) {
  auto only_one = [&](std::string_view id, std::string_view language) {
    return Error{Code::kInvalid, fmt::format("{}: '{}' stands in the {} file only", subject, id, language)};
  };
  for (Entry& other : chinese) {
    auto found = std::find_if(english.begin(), english.end(), [&](const Entry& entry) { return entry.id == other.id; });
    if (found == english.end()) return only_one(other.id, "Chinese");
    found->wording[1] = std::move(other.wording[1]);
  }
  for (const Entry& entry : english)
    if (entry.wording[1].name.empty()) return only_one(entry.id, "English");
  return {};
}

void add(std::unordered_map<std::string, std::vector<size_t>>& names, std::string_view name, size_t position) {
  std::vector<size_t>& positions = names[plain(name)];
  if (positions.empty() || positions.back() != position) positions.push_back(position);
}

void index_entries(Book& book) {
  for (size_t i = 0; i < book.entries.size(); ++i) {
    const Entry& entry = book.entries[i];
    add(book.entry_names, entry.id, i);
    for (const Wording& wording : entry.wording) {
      add(book.entry_names, wording.name, i);
      book.names.push_back(wording.name);
      for (const std::string& name : wording.also) {
        add(book.entry_names, name, i);
        book.names.push_back(name);
      }
    }
  }
}

void index_codes(Book& book) {
  for (size_t i = 0; i < book.codes.size(); ++i) {
    const ErrorCode& code = book.codes[i];
    book.code_numbers[{code.family, code.number}] = i;
    for (const std::string& name : {code.name, code.alias}) {
      if (name.empty()) continue;
      add(book.code_names, name, i);
      book.names.push_back(name);
    }
  }
}

void index_flags(Book& book) {
  for (size_t i = 0; i < book.flags.size(); ++i) {
    const Flag& flag = book.flags[i];
    for (const std::string& before : {std::string(), flag.verb, "ridge " + flag.verb})
      add(book.flag_names, before + " " + flag.name, i);
    book.names.push_back(flag.name.empty() ? "ridge " + flag.verb : flag.name);
  }
}

// "cuda 700" → the code.
const ErrorCode* code_of(const Book& book, std::string_view text) {
  const size_t blank = std::min(text.find(' '), text.size());
  int number = 0;
  const char* end = text.data() + text.size();
  auto [read_to, error] = std::from_chars(text.data() + std::min(blank + 1, text.size()), end, number);
  return error == std::errc() && read_to == end ? book.code(std::string(text.substr(0, blank)), number) : nullptr;
}

Status check_references(const Book& book) {
  std::set<std::string_view> ids;
  for (const Entry& entry : book.entries) {
    if (!ids.insert(entry.id).second)
      return Error{Code::kInvalid, fmt::format("{}: the id '{}' exists in another subject", entry.subject, entry.id)};
  }
  for (const Entry& entry : book.entries) {
    for (const std::string& id : entry.see)
      if (!ids.contains(id))
        return Error{Code::kInvalid,
                     fmt::format("{}: '{}' refers to '{}', which does not exist", entry.subject, entry.id, id)};
    for (const std::string& text : entry.codes)
      if (code_of(book, text) == nullptr)
        return Error{Code::kInvalid, fmt::format("{}: '{}' refers to the code '{}', which does not exist",
                                                 entry.subject, entry.id, text)};
  }
  return {};
}

}  // namespace

const Entry* Book::entry(std::string_view id) const {
  auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& each) { return each.id == id; });
  return found == entries.end() ? nullptr : &*found;
}

const ErrorCode* Book::code(const std::string& family, int number) const {
  auto found = code_numbers.find({family, number});
  return found == code_numbers.end() ? nullptr : &codes[found->second];
}

Result<Book> make_book(std::span<const SubjectText> subjects, const CodeTables& tables, std::vector<Flag> flags) {
  Book book;
  for (const SubjectText& subject : subjects) {
    RIDGE_ASSIGN(std::vector<Entry> english, parse_entries(subject.english, subject.subject, Language::kEnglish));
    RIDGE_ASSIGN(std::vector<Entry> chinese, parse_entries(subject.chinese, subject.subject, Language::kChinese));
    RIDGE_TRY(join(english, std::move(chinese), subject.subject));
    std::move(english.begin(), english.end(), std::back_inserter(book.entries));
  }
  RIDGE_ASSIGN(book.codes, parse_codes(tables));
  book.flags = std::move(flags);
  index_entries(book);
  index_codes(book);
  index_flags(book);
  RIDGE_TRY(check_references(book));
  return book;
}

Result<Book> open_book(std::vector<Flag> flags) {
  add_chinese(chinese("flags"), flags);
  std::vector<SubjectText> subjects;
  for (std::string_view subject : kSubjects) subjects.push_back({subject, english(subject), chinese(subject)});
  return make_book(subjects, {catalogue("error_codes"), chinese("codes"), tables("code_texts")}, std::move(flags));
}

}  // namespace ridge::explain
