// Cuts a text into words, which no token crosses: the "pre_tokenizer" of tokenizer.json. Immutable, thread-safe.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/json_part.h"
#include "text/pattern.h"

namespace ridge::text {

// The characters that stand for bytes in the vocabularies of byte-level models, as GPT-2 has them: printable ones for
// themselves, the others from U+0100 on.
const std::array<std::string, 256>& byte_characters();

class PreTokenizer {
 public:
  static Result<PreTokenizer> read(const JsonPart& part);
  // Gives the words in their order until `take` says that it wants no more. `first`: nothing of the whole text stands
  // before `text`. No word is empty.
  Status split(std::string_view text, bool first, const std::function<bool(std::string_view)>& take) const;

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
  using GiveWord = std::function<Result<bool>(std::string_view)>;  // false: no more is wanted
  static Result<bool> cut(std::string_view word, const Split& split, const GiveWord& give);
  Result<bool> split_from(size_t step, std::string_view word, bool first,
                          const std::function<bool(std::string_view)>& take) const;

  std::vector<Step> steps_;  // nested sequences are one
};

}  // namespace ridge::text
