#include "text/answer_form.h"

#include <algorithm>
#include <utility>

namespace ridge::text {
namespace {

// The first whose sign is there; so Hermes's and Mistral's stand before that of Llama, whose sign is the weakest.
constexpr std::array kCallForms{
    CallForm{.name = "hermes",  // Qwen's too
             .signs = {"<tool_call>"},
             .begin = "<tool_call>",
             .end = "</tool_call>",
             .arguments = "arguments",
             .forced_begin = "<tool_call>",
             .forced_end = "</tool_call>",
             .marks = {"<tool_call>", "</tool_call>", "", "", kThoughtBegins, kThoughtEnds}},
    // [{"name":…,"arguments":{…}}, …], and NAME[ARGS]{…} or NAME{…} of its newer ones.
    CallForm{.name = "mistral",
             .signs = {"[TOOL_CALLS]"},
             .begin = "[TOOL_CALLS]",
             .arguments = "arguments",
             .forced_begin = "[TOOL_CALLS][",
             .forced_end = "]",
             .marks = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "", kThoughtBegins, kThoughtEnds}},
    CallForm{.name = "llama3",
             .signs = {"<|python_tag|>", "\"parameters\": "},
             .begin = "<|python_tag|>",
             .arguments = "parameters",
             .bare = true,
             .marks = {"<|python_tag|>", "", "", "", kThoughtBegins, kThoughtEnds}},
};

}  // namespace

std::span<const std::string_view> AnswerForm::marks(bool of_calls) const {
  const std::span<const std::string_view> all(calls->marks);
  return all.subspan(of_calls ? 0 : all.size() - 2, (of_calls ? all.size() - 2 : 0) + (thinks ? 2 : 0));
}

AnswerForm answer_form_of(std::string_view chat_template) {
  const auto shows = [&](std::string_view sign) {
    return !sign.empty() && chat_template.find(sign) != std::string_view::npos;
  };
  const auto* found = std::find_if(kCallForms.begin(), kCallForms.end(),
                                   [&](const CallForm& form) { return std::ranges::any_of(form.signs, shows); });
  return {.calls = found == kCallForms.end() ? kCallForms.data() : found,
          .thinks = shows(kThoughtBegins) || shows(kThoughtEnds)};
}

}  // namespace ridge::text
