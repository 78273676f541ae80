#include "serve/statistics.h"

#include <gtest/gtest.h>

#include "serve/test_time.h"

namespace ridge::serve {
namespace {

using std::chrono::microseconds;

Jobs jobs_of(std::vector<std::pair<int64_t, int64_t>> rows_and_queued_us) {
  Jobs jobs;
  for (auto [rows, queued] : rows_and_queued_us) {
    auto job = std::make_unique<Job>();
    job->rows = rows;
    job->queued = at(queued);
    job->request.arrived = at(queued - 5);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

TEST(Statistics, ARequestThatFailedAloneCountsAsAFailureItsRowsAsRun) {
  Statistics statistics;
  Jobs jobs = jobs_of({{2, 100}, {3, 110}});
  jobs[0]->failure = Error{Code::kInvalid, "its region is too small"};
  statistics.record_execution(jobs, {at(120), at(121), at(141), at(144)}, 77);
  ModelStatistics found = statistics.snapshot();
  EXPECT_EQ(found.success.count, 1u);
  EXPECT_EQ(found.compute_infer.count, 1u);
  EXPECT_EQ(found.compute_infer.ns, 20'000u);
  EXPECT_EQ(found.fail.count, 1u);
  EXPECT_EQ(found.fail.ns, 49'000u);
  EXPECT_EQ(found.other_failed, 1u);
  EXPECT_EQ(found.inference_count, 5u);
  EXPECT_EQ(found.batches[0].batch_size, 5u);
}

TEST(Statistics, CountsRequestsRowsAndExecutionsApart) {
  Statistics statistics;
  Jobs jobs = jobs_of({{2, 100}, {3, 110}});
  statistics.record_execution(jobs, {at(120), at(121), at(141), at(144)}, 77);
  ModelStatistics found = statistics.snapshot();
  EXPECT_EQ(found.success.count, 2u);
  EXPECT_EQ(found.success.ns, 49'000u + 39'000u) << "from arrival to the answer";
  EXPECT_EQ(found.queue.count, 2u);
  EXPECT_EQ(found.queue.ns, 20'000u + 10'000u);
  EXPECT_EQ(found.compute_input.ns, 2 * 1'000u);
  EXPECT_EQ(found.compute_infer.count, 2u);
  EXPECT_EQ(found.compute_infer.ns, 2 * 20'000u) << "every request gets the batch's compute time";
  EXPECT_EQ(found.compute_output.ns, 2 * 3'000u);
  EXPECT_EQ(found.inference_count, 5u);
  EXPECT_EQ(found.execution_count, 1u);
  EXPECT_EQ(found.last_inference_ms, 77u);
  ASSERT_EQ(found.batches.size(), 1u);
  EXPECT_EQ(found.batches[0].batch_size, 5u);
  EXPECT_EQ(found.batches[0].compute_infer.count, 1u);
  EXPECT_EQ(found.batches[0].compute_infer.ns, 20'000u) << "per execution";
  EXPECT_GE(found.success.ns,
            found.queue.ns + found.compute_input.ns + found.compute_infer.ns + found.compute_output.ns);
}

TEST(Statistics, BatchSizesAscendAndAddUp) {
  Statistics statistics;
  for (int64_t rows : {4, 1, 2, 1, 4})
    statistics.record_execution(jobs_of({{rows, 0}}), {at(1), at(1), at(2), at(2)}, 0);
  ModelStatistics found = statistics.snapshot();
  ASSERT_EQ(found.batches.size(), 3u);
  uint64_t rows = 0, executions = 0, before = 0;
  for (const BatchStatistic& batch : found.batches) {
    EXPECT_GT(batch.batch_size, before);
    before = batch.batch_size;
    rows += batch.batch_size * batch.compute_infer.count;
    executions += batch.compute_infer.count;
  }
  EXPECT_EQ(rows, found.inference_count);
  EXPECT_EQ(executions, found.execution_count);
}

TEST(Statistics, FailuresCountByReasonAndNowhereElse) {
  Statistics statistics;
  statistics.record_failures(FailureReason::kRejected, 2, microseconds(10));
  statistics.record_failures(FailureReason::kBackend, 1, microseconds(5));
  statistics.record_failures(FailureReason::kCancelled, 1, microseconds(1));
  statistics.record_failures(FailureReason::kOther, 1, microseconds(1));
  ModelStatistics found = statistics.snapshot();
  EXPECT_EQ(found.fail.count, 5u);
  EXPECT_EQ(found.fail.ns, 17'000u);
  EXPECT_EQ(found.rejected + found.backend_failed + found.cancelled + found.other_failed, found.fail.count);
  EXPECT_EQ(found.rejected, 2u);
  EXPECT_EQ(found.success.count + found.inference_count + found.execution_count + found.queue.count, 0u);
}

TEST(Statistics, TheLatencyHistogramIsCumulativeAndComplete) {
  Statistics statistics;
  statistics.record_execution(jobs_of({{1, 5}, {1, 5}}), {at(6), at(7), at(8), at(100)},
                              0);  // 100 µs: the bound itself
  statistics.record_execution(jobs_of({{1, 5}}), {at(6), at(7), at(8), at(20'000'000)}, 0);  // 20 s
  ModelStatistics found = statistics.snapshot();
  ASSERT_EQ(found.latency.bounds_s.size(), found.latency.counts.size());
  EXPECT_EQ(found.latency.counts[3], 2u) << found.latency.bounds_s[3];
  EXPECT_EQ(found.latency.counts[2], 0u);
  EXPECT_EQ(found.latency.counts.back(), found.success.count);
  EXPECT_TRUE(std::is_sorted(found.latency.counts.begin(), found.latency.counts.end()));
  EXPECT_NEAR(found.latency.sum_s, 20.0002, 1e-9);
}

TEST(Statistics, StagesOfABatchCountForEachOfItsRequestsAndOnceAsWork) {
  Statistics statistics;
  statistics.record_execution(jobs_of({{1, 10}, {2, 20}}), {at(120), at(150), at(950), at(1000)}, 0);
  statistics.record_cache_hit(microseconds(7), microseconds(2));
  const ModelStatistics found = statistics.snapshot();
  EXPECT_NEAR(found.queue_time.sum_s, (110 + 100) * 1e-6, 1e-12);
  EXPECT_EQ(found.queue_time.counts.back(), 3u) << "the one from the cache did not wait";
  EXPECT_NEAR(found.input_time.sum_s, 2 * 30e-6, 1e-12);
  EXPECT_NEAR(found.infer_time.sum_s, 2 * 800e-6, 1e-12);
  EXPECT_NEAR(found.output_time.sum_s, 2 * 50e-6, 1e-12);
  EXPECT_EQ(found.infer_time.counts.back(), 2u);
  EXPECT_EQ(found.busy_ns, 880'000u);
}

}  // namespace
}  // namespace ridge::serve
