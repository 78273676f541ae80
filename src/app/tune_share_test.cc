// Two models that share a machine, on the scripted engine and a fake clock.
#include "app/tune_share.h"

#include <nlohmann/json.hpp>

#include "app/test_tuning.h"

namespace ridge::app {
namespace {

namespace fs = std::filesystem;

class TuneShareTest : public TuningTest {
 protected:
  // Both run on two shared CPUs.
  ShareRequest both() const {
    ShareRequest request;
    for (const char* name : {"a", "b"}) {
      TuneRequest one = request_for(name);
      one.seconds = 8;
      one.engine_options["processors"] = "2";
      one.engine_options["interference"] = "0.3";
      request.models.push_back(one);
      request.goals.emplace_back();
    }
    return request;
  }
};

TEST_F(TuneShareTest, EachModelGetsAnEntryOfTheRepository) {
  const ShareRequest request = both();
  Result<ShareResult> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  const tune::share::CoLocatedTuning* tuning = &result->tuning;
  ASSERT_EQ(tuning->models.size(), 2u);
  EXPECT_EQ(tuning->choice, tune::Choice::kCandidate);
  for (const tune::share::TunedModel& model : tuning->models) EXPECT_EQ(model.tuning.candidate.batch, 4);
  EXPECT_TRUE(fs::exists(path("repository/a/tuning.json")));
  EXPECT_TRUE(fs::exists(path("repository/b/tuning.json")));
  EXPECT_EQ(tuning->repository, path("repository"));
}

TEST_F(TuneShareTest, NothingIsWrittenWhereTheGoalsCannotBeMetTogether) {
  ShareRequest request = both();
  request.goals[1].rows_per_s = 5000;
  Result<ShareResult> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  const tune::share::CoLocatedTuning* tuning = &result->tuning;
  EXPECT_EQ(tuning->choice, tune::Choice::kNone);
  EXPECT_FALSE(fs::exists(path("repository")));
}

TEST_F(TuneShareTest, WhatWasWrittenIsReadBackWhole) {
  ShareRequest request = both();
  request.goals[0] = {100.0, 80.0};
  const Result<ShareResult> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->tuning.partitions.empty());
  const Json json = to_json(result->tuning);
  const Result<tune::share::CoLocatedTuning> back = from_json<tune::share::CoLocatedTuning>(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back), true), dump_json(json, true));
}

TEST_F(TuneShareTest, TheGivenTimeIsKeptAndWhatItLeftOutIsSaid) {
  ShareRequest request = both();
  for (TuneRequest& one : request.models) {
    one.seconds = 12;
    one.max_batch = 64;
    one.engine_options["latency_ms"] = "40";
  }
  request.goals[0].rows_per_s = 20;
  const TimePoint begin = clock_.now();
  const Result<ShareResult> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LE(to_seconds(clock_.now() - begin), 15)
      << "beyond it: the fewest rounds of a trial, rows of a batch of 64 beside rows alone, and runs that show of each "
         "model whether its rows may be batched";
  EXPECT_FALSE(result->tuning.not_done.empty());
}

TEST_F(TuneShareTest, ADocumentOfOtherModelsThanItsSplitsIsRefused) {
  const ShareRequest request = both();
  const Result<ShareResult> result = tune_share(request, read(request.models), control_);
  ASSERT_TRUE(result) << result.error().message;
  Json json = to_json(result->tuning);
  json["models"].erase(1);
  EXPECT_FALSE(from_json<tune::share::CoLocatedTuning>(json));
  json["models"].clear();
  EXPECT_FALSE(from_json<tune::share::CoLocatedTuning>(json));
}

TEST_F(TuneShareTest, ErrorNamesTheModel) {
  ShareRequest request = both();
  request.models[1].engine = "nothing";
  Result<ShareResult> result = tune_share(request, read(request.models), control_);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message.starts_with("b")) << result.error().message;
}

}  // namespace
}  // namespace ridge::app
