// Several models at once on the scripted engine: real sessions and threads on a fake clock, scripted interference,
// known answer.
#include "tune/share/co_located_tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fake_clock.h"
#include "base/temporary_folder.h"
#include "tune/share/proof.h"

namespace ridge::tune::share {
namespace {

// A run takes 8 ms on one thread, half of it divides among threads; the machine has two CPUs.
plan::Plan scripted_neighbour(const std::map<std::string, std::string>& more = {}) {
  plan::Plan plan;
  plan.model = "scripted";
  plan.engine = "fake";
  plan.shapes["x"] = {1, 16};
  plan.options = {{"latency_ms", "8"}, {"serial_share", "0.5"}, {"processors", "2"}};
  for (const auto& [key, value] : more) plan.options[key] = value;
  return plan;
}

ModelToOpen on_threads(int threads, const std::map<std::string, std::string>& more = {}) {
  ModelToOpen model{scripted_neighbour(more), nullptr};
  model.plan.threads = threads;
  return model;
}

std::vector<ModelSlice> run_together(const std::vector<ModelToOpen>& models, double ms) {
  FakeClock clock;
  Result<CoLocatedModels> opened = CoLocatedModels::open(models, 1, clock);
  EXPECT_TRUE(opened) << opened.error().message;
  Result<std::vector<ModelSlice>> slices = opened->run_slice(ms, {});
  EXPECT_TRUE(slices) << slices.error().message;
  return *slices;
}

// 8 ms each on its own thread. Two threads each would take 6 ms alone, but need twice the two CPUs.
TEST(CoLocatedModels, ModelsThatShareCpusSlowEachOtherDown) {
  for (const ModelSlice& slice : run_together({on_threads(1), on_threads(1)}, 500))
    EXPECT_DOUBLE_EQ(slice.rows_per_s, 125);
  const std::vector<ModelSlice> crowded = run_together({on_threads(2), on_threads(2)}, 500);
  EXPECT_DOUBLE_EQ(crowded[0].latencies_ms.front(), 6) << "no other run had begun";
  EXPECT_DOUBLE_EQ(crowded[0].latencies_ms.back(), 12);
  EXPECT_DOUBLE_EQ(crowded[1].rows_per_s, 1e3 / 12);
}

TEST(CoLocatedModels, AFastModelIsKeptBusyUntilASlowOneHasRun) {
  const std::vector<ModelSlice> slices = run_together({on_threads(1), on_threads(1, {{"latency_ms", "400"}})}, 20);
  EXPECT_EQ(slices[1].latencies_ms, std::vector<double>(1, 400));
  EXPECT_EQ(slices[0].latencies_ms, std::vector<double>(49, 8)) << "in 400 ms";
}

TEST(CoLocatedModels, EachHasItsStages) {
  const std::vector<ModelSlice> slices = run_together({on_threads(1), on_threads(1, {{"latency_ms", "20"}})}, 200);
  for (const ModelSlice& slice : slices)
    EXPECT_NEAR(slice.sums_ms.compute / static_cast<double>(slice.latencies_ms.size()), slice.latencies_ms.front(),
                1e-9);
}

TEST(CoLocatedModels, AModelThatFailsIsNamed) {
  FakeClock clock;
  ModelToOpen broken = on_threads(1, {{"fail_load", "\"no weights\""}});
  broken.plan.model = "b.onnx";
  const Result<CoLocatedModels> opened = CoLocatedModels::open(std::vector{on_threads(1), broken}, 1, clock);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("b.onnx"), std::string::npos) << opened.error().message;
}

class CoLocatedTunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_);
    options_.seconds = 20;
  }
  std::string store_file() const { return folder_->path() + "/tune.sqlite"; }

  // The solo profile has one or two threads.
  static CoLocatedModel scripted_model(const std::string& name, ModelGoal goal = {}) {
    CoLocatedModel member{name, goal, {}, {}};
    for (const auto& [threads, rows_per_s] : {std::pair{2, 166.7}, std::pair{1, 125.0}}) {
      SoloPoint point;
      point.candidate.threads = threads;
      point.cpus = threads;
      point.figures = {.rows_per_s = rows_per_s, .p50_ms = 1e3 / rows_per_s, .p99_ms = 1e3 / rows_per_s};
      member.points.push_back(point);
    }
    member.alone = member.points.front();
    return member;
  }

  std::unique_ptr<InterleavedBenchmark> benchmark(const std::map<std::string, std::string>& more = {}) {
    BenchmarkOptions how;
    how.slice = std::chrono::milliseconds(40);
    how.seconds = options_.seconds;
    Result<std::unique_ptr<InterleavedBenchmark>> opened =
        InterleavedBenchmark::open({{scripted_neighbour(more)}, {scripted_neighbour(more)}}, how, clock_);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }

  FakeClock clock_;
  StoreKey key_{"machine", "fake", "models", "x"};
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  TuneOptions options_;
};

// Side by side 125 rows/s each; time-shared 83; untuned (one thread each in this engine) as side by side.
TEST_F(CoLocatedTunerTest, OneThreadEachWinsAndTheDefaultsThatDoTheSameStand) {
  const std::vector<CoLocatedModel> members = {scripted_model("a"), scripted_model("b")};
  PartitionSearch search(members, make_partitions(members, {2, 0, 0}));
  Store store(store_file(), key_);
  auto benchmark = this->benchmark();
  const Result<CoLocatedTrial> untuned = benchmark->measure(untuned_partition(2), Effort::kShort);
  ASSERT_TRUE(untuned) << untuned.error().message;
  const Result<CoLocatedExploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored) << explored.error().message;
  ASSERT_TRUE(search.best());
  EXPECT_EQ(search.best()->entry.partition[0].threads, 1);
  EXPECT_NEAR(search.best()->gain.ratio, 1, 1e-9) << "in turns 0.67";
  const Result<CoLocatedDecision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->choice, Choice::kBaseline);
  EXPECT_EQ(decision->candidate, untuned_partition(2));
  for (const Trial& model : decision->trial.models) EXPECT_NEAR(model.baseline.rows_per_s, 125, 1e-9);
}

TEST_F(CoLocatedTunerTest, TheDefaultsGainNothingOverThemselvesAndThatIsCertain) {
  const std::vector<CoLocatedModel> members = {scripted_model("a"), scripted_model("b")};
  PartitionSearch search(members, make_partitions(members, {2, 0, 0}));
  auto benchmark = this->benchmark();
  Result<CoLocatedTrial> untuned = benchmark->measure(untuned_partition(2), Effort::kShort);
  ASSERT_TRUE(untuned) << untuned.error().message;
  Result<CoLocatedDecision> decision = confirm(search, *benchmark, CoLocatedExploration{}, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  ASSERT_EQ(decision->choice, Choice::kBaseline) << "nothing else was measured";
  EXPECT_EQ(decision->gain.low, 1);
  EXPECT_EQ(decision->gain.high, 1);
}

TEST_F(CoLocatedTunerTest, ARunResumesFromTheStoreWithoutMeasuringAgain) {
  const std::vector<CoLocatedModel> members = {scripted_model("a"), scripted_model("b")};
  const std::string file = store_file();
  size_t measured = 0;
  {
    Store store(file, key_);
    PartitionSearch search(members, make_partitions(members, {2, 0, 0}));
    Result<CoLocatedExploration> first = explore(search, *benchmark(), store, options_);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->reused, 0);
    measured = first->trials.size();
  }
  Store store(file, key_);
  PartitionSearch search(members, make_partitions(members, {2, 0, 0}));
  Result<CoLocatedExploration> again = explore(search, *benchmark(), store, options_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reused, static_cast<int>(measured));
  EXPECT_EQ(again->trials.size(), measured);
}

TEST_F(CoLocatedTunerTest, GoalsThatCannotBeMetTogetherAreAnsweredNo) {
  // Each alone carries 100 rows/s on two threads (167 · 0.8); side by side 125 · 0.8 = 100 is not enough for 120.
  const std::vector<CoLocatedModel> members = {scripted_model("a", {120.0, {}}), scripted_model("b", {120.0, {}})};
  PartitionSearch search(members, make_partitions(members, {2, 0, 0}));
  Store store(store_file(), key_);
  auto benchmark = this->benchmark();
  Result<CoLocatedTrial> untuned = benchmark->measure(untuned_partition(2), Effort::kShort);
  ASSERT_TRUE(untuned);
  Result<CoLocatedExploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored);
  Result<CoLocatedDecision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice, Choice::kNone);
  EXPECT_EQ(decision->candidate[0].threads, 1) << "the closest";
}

TEST_F(CoLocatedTunerTest, TheProofRunsEveryModelAtItsLoad) {
  const std::vector<BenchmarkedModel> models = {{scripted_neighbour()}, {scripted_neighbour()}};
  Candidate one;
  one.threads = 1;
  BenchmarkOptions how;
  how.seconds = 40;
  // 8 ms of every 33: a request sometimes waits for the previous one. The other is kept busy.
  std::vector<CoLocatedModel> members = {scripted_model("a", {30.0, 10000.0}), scripted_model("b")};
  const Result<Proof> proof = prove(models, members, {one, one}, how, clock_);
  ASSERT_TRUE(proof) << proof.error().message;
  ASSERT_TRUE(proof->at_load[0]);
  EXPECT_FALSE(proof->at_load[1]);
  EXPECT_DOUBLE_EQ(proof->at_load[0]->asked_per_s, 30);
  EXPECT_NEAR(proof->at_load[0]->done_per_s, 30, 6.4) << "200 random arrivals: 3 / √200";
  EXPECT_NEAR(static_cast<double>(proof->at_load[0]->runs), 200, 42);
  EXPECT_GT(proof->at_load[0]->request_p99_ms, 8) << "some wait";
  EXPECT_LT(proof->at_load[0]->request_p99_ms, 8 * 5);
  EXPECT_GT(proof->resident_bytes, 1 << 20);
  EXPECT_EQ(refuted(*proof, members), "");
  members[0].goal.p99_ms = 5;
  EXPECT_NE(refuted(*proof, members).find("p99"), std::string::npos);
}

TEST(Refuted, ALoadThatIsNotDoneIsNamedWithBothRates) {
  CoLocatedModel member{"a", {100.0, {}}, {}, {}};
  Proof proof;
  proof.at_load = {AtLoad{100, 60, 9, 200}};
  EXPECT_NE(refuted(proof, std::span(&member, 1)).find("reaches 60 rows/s of 100 rows/s"), std::string::npos);
  proof.at_load = {AtLoad{100, 90, 9, 200}};
  EXPECT_EQ(refuted(proof, std::span(&member, 1)), "");
}

TEST_F(CoLocatedTunerTest, ASplitThatCannotRunIsATrialWithItsReason) {
  auto benchmark = this->benchmark();
  Partition partition = untuned_partition(2);
  partition[1].options = {{"fail_runs", "[7]"}};
  const Result<CoLocatedTrial> trial = benchmark->measure(partition, Effort::kShort);
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_EQ(trial->failure, "the fake engine fails run 7 as its script says");
}

TEST_F(CoLocatedTunerTest, AnInterruptionKeepsWhatWasMeasured) {
  const std::vector<CoLocatedModel> members = {scripted_model("a"), scripted_model("b")};
  PartitionSearch search(members, make_partitions(members, {2, 0, 0}));
  Store store(store_file(), key_);
  auto benchmark = this->benchmark();
  Result<CoLocatedTrial> untuned = benchmark->measure(untuned_partition(2), Effort::kShort);
  ASSERT_TRUE(untuned);
  options_.interrupted = [&] { return search.trials() >= 1; };
  Result<CoLocatedExploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored);
  EXPECT_TRUE(explored->interrupted);
  EXPECT_EQ(search.trials(), 1);
  Result<CoLocatedDecision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->interrupted);
  EXPECT_EQ(search.trials(), 1);
}

TEST(CoLocatedTrialRecord, ComesBackAsItWasWritten) {
  CoLocatedTrial trial;
  trial.models.resize(2);
  trial.models[1].candidate.rows_per_s = 7;
  trial.rounds = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  trial.memory_bytes = 9;
  trial.seconds = 10;
  const Result<CoLocatedTrial> read = co_located_trial_from_json(to_json(trial));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(to_json(trial)));
  Json damaged = to_json(trial);
  damaged["pairs"][0]["split"] = Json::array({1});
  EXPECT_FALSE(co_located_trial_from_json(damaged));
}

}  // namespace
}  // namespace ridge::tune::share
