// A hit in one language, ready to show: the same parts for terms, error codes and options. Immutable values.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "explain/find.h"

namespace ridge::explain {

struct Answer {
  std::string kind;     // the subject, "code" or "flag"
  std::string id;       // "kv-cache", "cuda 2", "tune --batch"
  std::string title;    // its name; for codes with number and alias
  std::string matched;  // the part of the query that it explains
  std::string where;    // codes: the location of the cause, as a sentence
  std::string what, why, first, deeper, hurts, wrong, ridge;
  std::vector<std::string> see;  // what to look up next, as typed
  std::string source;
};

// All hits of a query. A code includes the entries that deepen it; a hit already covered is not repeated.
std::vector<Answer> answers(const Book& book, const Match& found, Language language);

// {"query", "language", "answers": […], "left_out", "unread_bytes", "near": […]}; members of an answer as above, absent
// where empty.
Json to_json(std::string_view query, Language language, const std::vector<Answer>& answers, const Match& found);

// One row of a list.
struct Listing {
  std::string kind;
  std::string id;
  std::string title;
};

// Everything of one subject, of "codes" (in the order of the catalogue), of "flags", or of all for an empty word;
// "terms" includes hardware, serving and distributed, "errors" the codes. Empty when the subject does not exist.
std::vector<Listing> list(const Book& book, std::string_view subject, Language language);

// The words that list() accepts.
std::vector<std::string> list_subjects();

}  // namespace ridge::explain
