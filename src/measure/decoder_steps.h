// Measures steps of a decoder (engine/decoder.h): prefills and decodes of several sizes, interleaved. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "measure/interval.h"
#include "measure/stop_rule.h"

namespace ridge::measure {

// `steps` steps one after the other. In each, each of `sequences` gets `tokens` more tokens, and its last one a row of
// logits; before the first, `past` tokens of each are in the cache.
struct StepCase {
  int64_t sequences = 1, past = 0, tokens = 1, steps = 1;
};
// Blocks of the cache that all of them together need: the sequences share them, as one case runs at a time.
int64_t blocks_of(std::span<const StepCase> cases, const engine::CacheShape& cache);

struct StepTime {
  double seconds = 0;  // of one step: the median over the rounds of the mean over the case's steps
  Interval ci95;       // of the median; empty: too few rounds
};

struct StepTimes {
  std::vector<StepTime> cases;  // in the order of the cases
  int rounds = 0;
  bool converged = false;  // all are known well enough, relative to the first
  bool interrupted = false;
};

struct StepsOptions {
  uint64_t seed = 1;  // of tokens and orders
  // Counts rounds. The interval is that of the cases' ratios to the first one.
  StopOptions stop{.min_samples = 5, .min_time = Nanoseconds(0)};
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// fill the cache → run every case once, uncounted → rounds. Tokens are random: their choice takes no part of the time.
// Errors: the decoder's; kCancelled before the first round was whole.
Result<StepTimes> measure_steps(engine::Decoder& decoder, std::span<const StepCase> cases, const StepsOptions& options,
                                const Clock& clock);

}  // namespace ridge::measure
