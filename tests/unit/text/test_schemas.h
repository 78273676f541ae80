// For tests: random JSON schemas, random documents that are valid for them, a judge of documents that shares no code
// with the grammar, and the end of any document that was begun.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/random.h"
#include "text/json_grammar.h"

namespace ridge::text {

class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(split_mix(seed + 1)) {}
  // 0 … below − 1.
  int roll(int below) {
    return static_cast<int>(split_mix(seed_ + ++rolls_ * kGoldenGamma) % static_cast<uint64_t>(below));
  }
  bool one_in(int count) { return roll(count) == 0; }

 private:
  uint64_t seed_, rolls_ = 0;
};

// A schema with a document; recursive ones among them.
Json random_schema(Dice& dice);
// One of words beside one another: of types, and of other schemas. Some have no documents.
Json random_joined_schema(Dice& dice);
// A document that is valid for the schema, members in its order.
Json random_document(const Json& root, const Json& schema, Dice& dice, int depth = 0);
// Writes the document with white space where JsonGrammar allows it, and needless escapes in strings.
std::string write_randomly(const Json& document, Dice& dice);
// By the words of JSON Schema 2020-12.
bool is_valid(const Json& root, const Json& schema, const Json& document);
// Ends the document that was begun, by few bytes; what it appended. Empty: it could not, or the document had ended.
std::string end_document(JsonState state);

// Bytes until the first that is refused; all of a document that may end there: -1.
inline int refused_at(const JsonGrammar& grammar, std::string_view text) {
  JsonState state(grammar);
  for (size_t i = 0; i < text.size(); ++i)
    if (!state.accept(text.substr(i, 1))) return static_cast<int>(i);
  return state.may_end() ? -1 : static_cast<int>(text.size());
}
inline bool takes(const JsonGrammar& grammar, std::string_view text) { return refused_at(grammar, text) == -1; }

}  // namespace ridge::text
