// The measured machine as a roofline, and the resulting bounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/letter_case.h"
#include "cost/costs.h"

namespace ridge::cost {
namespace {

struct Sample {
  int threads = 0;
  double rate = 0;
};

// The highest possible rate of `threads` threads: as measured with that many; otherwise at most in proportion to fewer
// threads (they clock higher), and at most the rate of more.
double highest_rate(const std::vector<Sample>& samples, int threads) {
  double seen = 0, ceiling = std::numeric_limits<double>::infinity();
  bool exact = false;
  for (const Sample& sample : samples) {
    exact = exact || sample.threads == threads;
    if (sample.threads <= threads) seen = std::max(seen, sample.rate);
    double scaled = sample.threads < threads ? sample.rate * threads / std::max(sample.threads, 1) : sample.rate;
    ceiling = std::min(ceiling, scaled);
  }
  if (samples.empty()) return 0;
  return exact ? seen : std::max(seen, ceiling);
}

// More threads than cores do not raise a limit.
int effective_threads(const machine::Machine& machine, int threads) {
  int most = machine::usable_threads(machine);
  for (const machine::Peak& peak : machine.peaks) most = std::max(most, peak.threads);
  return std::clamp(threads, 1, std::max(most, 1));
}

std::vector<Sample> samples_of(const std::vector<machine::Bandwidth>& all, const std::string& level) {
  std::vector<Sample> samples;
  for (const machine::Bandwidth& bandwidth : all)
    if (bandwidth.level == level) samples.push_back({bandwidth.threads, bandwidth.bytes_per_s});
  return samples;
}

std::vector<DeviceLimits::Level> levels_of(const machine::Machine& machine, int threads) {
  std::vector<DeviceLimits::Level> levels;
  for (int level : {1, 2, 3}) {
    std::string name = "L" + std::to_string(level);
    double capacity = static_cast<double>(machine::cache_capacity(machine, level, threads));
    double rate = highest_rate(samples_of(machine.bandwidths, name), threads);
    if (capacity > 0 || rate > 0) levels.push_back({.name = name, .bytes_per_s = rate, .capacity_bytes = capacity});
  }
  levels.push_back({.name = "DRAM",
                    .bytes_per_s = highest_rate(samples_of(machine.bandwidths, "DRAM"), threads),
                    .capacity_bytes = std::numeric_limits<double>::infinity()});
  return levels;
}

double larger_traffic(const NodeCost& node) { return std::max(node.bytes_read, node.bytes_written); }

double memory_seconds(double bytes, const DeviceLimits& limits) {
  double nearer = 0, slowest = 0;
  for (const DeviceLimits::Level& level : limits.levels) {
    if (level.bytes_per_s > 0) slowest = std::max(slowest, std::max(0.0, bytes - nearer) / level.bytes_per_s);
    nearer += level.capacity_bytes;
  }
  return slowest;
}

Bound combine(double compute_s, double memory_s) {
  Bound result{.ms = 1e3 * std::max(compute_s, memory_s), .compute_ms = 1e3 * compute_s, .memory_ms = 1e3 * memory_s};
  if (result.ms > 0) result.limiter = compute_s >= memory_s ? Limiter::kCompute : Limiter::kMemory;
  return result;
}

// Why those units bound arithmetic at a precision.
enum class Why { kOwn, kFp32Faster, kUnknown, kNothingKnown, kTwiceFp16, kFourTimesFp32, kWider, kFp32 };
// rate_of() without words: a server asks at every step.
struct Units {
  double flops_per_s = 0;
  Precision peak = Precision::kFp32;
  Why why = Why::kOwn;
};
Units units_for(const DeviceLimits& limits, Precision precision) {
  const double own = own_rate(limits, precision), fp32 = own_rate(limits, Precision::kFp32);
  if (own > 0 && (own >= fp32 || precision == Precision::kFp64))
    return {.flops_per_s = own, .peak = precision, .why = Why::kOwn};
  if (own > 0) return {.flops_per_s = fp32, .peak = Precision::kFp32, .why = Why::kFp32Faster};
  if (std::find(limits.unknown.begin(), limits.unknown.end(), precision) != limits.unknown.end())
    return {.flops_per_s = 0, .peak = precision, .why = Why::kUnknown};
  if (fp32 <= 0) return {.flops_per_s = 0, .peak = precision, .why = Why::kNothingKnown};
  const double fp16 = own_rate(limits, Precision::kFp16), bf16 = own_rate(limits, Precision::kBf16);
  switch (precision) {
    case Precision::kInt8:      // four times as many lanes; without a dot-product instruction nothing reaches this
      if (2 * fp16 > 4 * fp32)  // matrix units multiply FP16 twice as wide
        return {.flops_per_s = 2 * fp16, .peak = Precision::kFp16, .why = Why::kTwiceFp16};
      return {.flops_per_s = 4 * fp32, .peak = Precision::kFp32, .why = Why::kFourTimesFp32};
    case Precision::kFp8: {
      const Precision wider = std::max(fp16, bf16) <= fp32 ? Precision::kFp32
                              : bf16 > fp16                ? Precision::kBf16
                                                           : Precision::kFp16;
      return {.flops_per_s = own_rate(limits, wider), .peak = wider, .why = Why::kWider};
    }
    default: return {.flops_per_s = fp32, .peak = Precision::kFp32, .why = Why::kFp32};
  }
}

double compute_seconds(double flops, Precision precision, const DeviceLimits& limits) {
  const double rate = units_for(limits, precision).flops_per_s;
  return rate > 0 ? flops / rate : 0;
}

// Why measured limits may be too low.
void add_doubts(const machine::Machine& machine, DeviceLimits& limits) {
  constexpr const char* kAgain = "when the machine is quiet: ridge bench device --fresh";
  if (machine::disturbed(machine.disturbance))
    limits.remarks.push_back(
        {{}, fmt::format("the machine was busy when its limits were measured: they may be too low; {}", kAgain)});
  for (const DeviceLimits::Source& source : sources_of(machine, limits)) {
    const Result<Precision> precision = precision_from_name(source.what);
    if (source.spread_percent <= machine::kMostSpreadPercent || (!precision && source.what != "DRAM")) continue;
    limits.remarks.push_back({precision ? std::optional(*precision) : std::nullopt,
                              fmt::format("the limit of {} is uncertain, ± {}: it may be too low; {}", source.what,
                                          format_percent(source.spread_percent), kAgain)});
  }
}

// An unknown shape hides arithmetic if its operator multiplies, or if no other does; so does a data-dependent size.
bool mostly_unknown(const Costs& costs) {
  int unknown = 0, counted = 0;
  for (const NodeCost& node : costs.nodes) {
    const bool hides = !node.shapes_known && (node.kernel != KernelFamily::kOtherKernel || costs.macs <= 0);
    const bool left_out = node.macs > 0 && node.needed_flops <= 0;
    unknown += node.runs && (!node.has_rule || hides || left_out) ? 1 : 0;
    counted += node.flops > 0 ? 1 : 0;
  }
  return unknown > 0 && unknown >= counted;
}

}  // namespace

Result<DeviceLimits> limits_of(const machine::Machine& machine, int threads) {
  if (machine.peaks.empty() || machine.bandwidths.empty())
    return Error{Code::kUnavailable, fmt::format("the limits of this machine ({}) were not measured; run 'ridge bench "
                                                 "device' to measure and store them",
                                                 machine.cpu.model)};
  if (threads < 1)
    return Error{Code::kInvalid, fmt::format("limits for {} threads were asked for; at least 1 is needed", threads)};
  DeviceLimits limits;
  limits.device = machine.cpu.model;
  limits.threads = threads;
  int used = effective_threads(machine, threads);
  std::map<Precision, std::vector<Sample>> samples;
  for (const machine::Peak& peak : machine.peaks) samples[peak.precision].push_back({peak.threads, peak.flops_per_s});
  for (const auto& [precision, rates] : samples) limits.flops_per_s.emplace_back(precision, highest_rate(rates, used));
  limits.levels = levels_of(machine, used);
  add_doubts(machine, limits);
  return limits;
}

double own_rate(const DeviceLimits& limits, Precision precision) {
  for (const auto& [known, rate] : limits.flops_per_s)
    if (known == precision) return rate;
  return 0;
}

Rate rate_of(const DeviceLimits& limits, Precision precision) {
  const Units units = units_for(limits, precision);
  const std::string_view name = precision_name(precision);
  const auto missing = [&](std::string_view instead) {
    return fmt::format("no {} peak {} {}; {}", name,
                       limits.origin == Origin::kMeasured ? "was measured on" : "has a source for", limits.device,
                       instead);
  };
  Rate rate{.flops_per_s = units.flops_per_s, .note = "", .peak = units.peak};
  switch (units.why) {
    case Why::kOwn: break;
    case Why::kFp32Faster:
      rate.note = fmt::format("{} is slower than FP32 on {}: the FP32 peak bounds it", upper_case(name), limits.device);
      break;
    case Why::kUnknown:
      rate.note = fmt::format("{} has units for {} whose peak is not known: arithmetic in it is not bounded",
                              limits.device, name);
      break;
    case Why::kNothingKnown: rate.note = fmt::format("no arithmetic peak is known for {}", name); break;
    case Why::kTwiceFp16: rate.note = missing("twice the FP16 peak is used as its ceiling"); break;
    case Why::kFourTimesFp32: rate.note = missing("four times the FP32 peak is used as its ceiling"); break;
    case Why::kWider: rate.note = missing("the fastest wider type computes such data"); break;
    case Why::kFp32: rate.note = missing("such data are computed at the FP32 peak at best"); break;
  }
  return rate;
}

Bound bound(double needed_flops, double bytes, Precision precision, const DeviceLimits& limits) {
  return combine(compute_seconds(needed_flops, precision, limits), memory_seconds(bytes, limits));
}

Bound bound(const NodeCost& node, const DeviceLimits& limits) {
  return bound(node.needed_flops, larger_traffic(node), node.precision, limits);
}

Bound bound(const Costs& costs, const DeviceLimits& limits) {
  if (mostly_unknown(costs)) return {};
  double compute_s = 0;
  for (const NodeCost& node : costs.nodes) compute_s += compute_seconds(node.needed_flops, node.precision, limits);
  return combine(compute_s, memory_seconds(std::max(costs.compulsory_read, costs.compulsory_written), limits));
}

std::vector<BoundShare> arithmetic_of(const Costs& costs, const DeviceLimits& limits) {
  std::map<Precision, double> seconds;
  double all = 0;
  for (const NodeCost& node : costs.nodes) {
    if (node.needed_flops <= 0) continue;
    const double more = compute_seconds(node.needed_flops, node.precision, limits);
    seconds[node.precision] += more;
    all += more;
  }
  std::vector<BoundShare> found;
  for (const auto& [precision, of_it] : seconds) {
    const Units units = units_for(limits, precision);
    found.push_back({.precision = precision,
                     .peak = units.peak,
                     .flops_per_s = units.flops_per_s,
                     .percent = all > 0 ? 100 * of_it / all : 0});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &BoundShare::percent);
  return found;
}

std::string precisions_text(const std::vector<BoundShare>& arithmetic, Precision otherwise) {
  std::string text;
  for (const BoundShare& one : arithmetic)
    if (one.percent >= 1) text += (text.empty() ? "" : ", ") + std::string(precision_name(one.precision));
  return text.empty() ? std::string(precision_name(otherwise)) : text;
}

std::vector<std::string> notes(const DeviceLimits& limits, const std::set<Precision>& used) {
  std::vector<std::string> sentences;
  std::set<Precision> peaks = used;
  for (Precision precision : used) {
    const Rate rate = rate_of(limits, precision);
    if (!rate.note.empty()) sentences.push_back(rate.note);
    peaks.insert(rate.peak);
  }
  for (const DeviceLimits::Remark& remark : limits.remarks)
    if (!remark.precision || peaks.contains(*remark.precision)) sentences.push_back(remark.text);
  return sentences;
}

std::vector<std::string> notes(const Costs& costs, const DeviceLimits& limits) {
  std::set<Precision> used;
  for (const NodeCost& node : costs.nodes)
    if (node.needed_flops > 0) used.insert(node.precision);
  std::vector<std::string> sentences = notes(limits, used);
  for (const std::string& op : costs.without_rule)
    sentences.push_back(fmt::format("no rule for {}: counted by its bytes, its FLOPs are not known", op));
  if (mostly_unknown(costs))
    sentences.emplace_back("most of the model's arithmetic has no rule or no known shape: its bound is not known");
  if (!costs.unknown_shapes.empty())
    sentences.push_back(
        fmt::format("{} of {} nodes have a shape that is not known (first: {}); the figures are a lower "
                    "bound",
                    costs.unknown_shapes.size(), costs.nodes.size(), costs.unknown_shapes.front()));
  return sentences;
}

}  // namespace ridge::cost
