// Changes a text before it is cut: the "normalizer" of tokenizer.json. Immutable, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/json_part.h"
#include "text/pattern.h"

namespace ridge::text {

// {"String": "…"} or {"Regex": "…"} in the member "pattern".
Result<Pattern> read_pattern(const JsonPart& part);
// kInvalid: a result of more than `most` bytes.
Result<std::string> replace_all(std::string_view text, const Pattern& pattern, std::string_view instead, size_t most);
class Normalizer {
 public:
  static Result<Normalizer> read(const JsonPart& part);
  // kInvalid: the text becomes more than 16 times as long; by Unicode alone it is 11 times at most (NFKC of U+FDFA).
  Result<std::string> normalize(std::string text) const;

 private:
  struct UnicodeForm {
    int options;  // of utf8proc
  };
  struct Prepend {
    std::string text;
  };
  struct Replace {
    Pattern pattern;
    std::string instead;
  };
  struct Bert {
    bool cleans = false, parts_chinese = false, strips_accents = false, lowers = false;
  };
  struct StripMarks {};  // StripAccents
  struct Strip {
    bool left, right;
  };
  using Step = std::variant<UnicodeForm, Prepend, Replace, Bert, StripMarks, Strip>;
  Status add(const JsonPart& part);
  static Result<std::string> bert(std::string text, const Bert& step);

  std::vector<Step> steps_;  // nested sequences are one
};

}  // namespace ridge::text
