#include "text/json_grammar.h"

#include "text/json_schema.h"

namespace ridge::text {

Result<JsonGrammar> JsonGrammar::made(Result<JsonProgram> program) {
  if (!program) return std::move(program).error();
  return JsonGrammar(std::make_shared<const JsonProgram>(std::move(*program)));
}

Result<JsonGrammar> JsonGrammar::of(const Json& schema) { return made(compile_schema(schema)); }
Result<JsonGrammar> JsonGrammar::of(std::span<const JsonInText> texts, bool several) {
  return made(compile_texts(texts, several));
}
Result<JsonGrammar> JsonGrammar::of_expression(std::string_view expression) {
  return made(compile_expression(expression));
}
Result<JsonGrammar> JsonGrammar::of_choice(const std::vector<std::string>& texts) {
  return made(compile_choice(texts));
}

bool JsonState::accept(std::string_view bytes) {
  constexpr size_t kMostBytes = 32 << 20;  // of states
  if (states_->bytes() > kMostBytes) move_to(std::make_shared<JsonStates>(states_->program()));
  uint32_t at = number_;
  for (const char byte : bytes) {
    at = states_->next(at, static_cast<uint8_t>(byte));
    if (at == JsonStates::kNone) return false;
  }
  number_ = at;
  return true;
}

void JsonState::move_to(std::shared_ptr<JsonStates> states) {
  number_ = states->adopt(*states_, number_);
  states_ = std::move(states);
}

}  // namespace ridge::text
