// Measures how fast several NVIDIA GPUs of this machine exchange data: NCCL's collective operations over sizes, beside the link
// limit and the usual rate, with a verdict. Method: limits/metric.h; received data is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"
#include "gpu/nccl/nccl.h"
#include "limits/accelerator/collective_limit.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

// "cuda:0,cuda:1" → 0, 1; "cuda:all" → none, meaning all; absent: one device, or something else.
std::optional<Result<std::vector<size_t>>> group_from_name(std::string_view name);

struct CollectiveOptions {
  RoundOptions rounds;
  std::vector<size_t> gpus;                         // in CUDA's numbering; empty: all
  int64_t largest_bytes = int64_t{8} << 30;         // of an operation; less where memory or time is short
  Nanoseconds patience = std::chrono::seconds(60);  // with any one call
};

struct CollectiveRow {
  gpu::nccl::Collective collective = gpu::nccl::Collective::kAllReduce;
  int64_t bytes = 0;    // counted as in NCCL's tests: of the largest buffer involved
  MetricResult result;  // [bytes/s]: bytes over time, algorithm bandwidth in NCCL's tests
};

// Summary of the rows of one operation.
struct CollectiveAnswer {
  gpu::nccl::Collective collective = gpu::nccl::Collective::kAllReduce;
  std::optional<double> limit_bytes_per_s;  // of bus bandwidth, like the following; absent: the links are not known
  std::optional<double> bus_bytes_per_s;    // at the size with the highest rate: its median burst
  int64_t bytes = 0;                        // that size
  std::optional<double> latency_s;          // of the smallest size: its median burst
  UsualShare usual;
  std::optional<Normality> normality;  // absent: the links are not known, or no operation was large enough
  std::string sentence;
};
void visit_fields(auto& visit, Is<CollectiveAnswer> auto& answer) {
  visit("collective", answer.collective);
  visit("limit_bus_bytes_per_s", answer.limit_bytes_per_s);
  visit.derived("origin", Origin::kDerived);
  visit("bus_bytes_per_s", answer.bus_bytes_per_s);
  visit("bytes", answer.bytes);
  visit("latency_s", answer.latency_s);
  visit("verdict", answer.normality);
  visit("sentence", answer.sentence);
  if (answer.limit_bytes_per_s) visit("usual", answer.usual);
}

struct CollectivesMeasurement {
  std::vector<gpu::DeviceFacts> gpus;
  std::string alone;    // set where there is only one GPU and nothing to measure; else empty
  std::string library;  // "NCCL 2.32.3 (libnccl.so.2)"
  std::optional<GroupLinks> links;
  std::string links_reason;  // why they are not known
  std::vector<CollectiveRow> rows;
  std::vector<CollectiveAnswer> answers;
  std::string failure;      // what ended the measurement, or a wrong result; empty: nothing
  std::string measured_at;  // UTC
  double seconds = 0;
};

// kNotFound: no driver, no such GPU, no NCCL; kUnsupported: one of them is too old. Failures while measuring are in `failure`.
Result<CollectivesMeasurement> measure_collectives(const CollectiveOptions& options,
                                                   const Clock& clock = system_clock());

// 8 B, 64 B, … up to the largest.
std::vector<int64_t> collective_sizes(int64_t largest_bytes);
// Pure; rows in any order.
std::vector<CollectiveAnswer> answers_of(std::span<const CollectiveRow> rows, const std::optional<GroupLinks>& links,
                                         size_t gpus);

Json to_json(const CollectivesMeasurement& measured);
// What to_json() wrote.
Result<CollectivesMeasurement> collectives_of(const Json& document);

}  // namespace ridge::limits::accelerator
