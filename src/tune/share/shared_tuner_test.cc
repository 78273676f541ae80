// Several models at once on the scripted engine: real sessions, threads and clock, scripted interference, known answer.
#include "tune/share/shared_tuner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "measure/statistics.h"
#include "tune/share/ensemble.h"

namespace ridge::tune::share {
namespace {

// A run sleeps 8 ms on one thread, half of it divides among threads; the machine has two processors.
plan::Plan scripted_sharer(const std::map<std::string, std::string>& more = {}) {
  plan::Plan plan;
  plan.model = "scripted";
  plan.engine = "fake";
  plan.shapes["x"] = {1, 16};
  plan.options = {{"latency_ms", "8"}, {"serial_share", "0.5"}, {"processors", "2"}};
  for (const auto& [key, value] : more) plan.options[key] = value;
  return plan;
}

EnsemblePart part_of(int threads, const std::map<std::string, std::string>& more = {}) {
  EnsemblePart part{scripted_sharer(more), nullptr};
  part.plan.threads = threads;
  return part;
}

// The runs per second of each caller by its median run, which no stall of the machine moves.
std::vector<double> rates_together(const std::vector<EnsemblePart>& parts) {
  Result<Ensemble> ensemble = Ensemble::open(parts, 1);
  EXPECT_TRUE(ensemble) << ensemble.error().message;
  Result<std::vector<PartSlice>> slices = ensemble->run_slice(500, {});
  EXPECT_TRUE(slices) << slices.error().message;
  std::vector<double> rates;
  for (const PartSlice& slice : *slices) rates.push_back(1e3 / measure::median(slice.latencies_ms));
  return rates;
}

// 125 rows/s each on a thread of its own; two threads each would do 167 alone, and half of that on the two processors.
TEST(Ensemble, ModelsThatShareProcessorsSlowEachOtherDown) {
  const std::vector<double> beside = rates_together({part_of(1), part_of(1)});
  const std::vector<double> crowded = rates_together({part_of(2), part_of(2)});
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(crowded[i] / beside[i], 83.3 / 125, 0.2);
}

TEST(Ensemble, AFastModelIsKeptBusyUntilASlowOneHasRun) {
  Result<Ensemble> ensemble = Ensemble::open(std::vector{part_of(1), part_of(1, {{"latency_ms", "400"}})}, 1);
  ASSERT_TRUE(ensemble) << ensemble.error().message;
  Result<std::vector<PartSlice>> slices = ensemble->run_slice(20, {});
  ASSERT_TRUE(slices) << slices.error().message;
  EXPECT_GE(slices->at(1).latencies_ms.size(), 1u);
  EXPECT_GE(slices->at(0).latencies_ms.size(), 4u) << "400 ms of runs of 8 ms";
}

TEST(Ensemble, AModelThatFailsIsNamed) {
  EnsemblePart broken = part_of(1, {{"fail_load", "\"no weights\""}});
  broken.plan.model = "b.onnx";
  const Result<Ensemble> ensemble = Ensemble::open(std::vector{part_of(1), broken}, 1);
  ASSERT_FALSE(ensemble);
  EXPECT_NE(ensemble.error().message.find("b.onnx"), std::string::npos) << ensemble.error().message;
}

class SharedTunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_);
    options_.seconds = 20;
  }
  std::string store_file() const { return folder_->path() + "/tune.sqlite"; }

  // As measured alone: one or two threads.
  static Member scripted_member(const std::string& name, MemberGoal goal = {}) {
    Member member{name, goal, {}, {}};
    for (const auto& [threads, rows_per_s] : {std::pair{2, 166.7}, std::pair{1, 125.0}}) {
      LonePoint point;
      point.candidate.threads = threads;
      point.processors = threads;
      point.figures = {rows_per_s, 1e3 / rows_per_s, 1e3 / rows_per_s};
      member.points.push_back(point);
    }
    member.alone = member.points.front();
    return member;
  }

  // Longer slices where the answer depends on rates: a stall of 100 ms then moves one little.
  std::unique_ptr<SharedContest> contest(const std::map<std::string, std::string>& more = {},
                                         Nanoseconds slice = std::chrono::milliseconds(40)) {
    SharedContestOptions how;
    how.slice = slice;
    how.seconds = options_.seconds;
    Result<std::unique_ptr<SharedContest>> opened =
        SharedContest::open({{scripted_sharer(more), nullptr, {}}, {scripted_sharer(more), nullptr, {}}}, how);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }

  StoreKey key_{"machine", "fake", "models", "x"};
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  TuneOptions options_;
};

// Side by side 125 rows/s each; in turns 83; untuned (one thread each in this engine) as side by side.
TEST_F(SharedTunerTest, OneThreadEachWinsAndTheDefaultsThatDoTheSameStand) {
  const std::vector<Member> members = {scripted_member("a"), scripted_member("b")};
  SplitSearch search(members, make_splits(members, {2, 0, 0}));
  Store store(store_file(), key_);
  auto contest = this->contest({}, std::chrono::milliseconds(100));
  Result<SharedTrial> untuned = contest->measure(untuned_split(2), Effort::kShort);
  ASSERT_TRUE(untuned) << untuned.error().message;
  Result<SharedExplored> explored = explore_splits(search, *contest, store, options_);
  ASSERT_TRUE(explored) << explored.error().message;
  ASSERT_TRUE(search.best());
  EXPECT_EQ(search.best()->entry.split[0].threads, 1);
  EXPECT_NEAR(search.best()->gain.ratio, 1, 0.3) << "in turns 0.67";
  Result<SharedDecision> decision = confirm_split(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  if (decision->choice == Choice::kCandidate)
    EXPECT_LT(decision->gain.ratio, 1.1) << "a real gain cannot be there";
  else
    EXPECT_EQ(decision->split, untuned_split(2));
}

TEST_F(SharedTunerTest, TheDefaultsGainNothingOverThemselvesAndThatIsCertain) {
  const std::vector<Member> members = {scripted_member("a"), scripted_member("b")};
  SplitSearch search(members, make_splits(members, {2, 0, 0}));
  auto contest = this->contest();
  Result<SharedTrial> untuned = contest->measure(untuned_split(2), Effort::kShort);
  ASSERT_TRUE(untuned) << untuned.error().message;
  Result<SharedDecision> decision = confirm_split(search, *contest, {}, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  ASSERT_EQ(decision->choice, Choice::kBaseline) << "nothing else was measured";
  EXPECT_EQ(decision->gain.low, 1);
  EXPECT_EQ(decision->gain.high, 1);
}

TEST_F(SharedTunerTest, ARunResumesFromTheStoreWithoutMeasuringAgain) {
  const std::vector<Member> members = {scripted_member("a"), scripted_member("b")};
  const std::string file = store_file();
  int measured = 0;
  {
    Store store(file, key_);
    SplitSearch search(members, make_splits(members, {2, 0, 0}));
    Result<SharedExplored> first = explore_splits(search, *contest(), store, options_);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->reused, 0);
    measured = first->trials;
  }
  Store store(file, key_);
  SplitSearch search(members, make_splits(members, {2, 0, 0}));
  Result<SharedExplored> again = explore_splits(search, *contest(), store, options_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reused, measured);
  EXPECT_EQ(again->trials, measured);
}

TEST_F(SharedTunerTest, GoalsThatCannotBeMetTogetherAreAnsweredNo) {
  // Each alone carries 100 rows/s on two threads (167 · 0.8); side by side 125 · 0.8 = 100 is not enough for 120.
  const std::vector<Member> members = {scripted_member("a", {120.0, {}}), scripted_member("b", {120.0, {}})};
  SplitSearch search(members, make_splits(members, {2, 0, 0}));
  Store store(store_file(), key_);
  auto contest = this->contest({}, std::chrono::milliseconds(100));
  Result<SharedTrial> untuned = contest->measure(untuned_split(2), Effort::kShort);
  ASSERT_TRUE(untuned);
  Result<SharedExplored> explored = explore_splits(search, *contest, store, options_);
  ASSERT_TRUE(explored);
  Result<SharedDecision> decision = confirm_split(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice, Choice::kNone);
  EXPECT_EQ(decision->split[0].threads, 1) << "the closest";
}

TEST_F(SharedTunerTest, TheProofRunsEveryModelAtItsLoad) {
  const std::vector<Sharer> sharers = {{scripted_sharer(), nullptr, {}}, {scripted_sharer(), nullptr, {}}};
  Candidate one;
  one.threads = 1;
  SharedContestOptions how;
  how.seconds = 6;
  // 8 ms of every 33: a request waits for one before it at times. The other is kept busy.
  std::vector<Member> members = {scripted_member("a", {30.0, 10000.0}), scripted_member("b")};
  const Result<Proof> proof = prove(sharers, members, {one, one}, how);
  ASSERT_TRUE(proof) << proof.error().message;
  ASSERT_TRUE(proof->at_load[0]);
  EXPECT_FALSE(proof->at_load[1]);
  EXPECT_NEAR(proof->at_load[0]->done_per_s, 30, 15);
  EXPECT_GE(proof->at_load[0]->request_p99_ms, 8);
  EXPECT_GT(proof->resident_bytes, 1 << 20);
  EXPECT_EQ(refuted(*proof, members), "");
  members[0].goal.p99_ms = 5;
  EXPECT_NE(refuted(*proof, members).find("p99"), std::string::npos);
}

TEST(Refuted, ALoadThatIsNotDoneIsNamedWithBothRates) {
  Member member{"a", {100.0, {}}, {}, {}};
  Proof proof;
  proof.at_load = {AtLoad{100, 60, 9, 200}};
  EXPECT_EQ(refuted(proof, std::span(&member, 1)), "at the loads a does 60 of 100 rows/s (measured)");
  proof.at_load = {AtLoad{100, 90, 9, 200}};
  EXPECT_EQ(refuted(proof, std::span(&member, 1)), "");
}

TEST_F(SharedTunerTest, ASplitThatCannotRunIsATrialWithItsReason) {
  auto contest = this->contest({{"fail_runs", "[4,5,6,7,8,9]"}});
  const Result<SharedTrial> trial = contest->measure(untuned_split(2), Effort::kShort);
  EXPECT_TRUE(!trial || !trial->failure.empty());
}

TEST_F(SharedTunerTest, AnInterruptionKeepsWhatWasMeasured) {
  const std::vector<Member> members = {scripted_member("a"), scripted_member("b")};
  SplitSearch search(members, make_splits(members, {2, 0, 0}));
  Store store(store_file(), key_);
  auto contest = this->contest();
  Result<SharedTrial> untuned = contest->measure(untuned_split(2), Effort::kShort);
  ASSERT_TRUE(untuned);
  options_.interrupted = [&] { return search.trials() >= 1; };
  Result<SharedExplored> explored = explore_splits(search, *contest, store, options_);
  ASSERT_TRUE(explored);
  EXPECT_TRUE(explored->interrupted);
  EXPECT_EQ(search.trials(), 1);
  Result<SharedDecision> decision = confirm_split(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->interrupted);
  EXPECT_EQ(search.trials(), 1);
}

TEST(SharedTrialRecord, ComesBackAsItWasWritten) {
  SharedTrial trial;
  trial.models.resize(2);
  trial.models[1].candidate.rows_per_s = 7;
  trial.pairs = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  trial.memory_bytes = 9;
  trial.seconds = 10;
  const Result<SharedTrial> read = shared_trial_from_json(to_json(trial));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(dump_json(to_json(*read)), dump_json(to_json(trial)));
  Json damaged = to_json(trial);
  damaged["pairs"][0]["split"] = Json::array({1});
  EXPECT_FALSE(shared_trial_from_json(damaged));
}

}  // namespace
}  // namespace ridge::tune::share
