// Measures how fast several of NVIDIA's GPUs of this machine exchange data: collective operations by NCCL, over sizes, beside what the
// links between them carry and what of it is usual, with a verdict. Method: limits/metric.h; what arrives is checked.
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

// "cuda:0,cuda:1" → 0, 1; "cuda:all" → none, which means all; absent: it names one device, or something else.
std::optional<Result<std::vector<size_t>>> group_from_name(std::string_view name);

struct CollectiveOptions {
  RoundOptions rounds;
  std::vector<size_t> gpus;                         // as CUDA counts; empty: all
  int64_t largest_bytes = int64_t{8} << 30;         // of an operation; less where memory or time do not suffice
  Nanoseconds patience = std::chrono::seconds(60);  // with any one call
};

struct CollectiveRow {
  gpu::nccl::Collective collective = gpu::nccl::Collective::kAllReduce;
  int64_t bytes = 0;    // as NCCL's tests count: of the largest buffer that takes part
  MetricResult result;  // [bytes/s]: bytes over time, which NCCL's tests call algorithm bandwidth
};

// What the rows of one operation say.
struct CollectiveAnswer {
  gpu::nccl::Collective collective = gpu::nccl::Collective::kAllReduce;
  std::optional<double> limit_bytes_per_s;  // of bus bandwidth, as the following; absent: the links are not known
  std::optional<double> bus_bytes_per_s;    // of the size at which it is highest: its median burst
  int64_t bytes = 0;                        // that size
  std::optional<double> latency_s;          // of the smallest size: its median burst
  UsualShare usual;
  std::optional<Normality> normality;  // absent: the links are not known, or no operation was large enough to tell
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
  std::string alone;    // said where there is one GPU only, and so nothing to measure; else empty
  std::string library;  // "NCCL 2.32.3 (libnccl.so.2)"
  std::optional<GroupLinks> links;
  std::string links_reason;  // why they are not known
  std::vector<CollectiveRow> rows;
  std::vector<CollectiveAnswer> answers;
  std::string failure;      // what ended the measurement, or was computed wrong; empty: nothing
  std::string measured_at;  // UTC
  double seconds = 0;
};

// kNotFound: no driver, no such GPU, no NCCL; kUnsupported: one of them is too old. What fails once it measures is `failure`.
Result<CollectivesMeasurement> measure_collectives(const CollectiveOptions& options,
                                                   const Clock& clock = system_clock());

// 8 B, 64 B, … up to the largest.
std::vector<int64_t> collective_sizes(int64_t largest_bytes);
// Pure; the rows in any order.
std::vector<CollectiveAnswer> answers_of(std::span<const CollectiveRow> rows, const std::optional<GroupLinks>& links,
                                         size_t gpus);

Json to_json(const CollectivesMeasurement& measured);

}  // namespace ridge::limits::accelerator
