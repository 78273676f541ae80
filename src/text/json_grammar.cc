#include "text/json_grammar.h"

#include <algorithm>

#include "text/json_schema.h"

namespace ridge::text {

Result<JsonGrammar> JsonGrammar::of(const Json& schema) {
  RIDGE_ASSIGN(JsonProgram program, compile_schema(schema));
  return JsonGrammar(std::make_shared<const JsonProgram>(std::move(program)));
}

Result<JsonGrammar> JsonGrammar::of(std::span<const JsonInText> texts, bool several) {
  RIDGE_ASSIGN(JsonProgram program, compile_texts(texts, several));
  return JsonGrammar(std::make_shared<const JsonProgram>(std::move(program)));
}

JsonState::JsonState(JsonGrammar grammar) : grammar_(std::move(grammar)), machine_(grammar_.program()) {
  machine_.begin(branches_);
}

bool JsonState::accept(std::string_view bytes) {
  JsonMachine machine = machine_;
  std::vector<JsonBranch> branches = branches_, next;
  for (const char byte : bytes) {
    next.clear();
    for (const JsonBranch& branch : branches) machine.step(branch, static_cast<uint8_t>(byte), next);
    if (next.empty()) return false;
    branches.swap(next);
  }
  machine.compact(branches);
  machine_ = std::move(machine);
  branches_ = std::move(branches);
  return true;
}

bool JsonState::may_end() const {
  return std::any_of(branches_.begin(), branches_.end(),
                     [&](const JsonBranch& branch) { return machine_.may_end(branch); });
}

}  // namespace ridge::text
