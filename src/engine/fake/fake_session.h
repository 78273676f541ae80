// An engine that does as its script says: for tests of everything that stands on engines. docs/contracts.md, "The fake
// engine". Deterministic but for what the clock's sleep adds, which a fake clock's does not.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace ridge::engine::fake {

Info engine_info();
Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan, Clock& clock);

}  // namespace ridge::engine::fake
