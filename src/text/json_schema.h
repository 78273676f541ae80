// JSON schema → automaton. Pure.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "text/json_program.h"

namespace ridge::text {

// As JsonGrammar::of().
Result<JsonProgram> compile_schema(const Json& schema);

}  // namespace ridge::text
