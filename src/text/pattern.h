// A regular expression or a plain text that is looked for in UTF-8, by PCRE2, with the meaning that Oniguruma (Ruby's
// syntax), which the `tokenizers` library uses, gives it. Differences are translated or refused. Immutable,
// thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace ridge::text {

struct Match {
  size_t begin = 0, end = 0;  // [bytes]
};

class Pattern {
 public:
  static Result<Pattern> regex(std::string_view expression);
  static Result<Pattern> literal(std::string_view text);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // All matches in order, none overlapping, until `take` says that it wants no more; an empty one does not follow
  // another directly. `text` is valid UTF-8. kInvalid: too many steps.
  Status find(std::string_view text, const std::function<bool(Match)>& take) const;

 private:
  struct Compiled;
  static Result<Pattern> compile(std::string_view expression, unsigned options, std::string_view shown);
  explicit Pattern(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace ridge::text
