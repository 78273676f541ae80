#include "client/token_figures.h"

#include <gtest/gtest.h>

namespace ridge::client {
namespace {

using std::chrono::milliseconds;

const TimePoint kStart{std::chrono::hours(1)};

measure::TimedRun run(int64_t number, int due_ms, int failure = 0) {
  measure::TimedRun run;
  run.number = number;
  run.due = kStart + milliseconds(due_ms);
  run.failure = failure;
  return run;
}

TokenRecord record(int64_t number, int sent_ms, int first_ms, std::vector<float> gaps_ms, int64_t tokens) {
  TokenRecord record;
  record.number = number;
  record.sent = kStart + milliseconds(sent_ms);
  record.first = record.last = kStart + milliseconds(first_ms);
  for (const float gap : gaps_ms) record.last += from_seconds(static_cast<double>(gap) / 1e3);
  record.events = static_cast<int64_t>(gaps_ms.size()) + 1;
  record.gaps_ms = std::move(gaps_ms);
  record.prompt_tokens = 10;
  record.output_tokens = tokens;
  return record;
}

TEST(TokenFigures, CountFromTheIntendedTimeAndOnlyCountedRequests) {
  const std::vector<measure::TimedRun> runs = {run(1, 0), run(2, 100), run(3, 100, -1)};
  const std::vector<TokenRecord> records = {record(0, 0, 1, {1}, 2), record(2, 130, 200, {10, 20, 30}, 7),
                                            record(1, 0, 50, {10}, 2)};
  const TokenFigures figures = token_figures(runs, records, 4, {});
  EXPECT_EQ(figures.requests, 2);
  EXPECT_EQ(figures.prompt_tokens, 20);
  EXPECT_EQ(figures.output_tokens, 9);
  EXPECT_EQ(figures.events, 6);
  EXPECT_TRUE(counts_differ(figures));
  EXPECT_DOUBLE_EQ(figures.output_per_s, 4 * 4.5);
  EXPECT_DOUBLE_EQ(figures.ttft_ms->max, 100);
  EXPECT_DOUBLE_EQ(figures.ttft_ms->min, 50);
  EXPECT_DOUBLE_EQ(figures.itl_ms->mean, 17.5);
  EXPECT_DOUBLE_EQ(figures.tpot_ms->mean, 10) << "60 ms / 6 tokens, 10 ms / 1";
  EXPECT_DOUBLE_EQ(figures.late_ms->max, 30);
  EXPECT_FALSE(figures.goodput_per_s);
}

TEST(TokenFigures, GoodputCountsRequestsWithinAllGoals) {
  const std::vector<measure::TimedRun> runs = {run(0, 0), run(1, 0), run(2, 0)};
  const std::vector<TokenRecord> records = {record(0, 0, 50, {10}, 2), record(1, 0, 90, {10}, 2),
                                            record(2, 0, 50, {40}, 2)};
  EXPECT_DOUBLE_EQ(*token_figures(runs, records, 6, {.ttft_ms = 60.0, .tpot_ms = {}}).goodput_per_s, 4);
  EXPECT_DOUBLE_EQ(*token_figures(runs, records, 6, {.ttft_ms = 60.0, .tpot_ms = 20.0}).goodput_per_s, 2);
}

TEST(TokenFigures, OfWholeAnswersThereAreNoTimesOfTokens) {
  TokenRecord whole;
  whole.output_tokens = 5;
  whole.sent = kStart;
  const std::vector<measure::TimedRun> runs = {run(0, 0)};
  const TokenFigures figures = token_figures(runs, std::vector{whole}, 2, {});
  EXPECT_DOUBLE_EQ(figures.output_per_s, 10);
  EXPECT_FALSE(figures.ttft_ms || figures.itl_ms || figures.tpot_ms);
  EXPECT_FALSE(counts_differ(figures)) << "there is no count of the client's own";
}

}  // namespace
}  // namespace ridge::client
