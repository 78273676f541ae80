// Files of an engine's own format, which no other engine opens.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/engines.h"

namespace ridge::engine {

// The engine whose own format a file of that name has; null: it is for all of them.
const Engine* owner_of(const std::string& file);
// The engine for the file: the requested one, else the owner, else plan::kUsualEngine. kInvalid: no engine has that
// name, or the file is of another one's format.
Result<std::string> engine_for(const std::string& file, const std::string& requested);

}  // namespace ridge::engine
