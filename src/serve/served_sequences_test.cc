// Sequences of a served version: its workers, its timer and the version before it.
#include <gtest/gtest.h>

#include <chrono>

#include "serve/test_served_version.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

class SequenceVersionTest : public ServedVersionTest {
 protected:
  SequenceVersionTest() {
    settings_.sequences.emplace();
    settings_.sequences->max_idle = 50ms;
  }
  static std::future<Result<InferResponse>> ask(ServedVersion& version, SequencePart part,
                                                std::stop_token cancelled = {}) {
    InferRequest request = pair_request("m", {1, 2});
    request.sequence = std::move(part);
    request.cancelled = std::move(cancelled);
    return send(version, std::move(request));
  }
};

TEST_F(SequenceVersionTest, RunsTheInstancesOfSequencesBesideEachOther) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate, 2);
  auto a = ask(*version, {uint64_t{1}, true}), b = ask(*version, {uint64_t{2}, true});
  gate->await(2);
  gate->open();
  EXPECT_TRUE(a.get());
  EXPECT_TRUE(b.get());
}

TEST_F(SequenceVersionTest, ClosedItAnswersAllThatWait) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  std::vector<std::future<Result<InferResponse>>> answers;
  answers.push_back(ask(*version, {uint64_t{1}, true}));
  gate->await(1);
  for (int i = 0; i < 2; ++i) answers.push_back(ask(*version, {uint64_t{1}}));
  answers.push_back(ask(*version, {uint64_t{2}, true}));
  EXPECT_EQ(version->statistics().pending, 3u);
  version->close();
  EXPECT_EQ(ask(*version, {uint64_t{1}}).get().error().code, Code::kUnavailable);
  gate->open();
  version->join();
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
}

TEST_F(SequenceVersionTest, AClientThatLeavesEndsItsSequence) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  std::stop_source leaves;
  auto first = ask(*version, {uint64_t{1}, true});
  gate->await(1);
  auto left = ask(*version, {uint64_t{1}}, leaves.get_token()), behind = ask(*version, {uint64_t{1}});
  leaves.request_stop();
  version->drop_cancelled();
  EXPECT_EQ(left.get().error().code, Code::kCancelled);
  EXPECT_EQ(behind.get().error().code, Code::kInvalid);
  gate->open();
  EXPECT_TRUE(first.get());
  EXPECT_EQ(ask(*version, {uint64_t{1}}).get().error().code, Code::kInvalid);
  EXPECT_TRUE(ask(*version, {uint64_t{1}, true}).get());
  EXPECT_EQ(version->statistics().cancelled, 1u);
}

TEST_F(SequenceVersionTest, AnIdleSequenceIsEndedByTheTimer) {
  auto version = start();
  EXPECT_TRUE(ask(*version, {uint64_t{1}, true}).get());
  auto next = ask(*version, {uint64_t{2}, true});  // there is one slot
  clock_.advance(50ms);
  EXPECT_TRUE(next.get());
  EXPECT_EQ(ask(*version, {uint64_t{1}}).get().error().code, Code::kInvalid);
}

TEST_F(SequenceVersionTest, SequencesOfThePreviousVersionGoOnThereUntilTheyEnd) {
  settings_.sequences->max_idle = 1h;
  auto old = start(), fresh = std::shared_ptr<ServedVersion>();
  EXPECT_TRUE(ask(*old, {uint64_t{1}, true}).get());
  settings_.version = 2;
  fresh = start();
  std::weak_ptr<ServedVersion> watched = old;
  fresh->follow(std::move(old));
  EXPECT_EQ(ask(*fresh, {uint64_t{1}}).get()->version, 1);
  EXPECT_EQ(ask(*fresh, {uint64_t{2}, true}).get()->version, 2);
  fresh->expire(clock_.now());
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(ask(*fresh, {uint64_t{1}, false, true}).get()->version, 1);
  fresh->expire(clock_.now());
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(ask(*fresh, {uint64_t{1}}).get().error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::serve
