#include "engine/fake/fake_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::engine::fake {
namespace {

constexpr int64_t kVocabulary = 256;  // of a decoder without a script

std::vector<int32_t> some_tokens(int count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>((i * 37 + 5) % 256);
  return tokens;
}

std::unique_ptr<Decoder> unscripted(int64_t blocks = 8) {
  Result<std::unique_ptr<Decoder>> decoder = engine::open_decoder({.engine = "fake"});
  EXPECT_TRUE(decoder.ok() && (*decoder)->reserve(blocks).ok());
  return std::move(*decoder);
}

// Peak of the only row.
int32_t peak(const Result<Logits>& logits) {
  EXPECT_TRUE(logits.ok()) << logits.error().message;
  EXPECT_EQ(logits->rows, 1);
  return static_cast<int32_t>(std::max_element(logits->values.begin(), logits->values.end()) - logits->values.begin());
}

int32_t step_of(Decoder& decoder, int64_t past, std::span<const int32_t> tokens, std::span<const int32_t> blocks) {
  const StepSequence sequence{past, tokens, blocks, 1};
  return peak(decoder.step({&sequence, 1}));
}

TEST(FakeDecoder, GivesTheSameTokenInOnePieceAndInChunks) {
  const std::vector<int32_t> tokens = some_tokens(40), blocks = {5, 0, 3};
  auto decoder = unscripted();
  const int32_t expected = expected_next(tokens, kVocabulary);
  EXPECT_EQ(step_of(*decoder, 0, tokens, blocks), expected);
  const std::span<const int32_t> all(tokens);
  EXPECT_EQ(step_of(*decoder, 0, all.first(17), blocks), expected_next(all.first(17), kVocabulary));
  EXPECT_EQ(step_of(*decoder, 17, all.subspan(17), blocks), expected);
}

TEST(FakeDecoder, NoticesAWrongBlockAWrongPositionAndABlockOfAnotherSequence) {
  const std::vector<int32_t> tokens = some_tokens(33), blocks = {0, 1, 2}, swapped = {1, 0, 2}, shared = {4, 1, 5};
  const std::span<const int32_t> all(tokens);
  auto decoder = unscripted();
  step_of(*decoder, 0, all.first(32), blocks);
  const int32_t right = expected_next(tokens, kVocabulary);
  EXPECT_NE(step_of(*decoder, 32, all.last(1), swapped), right);
  EXPECT_NE(step_of(*decoder, 31, all.last(1), blocks), right);
  step_of(*decoder, 0, all.first(32), blocks);
  EXPECT_EQ(step_of(*decoder, 32, all.last(1), blocks), right);
  // The same tokens after others are not a prefix.
  const std::vector<int32_t> other(16, 9);
  step_of(*decoder, 0, other, shared);
  std::vector<int32_t> text(other);
  text.insert(text.end(), tokens.begin() + 16, tokens.end());
  EXPECT_NE(step_of(*decoder, 32, all.last(1), shared), expected_next(text, kVocabulary));
  step_of(*decoder, 0, other, std::vector<int32_t>{1});
  EXPECT_NE(step_of(*decoder, 32, all.last(1), blocks), right) << "block 1 was overwritten";
}

TEST(FakeDecoder, GivesRowsInTheOrderOfSequencesAndPositions) {
  const std::vector<int32_t> tokens = some_tokens(20), first = {0, 1}, second = {2}, third = {3};
  const std::span<const int32_t> all(tokens);
  auto decoder = unscripted();
  const StepSequence sequences[] = {{0, all, first, 3}, {0, all.first(4), second, 0}, {0, all.first(7), third, 1}};
  const Result<Logits> logits = decoder->step(sequences);
  ASSERT_TRUE(logits.ok());
  ASSERT_EQ(logits->rows, 4);
  std::vector<float> expected;
  for (const size_t length : {18, 19, 20, 7}) {
    const std::vector<float> row = expected_logits(all.first(length), kVocabulary);
    expected.insert(expected.end(), row.begin(), row.end());
  }
  EXPECT_TRUE(std::ranges::equal(logits->values, expected));
}

TEST(FakeDecoder, RefusesWhatNoDecoderTakes) {
  const std::vector<int32_t> tokens = some_tokens(17), foreign = {256}, negative = {-1}, blocks = {0, 1}, few = {0},
                             unknown = {0, 8};
  const std::vector<int32_t> long_text(4097, 1), many_blocks(257, 0);
  const StepSequence wrong[] = {{0, {}, blocks, 0},      {0, foreign, blocks, 1},        {0, negative, blocks, 1},
                                {0, tokens, few, 1},     {0, tokens, unknown, 1},        {0, tokens, blocks, 18},
                                {-1, tokens, blocks, 1}, {0, long_text, many_blocks, 1}, {0, tokens, blocks, -1}};
  auto decoder = unscripted();
  for (const StepSequence& sequence : wrong) {
    const Result<Logits> logits = decoder->step({&sequence, 1});
    ASSERT_FALSE(logits.ok());
    EXPECT_EQ(logits.error().code, Code::kInvalid) << logits.error().message;
  }
  EXPECT_FALSE(decoder->step({}).ok());
}

class ScriptedDecoder : public testing::Test {
 protected:
  Result<std::unique_ptr<Decoder>> open(const std::string& script, Clock& clock) {
    EXPECT_TRUE(write_file_atomically(folder_->path() + "/" + kDecoderScript, script).ok());
    return engine::open_decoder({.engine = "fake", .folder = folder_->path()}, clock);
  }
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

TEST_F(ScriptedDecoder, TakesTheTimeOfItsScript) {
  FakeClock clock;
  auto decoder =
      open(R"({"step_ms": 2, "step_ms_per_token": 3, "step_ms_per_cached_token": 0.5, "load_ms": 7})", clock);
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ((*decoder)->info().engine.load_time, std::chrono::milliseconds(7));
  ASSERT_TRUE((*decoder)->reserve(2).ok());
  const std::vector<int32_t> tokens = some_tokens(4), first = {0}, second = {1};
  const StepSequence sequences[] = {{0, tokens, first, 1}, {6, tokens, second, 1}};
  const TimePoint begin = clock.now();
  ASSERT_TRUE((*decoder)->step(sequences).ok());
  EXPECT_EQ(clock.now() - begin, std::chrono::milliseconds(2 + 8 * 3 + 3));
}

TEST_F(ScriptedDecoder, FailsTheStepsOfItsScriptAndForgetsTheirTokens) {
  auto decoder = open(R"({"fail_steps": [2], "most_blocks": 4})", system_clock());
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  EXPECT_EQ((*decoder)->reserve(5).error().code, Code::kExhausted);
  ASSERT_TRUE((*decoder)->reserve(4).ok());
  const std::vector<int32_t> tokens = some_tokens(6), blocks = {0};
  const std::span<const int32_t> all(tokens);
  step_of(**decoder, 0, all.first(4), blocks);
  const StepSequence sequence{4, all.subspan(4, 1), blocks, 1};
  EXPECT_EQ((*decoder)->step({&sequence, 1}).error().code, Code::kFailed);
  EXPECT_NE(step_of(**decoder, 5, all.last(1), blocks), expected_next(tokens, kVocabulary));
  EXPECT_EQ(step_of(**decoder, 4, all.last(2), blocks), expected_next(tokens, kVocabulary))
      << "those before are as they were";
}

TEST_F(ScriptedDecoder, RefusesAnUnknownMemberByName) {
  auto decoder = open(R"({"step_sm": 1})", system_clock());
  ASSERT_FALSE(decoder.ok());
  EXPECT_NE(decoder.error().message.find("step_sm"), std::string::npos);
  EXPECT_EQ(open(R"({"fail_load": "no"})", system_clock()).error().message, "no");
}

TEST_F(ScriptedDecoder, EndsAStepThatIsBrokenOff) {
  auto decoder = open(R"({"step_ms": 600000})", system_clock());
  ASSERT_TRUE(decoder.ok() && (*decoder)->reserve(1).ok());
  const std::vector<int32_t> tokens = some_tokens(1), blocks = {0};
  std::atomic<bool> ended = false;
  std::jthread breaker([&] {  // before the step begins it has no effect
    while (!ended) {
      (*decoder)->terminate();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const StepSequence sequence{0, tokens, blocks, 1};
  const Result<Logits> logits = (*decoder)->step({&sequence, 1});
  ended = true;
  EXPECT_EQ(logits.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace ridge::engine::fake
