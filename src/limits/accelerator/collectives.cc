#include "limits/accelerator/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "base/units.h"
#include "base/utc.h"
#include "gpu/cuda/cuda.h"
#include "gpu/nccl/group.h"
#include "gpu/nvml/nvml.h"
#include "limits/accelerator/utilisation.h"
#include "limits/accelerator/watch.h"
#include "limits/accelerator/wire_check.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int64_t kStep = 8;               // between sizes
constexpr int64_t kMostOperations = 1000;  // in one burst: driver queues are finite
constexpr double kLongEnough = 0.1;        // [s] of one operation: larger sizes are skipped then
constexpr double kShareOfMemory = 0.4;     // of the free memory, for each of two buffers; the rest is for NCCL

// All, or the requested ones, in CUDA's numbering.
Result<std::vector<size_t>> usable_gpus(const gpu::cuda::Cuda& cuda, std::vector<size_t> wanted) {
  if (wanted.empty())
    for (size_t i = 0; i < cuda.devices().size(); ++i) wanted.push_back(i);
  for (size_t index : wanted) RIDGE_TRY(cuda.check_usable(index));
  return wanted;
}

std::string alone_text(const gpu::DeviceFacts& facts) {
  return fmt::format(
      "there is one GPU only, {0} ({1}): nothing goes between GPUs; `ridge bench device -d {0}` "
      "measures what it can do itself",
      facts.device, facts.name);
}

// From the management library, which knows the GPUs by their addresses.
Result<GroupLinks> find_links(const gpu::cuda::Cuda& cuda, const std::vector<size_t>& gpus) {
  RIDGE_ASSIGN(const gpu::nvml::Nvml nvml, gpu::nvml::Nvml::open());
  const gpu::GpuSystem system = nvml.system();
  std::set<std::string> all;
  for (const gpu::Gpu& gpu : system.gpus)
    if (gpu.pci_address) all.insert(*gpu.pci_address);
  const std::vector<gpu::DeviceFacts> facts = cuda.facts();
  std::vector<JoinedGpu> joined;
  for (size_t index : gpus) {
    const gpu::cuda::CudaDevice& device = cuda.devices()[index];
    RIDGE_ASSIGN(const int its, matching_gpu(system.gpus, facts[index]));
    const gpu::Gpu& gpu = system.gpus[static_cast<size_t>(its)];
    JoinedGpu& one = joined.emplace_back();
    one.capability = device.capability;
    one.pci_address = gpu.pci_address ? *gpu.pci_address : device.pci_address;
    one.links = gpu.links;
    // An idle link saves power; under load it rises to the limit of GPU and slot.
    if (gpu.pcie_generation_max) one.pcie_generation = *gpu.pcie_generation_max;
    if (gpu.pcie_width_max) one.pcie_lanes = *gpu.pcie_width_max;
  }
  return links_of(joined, all);
}

Result<int64_t> largest_that_fits(const std::vector<gpu::cuda::CudaContext>& contexts, int64_t wanted) {
  for (const gpu::cuda::CudaContext& context : contexts) {
    RIDGE_ASSIGN(const size_t free, context.free_bytes());
    wanted = std::min(wanted, static_cast<int64_t>(kShareOfMemory * static_cast<double>(free)));
  }
  if (wanted < 8) return Error{Code::kExhausted, "the GPUs have no memory free; nvidia-smi shows who uses it"};
  return collective_sizes(wanted).back();
}

// All-gather and reduce-scatter need equal parts of whole values.
int64_t whole_parts(gpu::nccl::Collective collective, int64_t bytes, size_t gpus) {
  const auto unit = static_cast<int64_t>(sizeof(float) * gpus);
  const bool parts =
      collective == gpu::nccl::Collective::kAllGather || collective == gpu::nccl::Collective::kReduceScatter;
  return parts ? (bytes + unit - 1) / unit * unit : bytes;
}

using Group = std::shared_ptr<gpu::nccl::NcclGroup>;

Result<Group> open_group(const gpu::nccl::Nccl& nccl, const std::vector<gpu::cuda::CudaContext>& contexts,
                         int64_t largest, Nanoseconds patience) {
  const int64_t room = largest + static_cast<int64_t>(sizeof(float) * contexts.size());
  RIDGE_ASSIGN(gpu::nccl::NcclGroup group,
               gpu::nccl::NcclGroup::create(nccl, contexts, static_cast<size_t>(room), patience));
  auto shared = std::make_shared<gpu::nccl::NcclGroup>(std::move(group));
  RIDGE_TRY(send_pattern(*shared));
  return shared;
}

KernelVariant operation(const Group& group, gpu::nccl::Collective collective, int64_t bytes,
                        const std::shared_ptr<double>& seconds) {
  KernelVariant variant;
  variant.conditions = "FP32, out of place";
  variant.most_repeats = kMostOperations;
  variant.run = one_by_one([=](int64_t repeats) -> Result<Burst> {
    RIDGE_ASSIGN(const double took, group->run(collective, static_cast<size_t>(bytes), repeats));
    *seconds = took / static_cast<double>(repeats);
    return Burst{static_cast<double>(bytes * repeats), took};
  });
  variant.check = [=] { return check_arrived(*group, collective, static_cast<size_t>(bytes)); };
  return variant;
}

// Ascending, until one takes long; each has been tried. `options` can be interrupted.
void add_sizes(const Group& group, gpu::nccl::Collective collective, int64_t largest, const RoundOptions& options,
               std::vector<MetricOf<CollectiveRow>>& metrics) {
  auto seconds = std::make_shared<double>(0);
  for (int64_t size : collective_sizes(largest)) {
    if (*seconds > kLongEnough || options.interrupted()) return;
    auto& [row, metric] = metrics.emplace_back();
    row.collective = collective;
    row.bytes = whole_parts(collective, size, group->size());
    metric.name =
        fmt::format("{} {}", gpu::nccl::collective_name(collective), format_bytes(static_cast<double>(row.bytes)));
    KernelVariant variant = operation(group, collective, row.bytes, seconds);
    Status ready = calibrate(variant, options.burst_seconds);
    if (ready && *seconds > kLongEnough) {
      const Result<std::vector<Burst>> again = variant.run(1, 1);  // a briefly stalled host looks the same
      if (!again) ready = again.error();
    }
    if (ready)
      metric.variants.push_back(std::move(variant));
    else
      metric.reason = ready.error().message;
  }
}

// contexts → group → every size of every operation, tried → interleaved
Result<std::vector<MetricOf<CollectiveRow>>> measure_everything(const gpu::cuda::Cuda& cuda,
                                                                const std::vector<size_t>& gpus,
                                                                const gpu::nccl::Nccl& nccl,
                                                                const CollectiveOptions& options, const Clock& clock) {
  std::vector<gpu::cuda::CudaContext> contexts;
  for (size_t index : gpus) {
    RIDGE_ASSIGN(contexts.emplace_back(), cuda.context(index));
  }
  RIDGE_ASSIGN(const int64_t largest, largest_that_fits(contexts, options.largest_bytes));
  RIDGE_ASSIGN(const Group group, open_group(nccl, contexts, largest, options.patience));
  RoundOptions rounds = options.rounds;
  rounds.interrupted = [group, interrupted = options.rounds.interrupted] {
    return group->broken() || (interrupted && interrupted());
  };
  std::vector<MetricOf<CollectiveRow>> metrics;
  for (gpu::nccl::Collective collective : gpu::nccl::kCollectives)
    add_sizes(group, collective, largest, rounds, metrics);
  std::vector<Metric*> all;
  for (auto& [row, metric] : metrics) all.push_back(&metric);
  measure_in_rounds(all, rounds, clock);
  return metrics;
}

void take_answers(const std::vector<MetricOf<CollectiveRow>>& metrics, CollectivesMeasurement& measured) {
  const size_t gpus = measured.gpus.size();
  for (const auto& [asked, metric] : metrics) {
    CollectiveRow row = asked;
    row.result = result_of(metric);
    if (measured.failure.empty()) measured.failure = metric.reason;
    const Result<double> limit = measured.links ? bus_limit(*measured.links, row.collective) : Result<double>(Error{});
    if (limit && row.result.best)
      row.result.utilisation.push_back(utilisation_of(measured.links->text, *row.result.best,
                                                      *limit / bus_factor(row.collective, gpus), Origin::kDerived));
    measured.rows.push_back(std::move(row));
  }
  measured.answers = answers_of(measured.rows, measured.links, gpus);
}

}  // namespace

std::optional<Result<std::vector<size_t>>> group_from_name(std::string_view name) {
  if (name == "cuda:all") return std::vector<size_t>{};
  if (name.find(',') == std::string_view::npos) return std::nullopt;
  std::vector<size_t> gpus;
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    size_t index = 0;
    const std::string_view digits = one.starts_with("cuda:") ? one.substr(5) : std::string_view();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
      return invalid(fmt::format("'{}' of '{}' is no GPU; several are named cuda:0,cuda:1 or cuda:all", one, name));
    if (std::ranges::find(gpus, index) != gpus.end()) return invalid(fmt::format("'{}' names {} twice", name, one));
    gpus.push_back(index);
  }
  return gpus;
}

std::vector<int64_t> collective_sizes(int64_t largest_bytes) {
  std::vector<int64_t> sizes;
  for (int64_t size = 8; size <= largest_bytes; size *= kStep) sizes.push_back(size);
  return sizes;
}

Result<CollectivesMeasurement> measure_collectives(const CollectiveOptions& options, const Clock& clock) {
  const TimePoint begin = clock.now();
  CollectivesMeasurement measured;
  if (options.rounds.progress) options.rounds.progress("make ready", 0);
  RIDGE_ASSIGN(const gpu::cuda::Cuda cuda, gpu::cuda::Cuda::open());
  RIDGE_ASSIGN(const std::vector<size_t> gpus, usable_gpus(cuda, options.gpus));
  const std::vector<gpu::DeviceFacts> facts = cuda.facts();
  for (size_t index : gpus) measured.gpus.push_back(facts[index]);
  if (gpus.size() == 1) {
    measured.alone = alone_text(measured.gpus.front());
    return measured;
  }
  RIDGE_ASSIGN(const gpu::nccl::Nccl nccl, gpu::nccl::Nccl::open());
  measured.library = fmt::format("NCCL {} ({})", nccl.version(), nccl.path());
  Result<GroupLinks> links = find_links(cuda, gpus);
  if (links)
    measured.links = std::move(*links);
  else
    measured.links_reason = links.error().message;
  RIDGE_ASSIGN(std::vector<MetricOf<CollectiveRow>> metrics, measure_everything(cuda, gpus, nccl, options, clock));
  take_answers(metrics, measured);
  measured.measured_at = now_in_utc();
  measured.seconds = to_seconds(clock.now() - begin);
  return measured;
}

}  // namespace ridge::limits::accelerator
