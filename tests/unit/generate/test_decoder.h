// For tests: a decoder whose logits are a hash of what its cache holds of a sequence, as its block table shows it.
// Wrong blocks, wrong positions and stale content change the answer. A scheduler that is driven with it, in simulated
// time.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "generate/scheduler.h"

namespace ridge::generate {

class HashDecoder {
 public:
  // `window`: number of last positions that make the next token (a small one makes texts that repeat); 0: all.
  HashDecoder(int64_t blocks, int64_t block_tokens, int32_t vocabulary, int64_t window)
      : block_tokens_(block_tokens), vocabulary_(vocabulary), window_(window), values_(blocks * block_tokens, kUnset) {}

  engine::Logits step(std::span<const engine::StepSequence> sequences) {
    logits_.clear();
    check_blocks(sequences);
    int64_t rows = 0;
    for (const auto& sequence : sequences) {
      const auto count = static_cast<int64_t>(sequence.tokens.size());
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t state = compute(sequence, sequence.past + i, sequence.tokens[i]);
        if (i < count - sequence.samples) continue;
        add_row(state);
        ++rows;
      }
    }
    return {logits_, rows};
  }

 private:
  static constexpr uint64_t kUnset = 0xDEAD;

  // Checks that a step writes to no other sequence's blocks.
  void check_blocks(std::span<const engine::StepSequence> sequences) const {
    std::map<int32_t, int> uses;
    for (const auto& sequence : sequences) {
      ASSERT_GE(sequence.tokens.size(), 1U);
      const int64_t end = sequence.past + static_cast<int64_t>(sequence.tokens.size());
      ASSERT_GE(static_cast<int64_t>(sequence.blocks.size()) * block_tokens_, end);
      for (const int32_t block : std::set<int32_t>(sequence.blocks.begin(), sequence.blocks.end())) ++uses[block];
    }
    for (const auto& sequence : sequences) {
      for (int64_t i = sequence.past / block_tokens_; i < static_cast<int64_t>(sequence.blocks.size()); ++i)
        ASSERT_EQ(uses[sequence.blocks[i]], 1) << "a block that is written is another sequence's too";
    }
  }

  uint64_t compute(const engine::StepSequence& sequence, int64_t position, int32_t token) {
    const auto slot = [&](int64_t at) -> uint64_t& {
      return values_[sequence.blocks[at / block_tokens_] * block_tokens_ + at % block_tokens_];
    };
    uint64_t state = split_mix(static_cast<uint64_t>(token) + kGoldenGamma);
    uint64_t own = window_ == 0 ? split_mix(state + static_cast<uint64_t>(position)) : state;
    const int64_t first = window_ == 0 ? 0 : std::max<int64_t>(position - window_ + 1, 0);
    for (int64_t at = first; at < position; ++at) {
      EXPECT_NE(slot(at), kUnset) << "position " << at << " was never written";
      state = split_mix(state ^ (slot(at) + static_cast<uint64_t>(position - at)));
    }
    // Kept values tell of all positions before them, as keys and values of a deep layer do.
    if (window_ == 0) own ^= state;
    slot(position) = own;
    return split_mix(state + 1);
  }

  void add_row(uint64_t state) {
    for (int32_t token = 0; token < vocabulary_; ++token) {
      const uint64_t bits = split_mix(state + static_cast<uint64_t>(token) * kGoldenGamma);
      logits_.push_back(static_cast<float>(bits >> 40) * 0x1p-24F * 8 - 4);
    }
  }

  int64_t block_tokens_;
  int32_t vocabulary_;
  int64_t window_;
  std::vector<uint64_t> values_;  // [block, token]
  std::vector<float> logits_;
};

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<PromptChance> prompt_chances;
  std::vector<Nanoseconds> times;  // of the tokens
  int64_t reused = 0;
  Nanoseconds started{};
  Finish finish = Finish::kNone;
  int ends = 0;
};

// A scheduler, its decoder and a clock that the true line moves.
class Simulation {
 public:
  explicit Simulation(Settings settings, int64_t window = 0, int32_t vocabulary = 32, StepLine truth = {})
      : scheduler(settings),
        truth_(truth.known() ? truth : settings.line),
        decoder_(settings.blocks, settings.cache.block_tokens, vocabulary, window) {}

  Status add(Request request) {
    request.arrived = now;
    return scheduler.add(std::move(request), now);
  }
  // One round; false: there was nothing to run.
  bool round() {
    const Step step = scheduler.next(now);
    take(scheduler.take_ended());
    ++steps;
    if (step.sequences.empty()) return scheduler.figures().running > 0;  // they wait for their filters
    if (seen) seen(step);
    const engine::Logits logits = decoder_.step(step.sequences);
    now += from_seconds(truth_.seconds(step.load));
    if (during) during();
    take(scheduler.done(logits, now));
    take(scheduler.take_ended());
    return true;
  }
  void run() {
    while (round()) ASSERT_LT(steps, 100000) << "the scheduler does not come to an end";
  }
  void take(const std::vector<Event>& events) {
    for (const Event& event : events) {
      Answer& answer = answers[event.id];
      EXPECT_EQ(answer.ends, 0) << "an event of a request that had ended: " << event.id;
      if (event.token) {
        answer.tokens.push_back(*event.token);
        answer.times.push_back(now);
      }
      if (event.chance) answer.logprobs.push_back(event.chance->logprob);
      if (!event.prompt_chances.empty()) {
        EXPECT_TRUE(answer.prompt_chances.empty());
        answer.prompt_chances = event.prompt_chances;
      }
      answer.reused = event.reused_tokens;
      answer.started = event.started;
      if (event.finish == Finish::kNone) continue;
      answer.finish = event.finish;
      ++answer.ends;
    }
  }

  Scheduler scheduler;
  Nanoseconds now{};
  int steps = 0;
  std::map<Id, Answer> answers;
  std::function<void(const Step&)> seen;
  std::function<void()> during;  // while a step runs

 private:
  StepLine truth_;
  HashDecoder decoder_;
};

inline Settings test_settings(int64_t blocks = 64, int64_t block_tokens = 4) {
  Settings settings;
  settings.cache = {block_tokens, 1024};
  settings.blocks = blocks;
  settings.context = 4096;
  settings.line = {.floor = 5e-3, .fixed = 3e-3, .per_token = 0.5e-3, .per_cached = 1e-6};
  return settings;
}

// Tokens from a seed.
inline std::vector<int32_t> test_prompt(uint64_t seed, int64_t tokens, int32_t vocabulary = 32) {
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < tokens; ++i)
    prompt.push_back(
        static_cast<int32_t>(split_mix(seed * 1000 + static_cast<uint64_t>(i)) % static_cast<uint64_t>(vocabulary)));
  return prompt;
}

// As stop tokens they make answers of one token.
inline std::vector<int32_t> all_tokens(int32_t vocabulary) {
  std::vector<int32_t> tokens(static_cast<size_t>(vocabulary));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

inline Request test_request(Id id, std::vector<int32_t> prompt, int64_t most_tokens, double temperature = 0) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.most_tokens = most_tokens;
  request.sampling.temperature = temperature;
  request.sampling.seed = id;
  return request;
}

}  // namespace ridge::generate
