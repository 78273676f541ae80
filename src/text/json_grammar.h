// A JSON schema → the documents that a model may write for it, read byte by byte (response_format of the OpenAI API).
// Not for judging documents: what is accepted is valid for the schema, but not every valid document is accepted.
// docs/contracts.md, "JSON schemas of answers", says which.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_schema.h"
#include "text/json_states.h"

namespace ridge::text {

// Immutable; thread-safe; a copy shares what was compiled.
class JsonGrammar {
 public:
  // {}: any JSON object (response_format json_object). Errors name the place in the schema ("#/properties/a/pattern").
  // kUnsupported: a keyword that is not supported here, or not beside another one. kInvalid: not a JSON schema, or no
  // document of at most kMostJsonDepth levels is valid for it. kExhausted: too many nodes, alternatives or properties.
  static Result<JsonGrammar> of(const Json& schema);
  // One of these texts, at least one; with `several` one after another, white space between them.
  static Result<JsonGrammar> of(std::span<const JsonInText> texts, bool several);
  // No JSON: a text that the expression describes whole (errors as of `pattern`), or one of these, none empty.
  static Result<JsonGrammar> of_expression(std::string_view expression);
  static Result<JsonGrammar> of_choice(const std::vector<std::string>& texts);
  const std::shared_ptr<const JsonProgram>& program() const { return program_; }

 private:
  static Result<JsonGrammar> made(Result<JsonProgram> program);
  explicit JsonGrammar(std::shared_ptr<const JsonProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const JsonProgram> program_;
};

// Where a document stands. Copied cheaply; copies share states: one thread. Every state leads to a whole document.
class JsonState {
 public:
  explicit JsonState(const JsonGrammar& grammar) : JsonState(std::make_shared<JsonStates>(grammar.program())) {}
  explicit JsonState(std::shared_ptr<JsonStates> states) : states_(std::move(states)), number_(states_->begin()) {}

  // False: these bytes are not allowed here, and the state is as it was.
  bool accept(std::string_view bytes);
  // The document may end here.
  bool may_end() const { return states_->may_end(number_); }
  const std::shared_ptr<JsonStates>& states() const { return states_; }
  uint32_t number() const { return number_; }
  // The same place in other states of the grammar.
  void move_to(std::shared_ptr<JsonStates> states);

 private:
  std::shared_ptr<JsonStates> states_;
  uint32_t number_;
};

}  // namespace ridge::text
