#include "machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"

namespace ridge::machine {
namespace {

double rate(const Peak& peak) { return peak.flops_per_s; }
double rate(const Bandwidth& bandwidth) { return bandwidth.bytes_per_s; }
void set_rate(Peak& peak, double value) { peak.flops_per_s = value; }
void set_rate(Bandwidth& bandwidth, double value) { bandwidth.bytes_per_s = value; }

// Among the entries accepted by `wanted`: the one for `threads`, or the bound from its neighbours.
template <typename Entry, typename Wanted>
std::optional<Entry> at_threads(const std::vector<Entry>& entries, int threads, const Wanted& wanted) {
  const Entry* fewer = nullptr;  // the most threads below `threads`
  const Entry* more = nullptr;   // the fewest threads above
  for (const Entry& entry : entries) {
    if (!wanted(entry)) continue;
    if (entry.threads == threads) return entry;
    if (entry.threads < threads && (!fewer || entry.threads > fewer->threads)) fewer = &entry;
    if (entry.threads > threads && (!more || entry.threads < more->threads)) more = &entry;
  }
  if (!fewer && !more) return std::nullopt;
  Entry derived = fewer ? *fewer : *more;
  derived.origin = Origin::kDerived;
  derived.threads = threads;
  if (fewer && more) {
    // If more threads were slower than fewer, the fewer could have done all the work.
    double scaled = rate(*fewer) * threads / fewer->threads;
    set_rate(derived, std::min(scaled, std::max(rate(*more), rate(*fewer))));
  }
  return derived;
}

}  // namespace

int usable_threads(const Machine& machine) {
  int threads = std::max(1, machine.cpu.allowed_cores);
  if (machine.cpu.quota && *machine.cpu.quota < threads)
    threads = static_cast<int>(std::max(1.0, std::ceil(*machine.cpu.quota)));
  return threads;
}

double quota_factor(const Machine& machine, int busy) {
  if (!machine.cpu.quota) return 1;
  const double threads = std::min(busy, usable_threads(machine));
  return std::min(threads, *machine.cpu.quota) / threads;
}

std::optional<Peak> peak(const Machine& machine, Precision precision, int threads) {
  return at_threads(machine.peaks, threads, [&](const Peak& entry) { return entry.precision == precision; });
}

std::optional<Bandwidth> bandwidth(const Machine& machine, const std::string& level, int threads) {
  return at_threads(machine.bandwidths, threads, [&](const Bandwidth& entry) { return entry.level == level; });
}

std::optional<double> ridge_point(const Machine& machine, Precision precision, int threads) {
  std::optional<Peak> compute = peak(machine, precision, threads);
  std::optional<Bandwidth> memory = bandwidth(machine, "DRAM", threads);
  if (!compute || !memory) return std::nullopt;
  return compute->flops_per_s / memory->bytes_per_s;
}

int64_t cache_capacity(const Machine& machine, int level, int threads) {
  int64_t total = 0;
  for (const Cache& cache : machine.cpu.caches)
    if (cache.level == level) total += cache.size_bytes * std::min(cache.instances, std::max(1, threads));
  return total;
}

std::vector<std::string> uncertain_limits(const Machine& machine) {
  std::vector<std::pair<double, std::string>> wide;
  const auto add = [&](std::string_view what, int threads, const std::string& rate, double spread) {
    if (spread > kMostSpreadPercent)
      wide.emplace_back(spread,
                        fmt::format("{}, {}, {} ± {}", what, counted(threads, "thread"), rate, format_percent(spread)));
  };
  for (const Peak& entry : machine.peaks)
    add(precision_name(entry.precision), entry.threads, format_flops_rate(entry.flops_per_s), entry.spread_percent);
  for (const Bandwidth& entry : machine.bandwidths)
    add(entry.level, entry.threads, format_bandwidth(entry.bytes_per_s), entry.spread_percent);
  std::stable_sort(wide.begin(), wide.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (auto& [spread, text] : wide) texts.push_back(std::move(text));
  return texts;
}

Json to_json(const Machine& machine) { return json_of(machine); }

}  // namespace ridge::machine
