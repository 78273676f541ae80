// StopTexts: an answer's text as it grows, up to the first of several texts that end it. What may be the beginning of
// one is held back until it is certain. Pure; one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "generate/shared_list.h"

namespace ridge::serve {

class StopTexts {
 public:
  // `stops`: none is empty. `include`: the one that is found is part of the answer.
  StopTexts(generate::SharedList<std::string> stops, bool include) : stops_(std::move(stops)), include_(include) {}

  // The text that is certain now. `look` false: nothing in this text, or held before it, ends the answer.
  std::string add(std::string_view text, bool look = true);
  // Returns the text that was held back; the answer has ended otherwise.
  std::string end() { return std::exchange(held_, {}); }
  // Given by add(): nothing comes after it.
  const std::optional<std::string>& found() const { return found_; }

 private:
  size_t begin_of_stop() const;

  const generate::SharedList<std::string> stops_;
  const bool include_;
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace ridge::serve
