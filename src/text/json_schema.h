// JSON schema → automaton. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_program.h"

namespace ridge::text {

// A document within a text: `begin`, white space, `before`, the document, `after`, white space, `end`.
struct JsonInText {
  std::string begin, before;
  const Json* schema = nullptr;
  std::string after, end;
  std::string name;  // of the schema, for errors
};

// The same as JsonGrammar::of().
Result<JsonProgram> compile_schema(const Json& schema);
// The same as JsonGrammar::of_expression() and of_choice().
Result<JsonProgram> compile_expression(std::string_view expression);
Result<JsonProgram> compile_choice(const std::vector<std::string>& texts);
Result<JsonProgram> compile_texts(std::span<const JsonInText> texts, bool several);

}  // namespace ridge::text
