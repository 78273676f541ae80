// Intel's cards by Level Zero's system management (sysman), opened at run time: what cards there are and how they fare.
// Absent, too old, without permission and lost cards are values with a reason.
// Not for changing anything on a card, and not for the graphics inside a processor, which are left out. One thread; a
// call into a broken driver may hang, so ask from a child process (doctor/bounded.h) where that must not matter.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/card.h"

namespace ridge::gpu {

namespace level_zero {
struct Library;  // the typed table of functions and the devices found, level_zero_card.h
}

// Move-only owner of the open and initialised loader.
class LevelZero {
 public:
  // `library`: a path; empty: the environment variable RIDGE_LEVEL_ZERO, else libze_loader.so.1 by the loader's search.
  // The error says whether there is no library (kNotFound), it is too old (kUnsupported), or it refuses to start
  // (kUnavailable: no driver for it, no permission). Loaders before 1.5 are started with ZES_ENABLE_SYSMAN=1 set in
  // this process's environment.
  static Result<LevelZero> open(const std::string& library = "");

  LevelZero(LevelZero&& other) noexcept;
  LevelZero& operator=(LevelZero&& other) noexcept;
  LevelZero(const LevelZero&) = delete;
  LevelZero& operator=(const LevelZero&) = delete;
  ~LevelZero();

  int count() const;
  // The whole system. Takes a tenth of a second: power and use are told only as the growth of counters.
  CardSystem system() const;

 private:
  explicit LevelZero(std::unique_ptr<level_zero::Library> library);
  std::unique_ptr<level_zero::Library> library_;
};

}  // namespace ridge::gpu
