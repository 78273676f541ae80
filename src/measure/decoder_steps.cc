#include "measure/decoder_steps.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "measure/interleave.h"
#include "measure/statistics.h"

namespace ridge::measure {
namespace {

constexpr int64_t kFillTokens = 512;  // of a step that fills the cache

int64_t length_of(const StepCase& c) { return c.past + c.steps * c.tokens; }

int64_t longest(std::span<const StepCase> cases) {
  int64_t tokens = 0;
  for (const StepCase& c : cases) tokens = std::max(tokens, length_of(c));
  return tokens;
}

int64_t most_sequences(std::span<const StepCase> cases) {
  int64_t sequences = 0;
  for (const StepCase& c : cases) sequences = std::max(sequences, c.sequences);
  return sequences;
}

int64_t blocks_per_sequence(std::span<const StepCase> cases, const engine::CacheShape& cache) {
  return cache.blocks_for(longest(cases));
}

// Sequences of random tokens with own blocks. A position's token is fixed: a case that runs again rewrites it.
class CachedSequences {
 public:
  CachedSequences(engine::Decoder& decoder, std::span<const StepCase> cases, uint64_t seed)
      : decoder_(decoder),
        tokens_(static_cast<size_t>(longest(cases))),
        blocks_(static_cast<size_t>(blocks_of(cases, decoder.info().cache))),
        blocks_each_(static_cast<size_t>(blocks_per_sequence(cases, decoder.info().cache))) {
    std::mt19937_64 random(seed);
    const auto vocabulary = static_cast<uint64_t>(decoder.info().vocabulary);
    std::generate(tokens_.begin(), tokens_.end(), [&] { return static_cast<int32_t>(random() % vocabulary); });
    std::iota(blocks_.begin(), blocks_.end(), 0);
  }

  Status reserve() { return decoder_.reserve(static_cast<int64_t>(blocks_.size())); }

  Status run(int64_t sequences, int64_t past, int64_t tokens) {
    step_.clear();
    for (size_t s = 0; s < static_cast<size_t>(sequences); ++s)
      step_.push_back({past, std::span(tokens_).subspan(static_cast<size_t>(past), static_cast<size_t>(tokens)),
                       std::span(blocks_).subspan(s * blocks_each_, blocks_each_), 1});
    const Result<engine::Logits> logits = decoder_.step(step_);
    return logits ? Status() : logits.error();
  }

  // The first `tokens` positions of one sequence after the other.
  Status fill(int64_t sequence, int64_t tokens) {
    for (int64_t past = 0; past < tokens; past += kFillTokens) {
      const int64_t now = std::min(kFillTokens, tokens - past);
      const engine::StepSequence step = {
          past, std::span(tokens_).subspan(static_cast<size_t>(past), static_cast<size_t>(now)),
          std::span(blocks_).subspan(static_cast<size_t>(sequence) * blocks_each_, blocks_each_), 0};
      RIDGE_TRY(decoder_.step({&step, 1}));
    }
    return {};
  }

 private:
  engine::Decoder& decoder_;
  std::vector<int32_t> tokens_;  // of every sequence
  std::vector<int32_t> blocks_;
  size_t blocks_each_;
  std::vector<engine::StepSequence> step_;
};

Status run_case(CachedSequences& cached, const StepCase& c) {
  for (int64_t i = 0; i < c.steps; ++i) RIDGE_TRY(cached.run(c.sequences, c.past + i * c.tokens, c.tokens));
  return {};
}

// Fills the cache for the cases.
Status fill_cache(CachedSequences& cached, std::span<const StepCase> cases, const StepsOptions& options) {
  const int64_t sequences = most_sequences(cases);
  for (int64_t s = 0; s < sequences; ++s) {
    if (options.interrupted && options.interrupted()) return Error{Code::kCancelled, "interrupted"};
    if (options.progress) options.progress("fill the cache", static_cast<double>(s) / static_cast<double>(sequences));
    int64_t past = 0;
    for (const StepCase& c : cases)
      if (c.sequences > s) past = std::max(past, c.past);
    RIDGE_TRY(cached.fill(s, past));
  }
  return {};
}

StepTime time_of(std::span<const Round> rounds, size_t arm) {
  std::vector<double> seconds;
  for (const Round& round : rounds) seconds.push_back(1 / round[arm].front().rate);
  StepTime time;
  time.seconds = median(seconds);
  time.ci95 = percentile_interval(seconds, 50);
  return time;
}

}  // namespace

int64_t blocks_of(std::span<const StepCase> cases, const engine::CacheShape& cache) {
  return most_sequences(cases) * blocks_per_sequence(cases, cache);
}

Result<StepTimes> measure_steps(engine::Decoder& decoder, std::span<const StepCase> cases, const StepsOptions& options,
                                const Clock& clock) {
  CachedSequences cached(decoder, cases, options.seed);
  RIDGE_TRY(cached.reserve());
  RIDGE_TRY(fill_cache(cached, cases, options));
  for (const StepCase& c : cases) RIDGE_TRY(run_case(cached, c));
  std::vector<Arm> arms;
  for (const StepCase& c : cases)
    arms.push_back({"step", [&, c]() -> Result<std::vector<Slice>> {
                      const TimePoint begin = clock.now();
                      RIDGE_TRY(run_case(cached, c));
                      return std::vector{Slice{.rate = static_cast<double>(c.steps) / to_seconds(clock.now() - begin)}};
                    }});
  InterleaveOptions rounds{.stop = options.stop, .seed = options.seed, .interrupted = options.interrupted};
  const TimePoint begin = clock.now();
  rounds.interrupted = [&] {
    if (options.progress)
      options.progress("measure steps", to_seconds(clock.now() - begin) / to_seconds(options.stop.max_time));
    return options.interrupted && options.interrupted();
  };
  const InterleavedResult result = interleave(arms, rounds, clock);
  if (result.failed_arm) return result.failure;
  if (result.rounds.empty()) return Error{Code::kCancelled, "interrupted before the first round was complete"};
  StepTimes times;
  for (size_t arm = 0; arm < arms.size(); ++arm) times.cases.push_back(time_of(result.rounds, arm));
  times.rounds = static_cast<int>(result.rounds.size());
  times.converged = result.verdict == Verdict::kConverged;
  times.interrupted = result.interrupted;
  return times;
}

}  // namespace ridge::measure
