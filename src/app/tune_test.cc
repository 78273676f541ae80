// Tuning from a file to a repository on the scripted engine and a fake clock.
#include "app/tune.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/test_tuning.h"

namespace ridge::app {
namespace {

namespace fs = std::filesystem;

class TuneTest : public TuningTest {
 protected:
  Result<TuneResult> tune(const TuneRequest& request) {
    return app::tune(request, read({&request, 1}).front(), control_,
                     {[this](const cost::Bound&, int threads) { bound_threads_ = threads; },
                      [this](const measure::Measurement& untuned) {
                        untuned_ = untuned;
                        steps_before_untuned_ = steps_.size();
                      }});
  }
  int bound_threads_ = 0;
  measure::Measurement untuned_;
  size_t steps_before_untuned_ = 0;
};

tune::Tuning recorded(const TuneResult& result) {
  Result<tune::Tuning> read = from_json<tune::Tuning>(json_of(result));
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : tune::Tuning{};
}

// Counts how often a file is opened by anyone; the fake engine opens no model.
class OpenCount {
 public:
  // IN_ACCESS and IN_CLOSE lie between: the kernel merges equal events that follow one another.
  explicit OpenCount(const std::string& path) : queue_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(queue_, path.c_str(), IN_OPEN | IN_ACCESS | IN_CLOSE), 0);
  }
  OpenCount(const OpenCount&) = delete;
  OpenCount& operator=(const OpenCount&) = delete;
  ~OpenCount() { close(queue_); }

  int take() const {
    int count = 0;
    inotify_event event{};  // of a watched file: without a name
    while (read(queue_, &event, sizeof event) == sizeof event) count += (event.mask & IN_OPEN) != 0;
    return count;
  }

 private:
  int queue_;
};

TEST_F(TuneTest, ReadsTheModelFileOnce) {
  TuneRequest request = request_for("copy");
  const OpenCount opened(request.model);
  ASSERT_TRUE(tune(request));
  EXPECT_EQ(opened.take(), 2) << "read, and copied into the repository";
  request.repository.clear();
  ASSERT_TRUE(tune(request));
  EXPECT_EQ(opened.take(), 1);
}

TEST_F(TuneTest, WritesARepositoryOfTheBestCandidate) {
  const TuneRequest request = request_for("copy");
  Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  const tune::Tuning& tuning = result->tuning;
  EXPECT_EQ(tuning.choice, tune::Choice::kCandidate);
  EXPECT_EQ(tuning.candidate.batch, 4);
  EXPECT_GE(result->verified_batch, 4);
  // At least 4 rows in 4.8 ms against 1 row in 4.2 ms.
  EXPECT_GE(tuning.gain.ratio, (4 / 4.8) / (1 / 4.2) - 1e-6);
  EXPECT_DOUBLE_EQ(tuning.baseline.latency_ms.p50, 4.2);
  EXPECT_EQ(tuning.deviation.max_abs, 0);
  EXPECT_GT(tuning.seconds, 0);
  EXPECT_FALSE(is_no(*result));
  EXPECT_FALSE(steps_.empty());
  EXPECT_TRUE(fs::exists(path("repository/copy/config.pbtxt")));
  EXPECT_TRUE(fs::exists(path("repository/copy/1/model.onnx")));
  Result<std::string> text = read_file(path("repository/copy/tuning.json"));
  ASSERT_TRUE(text) << text.error().message;
  Result<Json> json = parse_json(*text, "tuning.json");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["choice"], "tuned");
  EXPECT_EQ((*json)["candidate"]["batch"], 4);
}

TEST_F(TuneTest, OnABusyMachineBothMeasurementsSaySoAndKeepTheirRounds) {
  be_busy();
  const Result<TuneResult> result = tune(request_for("copy"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(machine::disturbed(*result->tuning.disturbance));
  for (const measure::Measurement* m : {&result->tuning.baseline, &result->tuning.best}) {
    EXPECT_EQ(m->advice.id, "disturbed");
    EXPECT_TRUE(m->undisturbed);
  }
  const tune::Tuning record = recorded(*result);
  EXPECT_GE(record.gains.size(), 2U);
  EXPECT_EQ(record.rounds.p99_ms.size(), record.gains.size());
  EXPECT_FALSE(tune::regressed(tune::compare(record, record, {})));
}

// All but the intervals of points, which are derived from what is not written.
Json without_intervals(Json json) {
  for (const char* list : {"pareto", "alternatives", "points"})
    for (Json& point : json[list]) point.erase("throughput_ci95_per_s");
  return json;
}

TEST_F(TuneTest, WhatWasWrittenIsReadBackWhole) {
  TuneRequest request = request_for("copy");
  request.goal = {tune::Objective::kThroughput, 50.0, 100.0};
  const Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  tune::Tuning tuning = result->tuning;
  tuning.alternatives = {{"latency", tuning.points.front()}};
  const Json json = json_of(tuning);
  const Result<tune::Tuning> back = from_json<tune::Tuning>(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump_json(without_intervals(json_of(*back)), true), dump_json(without_intervals(json), true));
}

TEST_F(TuneTest, SecondRunReusesWhatTheFirstMeasuredUnlessItIsToBeFresh) {
  TuneRequest request = request_for("copy");
  request.overwrite = true;
  Result<TuneResult> first = tune(request);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->tuning.reused, 0);
  Result<TuneResult> second = tune(request);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->tuning.reused, second->tuning.trials);
}

TEST_F(TuneTest, AWinnerWhoseRowsLoseAccuracyTogetherIsWithdrawnForTheNext) {
  TuneRequest request = request_for("copy");
  request.guard.max_deviation = -1;  // not even identical outputs are that close
  Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_NE(result->tuning.choice, tune::Choice::kNone);
  EXPECT_EQ(result->tuning.candidate.batch, 1);  // rows that run alone are not judged; any larger batch would win
}

TEST_F(TuneTest, NothingIsWrittenWhereTheGoalCannotBeMet) {
  TuneRequest request = request_for("copy");
  request.goal.p99_ms = 1;
  Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tuning.choice, tune::Choice::kNone);
  EXPECT_TRUE(is_no(*result));
  EXPECT_EQ(result->tuning.repository, "");
  EXPECT_FALSE(fs::exists(request.repository));
}

TEST_F(TuneTest, RecordedCandidateIsMeasuredAgainAndNothingIsWritten) {
  TuneRequest request = request_for("copy");
  request.repository.clear();
  Result<TuneResult> before = tune(request);
  ASSERT_TRUE(before) << before.error().message;
  request.repository = path("repository");
  request.recorded = recorded(*before);
  Result<TuneResult> same = tune(request);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->tuning.candidate, before->tuning.candidate);
  EXPECT_EQ(same->tuning.trials, 0) << "no search";
  EXPECT_FALSE(same->compared.empty());
  EXPECT_FALSE(is_no(*same));
  EXPECT_FALSE(json_of(*same)["regressed"].get<bool>());
  EXPECT_FALSE(fs::exists(request.repository));

  request.engine_options["latency_ms"] = "40";
  request.strictness.absolute = true;
  Result<TuneResult> slower = tune(request);
  ASSERT_TRUE(slower) << slower.error().message;
  EXPECT_TRUE(is_no(*slower));
  EXPECT_TRUE(json_of(*slower)["regressed"].get<bool>());
}

TEST_F(TuneTest, RecordedCandidateThatMayNotBeUsedAnyMoreIsAnError) {
  TuneRequest request = request_for("copy");
  request.recorded = tune::Tuning{};
  request.recorded->candidate = tune::baseline_candidate();
  request.recorded->candidate.variant = "int8";
  Result<TuneResult> result = tune(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailed);
  EXPECT_NE(result.error().message.find("int8"), std::string::npos) << result.error().message;
}

TEST_F(TuneTest, InterruptedBeforeTheUntunedModelWasMeasuredIsCancelled) {
  stop_ = true;
  Result<TuneResult> result = tune(request_for("copy"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCancelled);
  EXPECT_FALSE(fs::exists(path("repository")));
}

TEST_F(TuneTest, InterruptedLaterKeepsTheBestSoFar) {
  control_.interrupted = [this] {
    return std::count_if(steps_.begin(), steps_.end(),
                         [](const std::string& step) { return step.find("batch 4") != std::string::npos; }) > 1;
  };
  Result<TuneResult> result = tune(request_for("copy"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->tuning.interrupted);
  EXPECT_LT(result->tuning.measured, result->tuning.candidates);
  EXPECT_TRUE(fs::exists(path("repository/copy/tuning.json")));
}

TEST_F(TuneTest, InterruptedWhilePrecisionsArePreparedWritesTheUntunedSettings) {
  control_.interrupted = [this] { return untuned_.samples > 0; };
  const Result<TuneResult> result = tune(request_for("copy"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->tuning.interrupted);
  EXPECT_EQ(result->tuning.choice, tune::Choice::kBaseline);
  EXPECT_EQ(result->tuning.trials, 0);
  EXPECT_TRUE(fs::exists(path("repository/copy/config.pbtxt")));
}

TEST_F(TuneTest, BoundAndUntunedModelAreKnownBeforeTheSearch) {
  const Result<TuneResult> result = tune(request_for("copy"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(bound_threads_, machine::usable_threads(result->tuning.machine));
  EXPECT_DOUBLE_EQ(untuned_.latency_ms.p50, 4.2);
  EXPECT_NEAR(untuned_.throughput_per_s, 1e3 / 4.2, 1e-9);
  EXPECT_LT(steps_before_untuned_, steps_.size() / 2);
}

// A run takes 4.2 ms and more; the fewest rounds of a trial are a fraction of a second.
TEST_F(TuneTest, TheTimeIsAnUpperBoundForAllOfItAndWhatIsLeftOutIsSaid) {
  TuneRequest request = request_for("copy");
  request.seconds = 2;
  const TimePoint begin = clock_.now();
  const Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LE(to_seconds(clock_.now() - begin), 2.5);
  EXPECT_EQ(result->tuning.choice, tune::Choice::kCandidate);
  EXPECT_FALSE(result->tuning.not_done.empty());
}

TEST_F(TuneTest, AWinnerUnderALoadIsTestedAtIt) {
  TuneRequest request = request_for("copy");
  request.goal.rows_per_s = 300;  // the untuned model makes 238
  const Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tuning.choice, tune::Choice::kCandidate);
  ASSERT_TRUE(result->tuning.at_load);
  EXPECT_NEAR(result->tuning.at_load->asked_per_s, 300, 1e-9);
  EXPECT_GT(result->tuning.at_load->done_per_s, 0.8 * 300);
  EXPECT_TRUE(json_of(*result)["at_load"].contains("request_p99_ms"));
}

TEST_F(TuneTest, ALoadOutOfReachIsNo) {
  TuneRequest request = request_for("copy");
  request.goal.rows_per_s = 1e5;
  const Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tuning.choice, tune::Choice::kNone);
  EXPECT_TRUE(is_no(*result));
  EXPECT_FALSE(fs::exists(request.repository));
}

TEST_F(TuneTest, TheFrontHoldsTheAnswerAndItsRatesAgreeWithItsGains) {
  TuneRequest request = request_for("copy");
  request.goal.objective = tune::Objective::kBalanced;
  const Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  const tune::Tuning& tuning = result->tuning;
  EXPECT_TRUE(std::any_of(tuning.pareto.begin(), tuning.pareto.end(),
                          [&](const auto& point) { return point.candidate == tuning.candidate; }));
  for (const tune::Standing& point : tuning.pareto)
    EXPECT_NEAR(point.outcome.candidate.rows_per_s, point.gain.ratio * tuning.baseline.throughput_per_s, 1e-6);
}

TEST_F(TuneTest, ARepositoryThatCannotBeWrittenCostsNoResult) {
  TuneRequest request = request_for("copy");
  request.repository = request.model + "/repository";
  Result<TuneResult> result = tune(request);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tuning.choice, tune::Choice::kCandidate);
  ASSERT_FALSE(result->saved);
  EXPECT_EQ(result->saved.error().code, Code::kFailed);
}

}  // namespace
}  // namespace ridge::app
