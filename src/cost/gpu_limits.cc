#include "cost/gpu_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "catalogue/capability.h"
#include "limits/accelerator/utilisation.h"

namespace ridge::cost {
namespace {

using limits::MetricResult;
using limits::accelerator::BandwidthRow;
using limits::accelerator::PeakRow;

// Below this something limits the GPU. Libraries reach 80 to 95 % of a datasheet's tensor core rate, 90 to 95 % of its
// memory bandwidth (H100: 0.93, utilisation_test.cc).
constexpr double kWellBelow = 0.75;
// Products of 8-bit types draw so much power that a healthy H200 runs them at 0.71 to 0.76 of its datasheet.
constexpr double kWellBelowIn8Bits = 0.65;
constexpr Precision kPrecisions[] = {Precision::kFp64, Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                     Precision::kBf16, Precision::kFp8,  Precision::kInt8};
constexpr const char* kMemory = "DRAM";

std::string measuring_command(const limits::NvidiaGpu& gpu) {
  return fmt::format("`ridge bench device -d cuda:{}`", gpu.index);
}

// Precisions that the tensor cores multiply.
std::vector<Precision> tensor_precisions(const limits::NvidiaGpu& gpu) {
  std::vector<Precision> result;
  const Result<std::vector<catalogue::Capability>> all = catalogue::capabilities();
  if (!all) return result;
  const Result<catalogue::Capability> found = catalogue::find_capability(*all, gpu.facts.capability);
  if (!found) return result;
  for (const std::string& name : found->tensor_precisions)
    if (Result<Precision> precision = precision_from_name(name)) result.push_back(*precision);
  return result;
}

bool contains(const std::vector<Precision>& all, Precision precision) {
  return std::find(all.begin(), all.end(), precision) != all.end();
}

// True if tensor cores can be filled in this way.
bool fills_tensor_cores(const std::string& way, const std::string& capability) {
  const std::string generation = capability.substr(0, capability.find('.'));
  const bool by_mma = generation != "9" && generation != "10" && generation != "11";
  return way == "cuBLASLt" || (way == "mma" && by_mma);
}

double listed_memory_rate(const DeviceLimits& limits) {
  return limits.levels.empty() || limits.levels.back().name != kMemory ? 0 : limits.levels.back().bytes_per_s;
}

template <typename Row, typename Fits>
const Row* best_row(const std::vector<Row>& rows, const Fits& fits) {
  const Row* best = nullptr;
  for (const Row& row : rows)
    if (row.result.best && fits(row) && (!best || *row.result.best > *best->result.best)) best = &row;
  return best;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The observed slowdown of the GPU: " (slowed by power limit, 1.20 GHz)"
std::string seen_text(const MetricResult& result) {
  std::string text;
  if (!result.gpu.slowdowns.empty()) text = fmt::format("slowed by {}", fmt::join(result.gpu.slowdowns, ", "));
  if (result.gpu.clock_hz) text += (text.empty() ? "at " : ", ") + format_hertz(*result.gpu.clock_hz);
  return text.empty() ? "" : " (" + text + ")";
}

// Replaces the datasheet's figures by measured ones.
class GpuRoofline {
 public:
  GpuRoofline(const limits::NvidiaGpu& gpu, DeviceLimits datasheet) : gpu_(gpu), limits_(std::move(datasheet)) {}

  void add_peaks(Accumulate accumulate) {
    const std::vector<Precision> tensor = tensor_precisions(gpu_);
    for (Precision precision : kPrecisions) {
      const bool by_tensor_cores = contains(tensor, precision);
      const PeakRow* row = best_row(gpu_.measured->peaks, [&](const PeakRow& one) {
        return one.precision == precision && (!by_tensor_cores || fills_tensor_cores(one.way, gpu_.facts.capability));
      });
      const bool slower = precision == Precision::kFp16 && row && *row->result.best < measured_fp32();
      if (row && !slower && !(accumulate == Accumulate::kAny && adds_faster_in_fp16(precision)))
        set_peak(*row);
      else if (by_tensor_cores && own_rate(limits_, precision) <= 0)
        limits_.unknown.push_back(precision);
      if (!row && by_tensor_cores) say_incomplete(precision);
    }
  }

  void add_memory() {
    const std::vector<BandwidthRow>& rows = gpu_.measured->bandwidths;
    auto reads_or_writes = [](const BandwidthRow& row) { return row.access != "copy"; };
    const BandwidthRow* cache =
        best_row(rows, [&](const BandwidthRow& row) { return row.level == "last cache" && reads_or_writes(row); });
    const BandwidthRow* memory =
        best_row(rows, [&](const BandwidthRow& row) { return row.level == kMemory && reads_or_writes(row); });
    set_cache(cache);
    if (!memory) return;
    const double listed = listed_memory_rate(limits_);
    if (limits_.levels.empty() || limits_.levels.back().name != kMemory)
      limits_.levels.push_back(
          {.name = kMemory, .bytes_per_s = 0, .capacity_bytes = std::numeric_limits<double>::infinity()});
    limits_.levels.back().bytes_per_s = *memory->result.best;
    add_basis(kMemory, memory->result, memory->access, listed);
    judge(std::nullopt, kMemory, memory->result, listed, format_bandwidth);
  }

  DeviceLimits take() && { return std::move(limits_); }

 private:
  // Engines do not use fp16 slower than fp32 (catalogue_limits.cc).
  double measured_fp32() const {
    const PeakRow* row =
        best_row(gpu_.measured->peaks, [](const PeakRow& one) { return one.precision == Precision::kFp32; });
    return row ? *row->result.best : 0;
  }

  bool adds_faster_in_fp16(Precision precision) const {
    if (!gpu_.datasheet) return false;
    const Result<DeviceLimits> any = limits_of(*gpu_.datasheet, Accumulate::kAny);
    const Result<DeviceLimits> fp32 = limits_of(*gpu_.datasheet, Accumulate::kFp32);
    return any && fp32 && own_rate(*any, precision) > own_rate(*fp32, precision);
  }

  // The datasheet's figure for the units that reached this; 0: none. FP64 of tensor cores is not the lanes'.
  double listed_for(const PeakRow& row) const {
    if (!gpu_.datasheet) return own_rate(limits_, row.precision);
    const auto peak = limits::accelerator::datasheet_peak(*gpu_.datasheet, row.precision, row.way);
    if (!peak) return 0;
    return row.precision == Precision::kFp64 ? peak->flops_per_s : own_rate(limits_, row.precision);
  }

  void set_peak(const PeakRow& row) {
    const double listed = listed_for(row);
    std::erase_if(limits_.flops_per_s, [&](const auto& peak) { return peak.first == row.precision; });
    std::erase_if(limits_.remarks, [&](const auto& remark) { return remark.precision == row.precision; });
    limits_.flops_per_s.emplace_back(row.precision, *row.result.best);
    const std::string name(precision_name(row.precision));
    add_basis(name, row.result, row.way, listed);
    judge(row.precision, name, row.result, listed, format_flops_rate);
  }

  void set_cache(const BandwidthRow* row) {
    const bool listed = !limits_.levels.empty() && limits_.levels.front().name == "L2";
    const auto bytes = static_cast<double>(gpu_.facts.last_cache_bytes);
    if (!listed && bytes > 0)
      limits_.levels.insert(limits_.levels.begin(), {.name = "L2", .bytes_per_s = 0, .capacity_bytes = bytes});
    if (!row || limits_.levels.empty() || limits_.levels.front().name != "L2") return;
    limits_.levels.front().bytes_per_s = *row->result.best;
    add_basis("L2", row->result, row->access, 0);
  }

  void add_basis(const std::string& what, const MetricResult& result, const std::string& by, double listed) {
    limits_.sources.push_back({.what = what,
                               .per_s = *result.best,
                               .origin = Origin::kMeasured,
                               .spread_percent = result.spread_percent,
                               .by = by,
                               .datasheet = listed > 0 ? std::optional(listed) : std::nullopt});
  }

  using Format = std::string (*)(double);
  void judge(std::optional<Precision> precision, const std::string& what, const MetricResult& result, double listed,
             Format format) {
    const double reached = *result.best;
    const bool in_8_bits = precision == Precision::kFp8 || precision == Precision::kInt8;
    if (listed > 0 && reached < (in_8_bits ? kWellBelowIn8Bits : kWellBelow) * listed)
      limits_.remarks.push_back(
          {precision,
           fmt::format("{} reached {} here, {} of the datasheet's {}{}; the bound uses the measured rate", what,
                       format(reached), format_percent(100 * reached / listed), format(listed), seen_text(result))});
    const std::vector<std::string>& slowdowns = result.gpu.slowdowns;
    if (std::any_of(slowdowns.begin(), slowdowns.end(), [](const auto& name) { return name != "power limit"; }))
      limits_.remarks.push_back(
          {precision, fmt::format("{} was measured while the GPU was slowed by {}: it may be too low; {} --fresh "
                                  "measures again once that is over",
                                  what, fmt::join(slowdowns, ", "), measuring_command(gpu_))});
  }

  // Tensor cores measured in a way that does not fill them.
  void say_incomplete(Precision precision) {
    for (const PeakRow& row : gpu_.measured->peaks)
      if (row.precision == precision && row.way == "cuBLASLt")
        limits_.remarks.push_back({precision, fmt::format("no measured {} peak fills the tensor cores; cuBLASLt: {}",
                                                          precision_name(precision), first_line(row.result.reason))});
  }

  const limits::NvidiaGpu& gpu_;
  DeviceLimits limits_;
};

// The datasheet's figures without a measured replacement.
void add_datasheet_bases(DeviceLimits& limits) {
  for (const auto& [precision, rate] : limits.flops_per_s)
    if (!source_of(limits, precision_name(precision)))
      limits.sources.push_back({.what = std::string(precision_name(precision)), .per_s = rate});
  if (const double rate = listed_memory_rate(limits); rate > 0 && !source_of(limits, kMemory))
    limits.sources.push_back({.what = kMemory, .per_s = rate});
}

bool clocks_were_set(const limits::accelerator::DeviceMeasurement& measured) {
  return std::any_of(measured.peaks.begin(), measured.peaks.end(),
                     [](const PeakRow& row) { return row.result.gpu.clocks_set; });
}

void say_origin(const limits::NvidiaGpu& gpu, DeviceLimits& limits) {
  if (!gpu.measured) {
    limits.remarks.push_back(
        {std::nullopt, fmt::format("the limits of cuda:{} are from its datasheet: {}; {} measures them", gpu.index,
                                   gpu.measured_reason, measuring_command(gpu))});
    return;
  }
  std::string listed;
  for (const DeviceLimits::Source& source : limits.sources)
    if (source.origin == Origin::kDatasheet) listed += (listed.empty() ? "" : ", ") + source.what;
  limits.remarks.push_back({std::nullopt, fmt::format("limits measured on cuda:{} {} ({}){}", gpu.index,
                                                      gpu.measured->measured_at, describe(gpu.measured->setting),
                                                      listed.empty() ? "" : "; of its datasheet: " + listed)});
  if (clocks_were_set(*gpu.measured))
    limits.remarks.push_back(
        {std::nullopt, fmt::format("the GPU's clocks were locked when it was measured, and no library reports "
                                   "whether they still are; {} --fresh measures again",
                                   measuring_command(gpu))});
}

Error no_limits(const limits::NvidiaGpu& gpu, const std::string& reason) {
  return Error{Code::kUnavailable, fmt::format("the limits of GPU {} ({}) are not known: {}; {}; {} measures them",
                                               gpu.index, gpu.facts.name, reason,
                                               gpu.measured ? "the measurements do not bound it" : gpu.measured_reason,
                                               measuring_command(gpu))};
}

}  // namespace

Result<DeviceLimits> limits_of(const limits::NvidiaGpu& gpu, Accumulate accumulate) {
  DeviceLimits limits;
  std::string reason = gpu.datasheet_reason;
  if (gpu.datasheet) {
    Result<DeviceLimits> listed = limits_of(*gpu.datasheet, accumulate);
    if (listed) limits = std::move(*listed);
    if (!listed) reason = listed.error().message;
  }
  limits.device = gpu.datasheet ? gpu.datasheet->name : gpu.facts.name;
  limits.origin = gpu.measured ? Origin::kMeasured : Origin::kDatasheet;
  if (gpu.measured) {
    GpuRoofline roofline(gpu, std::move(limits));
    roofline.add_peaks(accumulate);
    roofline.add_memory();
    limits = std::move(roofline).take();
  }
  if (limits.flops_per_s.empty() || listed_memory_rate(limits) <= 0) return no_limits(gpu, reason);
  add_datasheet_bases(limits);
  say_origin(gpu, limits);
  return limits;
}

}  // namespace ridge::cost
