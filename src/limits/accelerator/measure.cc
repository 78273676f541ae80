#include "limits/accelerator/measure.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/utc.h"
#include "limits/accelerator/gemm.h"
#include "limits/accelerator/links.h"
#include "limits/accelerator/memory.h"
#include "limits/accelerator/mma.h"
#include "limits/accelerator/multiply_adds.h"
#include "limits/accelerator/utilisation.h"
#include "limits/accelerator/watch.h"
#include "limits/limits_store.h"
#include "machine/probe.h"

namespace ridge::limits::accelerator {
namespace {

struct DeviceMetrics {
  std::vector<MetricOf<PeakRow>> peaks;
  std::vector<MetricOf<BandwidthRow>> bandwidths;
  std::vector<MetricOf<LinkRow>> links;
  std::vector<MetricOf<StartRow>> starts;
};

std::vector<Metric*> all_of(DeviceMetrics& metrics) {
  std::vector<Metric*> all;
  auto add = [&](auto& of_rows) {
    for (auto& [row, metric] : of_rows) {
      metric.name = row_name(row);
      all.push_back(&metric);
    }
  };
  add(metrics.peaks);
  add(metrics.bandwidths);
  add(metrics.links);
  add(metrics.starts);
  return all;
}

template <typename Row>
std::vector<Row> rows_of(const std::vector<MetricOf<Row>>& metrics, const std::vector<GpuSample>& samples) {
  std::vector<Row> rows;
  for (const auto& [row, metric] : metrics) {
    MetricResult& result = rows.emplace_back(row).result;
    result = result_of(metric);
    if (const KernelVariant* winner = metric.winner()) result.gpu = conditions_during(samples, winner->visits);
  }
  return rows;
}

// The CPU's own limits, if known: recalled, never measured beside the device.
void refer_to_cpu(const Options& options, References& references) {
  Result<machine::Machine> machine = machine::probe();
  if (!machine)
    references.cpu_reason = machine.error().message;
  else if (limits::recall(*machine, options.machine_cache))
    references.cpu = std::move(*machine);
  else
    references.cpu_reason = "the limits of this CPU are not known yet; 'ridge bench device' measures them";
}

References references_for(const gpu::DeviceFacts& facts, const WatchedGpu& watched, const Options& options) {
  References references;
  Result<std::vector<catalogue::CatalogueDevice>> devices = catalogue::catalogue();
  Result<catalogue::CatalogueDevice> device =
      devices ? datasheet_of(*devices, facts) : Result<catalogue::CatalogueDevice>(devices.error());
  if (device)
    references.datasheet = std::move(*device);
  else
    references.datasheet_reason = device.error().message;
  if (gpu::runs_on_cpu(facts)) refer_to_cpu(options, references);
  if (watched.gpu && watched.gpu->pcie_generation_max && watched.gpu->pcie_width_max) {
    // An idle link saves power; under load it rises to the limit of GPU and slot.
    const int64_t generation = *watched.gpu->pcie_generation_max, lanes = *watched.gpu->pcie_width_max;
    references.link_bytes_per_s = pcie_bytes_per_s(generation, lanes);
    references.link = fmt::format("PCIe {}.0 x{}", generation, lanes);
  }
  return references;
}

std::vector<MetricOf<PeakRow>> all_peak_metrics(const gpu::Device& device) {
  std::vector<MetricOf<PeakRow>> metrics = multiply_add_metrics(device);
  for (auto part : {mma_metrics, gemm_metrics})
    for (MetricOf<PeakRow>& peak : part(device)) metrics.push_back(std::move(peak));
  return metrics;
}

}  // namespace

Result<DeviceMeasurement> measure(const gpu::Device& device, const Options& options, Clock& clock) {
  const TimePoint begin = clock.now();
  DeviceMeasurement measured;
  measured.facts = device.facts;
  if (options.rounds.progress) options.rounds.progress("make ready", 0);
  DeviceMetrics metrics{all_peak_metrics(device), memory_metrics(device), link_metrics(device), start_metrics(device)};
  const WatchedGpu watched = watch_gpu(measured.facts, clock);
  machine::DisturbanceWatch disturbance;
  measure_in_rounds(all_of(metrics), options.rounds, clock);
  measured.disturbance = disturbance.end();
  const std::vector<GpuSample> samples = watched.watch ? watched.watch->samples() : std::vector<GpuSample>{};
  measured.peaks = rows_of(metrics.peaks, samples);
  measured.bandwidths = rows_of(metrics.bandwidths, samples);
  measured.links = rows_of(metrics.links, samples);
  measured.starts = rows_of(metrics.starts, samples);
  const References references = references_for(measured.facts, watched, options);
  measured.cpu_limits = references.cpu_reason;
  add_utilisation(measured, references);
  measured.observer = watched.by;
  measured.datasheet = references.datasheet ? references.datasheet->vendor + " " + references.datasheet->name
                                            : "none: " + references.datasheet_reason;
  measured.measured_at = now_in_utc();
  measured.seconds = to_seconds(clock.now() - begin);
  return measured;
}

}  // namespace ridge::limits::accelerator
