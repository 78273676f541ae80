#include "tune/language/selection.h"

#include <gtest/gtest.h>

namespace ridge::tune::language {
namespace {

const Form kDefault = {.engine = "fake"};
const Form kInt8 = {.engine = "fake", .weights = engine::WeightFormat::kInt8};

Priced priced(const Form& form, std::optional<int64_t> step_tokens, double tokens_per_s,
              std::optional<double> goodput = {}) {
  Priced one{{.form = form, .threads = 2, .step_tokens = step_tokens}, {}};
  one.predicted.output_tokens_per_s = tokens_per_s;
  one.predicted.goodput_per_s = goodput;
  return one;
}

int skipped(const Selection& selection, std::string_view id) {
  int count = 0;
  for (const SkipCount& skip : selection.skipped) count += skip.reason.id == id ? skip.count : 0;
  return count;
}

TEST(LanguageSelection, SkipsWhatIsPredictedBehindOrAlike) {
  const Priced all[] = {priced(kDefault, {}, 80), priced(kInt8, {}, 100), priced(kInt8, 1024, 100.5),
                        priced(kInt8, 256, 110), priced(kInt8, 128, 93)};
  const Selection selection = select(all);
  ASSERT_EQ(selection.groups.size(), 1);
  EXPECT_EQ(skipped(selection, "predicted-slower"), 2);
  EXPECT_EQ(skipped(selection, "predicted-alike"), 1);
  const std::vector<Priced>& kept = selection.groups[0].candidates;
  ASSERT_EQ(kept.size(), 3);
  EXPECT_EQ(kept[0].candidate.step_tokens, 256);
  EXPECT_EQ(kept[1].candidate.step_tokens, std::nullopt);
  EXPECT_EQ(kept[2].candidate.step_tokens, 256);  // the best again, without drafts
  EXPECT_FALSE(kept[2].candidate.speculation);
}

TEST(LanguageSelection, RequestsWithinTheGoalsCountBeforeTokens) {
  const Priced all[] = {priced(kDefault, {}, 50, 4), priced(kInt8, {}, 100, 1)};
  const Selection selection = select(all);
  ASSERT_EQ(selection.groups.size(), 1);
  EXPECT_EQ(selection.groups[0].form, kDefault);
  const Priced none[] = {priced(kDefault, {}, 50, 0), priced(kInt8, {}, 100, 0)};
  EXPECT_EQ(select(none).groups.front().form, kInt8);  // none has any: the tokens
}

TEST(LanguageSelection, SettingsAreThoseThatCanMatterToTheLoad) {
  const llm::cpu::Load small = {{{0, 16, 4}, {0, 16, 4}}, 2};
  const std::vector<Candidate> few = settings_for(kInt8, 2, small, {});
  ASSERT_EQ(few.size(), 2);  // the defaults, and one sequence at once: prompts fill no step
  EXPECT_EQ(few[0], (Candidate{.form = kInt8, .threads = 2}));
  EXPECT_EQ(few[1].sequences, 1);
  const llm::cpu::Load large = {{{0, 4096, 4}}, 8};
  const std::vector<Candidate> more = settings_for(kInt8, 2, large, {.ttft_ms = {}, .tpot_ms = 40});
  EXPECT_EQ(more.size(), 6 * 3);
  EXPECT_EQ(more[1].token_goal_ms, 40);
}

}  // namespace
}  // namespace ridge::tune::language
