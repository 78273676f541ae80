// Everything that ridge can explain, in both languages, indexed for look-up by find.h. Immutable once made.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "explain/entry.h"
#include "explain/error_code.h"
#include "explain/flag.h"

namespace ridge::explain {

// The files of data/explain/<language>/, in the order in which lists show them.
inline constexpr std::string_view kSubjects[] = {"terms",   "hardware", "serving",  "distributed", "errors",
                                                 "metrics", "options",  "switches", "advice",      "claims"};

struct Book {
  std::vector<Entry> entries;
  std::vector<ErrorCode> codes;
  std::vector<Flag> flags;

  // Indexes; keys as plain() makes them, values are positions. A name may have several entries or flags.
  std::unordered_map<std::string, std::vector<size_t>> entry_names;
  std::unordered_map<std::string, std::vector<size_t>> code_names;
  std::unordered_map<std::string, std::vector<size_t>> flag_names;
  std::map<std::pair<std::string, int>, size_t> code_numbers;
  std::vector<std::string> names;  // all names, for "did you mean"

  const Entry* entry(std::string_view id) const;                       // nullptr: none
  const ErrorCode* code(const std::string& family, int number) const;  // nullptr: none
};

// The texts of one subject in both languages.
struct SubjectText {
  std::string_view subject;
  std::string_view english;
  std::string_view chinese;
};

// Errors: a text that cannot be read; an entry in one language only; an id in two subjects; a "see" or "codes" that
// names nothing. The built-in texts have none (book_test.cc).
Result<Book> make_book(std::span<const SubjectText> subjects, const CodeTables& tables, std::vector<Flag> flags);

// The book of the embedded texts; `flags` come from the verbs' help, which other folders own.
Result<Book> open_book(std::vector<Flag> flags);

}  // namespace ridge::explain
