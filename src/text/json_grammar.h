// A JSON schema → the documents that a model may write for it, read byte by byte (response_format of the OpenAI API). Not for judging documents: what is
// accepted is valid for the schema, but not every valid document is accepted. docs/contracts.md, "JSON schemas of answers", says which.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_machine.h"
#include "text/json_schema.h"

namespace ridge::text {

// Immutable; thread-safe; a copy shares what was compiled.
class JsonGrammar {
 public:
  // {}: any JSON object (response_format json_object). Errors name the place in the schema ("#/properties/a/pattern"). kUnsupported: a keyword that is not
  // supported here, or not beside another one. kInvalid: not a JSON schema, or no document of at most kMostJsonDepth levels is valid for it.
  // kExhausted: more nodes, alternatives or properties than are kept.
  static Result<JsonGrammar> of(const Json& schema);
  // One of these texts, at least one; with `several` one after another, white space between them.
  static Result<JsonGrammar> of(std::span<const JsonInText> texts, bool several);
  const JsonProgram& program() const { return *program_; }

 private:
  explicit JsonGrammar(std::shared_ptr<const JsonProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const JsonProgram> program_;
};

// Where a document stands. Copied cheaply; one thread. From every state there is a way to a whole document.
class JsonState {
 public:
  explicit JsonState(JsonGrammar grammar);

  // False: these bytes are not allowed here, and the state is as it was.
  bool accept(std::string_view bytes);
  // The document may end here.
  bool may_end() const;
  const JsonMachine& machine() const { return machine_; }
  const std::vector<JsonBranch>& branches() const { return branches_; }

 private:
  JsonGrammar grammar_;
  JsonMachine machine_;
  std::vector<JsonBranch> branches_;
};

}  // namespace ridge::text
