#include "serve/request_queue.h"

#include <gtest/gtest.h>

#include "serve/test_time.h"

namespace ridge::serve {
namespace {

using std::chrono::microseconds;

JobPtr make_job(const std::string& id, int64_t rows = 1, int64_t width = 2, uint64_t priority = 0,
                std::optional<Nanoseconds> timeout = {}) {
  auto job = std::make_unique<Job>();
  job->request.model = "m";
  job->request.id = id;
  job->request.priority = priority;
  job->request.timeout = timeout;
  job->request.inputs.push_back({"x", DataType::kFp32, {rows, width}, {}});
  job->rows = rows;
  return job;
}

QueueSettings settings_of_levels(std::vector<QueuePolicy> levels, size_t default_level = 0) {
  QueueSettings settings;
  settings.batch = {true, 4, {}, {}};
  settings.levels = std::move(levels);
  settings.default_level = default_level;
  return settings;
}

std::string ids(const Jobs& jobs) {
  std::string text;
  for (const JobPtr& job : jobs) text += job->request.id;
  return text;
}

Status add(RequestQueue& queue, JobPtr job, int64_t now_us = 0) {
  std::optional<Rejection> rejection = queue.add(std::move(job), at(now_us));
  if (!rejection) return {};
  EXPECT_TRUE(rejection->job) << "a rejected job comes back";
  return std::move(rejection->error);
}

std::string take_all(RequestQueue& queue, int64_t now_us = 0) {
  std::string text;
  while (queue.size() > 0) {
    BatchDecision decision = queue.decide(at(now_us));
    if (decision.action != BatchDecision::Action::kRun) return text + "?";
    Jobs batch;
    queue.take(decision.requests, batch);
    text += ids(batch) + " ";
  }
  return text;
}

TEST(RequestQueue, KeepsTheOrderAndTheBatchesOfThoseThatStay) {
  RequestQueue queue(settings_of_levels({{}, {}}), false);
  for (const char* id : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(add(queue, make_job(id, 1, 2, 2)));
  ASSERT_TRUE(add(queue, make_job("f", 1, 2, 1)));
  Jobs removed;
  queue.remove([](const Job& job) { return job.request.id == "b" || job.request.id == "f"; }, removed);
  EXPECT_EQ(ids(removed), "fb");
  EXPECT_EQ(queue.size(), 4u);
  EXPECT_EQ(take_all(queue), "acde ");
}

TEST(RequestQueue, MergesEqualShapesInOrder) {
  RequestQueue queue(settings_of_levels({{}}), false);
  for (const char* id : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(add(queue, make_job(id)));
  EXPECT_EQ(take_all(queue), "abcd e ");
}

TEST(RequestQueue, KeepsOtherShapesApart) {
  RequestQueue queue(settings_of_levels({{}}), false);
  ASSERT_TRUE(add(queue, make_job("a", 1, 2)));
  ASSERT_TRUE(add(queue, make_job("b", 1, 3)));
  ASSERT_TRUE(add(queue, make_job("c", 1, 3)));
  ASSERT_TRUE(add(queue, make_job("d", 1, 2)));
  EXPECT_EQ(take_all(queue), "a bc d ");
}

TEST(RequestQueue, KeepsRequestsWithAndWithoutAnOptionalInputApart) {
  RequestQueue queue(settings_of_levels({{}}), false);
  ASSERT_TRUE(add(queue, make_job("a")));
  JobPtr without = make_job("b");
  without->request.inputs[0] = {};
  ASSERT_TRUE(add(queue, std::move(without)));
  EXPECT_EQ(take_all(queue), "a b ");
}

TEST(RequestQueue, RejectsWhenFullAndReturnsTheJob) {
  QueuePolicy two;
  two.max_size = 2;
  RequestQueue queue(settings_of_levels({two}), false);
  ASSERT_TRUE(add(queue, make_job("a")));
  ASSERT_TRUE(add(queue, make_job("b")));
  const std::optional<Rejection> rejection = queue.add(make_job("c"), at(0));
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->error.code, Code::kUnavailable);
  EXPECT_NE(rejection->error.message.find("Exceeds maximum queue size"), std::string::npos);
  EXPECT_EQ(rejection->job->request.id, "c");
  EXPECT_EQ(queue.size(), 2u);
}

TEST(RequestQueue, IsBoundedWithoutALimitInTheConfiguration) {
  QueueSettings settings = settings_of_levels({{}});
  settings.size_limit = 1;
  RequestQueue queue(settings, false);
  ASSERT_TRUE(add(queue, make_job("a")));
  EXPECT_FALSE(add(queue, make_job("b")));
}

TEST(RequestQueue, ServesHigherPriorityFirst) {
  RequestQueue queue(settings_of_levels({{}, {}, {}}, 1), false);
  ASSERT_TRUE(add(queue, make_job("c", 4, 2, 3)));
  ASSERT_TRUE(add(queue, make_job("b", 4)));
  ASSERT_TRUE(add(queue, make_job("a", 4, 2, 1)));
  EXPECT_EQ(take_all(queue), "a b c ");
}

TEST(RequestQueue, AnUnknownPriorityIsTheDefaultLevel) {
  RequestQueue queue(settings_of_levels({{}, {}, {}}, 1), false);
  ASSERT_TRUE(add(queue, make_job("c", 4, 2, 3)));
  ASSERT_TRUE(add(queue, make_job("b", 4, 2, 9)));
  ASSERT_TRUE(add(queue, make_job("a", 4, 2, 1)));
  EXPECT_EQ(take_all(queue), "a b c ");
}

TEST(RequestQueue, ExpiresWhatWaitedTooLong) {
  QueuePolicy policy;
  policy.default_timeout = microseconds(100);
  RequestQueue queue(settings_of_levels({policy}), false);
  ASSERT_TRUE(add(queue, make_job("a"), 0));
  ASSERT_TRUE(add(queue, make_job("b"), 50));
  EXPECT_EQ(queue.next_deadline(), at(100));
  Jobs expired;
  queue.expire(at(99), expired);
  EXPECT_EQ(ids(expired), "");
  queue.expire(at(100), expired);
  EXPECT_EQ(ids(expired), "a");
  EXPECT_EQ(queue.next_deadline(), at(150));
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(take_all(queue), "b ");
}

TEST(RequestQueue, DelaysExpiredRequestsWhereThePolicySaysSo) {
  QueuePolicy policy;
  policy.default_timeout = microseconds(100);
  policy.delay_expired = true;
  RequestQueue queue(settings_of_levels({policy}), false);
  ASSERT_TRUE(add(queue, make_job("a", 4), 0));
  ASSERT_TRUE(add(queue, make_job("b", 4), 50));
  Jobs expired;
  queue.expire(at(120), expired);
  EXPECT_TRUE(expired.empty());
  EXPECT_EQ(take_all(queue), "b a ");
}

TEST(RequestQueue, ARequestMayOnlyShortenItsTimeoutAndOnlyIfAllowed) {
  QueuePolicy fixed;
  fixed.default_timeout = microseconds(100);
  RequestQueue refuses(settings_of_levels({fixed}), false);
  ASSERT_TRUE(add(refuses, make_job("a", 1, 2, 0, microseconds(10))));
  EXPECT_EQ(refuses.next_deadline(), at(100));
  QueuePolicy open = fixed;
  open.allow_timeout_override = true;
  RequestQueue allows(settings_of_levels({open}), false);
  ASSERT_TRUE(add(allows, make_job("a", 1, 2, 0, microseconds(1000))));
  EXPECT_EQ(allows.next_deadline(), at(100));
  ASSERT_TRUE(add(allows, make_job("b", 1, 2, 0, microseconds(10))));
  EXPECT_EQ(allows.next_deadline(), at(10));
  RequestQueue none(settings_of_levels({{}}), false);
  ASSERT_TRUE(add(none, make_job("a", 1, 2, 0, microseconds(10))));
  EXPECT_EQ(none.next_deadline(), TimePoint::max());
}

TEST(RequestQueue, AHugeTimeoutIsNone) {
  QueuePolicy policy;
  policy.allow_timeout_override = true;
  RequestQueue queue(settings_of_levels({policy}), false);
  ASSERT_TRUE(add(queue, make_job("a", 1, 2, 0, Nanoseconds::max()), 1000));
  EXPECT_EQ(queue.next_deadline(), TimePoint::max());
}

JobPtr job_until(const std::string& id, int64_t deadline_us) {
  JobPtr job = make_job(id);
  job->request.deadline = at(deadline_us);
  return job;
}

TEST(RequestQueue, ADeadlineOfTheClientCountsWhateverThePolicySays) {
  QueuePolicy policy;
  policy.default_timeout = microseconds(100);
  RequestQueue queue(settings_of_levels({policy}), false);
  ASSERT_TRUE(add(queue, job_until("a", 40)));
  ASSERT_TRUE(add(queue, job_until("b", 1000)));
  EXPECT_EQ(queue.next_deadline(), at(40));
  Jobs expired;
  queue.expire(at(40), expired);
  EXPECT_EQ(ids(expired), "a");
  EXPECT_EQ(queue.next_deadline(), at(100));
}

TEST(RequestQueue, ADelayedRequestLeavesAtItsClientsDeadline) {
  QueuePolicy policy;
  policy.default_timeout = microseconds(100);
  policy.delay_expired = true;
  RequestQueue queue(settings_of_levels({policy}), false);
  ASSERT_TRUE(add(queue, job_until("a", 50)));
  ASSERT_TRUE(add(queue, job_until("b", 150)));
  Jobs expired;
  queue.expire(at(100), expired);
  EXPECT_EQ(ids(expired), "a");
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.next_deadline(), at(150));
  queue.expire(at(150), expired);
  EXPECT_EQ(ids(expired), "ab");
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.next_deadline(), TimePoint::max());
}

TEST(RequestQueue, CountsRequestsAndRowsThatRunBeforeANewOne) {
  QueuePolicy delays;
  delays.delay_expired = delays.allow_timeout_override = true;
  RequestQueue queue(settings_of_levels({delays, {}}), false);
  ASSERT_TRUE(add(queue, make_job("a", 2, 2, 1, microseconds(10))));
  ASSERT_TRUE(add(queue, make_job("b", 3, 2, 1)));
  ASSERT_TRUE(add(queue, make_job("c", 1, 2, 2)));
  JobPtr last = make_job("d", 4, 2, 2);
  std::stop_source leaves;
  last->request.cancelled = leaves.get_token();
  ASSERT_TRUE(add(queue, std::move(last)));
  const auto ahead = [&](uint64_t priority, bool looks = false) {
    InferRequest request;
    request.priority = priority;
    const Ahead found = queue.ahead_of(request, looks);
    return std::pair(found.requests, found.rows);
  };
  EXPECT_EQ(ahead(1), std::pair(size_t{2}, int64_t{5}));
  EXPECT_EQ(ahead(2, true), std::pair(size_t{4}, int64_t{10}));
  leaves.request_stop();
  EXPECT_EQ(ahead(2, true), std::pair(size_t{3}, int64_t{6})) << "d's client has left";
  EXPECT_EQ(ahead(2), std::pair(size_t{4}, int64_t{10}));
  Jobs gone;
  queue.expire(at(10), gone);
  EXPECT_EQ(ahead(1), std::pair(size_t{1}, int64_t{3})) << "a has its turn after a new one";
  EXPECT_EQ(ahead(2), std::pair(size_t{4}, int64_t{10}));
  queue.remove([](const Job& job) { return job.request.id == "d"; }, gone);
  queue.take(1, gone);
  EXPECT_EQ(ahead(2), std::pair(size_t{2}, int64_t{3}));
}

TEST(RequestQueue, ABatchIsCutWhereThatGivesClearlyMoreAnswersInTime) {
  RequestQueue queue(settings_of_levels({{}}), false);
  ServiceTimes times;
  for (int64_t rows = 1; rows <= 4; ++rows) times.record(rows, rows * microseconds(10), at(rows));
  for (const int64_t deadline_us : {25, 25, 100, 100}) {
    JobPtr job = make_job("a");
    job->request.deadline = at(deadline_us);
    ASSERT_TRUE(add(queue, std::move(job)));
  }
  EXPECT_EQ(queue.most_in_time(4, at(0), times), 2u) << "2 in 20 us, not 2 in 40 us";
  EXPECT_EQ(queue.most_in_time(4, at(20), times), 4u) << "the first two are late, whatever is done";
  EXPECT_EQ(queue.most_in_time(4, at(500), times), 4u) << "so are all";
}

}  // namespace
}  // namespace ridge::serve
