// A hit in one language, ready to show: the same parts for terms, error codes and options. Immutable values.
#pragma once

#include <string>
#include <vector>

#include "base/figure.h"
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
void visit_fields(auto& visit, Is<Answer> auto& answer) {
  visit("kind", answer.kind, means("`code`, `flag`, `verb`, or the subject of its text"));
  visit("id", answer.id, means("the query that gives it again"));
  visit("title", answer.title);
  visit("matched", answer.matched, means("the part of the query that it explains"));
  visit.unless_empty("where", answer.where, means("of a code: the location of the cause, as a sentence"));
  visit.unless_empty("what", answer.what);
  visit.unless_empty("why", answer.why);
  visit.unless_empty("first", answer.first, means("what to do first"));
  visit.unless_empty("deeper", answer.deeper);
  visit.unless_empty("hurts", answer.hurts, means("when it does harm"));
  visit.unless_empty("wrong", answer.wrong, means("what is often said wrongly"));
  visit.unless_empty("ridge", answer.ridge, means("where ridge has it"));
  visit.unless_empty("source", answer.source);
  visit.unless_empty("see", answer.see, means("ids"));
}

// The document of a query.
struct Explanation {
  std::string query;
  Language language = Language::kEnglish;
  std::vector<Answer> answers;
  Match found;
};
void visit_fields(auto& visit, Is<Explanation> auto& explanation) {
  visit("query", explanation.query);
  visit.derived("language", explanation.language == Language::kEnglish ? "en" : "zh");
  visit("answers", explanation.answers, means("a part that is empty is absent"));
  visit("words_only", explanation.found.words_only, means("of a long text only single words are known"));
  visit("left_out", explanation.found.left_out, means("answers beyond the twelve shown"));
  visit("unread_bytes", explanation.found.unread, means("at the beginning of a text longer than 1 MiB"));
  visit("near", explanation.found.near, means("similar names, when there is no answer"));
}

// All hits of a query. A code includes the entries that deepen it; a hit already covered is not repeated.
std::vector<Answer> answers(const Book& book, const Match& found, Language language);

// One row of a list.
struct Listing {
  std::string kind;
  std::string id;
  std::string title;
};
void visit_fields(auto& visit, Is<Listing> auto& row) {
  visit("kind", row.kind);
  visit("id", row.id);
  visit("title", row.title);
}

// Everything of one subject, of "codes" (in the order of the catalogue), of "flags", or of all for an empty word;
// "terms" includes hardware, serving and distributed, "errors" the codes. Empty when the subject does not exist.
std::vector<Listing> list(const Book& book, std::string_view subject, Language language);

// The words that list() accepts.
std::vector<std::string> list_subjects();

}  // namespace ridge::explain
