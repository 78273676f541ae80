#include "generate/fair_queue.h"

#include <gtest/gtest.h>

#include <deque>

namespace ridge::generate {
namespace {

using std::chrono::milliseconds;

class FairQueueTest : public testing::Test {
 protected:
  Sequence& add(Id id, const char* key, Nanoseconds due, std::optional<Nanoseconds> latest_start = {},
                int64_t to_compute = 3) {
    Sequence& sequence = sequences_.emplace_back();
    sequence.to_compute = to_compute;
    sequence.request.id = id;
    sequence.request.prompt = {1, 2, 3};
    sequence.share = &queue_.enter(key);
    sequence.due = due;
    sequence.latest_start = latest_start;
    if (latest_start) sequence.request.deadline = *latest_start + milliseconds(10);
    queue_.add(sequence);
    return sequence;
  }
  // The order in which they begin, where each costs a second.
  std::vector<Id> order() {
    std::vector<Id> ids;
    while (Sequence* first = queue_.first()) {
      ids.push_back(first->request.id);
      queue_.remove(*first);
      queue_.charge(*first->share, 1, !first->latest_start);
      queue_.leave(*first->share);
    }
    return ids;
  }
  FairQueue queue_;
  std::deque<Sequence> sequences_;
};

TEST_F(FairQueueTest, KeysTakeTurns) {
  for (Id id = 1; id <= 4; ++id) add(id, "a", milliseconds(id));
  for (Id id = 11; id <= 12; ++id) add(id, "b", milliseconds(id));
  EXPECT_EQ(order(), (std::vector<Id>{1, 11, 2, 12, 3, 4}));
}

TEST_F(FairQueueTest, OfOneKeyTheFirstDueBegins) {
  add(1, "a", milliseconds(30));
  add(2, "a", milliseconds(10));
  EXPECT_EQ(order(), (std::vector<Id>{2, 1}));
}

TEST_F(FairQueueTest, TellsTheShortestWithoutADeadlineOfTheKeyWithTheLeastService) {
  const auto of = [&](Id id, const char* key, int64_t tokens, std::optional<Nanoseconds> latest_start = {}) {
    Sequence& sequence = add(id, key, milliseconds(id), latest_start, tokens);
    return &sequence;
  };
  EXPECT_EQ(queue_.shortest(), nullptr);
  of(1, "a", 30);
  Sequence* second = of(2, "a", 20);
  of(3, "a", 20);
  of(4, "b", 10);
  of(5, "a", 5, milliseconds(9));
  EXPECT_EQ(queue_.shortest(), second);
  queue_.remove(*second);
  EXPECT_EQ(queue_.shortest()->request.id, 3);
  queue_.charge(*second->share, 1, true);
  EXPECT_EQ(queue_.shortest()->request.id, 4);
}

TEST_F(FairQueueTest, DeadlinesComeFirstByTheirLatestStart) {
  add(1, "a", milliseconds(1));
  add(2, "a", {}, milliseconds(20));
  add(3, "b", {}, milliseconds(10));
  EXPECT_EQ(queue_.work_before(milliseconds(15)).tokens, 3);
  EXPECT_EQ(queue_.work().tokens, 9);
  EXPECT_EQ(order(), (std::vector<Id>{3, 2, 1}));
  EXPECT_EQ(queue_.size(), 0);
  EXPECT_EQ(queue_.work().pairs, 0);
}

TEST_F(FairQueueTest, TellsWhoseDeadlineHasPassed) {
  add(1, "a", {}, milliseconds(20));
  Sequence& second = add(2, "a", {}, milliseconds(10));
  EXPECT_EQ(queue_.expired(milliseconds(19)), nullptr);
  EXPECT_EQ(queue_.expired(milliseconds(20)), &second);
}

TEST_F(FairQueueTest, AKeyStartsAtTheVirtualTimeAndKeepsWhatItUsedBeyondIt) {
  for (Id id = 1; id <= 5; ++id) add(id, "a", milliseconds(id));
  order();  // "a" has had 5 s; its last began at 4 s
  add(6, "a", milliseconds(6));
  add(7, "b", milliseconds(7));
  add(8, "b", milliseconds(8));
  add(9, "b", milliseconds(9));
  EXPECT_EQ(order(), (std::vector<Id>{7, 6, 8, 9}));  // b at 4, a at 5 (the older key), b at 5, 6
}

TEST_F(FairQueueTest, ForgetsKeysThatAreNotAhead) {
  Sequence& ahead = add(1, "ahead", {});
  queue_.charge(*ahead.share, 100, false);
  queue_.remove(ahead);
  queue_.leave(*ahead.share);
  for (Id id = 2; id < 5000; ++id) {
    add(id, ("key " + std::to_string(id)).c_str(), {});
    order();
  }
  EXPECT_EQ(add(6000, "ahead", {}).share->used_s, 100);
}

}  // namespace
}  // namespace ridge::generate
