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
#include "limits/accelerator/rounds.h"
#include "limits/accelerator/shares.h"
#include "limits/accelerator/watch.h"
#include "limits/limits_store.h"
#include "machine/probe.h"

namespace ridge::limits::accelerator {
namespace {

// All that is asked of a device.
struct Questions {
  std::vector<PeakQuestion> peaks;
  std::vector<BandwidthQuestion> bandwidths;
  std::vector<LinkQuestion> links;
  std::vector<StartQuestion> starts;

  std::vector<NamedQuestion> all() {
    std::vector<NamedQuestion> result;
    for (PeakQuestion& asked : peaks)
      result.emplace_back(fmt::format("{} {}", precision_name(asked.precision), asked.way), &asked.question);
    for (BandwidthQuestion& asked : bandwidths) result.emplace_back(asked.level + " " + asked.access, &asked.question);
    for (LinkQuestion& asked : links) result.emplace_back(std::string(gpu::way_name(asked.way)), &asked.question);
    for (StartQuestion& asked : starts) result.emplace_back(asked.what, &asked.question);
    return result;
  }
};

Figure figure_of(const Question& question, const std::vector<GpuSample>& samples) {
  Figure figure = answer(question);
  if (const Candidate* winner = question.winner()) figure.observed = observed_in(samples, winner->windows);
  return figure;
}

void answer_all(const Questions& questions, const std::vector<GpuSample>& samples, Measured& measured) {
  for (const PeakQuestion& asked : questions.peaks)
    measured.peaks.push_back({asked.precision, asked.way, figure_of(asked.question, samples)});
  for (const BandwidthQuestion& asked : questions.bandwidths)
    measured.bandwidths.push_back(
        {asked.level, asked.access, asked.working_set_bytes, figure_of(asked.question, samples)});
  for (const LinkQuestion& asked : questions.links)
    measured.links.push_back({asked.way, asked.memory, asked.bytes, figure_of(asked.question, samples)});
  for (const StartQuestion& asked : questions.starts)
    measured.starts.push_back({asked.what, asked.meaning, figure_of(asked.question, samples)});
}

// The CPU's own limits, if they are known: they are recalled, never measured beside the device.
void refer_to_cpu(const Options& options, References& references) {
  Result<machine::Machine> machine = machine::probe();
  if (machine)
    machine = recall_or_measure(std::move(*machine), {false, options.machine_cache, {}}, [](const machine::Machine&) {
      return Result<Limits>(
          Error{Code::kUnavailable, "the limits of this CPU are not known yet; 'ridge bench device' measures them"});
    });
  if (machine)
    references.cpu = std::move(*machine);
  else
    references.cpu_reason = machine.error().message;
}

References references_for(const gpu::DeviceFacts& facts, const Watched& watched, const Options& options) {
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
    // An idle link saves power; under load it goes up to what GPU and slot can do.
    const int64_t generation = *watched.gpu->pcie_generation_max, lanes = *watched.gpu->pcie_width_max;
    references.link_bytes_per_s = pcie_bytes_per_s(generation, lanes);
    references.link = fmt::format("PCIe {}.0 x{}", generation, lanes);
  }
  return references;
}

std::vector<PeakQuestion> all_peak_questions(const gpu::Device& device) {
  std::vector<PeakQuestion> questions = multiply_add_questions(device);
  for (auto part : {mma_questions, gemm_questions})
    for (PeakQuestion& asked : part(device)) questions.push_back(std::move(asked));
  return questions;
}

}  // namespace

Result<Measured> measure(const gpu::Device& device, const Options& options) {
  const TimePoint begin = SteadyClock::now();
  Measured measured;
  measured.facts = device.facts;
  if (options.progress) options.progress("make ready", 0);
  Questions questions{all_peak_questions(device), memory_questions(device), link_questions(device),
                      start_questions(device)};
  const Watched watched = watch_gpu(measured.facts);
  ask_in_rounds(questions.all(), options);
  answer_all(questions, watched.watch ? watched.watch->samples() : std::vector<GpuSample>{}, measured);
  const References references = references_for(measured.facts, watched, options);
  measured.cpu_limits = references.cpu_reason;
  add_shares(measured, references);
  measured.observer = watched.by;
  measured.datasheet = references.datasheet ? references.datasheet->vendor + " " + references.datasheet->name
                                            : "none: " + references.datasheet_reason;
  measured.measured_at = now_in_utc();
  measured.seconds = to_seconds(SteadyClock::now() - begin);
  return measured;
}

}  // namespace ridge::limits::accelerator
