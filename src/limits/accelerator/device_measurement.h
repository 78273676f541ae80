// The measurement of a device: rows, each with the result of a metric. Plain values; JSON and table show the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/name_table.h"
#include "base/units.h"
#include "gpu/device.h"
#include "gpu/launch.h"
#include "limits/accelerator/setting.h"
#include "limits/metric_result.h"
#include "machine/disturbance.h"

namespace ridge::limits::accelerator {

// Directions of copies between host and device.
enum class Way { kToDevice, kToHost, kBoth };  // kBoth: simultaneous, the same number of bytes each way

constexpr std::array<std::pair<Way, std::string_view>, 3> kWays = {
    {{Way::kToDevice, "host to device"}, {Way::kToHost, "device to host"}, {Way::kBoth, "both at once"}}};
inline NameTable<Way> names_of(Way) { return kWays; }

inline std::string_view way_name(Way way) { return ridge::name_of(kWays, way); }
inline std::string_view host_memory_name(gpu::MemoryKind memory) { return ridge::name_of(names_of(memory), memory); }

struct PeakRow {
  Precision precision = Precision::kFp32;
  std::string way;      // "multiply-adds": our kernel on the plain lanes; "mma": on tensor cores; "cuBLASLt"
  MetricResult result;  // [FLOP/s], 1 multiply-add = 2, also for integers
};
void visit_fields(auto& visit, Is<PeakRow> auto& row) {
  visit("precision", row.precision, Figure().column("peak"));
  visit("way", row.way, means("`multiply-adds`, `mma` or `cuBLASLt`").column("computed by"));
  visit_result(visit, row.result, "flops_per_s", "FLOP/s");
  visit.derived("clock_hz",
                Derived{row.result.clock_hz > 0 ? std::optional(row.result.clock_hz) : row.result.gpu.clock_hz,
                        means("counted on the GPU, else by the management library; null: neither")});
  visit.or_null("clock_counted_hz", row.result.clock_hz,
                means("counted on the GPU; null: it was not").column("clock counted").in("Hz").leaves(5));
}
struct BandwidthRow {
  std::string level;   // "DRAM", "last cache", "shared"
  std::string access;  // "read", "write", "copy": bytes read and written
  int64_t working_set_bytes = 0;
  MetricResult result;  // [bytes/s]
};
void visit_fields(auto& visit, Is<BandwidthRow> auto& row) {
  visit("level", row.level, means("`DRAM`, `last cache` or `shared`").column("level"));
  visit("access", row.access, means("`read`, `write` or `copy`").column("access"));
  visit("working_set_bytes", row.working_set_bytes, Figure().column("working set").leaves(5));
  visit_result(visit, row.result, "bytes_per_s", "B/s");
}
struct LinkRow {
  Way way = Way::kToDevice;
  gpu::MemoryKind memory = gpu::MemoryKind::kHost;
  int64_t bytes = 0;    // of one copy, each way
  MetricResult result;  // [bytes/s], both ways together
};
void visit_fields(auto& visit, Is<LinkRow> auto& row) {
  visit("way", row.way, Figure().column("link"));
  visit("memory", row.memory, Figure().column("host memory"));
  visit("copy_bytes", row.bytes, means("one copy, one way; the rates are both ways together"));
  visit_result(visit, row.result, "bytes_per_s", "B/s");
}
struct StartRow {
  std::string what, meaning;
  MetricResult result;  // [1/s]
};
void visit_fields(auto& visit, Is<StartRow> auto& row) {
  const auto seconds = [](const std::optional<double>& rate) { return rate ? std::optional(1 / *rate) : std::nullopt; };
  visit("what", row.what, Figure().column("start of"));
  visit("meaning", row.meaning);
  visit_result(visit, row.result, "starts_per_s", "starts/s");
  visit.derived("seconds", Derived{seconds(row.result.best), means("of one").column("one takes").in("s")});
  visit.derived("typical_seconds",
                Derived{seconds(row.result.typical), means("of one").column("typically takes").in("s").leaves(7)});
}

// "fp16 mma", "DRAM read", "to the device, pinned"
std::string row_name(const PeakRow& row);
std::string row_name(const BandwidthRow& row);
std::string row_name(const LinkRow& row);
std::string row_name(const StartRow& row);

struct DeviceMeasurement {
  gpu::DeviceFacts facts;
  Setting setting;
  std::vector<PeakRow> peaks;
  std::vector<BandwidthRow> bandwidths;
  std::vector<LinkRow> links;
  std::vector<StartRow> starts;
  std::string datasheet, cpu_limits, observer;
  std::string measured_at;  // UTC
  double seconds = 0;
  std::optional<machine::Disturbance> disturbance = {};
  bool recalled = false;
  std::string kept;
};
void visit_fields(auto& visit, Is<DeviceMeasurement> auto& measured) {
  visit.derived("device", Derived{measured.facts.name, means("its name")});
  visit.derived("kind", measured.facts.kind);
  visit.optional("facts", measured.facts, means("`device` is the requested one"));
  visit("setting", measured.setting, means("for which the figures hold"));
  visit("measured_at", measured.measured_at);
  visit("seconds", measured.seconds, means("of measuring, preparation included"));
  visit.unless_empty("disturbance", measured.disturbance, means("of the CPU meanwhile, as of `bench MODEL`"));
  visit.optional("recalled", measured.recalled, means("measured by an earlier run"));
  visit.optional("kept", measured.kept, means("where, or why not"));
  visit("datasheet", measured.datasheet, means("the device of the catalogue, or why none matches"));
  visit("processor_limits", measured.cpu_limits, means("why a CPU has no limits of its own here"));
  visit("observer", measured.observer, means("the management library and GPU, or why there is none"));
  visit("peaks", measured.peaks, means("arithmetic: 1 multiply-add = 2 FLOPs, also for integers"));
  visit("bandwidth", measured.bandwidths, means("of memory"));
  visit("links", measured.links, means("copies between host and device"));
  visit("starts", measured.starts, means("of kernels"));
}

Json to_json(const DeviceMeasurement& measured);

}  // namespace ridge::limits::accelerator
