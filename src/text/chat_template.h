// A conversation → the text that the model was trained on: the chat template of tokenizer_config.json or
// chat_template.jinja, in the part of Jinja2 that published templates use, as the transformers library sets Jinja2 up
// (trim_blocks, lstrip_blocks, values that do not change). Pure but for strftime_now (the clock); thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ridge::text {

class ChatTemplate {
 public:
  // Errors: place (line, column), and what Jinja2 has and this has not, by name.
  static Result<ChatTemplate> parse(std::string_view jinja);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // `variables`: an object, e.g. messages, tools, add_generation_prompt, bos_token, eos_token and what a client passes
  // as chat_template_kwargs. kInvalid: what the template raises itself (raise_exception), a type error with its place,
  // a run of more than a million steps, an answer beyond 64 MiB.
  Result<std::string> render(const Json& variables) const;

 private:
  struct Node;
  explicit ChatTemplate(std::unique_ptr<const Node> root);
  std::unique_ptr<const Node> root_;
};

}  // namespace ridge::text
