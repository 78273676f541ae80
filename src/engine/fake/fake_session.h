// An engine that does as its script says: for tests of everything that stands on engines. docs/formats.md, "The fake
// engine". Deterministic but for the operating system's sleep.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace ridge::engine::fake {

Info engine_info();
Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan);

}  // namespace ridge::engine::fake
