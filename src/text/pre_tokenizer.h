// What cuts a text into words, which the model does not cross: the "pre_tokenizer" of tokenizer.json. Immutable, thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/json_part.h"
#include "text/pattern.h"

namespace ridge::text {

// The characters that stand for bytes in the vocabularies of byte-level models, as GPT-2 has them: printable ones for themselves, the others from
// U+0100 on.
const std::array<std::string, 256>& byte_characters();

class PreTokenizer {
 public:
  static Result<PreTokenizer> read(const JsonPart& part);
  // `first`: nothing of the whole text stands before `text`. No word is empty.
  Result<std::vector<std::string>> split(std::string text, bool first) const;

 private:
  enum class Behaviour { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  enum class Prefix { kNever, kFirst, kAlways };
  struct Split {
    Pattern pattern;
    Behaviour behaviour;
    bool invert;
  };
  struct PrefixSpace {};  // of ByteLevel
  struct ByteLevel {};
  struct Metaspace {
    std::string replacement;
    Prefix prefix;
  };
  using Step = std::variant<Split, PrefixSpace, ByteLevel, Metaspace>;
  Status add(const JsonPart& part);
  Status add_split(const JsonPart& part, Result<Pattern> pattern);
  Status add_split(std::string_view expression, Behaviour behaviour, bool invert = false);
  static Status cut(const std::string& word, const Split& split, std::vector<std::string>& words);

  std::vector<Step> steps_;  // nested sequences are one
};

}  // namespace ridge::text
