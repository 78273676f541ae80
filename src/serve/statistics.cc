#include "serve/statistics.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "serve/histogram.h"

namespace ridge::serve {
namespace {

// Upper bounds of the histograms [s]: 1, 2.5, 5 per decade from 10 µs to 10 s, finer in the usual range.
const std::vector<double> kBounds = {0.00001,
                                     0.000025,
                                     0.00005,
                                     0.0001,
                                     0.00025,
                                     0.0005,
                                     0.001,
                                     0.0025,
                                     0.005,
                                     0.01,
                                     0.02,
                                     0.03,
                                     0.05,
                                     0.075,
                                     0.1,
                                     0.15,
                                     0.25,
                                     0.5,
                                     1,
                                     2.5,
                                     5,
                                     10,
                                     std::numeric_limits<double>::infinity()};

uint64_t count_ns(Nanoseconds duration) { return static_cast<uint64_t>(std::max<int64_t>(0, duration.count())); }

void add(DurationStatistic& statistic, uint64_t count, uint64_t ns) {
  statistic.count += count;
  statistic.ns += ns;
}

void add(Histogram& histogram, uint64_t count, Nanoseconds duration) {
  add(histogram, to_seconds(std::max(Nanoseconds{0}, duration)), count);
}

std::array<Histogram*, 5> histograms(ModelStatistics& of) {
  return {&of.latency, &of.queue_time, &of.input_time, &of.infer_time, &of.output_time};
}

}  // namespace

Statistics::Statistics() {
  for (Histogram* histogram : histograms(counters_)) *histogram = empty_histogram(kBounds);
}

BatchStatistic& Statistics::batch_entry(uint64_t rows) {
  auto& entries = counters_.batches;
  auto place = std::lower_bound(entries.begin(), entries.end(), rows,
                                [](const BatchStatistic& entry, uint64_t size) { return entry.batch_size < size; });
  if (place == entries.end() || place->batch_size != rows) {
    place = entries.insert(place, BatchStatistic{});
    place->batch_size = rows;
  }
  return *place;
}

void Statistics::record_execution(std::span<const JobPtr> jobs, const BatchTimes& times, uint64_t now_ms_since_epoch) {
  uint64_t input_ns = count_ns(times.inputs_ready - times.started);
  uint64_t infer_ns = count_ns(times.computed - times.inputs_ready);
  uint64_t output_ns = count_ns(times.outputs_ready - times.computed);
  MutexLock lock(mutex_);
  uint64_t rows = 0, requests = 0;
  for (const JobPtr& job : jobs) {
    rows += static_cast<uint64_t>(job->rows);
    Nanoseconds latency = times.outputs_ready - std::min(job->request.arrived, job->queued);
    if (job->failure) {
      add(counters_.fail, 1, count_ns(latency));
      ++counters_.other_failed;
      continue;
    }
    ++requests;
    add(counters_.success, 1, count_ns(latency));
    add(counters_.queue, 1, count_ns(times.started - job->queued));
    add(counters_.latency, 1, latency);
    add(counters_.queue_time, 1, times.started - job->queued);
  }
  add(counters_.compute_input, requests, requests * input_ns);
  add(counters_.compute_infer, requests, requests * infer_ns);
  add(counters_.compute_output, requests, requests * output_ns);
  add(counters_.input_time, requests, times.inputs_ready - times.started);
  add(counters_.infer_time, requests, times.computed - times.inputs_ready);
  add(counters_.output_time, requests, times.outputs_ready - times.computed);
  counters_.busy_ns += input_ns + infer_ns + output_ns;
  counters_.inference_count += rows;
  counters_.execution_count += 1;
  counters_.last_inference_ms = now_ms_since_epoch;
  BatchStatistic& entry = batch_entry(rows);
  add(entry.compute_input, 1, input_ns);
  add(entry.compute_infer, 1, infer_ns);
  add(entry.compute_output, 1, output_ns);
}

void Statistics::record_ensemble(uint64_t rows, Nanoseconds latency, const ComputeTimes& times,
                                 uint64_t now_ms_since_epoch) {
  const uint64_t input_ns = count_ns(times.input), infer_ns = count_ns(times.infer), output_ns = count_ns(times.output);
  MutexLock lock(mutex_);
  add(counters_.success, 1, count_ns(latency));
  add(counters_.queue, 1, 0);
  add(counters_.latency, 1, latency);
  add(counters_.queue_time, 1, Nanoseconds{0});
  add(counters_.input_time, 1, times.input);
  add(counters_.infer_time, 1, times.infer);
  add(counters_.output_time, 1, times.output);
  counters_.inference_count += rows;
  counters_.execution_count += 1;
  counters_.last_inference_ms = now_ms_since_epoch;
  BatchStatistic& entry = batch_entry(rows);
  for (auto [all, of_batch, ns] : {std::tuple(&counters_.compute_input, &entry.compute_input, input_ns),
                                   std::tuple(&counters_.compute_infer, &entry.compute_infer, infer_ns),
                                   std::tuple(&counters_.compute_output, &entry.compute_output, output_ns)}) {
    add(*all, 1, ns);
    add(*of_batch, 1, ns);
  }
}

void Statistics::record_failures(FailureReason reason, uint64_t count, Nanoseconds total) {
  MutexLock lock(mutex_);
  add(counters_.fail, count, count_ns(total));
  switch (reason) {
    case FailureReason::kQueueFull: counters_.queue_full += count; break;
    case FailureReason::kPredictedLate: counters_.predicted_late += count; break;
    case FailureReason::kQueueTimeout: counters_.queue_timeout += count; break;
    case FailureReason::kRejected: break;
    case FailureReason::kCancelled: counters_.cancelled += count; break;
    case FailureReason::kBackend: counters_.backend_failed += count; break;
    case FailureReason::kOther: counters_.other_failed += count; break;
  }
  if (reason <= FailureReason::kRejected) counters_.rejected += count;
}

void Statistics::record_cache_hit(Nanoseconds latency, Nanoseconds look_up) {
  MutexLock lock(mutex_);
  add(counters_.success, 1, count_ns(latency));
  add(counters_.queue, 1, 0);
  add(counters_.cache_hit, 1, count_ns(look_up));
  add(counters_.latency, 1, latency);
  add(counters_.queue_time, 1, Nanoseconds{0});
}

void Statistics::record_cache_miss(uint64_t count, Nanoseconds time) {
  MutexLock lock(mutex_);
  add(counters_.cache_miss, count, count_ns(time));
}

ModelStatistics Statistics::snapshot() const {
  ModelStatistics copy;
  {
    MutexLock lock(mutex_);
    copy = counters_;
  }
  for (Histogram* histogram : histograms(copy)) accumulate_counts(*histogram);
  return copy;
}

}  // namespace ridge::serve
