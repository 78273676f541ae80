#include "serve/sequences.h"

#include <gtest/gtest.h>

#include <map>

#include "serve/test_time.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

class SequencesTest : public testing::Test {
 protected:
  // Requests are called by their sequence and what they are: "a(" starts, "a" goes on, "a)" ends, "a()" is a whole
  // sequence.
  static JobPtr job(const std::string& name) {
    auto job = std::make_unique<Job>();
    job->request.model = "m";
    job->request.id = name;
    job->request.sequence = {name.substr(0, 1), name.find('(') != std::string::npos,
                             name.find(')') != std::string::npos};
    return job;
  }
  void open(size_t slots, size_t instances = 1, size_t limit = 100) {
    SequenceSettings settings;
    settings.slots = slots;
    settings.max_idle = 100us;
    sequences_.emplace(std::move(settings), instances, limit);
  }
  // Adds them in that order. What is to be done follows, as in text().
  std::string add(const std::vector<std::string>& names, TimePoint now = at(0)) {
    Sequences::Due due;
    for (const std::string& name : names) {
      const auto rejection = sequences_->add(job(name), now, due);
      if (rejection) rejections_.push_back(rejection->error);
    }
    return text(std::move(due));
  }
  // Ends the request that was handed out under that name.
  std::string end(const std::string& name, bool ran = true, TimePoint now = at(0)) {
    Sequences::Due due;
    const JobPtr job = std::move(out_.at(name));
    out_.erase(name);
    sequences_->end(*job->sequence, ran, now, due);
    return text(std::move(due));
  }
  std::string expire(TimePoint now) {
    Sequences::Due due;
    sequences_->expire(now, due);
    return text(std::move(due));
  }
  std::string remove(const std::function<bool(const Job&)>& unwanted) {
    Sequences::Due due;
    sequences_->remove(unwanted, due);
    return text(std::move(due));
  }
  // "a(:0.1 | unwanted | lost": those to run with instance and slot.
  std::string text(Sequences::Due due) {
    std::string text;
    expire_ = std::min(expire_, due.expire);
    for (JobPtr& job : due.run) {
      const Sequence& sequence = *job->sequence;
      text += job->request.id + ":" + std::to_string(sequence.instance) + "." + std::to_string(*sequence.slot) + " ";
      out_[job->request.id] = std::move(job);
    }
    for (const Jobs* gone : {&due.unwanted, &due.lost}) {
      if (due.unwanted.empty() && due.lost.empty()) break;
      text += "| ";
      for (const JobPtr& job : *gone) text += job->request.id + " ";
    }
    return text;
  }

  std::optional<Sequences> sequences_;
  std::map<std::string, JobPtr> out_;
  std::vector<Error> rejections_;
  TimePoint expire_ = TimePoint::max();
};

TEST_F(SequencesTest, GivesEachSequenceASlotAndSpreadsThemOverInstances) {
  open(2, 2);
  EXPECT_EQ(add({"a(", "b(", "c(", "d("}), "a(:0.0 b(:1.0 c(:0.1 d(:1.1 ");
}

TEST_F(SequencesTest, HandsOutOneRequestOfASequenceAtATimeInOrder) {
  open(2);
  EXPECT_EQ(add({"a(", "a", "b(", "a)"}), "a(:0.0 b(:0.1 ");
  EXPECT_EQ(sequences_->waiting(), 2u);
  EXPECT_EQ(end("a("), "a:0.0 ");
  EXPECT_EQ(end("a"), "a):0.0 ");
  EXPECT_EQ(end("a)"), "");
  EXPECT_EQ(sequences_->open(), 1u);
}

TEST_F(SequencesTest, ASequenceBeyondTheSlotsWaitsForTheFirstFreeOneAndKeepsItsRequests) {
  open(1);
  EXPECT_EQ(add({"a(", "b(", "c()", "b", "b)"}), "a(:0.0 ");
  EXPECT_EQ(end("a("), "");
  EXPECT_EQ(add({"a)"}), "a):0.0 ");
  EXPECT_EQ(end("a)"), "b(:0.0 ");
  EXPECT_EQ(end("b("), "b:0.0 ");
  EXPECT_EQ(end("b"), "b):0.0 ");
  EXPECT_EQ(end("b)"), "c():0.0 ");
  EXPECT_EQ(end("c()"), "");
  EXPECT_EQ(sequences_->open(), 0u);
}

TEST_F(SequencesTest, RefusesWhatDoesNotBeginOrNamesNoSequenceOrHasManyRows) {
  open(1);
  Sequences::Due due;
  JobPtr nameless = job("a("), wide = job("a(");
  nameless->request.sequence.id = uint64_t{0};
  wide->rows = 2;
  EXPECT_EQ(sequences_->add(std::move(nameless), at(0), due)->error.code, Code::kInvalid);
  EXPECT_EQ(sequences_->add(std::move(wide), at(0), due)->error.code, Code::kInvalid);
  EXPECT_EQ(sequences_->add(job("a"), at(0), due)->error.code, Code::kInvalid);
  EXPECT_EQ(sequences_->open(), 0u);
  EXPECT_EQ(add({"a()", "a"}), "a():0.0 ");  // the end was the last
  EXPECT_EQ(rejections_.size(), 1u);
}

TEST_F(SequencesTest, ANumberAndItsTextAreTwoSequences) {
  open(2);
  Sequences::Due due;
  JobPtr number = job("1("), text_of_it = job("1");
  number->request.sequence.id = uint64_t{1};
  EXPECT_FALSE(sequences_->add(std::move(number), at(0), due));
  EXPECT_TRUE(sequences_->add(std::move(text_of_it), at(0), due));
}

TEST_F(SequencesTest, RefusesRequestsBeyondTheQueueLimitAndKeepsTheSequence) {
  open(1, 1, 1);
  EXPECT_EQ(add({"a(", "a", "a"}), "a(:0.0 ");
  ASSERT_EQ(rejections_.size(), 1u);
  EXPECT_EQ(rejections_[0].code, Code::kUnavailable);
  EXPECT_EQ(end("a("), "a:0.0 ");
  EXPECT_EQ(end("a"), "");
  EXPECT_EQ(add({"a"}), "a:0.0 ");
}

TEST_F(SequencesTest, AStartOnAnOpenSequenceDropsTheStateAfterTheRequestsBefore) {
  open(1);
  EXPECT_EQ(add({"a(", "a", "a("}), "a(:0.0 ");
  Sequence& sequence = *out_["a("]->sequence;
  sequence.states.resize(1);
  EXPECT_EQ(end("a("), "a:0.0 ");
  EXPECT_EQ(sequence.states.size(), 1u);
  EXPECT_EQ(end("a"), "a(:0.0 ");
  EXPECT_TRUE(sequence.states.empty());
}

TEST_F(SequencesTest, AnIdleSequenceEndsAndFreesItsSlot) {
  open(1);
  EXPECT_EQ(add({"a(", "b("}), "a(:0.0 ");
  EXPECT_EQ(expire_, at(100));
  EXPECT_EQ(expire(at(100)), "");  // it runs still
  expire_ = TimePoint::max();
  EXPECT_EQ(end("a(", true, at(150)), "");
  EXPECT_EQ(expire_, at(250));
  EXPECT_EQ(expire(at(249)), "");
  EXPECT_TRUE(sequences_->is_open("a"));
  EXPECT_EQ(expire(at(250)), "b(:0.0 ");
  EXPECT_FALSE(sequences_->is_open("a"));
}

TEST_F(SequencesTest, EachRequestPostponesTheIdleEnd) {
  open(1);
  EXPECT_EQ(add({"a("}), "a(:0.0 ");
  EXPECT_EQ(end("a(", true, at(10)), "");
  EXPECT_EQ(add({"a"}, at(60)), "a:0.0 ");
  EXPECT_EQ(end("a", true, at(70)), "");
  expire_ = TimePoint::max();
  EXPECT_EQ(expire(at(110)), "");
  EXPECT_EQ(expire_, at(170));
  EXPECT_TRUE(sequences_->is_open("a"));
}

TEST_F(SequencesTest, ARequestThatIsNotRunEndsItsSequence) {
  open(1);
  EXPECT_EQ(add({"a(", "a", "a)", "b("}), "a(:0.0 ");
  EXPECT_EQ(end("a(", false), "b(:0.0 | | a a) ");
  EXPECT_FALSE(sequences_->is_open("a"));
}

TEST_F(SequencesTest, WhatBeginsAgainBehindALostRequestGoesOn) {
  open(1);
  EXPECT_EQ(add({"a(", "a", "a(", "a"}), "a(:0.0 ");
  EXPECT_EQ(end("a(", false), "a(:0.0 | | a ");
  EXPECT_TRUE(sequences_->is_open("a"));
  EXPECT_EQ(end("a("), "a:0.0 ");
}

TEST_F(SequencesTest, RemovesRequestsAndWhatWaitsBehindThem) {
  open(1);
  EXPECT_EQ(add({"a(", "a", "b(", "b", "c("}), "a(:0.0 ");
  EXPECT_EQ(remove([](const Job& job) { return job.request.id == "b("; }), "| b( | b ");
  EXPECT_FALSE(sequences_->is_open("b"));
  EXPECT_EQ(sequences_->open(), 2u);
  EXPECT_EQ(remove([](const Job& job) { return job.request.id == "a"; }), "| a | ");
  EXPECT_EQ(end("a("), "c(:0.0 ");  // without its second request the first sequence has ended
}

TEST_F(SequencesTest, ARequestWhoseDeadlinePassesInLineLeavesIt) {
  open(1);
  EXPECT_EQ(add({"a("}), "a(:0.0 ");
  JobPtr late = job("a");
  late->request.deadline = at(50);
  Sequences::Due due;
  EXPECT_FALSE(sequences_->add(std::move(late), at(0), due));
  EXPECT_EQ(due.expire, at(50));
  EXPECT_EQ(expire(at(50)), "| a | ");
}

TEST_F(SequencesTest, ClosedItRefusesNewRequestsAndDrainsTheWaitingOnes) {
  open(1);
  EXPECT_EQ(add({"a(", "a", "b("}), "a(:0.0 ");
  Sequences::Due due;
  sequences_->close(due);
  EXPECT_EQ(text(std::move(due)), "");
  EXPECT_EQ(add({"a"}), "");
  ASSERT_EQ(rejections_.size(), 1u);
  EXPECT_EQ(rejections_[0].code, Code::kUnavailable);
  EXPECT_EQ(end("a("), "a:0.0 ");
  EXPECT_EQ(end("a"), "b(:0.0 ");  // the open sequence gets no more requests
  EXPECT_FALSE(sequences_->drained());
  EXPECT_EQ(end("b("), "");
  EXPECT_TRUE(sequences_->drained());
}

}  // namespace
}  // namespace ridge::serve
