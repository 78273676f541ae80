// The engine of tests, which follows a script (docs/contracts.md, "The fake engine"). It is a library that lies beside
// the program where tests run, tests/unit/engine/fake, and is not installed.
#pragma once

#include <memory>

#include "base/clock.h"
#include "engine/own_library.h"

namespace ridge::engine {

struct FakeEngine {
  const char* built;  // build_id() of the library; always stays first
  Result<std::unique_ptr<Session>> (*open)(const plan::Plan& plan, Clock& clock);
  Info (*info)();
  Result<std::unique_ptr<Decoder>> (*open_decoder)(const DecoderPlan& plan, Clock& clock);
};

constexpr const char* kFakeEngineEntry = "ridge_fake_engine";  // extern "C" const FakeEngine*()

// Opened once. Error kNotFound: it is not beside the program.
Result<const FakeEngine*> fake_engine();

}  // namespace ridge::engine
