// SharedContest: opens all models untuned (each with its engine's defaults, batch 1) once, and measures splits in turns with
// them, slice by slice (A B B A …): all models of a side run at once. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "tune/implementation.h"
#include "tune/share/shared_trial.h"
#include "tune/share/splits.h"

namespace ridge::tune::share {

// One model: what all its candidates share, and what they may name.
struct Sharer {
  plan::Plan base;
  const model::Graph* graph = nullptr;  // may be null
  std::vector<Implementation> implementations;
};

struct SharedContestOptions {
  std::function<bool()> interrupted;                  // polled; may be empty
  Nanoseconds slice = std::chrono::milliseconds(60);  // at least
  double seconds = 60;                                // of the whole search: a trial takes a share of it at most
  uint64_t seed = 1;                                  // of the inputs
};

class SharedContest {
 public:
  static Result<std::unique_ptr<SharedContest>> open(std::vector<Sharer> sharers, SharedContestOptions options);
  ~SharedContest();

  // A split that cannot be opened or run is a trial with `failure`; an Error means that the untuned models failed, or
  // kCancelled.
  Result<SharedTrial> measure(const Split& split, Effort effort);

 private:
  struct State;
  explicit SharedContest(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What one model did at its load while the others were at theirs.
struct AtLoad {
  double asked_per_s = 0, done_per_s = 0;  // rows
  double request_p99_ms =
      0;  // from the intended moment; where rows are merged, the first one's wait for the others (derived) too
  int64_t runs = 0;
};

// A split by itself, at the end: whoever wants it alone closes all other sessions first.
struct Proof {
  int64_t resident_bytes = 0;                  // of this process, after all of it
  std::vector<std::optional<AtLoad>> at_load;  // per member; absent where none is asked for
};
// Models without a load are kept busy meanwhile. At least a second, and as long as the rarest load needs for 200 runs, but at
// most `options.seconds` / 4; a load of which that time would see less than ten runs is raised to ten.
Result<Proof> prove(std::span<const Sharer> sharers, std::span<const Member> members, const Split& split,
                    const SharedContestOptions& options);
// Why it does not bear out the goals: less than four fifths of a load is done (random arrivals alone make a few per cent), or a
// request's p99 is above its goal; empty = it does.
std::string refuted(const Proof& proof, std::span<const Member> members);

// Every model with its engine's defaults.
Split untuned_split(size_t models);

}  // namespace ridge::tune::share
