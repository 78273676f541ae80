#include "measure/decoder_steps.h"

#include <gtest/gtest.h>

#include <set>

#include "base/fake_clock.h"

namespace ridge::measure {
namespace {

// Takes 1 ms per new token and 1 µs per cached one, and checks what a cache would lose.
class CountingDecoder final : public engine::Decoder {
 public:
  explicit CountingDecoder(Clock& clock) : clock_(clock) {
    info_.vocabulary = 50;
    info_.context = 1000;
    info_.cache = {.block_tokens = 8, .bytes_per_block = 1};
  }
  const engine::DecoderInfo& info() const override { return info_; }
  Status reserve(int64_t blocks) override {
    written_.assign(static_cast<size_t>(blocks * 8), -1);
    return {};
  }
  Result<engine::Logits> step(std::span<const engine::StepSequence> sequences) override {
    if (++steps_ == failing_) return Error{Code::kFailed, "broken"};
    double ms = 0;
    std::set<int32_t> blocks;
    for (const engine::StepSequence& sequence : sequences) {
      ms += static_cast<double>(sequence.tokens.size()) + static_cast<double>(sequence.past) / 1000;
      for (const int32_t block : sequence.blocks) EXPECT_TRUE(blocks.insert(block).second) << "shared block";
      for (int64_t i = 0; i < sequence.past; ++i) EXPECT_GE(slot(sequence, i), 0) << "position was never written";
      for (size_t i = 0; i < sequence.tokens.size(); ++i) {
        int64_t& there = slot(sequence, sequence.past + static_cast<int64_t>(i));
        EXPECT_TRUE(there < 0 || there == sequence.tokens[i]) << "position got another token";
        there = sequence.tokens[i];
        EXPECT_LT(there, 50);
      }
    }
    clock_.sleep_for(from_seconds(ms / 1e3));
    return engine::Logits{};
  }
  int64_t failing_ = 0;

 private:
  int64_t& slot(const engine::StepSequence& sequence, int64_t position) {
    return written_[static_cast<size_t>(sequence.blocks[static_cast<size_t>(position / 8)] * 8 + position % 8)];
  }
  Clock& clock_;
  engine::DecoderInfo info_;
  std::vector<int64_t> written_;
  int64_t steps_ = 0;
};

// Prefill of 40, decodes of three sequences from 40 on, 10 tokens after 30.
constexpr StepCase kCases[] = {{1, 0, 40, 1}, {3, 40, 1, 4}, {1, 30, 10, 1}};

TEST(DecoderSteps, TimesEachCaseOnFilledCaches) {
  FakeClock clock;
  CountingDecoder decoder(clock);
  const Result<StepTimes> times = measure_steps(decoder, kCases, {}, clock);
  ASSERT_TRUE(times) << times.error().message;
  ASSERT_EQ(times->cases.size(), 3);
  EXPECT_NEAR(times->cases[0].seconds, 40e-3, 1e-9);
  EXPECT_NEAR(times->cases[1].seconds, 3e-3 + 3 * 41.5e-6, 1e-9);  // mean of 40 … 43 cached tokens
  EXPECT_NEAR(times->cases[2].seconds, 10e-3 + 30e-6, 1e-9);
  EXPECT_TRUE(times->converged);
  EXPECT_EQ(times->rounds, 5);
}

TEST(DecoderSteps, NeedBlocksForTheLongestSequenceAndTheLargestBatch) {
  EXPECT_EQ(blocks_of(kCases, {.block_tokens = 8, .bytes_per_block = 1}), 3 * 6);  // 44 tokens
  EXPECT_EQ(blocks_of(kCases, {.block_tokens = 44, .bytes_per_block = 1}), 3 * 1);
}

TEST(DecoderSteps, ReportWhyAStepFailed) {
  FakeClock clock;
  for (const int64_t failing : {1, 5, 20}) {
    CountingDecoder decoder(clock);
    decoder.failing_ = failing;
    const Result<StepTimes> times = measure_steps(decoder, kCases, {}, clock);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().message, "broken");
  }
}

TEST(DecoderSteps, KeepWholeRoundsWhenInterrupted) {
  FakeClock clock;
  CountingDecoder decoder(clock);
  StepsOptions options;
  int polls = 0;
  options.interrupted = [&] { return ++polls > 4; };  // thrice while the cache is filled
  const Result<StepTimes> times = measure_steps(decoder, kCases, options, clock);
  ASSERT_TRUE(times);
  EXPECT_TRUE(times->interrupted);
  EXPECT_EQ(times->rounds, 2);
  options.interrupted = [] { return true; };
  EXPECT_EQ(measure_steps(decoder, kCases, options, clock).error().code, Code::kCancelled);
}

}  // namespace
}  // namespace ridge::measure
