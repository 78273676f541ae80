// How a kind of model writes parts that are not text for the reader: calls of tools, and its thoughts before an answer.
// A row per form; its chat template, which shows calls and thoughts of earlier answers, says which. Pure.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace ridge::text {

// {"name":…,"arguments":{…}} between marks.
struct CallForm {
  std::string_view name;
  std::array<std::string_view, 2> signs;                // of a chat template of this form: one of them stands in it
  std::string_view begin, end = {};                     // marks of a call; without an end it ends with its JSON
  std::string_view arguments;                           // the member that has them
  std::string_view forced_begin = {}, forced_end = {};  // around the JSON of a call that must be made
  bool bare = false;                                    // a call may begin an answer without its mark
  std::array<std::string_view, 6> marks;  // that may be special tokens; the last two are those of thoughts
};

constexpr std::string_view kThoughtBegins = "<think>", kThoughtEnds = "</think>";

struct AnswerForm {
  const CallForm* calls = nullptr;  // never null where it comes from answer_form_of()
  bool thinks = false;              // its template names thoughts
  // The marks that a reader of its answers needs to see.
  std::span<const std::string_view> marks(bool of_calls) const;
};

// Without a sign of another, calls are in Hermes's form.
AnswerForm answer_form_of(std::string_view chat_template);

}  // namespace ridge::text
