#include "limits/accelerator/question.h"

#include <gtest/gtest.h>

#include "limits/rates.h"

namespace ridge::limits::accelerator {
namespace {

// A way that does `rate` units per second, a thousand per repeat.
Candidate way_of(double rate, const std::string& name = "") {
  Candidate candidate;
  candidate.conditions = name;
  candidate.work = [rate](int64_t repeats) -> Result<Burst> {
    const double units = 1000 * static_cast<double>(repeats);
    return Burst{units, units / rate, 1e9};
  };
  return candidate;
}

TEST(Candidate, IsGivenAsMuchAsABurstTakes) {
  Candidate candidate = way_of(1e12);  // 1 ns per repeat
  ASSERT_TRUE(start(candidate));
  EXPECT_NEAR(static_cast<double>(candidate.repeats), kBurstSeconds / 1e-9, 2);
  Candidate limited = way_of(1e12);
  limited.most_repeats = 1000;
  ASSERT_TRUE(start(limited));
  EXPECT_EQ(limited.repeats, 1000);
  Candidate slow = way_of(1000);  // 1 s per repeat
  ASSERT_TRUE(start(slow));
  EXPECT_EQ(slow.repeats, 1);
}

TEST(Question, BestWayIsTheAnswer) {
  Question question;
  question.candidates = {way_of(2e6, "slow"), way_of(3e6, "fast")};
  visit_all(question);
  Figure figure = answer(question);
  ASSERT_TRUE(figure.best);
  EXPECT_NEAR(*figure.best, 3e6, 1);
  EXPECT_EQ(figure.conditions, "fast");
  EXPECT_EQ(figure.bursts, kBurstsPerVisit);
  EXPECT_EQ(figure.clock_hz, 1e9);
  drop_hopeless(question);
  EXPECT_TRUE(question.candidates[0].dropped);
  visit_all(question);
  EXPECT_EQ(answer(question).bursts, 2 * kBurstsPerVisit);
  EXPECT_EQ(question.candidates[0].rates.size(), static_cast<size_t>(kBurstsPerVisit)) << "not asked again";
}

TEST(Question, AWayThatComputesWronglyDoesNotCount) {
  Question question;
  question.candidates = {way_of(2e6, "right"), way_of(9e6, "wrong")};
  question.candidates[1].check = [] { return Status(Error{Code::kFailed, "counted to 3"}); };
  visit_all(question);
  EXPECT_EQ(answer(question).conditions, "right");
  question.candidates.clear();
  Figure none = answer(question);
  EXPECT_FALSE(none.best);
  EXPECT_EQ(none.reason, "counted to 3");
}

}  // namespace
}  // namespace ridge::limits::accelerator
