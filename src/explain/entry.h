// One entry of data/explain/<language>/<subject>.md.
//
// A file is read line by line:
//   ## ridge-point            begins the entry with that id
//   what: text                a field; lines that begin with a blank continue it
//   # …, > … and empty lines  are for readers of the file
// Fields: name, also (a list by commas), what, why, first, deeper, hurts, wrong, ridge in every language; see, match,
// codes (lists) and source in English only, because they do not depend on the language. Immutable values.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "base/result.h"

namespace ridge::explain {

// Texts of one language.
struct Wording {
  std::string name;
  std::vector<std::string> also;  // other names
  std::string what;               // definition; with formula and unit
  std::string why;                // why it happens
  std::string first;              // first step
  std::string deeper;             // next check
  std::string hurts;              // when a switch hurts
  std::string wrong;              // a wrong claim about it, with the correction
  std::string ridge;              // the verb that measures or uses it
};

struct Entry {
  std::string id;
  std::string subject;  // the file: terms, errors, metrics, flags, switches, advice, claims
  std::array<Wording, kLanguages> wording;
  std::vector<std::string> see;    // ids of other entries
  std::vector<std::string> match;  // texts of messages; '*' stands for anything in the same line
  std::vector<std::string> codes;  // error codes that it deepens, "cuda 700"
  std::string source;

  const Wording& in(Language language) const { return wording[static_cast<size_t>(language)]; }
};

// Reads one file into the wording of `language` and, in English, the rest. `subject` names it in errors, which give the
// line: text outside an entry or a field, an unknown or repeated field, an id given twice.
Result<std::vector<Entry>> parse_entries(std::string_view text, std::string_view subject, Language language);

}  // namespace ridge::explain
