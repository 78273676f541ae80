// What measuring a device gives: rows, each with the result of a metric. Plain values; JSON and table show the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "gpu/device.h"
#include "limits/accelerator/setting.h"
#include "limits/accelerator/transfer.h"
#include "limits/metric_result.h"

namespace ridge::limits::accelerator {

struct PeakRow {
  Precision precision = Precision::kFp32;
  std::string way;      // "multiply-adds": a kernel of ours on the plain lanes; "mma": on tensor cores; "cuBLASLt"
  MetricResult result;  // [FLOP/s], 1 multiply-add = 2, also for integers
};
struct BandwidthRow {
  std::string level;   // "DRAM", "last cache", "shared"
  std::string access;  // "read", "write", "copy": bytes read and written
  int64_t working_set_bytes = 0;
  MetricResult result;  // [bytes/s]
};
struct LinkRow {
  Way way = Way::kToDevice;
  gpu::MemoryKind memory = gpu::MemoryKind::kHost;
  int64_t bytes = 0;    // of one copy, each way
  MetricResult result;  // [bytes/s], of both ways together
};
struct StartRow {
  std::string what, meaning;
  MetricResult result;  // [1/s]
};

// "fp16 mma", "DRAM read", "to the device, pinned"
std::string row_name(const PeakRow& row);
std::string row_name(const BandwidthRow& row);
std::string row_name(const LinkRow& row);
std::string row_name(const StartRow& row);

struct DeviceMeasurement {
  gpu::DeviceFacts facts;
  Setting setting;  // for which the figures hold
  std::vector<PeakRow> peaks;
  std::vector<BandwidthRow> bandwidths;
  std::vector<LinkRow> links;
  std::vector<StartRow> starts;
  std::string datasheet;    // that utilisation refers to, or why there is none
  std::string cpu_limits;   // why a CPU is not beside its own, or that they are too low
  std::string observer;     // the library that watched the GPU, or why none did
  std::string measured_at;  // UTC
  double seconds = 0;       // that measuring took, making ready included
  bool recalled = false;    // measured by an earlier run, and kept since then
  std::string kept;         // where, or why not
};

// Adds the members that every result has; `unit`: the name of its own one, "flops_per_s".
void add_result(Json& json, const MetricResult& result, const std::string& unit);
Json to_json(const DeviceMeasurement& measured);
// The figures, and what stands beside them, of what to_json wrote; the device's facts, and where they are kept, are not read.
Result<DeviceMeasurement> measurement_from_json(const Json& json);

}  // namespace ridge::limits::accelerator
