#include "limits/limits.h"

#include <algorithm>
#include <memory>

#include "limits/memory_kernels.h"
#include "limits/peak_kernels.h"
#include "limits/pinned_bursts.h"
#include "limits/pinned_threads.h"

namespace ridge::limits {
namespace {

constexpr size_t kDramParts = 8;         // of a working set of six last caches: each part is 3/4 of one
constexpr int64_t kDramWarmUpParts = 3;  // more than two caches: evicts the data of other kernels

// A level with a number of threads: one row.
struct BandwidthMetrics {
  machine::Bandwidth row;
  Metric read, plain_read, triad;
};

struct CpuMetrics {
  std::vector<MetricOf<machine::Peak>> peaks;
  std::vector<BandwidthMetrics> bandwidths;

  std::vector<Metric*> all() {
    std::vector<Metric*> metrics;
    for (auto& [row, metric] : peaks) metrics.push_back(&metric);
    for (BandwidthMetrics& level : bandwidths)
      metrics.insert(metrics.end(), {&level.read, &level.plain_read, &level.triad});
    for (Metric* metric : metrics) metric->name = "peak rates and bandwidths";  // one progress step for the user
    return metrics;
  }
};

// The first `threads` of the workers.
struct Team {
  PinnedThreads& workers;
  int threads = 1;
};

void add_peaks(const machine::Machine& machine, const Team& team, std::vector<MetricOf<machine::Peak>>& peaks) {
  for (const PeakKernel* kernel : peak_kernels_for(machine.cpu.isa)) {
    if (peaks.empty() || peaks.back().row.precision != kernel->precision || peaks.back().row.threads != team.threads) {
      MetricOf<machine::Peak>& peak = peaks.emplace_back();
      peak.row.precision = kernel->precision;
      peak.row.threads = team.threads;
    }
    const PinnedKernel pinned{[run = kernel->run](PinnedThreads::Worker&, int64_t repeats) { run(repeats); },
                              kernel->flops_per_iteration};
    KernelVariant& variant = peaks.back().metric.variants.emplace_back();
    variant.conditions = kernel->name;
    variant.run = bursts_on(team.workers, team.threads, pinned);
  }
}

std::byte* memory_for(const MemoryKernel& kernel, const PinnedThreads::Worker& worker) {
  return (kernel.traffic == Traffic::kRead ? worker.memory() : worker.ordinary_memory()).data();
}

PinnedKernel whole_passes(const MemoryKernel& kernel, size_t bytes) {
  PinnedKernel pinned;
  pinned.units_per_repeat = static_cast<double>(bytes);
  pinned.work = [&kernel, bytes](PinnedThreads::Worker& worker, int64_t repeats) {
    kernel.run(memory_for(kernel, worker), bytes, repeats);
  };
  return pinned;
}

// One pass over DRAM would be a long burst. So each repeat takes the next part of the working set cyclically: a part
// recurs only after all others have passed through the caches.
PinnedKernel passes_in_parts(const MemoryKernel& kernel, size_t part, int threads) {
  PinnedKernel pinned;
  pinned.units_per_repeat = static_cast<double>(part);
  pinned.warm_up = kDramWarmUpParts;
  auto next = std::make_shared<std::vector<size_t>>(static_cast<size_t>(threads), 0);
  pinned.work = [&kernel, part, next](PinnedThreads::Worker& worker, int64_t repeats) {
    size_t& number = (*next)[static_cast<size_t>(worker.index())];
    for (; repeats > 0; --repeats) kernel.run(memory_for(kernel, worker) + part * (number++ % kDramParts), part, 1);
  };
  return pinned;
}

Metric& metric_for(Traffic traffic, BandwidthMetrics& level) {
  if (traffic == Traffic::kRead) return level.read;
  return traffic == Traffic::kPlainRead ? level.plain_read : level.triad;
}

void add_variants(const machine::Machine& machine, const WorkingSet& set, const Team& team, BandwidthMetrics& level) {
  const bool dram = set.level == "DRAM";
  const auto bytes = static_cast<size_t>(set.bytes_per_thread);
  const size_t part = bytes / kDramParts / kWorkingSetStep * kWorkingSetStep;
  for (const MemoryKernel* kernel : memory_kernels_for(machine.cpu.isa)) {
    if (kernel->traffic == Traffic::kTriadNonTemporal && !dram) continue;  // such stores bypass the caches
    Metric& metric = metric_for(kernel->traffic, level);
    KernelVariant& variant = metric.variants.emplace_back();
    variant.conditions = kernel->name;
    variant.working_set_bytes = set.bytes_per_thread * team.threads;
    const bool in_parts = dram && part > 0;
    metric.sustained = in_parts;
    variant.repeats = in_parts ? 1 : 0;
    variant.run = bursts_on(team.workers, team.threads,
                            in_parts ? passes_in_parts(*kernel, part, team.threads) : whole_passes(*kernel, bytes));
  }
}

void add_bandwidths(const machine::Machine& machine, const Team& team, std::vector<BandwidthMetrics>& levels) {
  for (const WorkingSet& set : working_sets(machine, team.threads)) {
    if (levels.empty() || levels.back().row.level != set.level || levels.back().row.threads != team.threads) {
      BandwidthMetrics& level = levels.emplace_back();
      level.row.level = set.level;
      level.row.threads = team.threads;
    }
    add_variants(machine, set, team, levels.back());
  }
}

machine::Peak measured_peak(const MetricOf<machine::Peak>& peak) {
  const MetricResult result = result_of(peak.metric);
  machine::Peak row = peak.row;
  row.flops_per_s = result.best.value_or(0);
  row.kernel = result.conditions;
  row.spread_percent = result.spread_percent;
  row.clock_hz = result.clock_hz;
  return row;
}

machine::Bandwidth measured_bandwidth(const BandwidthMetrics& level) {
  const bool plain = level.plain_read.best_rate() > level.read.best_rate();
  const Metric& read = plain ? level.plain_read : level.read;
  const MetricResult result = result_of(read);
  machine::Bandwidth row = level.row;
  row.bytes_per_s = result.best.value_or(0);
  row.plain_bytes_per_s = result_of(level.plain_read).typical.value_or(0);
  row.triad_bytes_per_s = result_of(level.triad).typical.value_or(0);
  row.kernel = result.conditions;
  row.spread_percent = result.spread_percent;
  if (const KernelVariant* winner = read.winner()) row.working_set_bytes = winner->working_set_bytes;
  return row;
}

// The memory each worker needs for its largest working set.
std::vector<size_t> memory_needs(const machine::Machine& machine, const std::vector<int>& thread_counts) {
  std::vector<size_t> needs(static_cast<size_t>(thread_counts.back()), 0);
  for (int threads : thread_counts)
    for (const WorkingSet& set : working_sets(machine, threads))
      for (size_t worker = 0; worker < static_cast<size_t>(threads); ++worker)
        needs[worker] = std::max(needs[worker], static_cast<size_t>(set.bytes_per_thread));
  return needs;
}

}  // namespace

Result<Limits> measure_limits(const machine::Machine& machine, const RoundOptions& options, const Clock& clock) {
  if (peak_kernels_for(machine.cpu.isa).empty())
    return Error{Code::kUnsupported,
                 "measure " + machine.cpu.model +
                     ": this build of ridge has no measuring kernels for its architecture (x86-64 only)"};
  const int all = machine::usable_threads(machine);
  const std::vector<int> thread_counts = all == 1 ? std::vector{1} : std::vector{1, all};
  const std::vector<int> cpus(machine.cpu.core_cpus.begin(), machine.cpu.core_cpus.begin() + all);
  const TimePoint begin = clock.now();
  RIDGE_ASSIGN(const std::unique_ptr<PinnedThreads> workers,
               PinnedThreads::gather(cpus, memory_needs(machine, thread_counts)));
  CpuMetrics metrics;
  for (int threads : thread_counts) add_peaks(machine, {*workers, threads}, metrics.peaks);
  for (int threads : thread_counts) add_bandwidths(machine, {*workers, threads}, metrics.bandwidths);
  machine::DisturbanceWatch watch;
  RoundOptions rounds = options;
  rounds.most_seconds -= to_seconds(clock.now() - begin);  // the memory of many caches takes seconds to come
  measure_in_rounds(metrics.all(), rounds, clock);
  Limits limits;
  limits.disturbance = watch.end();  // while the workers are there
  if (options.interrupted && options.interrupted())
    return Error{Code::kCancelled, "interrupted while the limits of this machine were measured; they are not kept"};
  for (const auto& peak : metrics.peaks)
    if (peak.metric.winner()) limits.peaks.push_back(measured_peak(peak));
  for (const BandwidthMetrics& level : metrics.bandwidths)
    if (level.triad.winner()) limits.bandwidths.push_back(measured_bandwidth(level));  // the last one measured
  return limits;
}

}  // namespace ridge::limits
