// An engine that follows its script, for tests of everything above engines. docs/contracts.md, "The fake engine".
// Deterministic except for the clock's oversleeping, which a fake clock does not have.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace ridge::engine::fake {

Info engine_info();
Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan, Clock& clock);

}  // namespace ridge::engine::fake
