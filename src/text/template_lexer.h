// The text of a template → what it prints as it stands, and the tokens between its delimiters: Jinja2's lexer, with
// trim_blocks and lstrip_blocks, as the `transformers` library sets them. Throws TemplateError.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::text {

struct TemplateToken {
  enum class Kind {
    kData,
    kBlockBegin,
    kBlockEnd,
    kVariableBegin,
    kVariableEnd,
    kName,
    kText,
    kInteger,
    kFloat,
    kOperator,
    kEnd
  };
  Kind kind;
  std::string text;  // of a text: what it says
  int line = 1, column = 1;
};

std::vector<TemplateToken> lex_template(std::string_view source);

}  // namespace ridge::text
