// Gathers the facts that only engines can provide: which load, and which execution providers run a small model. Each is
// gathered in a child process with a time limit, because a provider may hang or crash with its driver.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "doctor/engines.h"

namespace ridge::doctor {

struct EngineQuestions {
  std::string library;              // --engine-library
  std::vector<std::string> wanted;  // --provider: those that must run
  Nanoseconds limit{};              // of each child
};

// Call it while the process has one thread.
std::vector<EngineFacts> gather_engines(const EngineQuestions& questions);

}  // namespace ridge::doctor
