// What measuring a device gives: figures, each beside what it is to be compared with. Plain values; JSON and table show the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "gpu/transfer.h"
#include "gpu/device.h"
#include "limits/accelerator/setting.h"

namespace ridge::limits::accelerator {

// How much of something a figure is.
struct Share {
  std::string of;    // "datasheet of NVIDIA H100 PCIe", "best here: cuBLASLt"
  double value = 0;  // in the figure's unit
  Origin origin = Origin::kDatasheet;
  double percent = 0;  // 100 · figure / value
};

// What the management library saw while the bursts of a figure ran. Absent: not told, or no sample fell into them.
struct Observed {
  std::optional<double> clock_hz, memory_clock_hz, power_w, temperature_c;  // means, of the temperature the highest
  std::vector<std::string> slowdowns;                                       // why the GPU was slower than it can be
  bool clocks_set = false;  // the clocks were fixed by hand, and that showed
  int samples = 0;
};

// A rate [units/s]. Best: of one burst (of memory that others share: see limits/rates.h); typical: the median burst.
struct Figure {
  std::optional<double> best, typical;
  double spread_percent = 0;
  int bursts = 0;
  double burst_seconds = 0;  // median length
  double clock_hz = 0;       // counted on the device during the best bursts; 0 = could not be observed
  std::string conditions;    // the way that won: "256 threads, 1056 blocks"
  std::string reason;        // why there is no figure
  std::vector<Share> shares;
  Observed observed;
};

struct PeakRow {
  Precision precision = Precision::kFp32;
  std::string way;  // "multiply-adds": a kernel of ours on the plain lanes; "mma": on tensor cores; "cuBLASLt"
  Figure figure;    // [FLOP/s], 1 multiply-add = 2, also for integers
};
struct BandwidthRow {
  std::string level;   // "DRAM", "last cache", "shared"
  std::string access;  // "read", "write", "copy": bytes read and written
  int64_t working_set_bytes = 0;
  Figure figure;  // [bytes/s]
};
struct LinkRow {
  gpu::Way way = gpu::Way::kToDevice;
  gpu::HostMemory memory = gpu::HostMemory::kPageable;
  int64_t bytes = 0;  // of one copy, each way
  Figure figure;      // [bytes/s], of both ways together
};
struct StartRow {
  std::string what, meaning;
  Figure figure;  // [1/s]
};

struct Measured {
  gpu::DeviceFacts facts;
  Setting setting;  // for which the figures hold
  std::vector<PeakRow> peaks;
  std::vector<BandwidthRow> bandwidths;
  std::vector<LinkRow> links;
  std::vector<StartRow> starts;
  std::string datasheet;    // that shares refer to, or why there is none
  std::string cpu_limits;   // why a CPU is not beside its own, or that they are too low
  std::string observer;     // the library that watched the GPU, or why none did
  std::string measured_at;  // UTC
  double seconds = 0;       // that measuring took, making ready included
  bool recalled = false;    // measured by an earlier run, and kept since then
  std::string kept;         // where, or why not
};

// Adds the members that every figure has; `unit`: the name of its own one, "flops_per_s".
void add_figure(Json& json, const Figure& figure, const std::string& unit);
Json to_json(const Measured& measured);
// The figures, and what stands beside them, of what to_json wrote; the device's facts, and where they are kept, are not read.
Result<Measured> measured_from_json(const Json& json);

}  // namespace ridge::limits::accelerator
