#include "limits/accelerator/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limits/accelerator/counting.h"
#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kLeastBytes = 64 * 1024;             // of a working set: four elements for every thread of a block
constexpr double kMeanOfPattern = 1.5;                 // of 0, 1, 2, 3
constexpr int64_t kMostSum = (int64_t{1} << 24) / 3;   // number of times a float can add 3 and stay exact
constexpr int64_t kReadsPerRound = 8;                  // of read_shared
constexpr size_t kPlaces = 64, kFloatsOfPlace = 1024;  // that are checked of what was written

// A working set, divided among the threads of a layout.
struct Cut {
  Layout layout;
  int32_t steps = 0;  // of each thread, a multiple of four
  int32_t by_thread = 0, by_step = 0;
  int64_t threads() const { return static_cast<int64_t>(layout.threads * layout.blocks); }
  int64_t elements() const { return threads() * steps; }
};

// A small working set uses fewer blocks: every thread takes at least four elements.
Cut cut_for(const gpu::DeviceFacts& facts, Layout layout, int64_t elements) {
  const int64_t of_block = 4 * static_cast<int64_t>(layout.threads);
  layout.blocks = std::clamp<size_t>(static_cast<size_t>(elements / of_block), 1, layout.blocks);
  Cut cut{layout};
  cut.steps = static_cast<int32_t>(elements / cut.threads() / 4 * 4);
  const bool stretches = gpu::runs_on_cpu(facts);
  cut.by_thread = stretches ? cut.steps : 1;
  cut.by_step = stretches ? 1 : static_cast<int32_t>(cut.threads());
  return cut;
}

// Threads with several reads in flight each; some of a wave, some of many.
std::vector<Layout> memory_layouts(const gpu::DeviceFacts& facts) {
  std::vector<Layout> result = layouts(facts);
  const auto units = static_cast<size_t>(std::max<int64_t>(1, facts.compute_units));
  if (gpu::runs_on_cpu(facts))
    result.pop_back();  // stretches are for one thread per block
  else
    result.back() = {result.back().threads, 64 * units};
  return result;
}

std::vector<Layout> shared_layouts(const gpu::DeviceFacts& facts) {
  if (!gpu::runs_on_cpu(facts)) return layouts(facts);
  const auto units = static_cast<size_t>(std::max<int64_t>(1, facts.compute_units));
  return {{16, units}, {64, units}};
}

// The bytes to read to measure a level; 0: the level cannot be told apart.
int64_t dram_bytes(const gpu::DeviceFacts& facts) {
  const int64_t wanted = gpu::runs_on_cpu(facts) ? std::max(64 * kMiB, 6 * facts.last_cache_bytes)
                                                 : std::max(512 * kMiB, 8 * facts.last_cache_bytes);
  int64_t most = std::min(facts.memory_bytes / 8, 4096 * kMiB);
  if (facts.largest_buffer_bytes > 0) most = std::min(most, facts.largest_buffer_bytes);
  return std::min(wanted, most) / kMiB * kMiB;
}

// On GPUs whose cache is in two partitions, each keeps what its own multiprocessors read (NVIDIA A100 Tensor Core GPU
// Architecture, "A100 L2 cache"): data read by both fit up to half of the size, and a half is at the edge. On CPUs less
// may fit into the nearer caches.
int64_t cache_bytes(const gpu::DeviceFacts& facts) {
  return facts.last_cache_bytes / (gpu::runs_on_cpu(facts) ? 2 : 4);
}

// The buffers shared by all memory metrics.
struct Memory {
  gpu::DeviceFacts facts;
  std::unique_ptr<gpu::Workspace> workspace;
  gpu::BufferNumber from, to, sums;
  int64_t buffer_bytes = 0;
  int64_t lanes = 4;  // floats of an element
  int64_t element_bytes() const { return lanes * static_cast<int64_t>(sizeof(float)); }

  Result<double> run(const gpu::Launch& launch, int64_t repeats) {
    RIDGE_ASSIGN(gpu::LaunchTime time, workspace->run({&launch, 1}, static_cast<int>(repeats)));
    return time.device_seconds;
  }
  gpu::Launch write(const Cut& cut, gpu::BufferNumber buffer) const {
    return {"write_all", {cut.layout.blocks}, {cut.layout.threads}, {buffer, cut.steps, cut.by_thread, cut.by_step}};
  }
  Status check_sum(int64_t threads, double floats) const {
    std::vector<float> got(static_cast<size_t>(threads * lanes));
    RIDGE_TRY(workspace->read(sums, got));
    double sum = 0;
    for (float value : got) sum += static_cast<double>(value);
    if (std::abs(sum - kMeanOfPattern * floats) <= 1e-5 * kMeanOfPattern * floats) return {};
    return Error{Code::kFailed, fmt::format("what was read adds up to {} instead of {}: the kernel did not read all",
                                            sum, kMeanOfPattern * floats)};
  }
  // Places spread over the first `floats` of `to`, its end included.
  static size_t place(size_t number, size_t floats) {
    return (floats - kFloatsOfPlace) / 4 * number / (kPlaces - 1) * 4;
  }
  static std::vector<float> pattern() {
    std::vector<float> floats(kFloatsOfPlace);
    for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i % 4);
    return floats;
  }
  // Spoils what an earlier kernel wrote, so that it is not taken for this one's.
  Status spoil(size_t floats) const {
    const std::vector<float> right = pattern(), wrong(kFloatsOfPlace, -1);
    for (size_t i = 0; i < kPlaces; ++i) {
      RIDGE_TRY(workspace->write(from, right, place(i, floats)));
      RIDGE_TRY(workspace->write(to, wrong, place(i, floats)));
    }
    return {};
  }
  Status check_content(size_t floats) const {
    const std::vector<float> right = pattern();
    std::vector<float> got(kFloatsOfPlace);
    for (size_t i = 0; i < kPlaces; ++i) {
      RIDGE_TRY(workspace->read(to, got, place(i, floats)));
      const auto [wrong, expected] = std::ranges::mismatch(got, right);
      if (wrong != got.end())
        return Error{Code::kFailed, fmt::format("float {} is {} instead of {} after the write or copy",
                                                place(i, floats) + (wrong - got.begin()), *wrong, *expected)};
    }
    return {};
  }
};
using MemoryHandle = std::shared_ptr<Memory>;

Result<MemoryHandle> make_memory(const gpu::Device& device) {
  auto memory = std::make_shared<Memory>();
  memory->facts = device.facts;
  memory->lanes = gpu::runs_on_cpu(memory->facts) ? 16 : 4;
  RIDGE_ASSIGN(
      memory->workspace,
      gpu::workspace_with(device, kernel_source(fmt::format("#define WIDE_LANES {}\n", memory->lanes), {"memory"})));
  memory->buffer_bytes = dram_bytes(memory->facts);
  if (memory->buffer_bytes < kLeastBytes)
    return Error{Code::kExhausted,
                 fmt::format("the device has too little free memory: {} bytes per buffer", memory->buffer_bytes)};
  RIDGE_ASSIGN(memory->from, memory->workspace->add_bytes(static_cast<size_t>(memory->buffer_bytes)));
  RIDGE_ASSIGN(memory->to, memory->workspace->add_bytes(static_cast<size_t>(memory->buffer_bytes)));
  size_t most_threads = 0;
  for (auto part : {memory_layouts, shared_layouts})
    for (const Layout& layout : part(memory->facts))
      most_threads = std::max(most_threads, layout.threads * layout.blocks);
  RIDGE_ASSIGN(memory->sums, memory->workspace->add_bytes(most_threads * static_cast<size_t>(memory->element_bytes())));
  return memory;
}

std::string layout_text(const Layout& layout, int64_t lanes) {
  return fmt::format("{} x {} threads, {} floats each", layout.blocks, layout.threads, lanes);
}

KernelVariant reading(const MemoryHandle& memory, const Cut& cut) {
  KernelVariant variant;
  variant.conditions = "kernel, " + layout_text(cut.layout, memory->lanes);
  auto passes_done = std::make_shared<int64_t>(0);
  variant.run = one_by_one([memory, cut, passes_done](int64_t passes) -> Result<Burst> {
    if (*passes_done == 0) RIDGE_TRY(memory->run(memory->write(cut, memory->from), 1));
    *passes_done = passes;
    const gpu::Launch launch = {
        "read_all",
        {cut.layout.blocks},
        {cut.layout.threads},
        {memory->from, memory->sums, cut.steps, cut.by_thread, cut.by_step, static_cast<int32_t>(passes)}};
    RIDGE_ASSIGN(double seconds, memory->run(launch, 1));
    return Burst{static_cast<double>(cut.elements() * memory->element_bytes() * passes), seconds};
  });
  variant.check = [memory, cut, passes_done] {
    return memory->check_sum(cut.threads(), static_cast<double>(cut.elements() * memory->lanes * *passes_done));
  };
  variant.most_repeats = std::max<int64_t>(1, kMostSum / cut.steps);
  return variant;
}

// Measures a step that fills the first `bytes` of `to` and accesses each `accesses` times.
KernelVariant filling(const MemoryHandle& memory, std::string conditions, const gpu::Step& step, int64_t bytes,
                      int accesses) {
  KernelVariant variant;
  variant.conditions = std::move(conditions);
  const size_t floats = static_cast<size_t>(bytes) / sizeof(float);
  auto spoilt = std::make_shared<bool>(false);
  variant.run = one_by_one([=](int64_t repeats) -> Result<Burst> {
    if (!*spoilt) RIDGE_TRY(memory->spoil(floats));
    *spoilt = true;
    RIDGE_ASSIGN(const gpu::LaunchTime time, memory->workspace->run({&step, 1}, static_cast<int>(repeats)));
    return Burst{static_cast<double>(accesses * bytes * repeats),
                 time.device_seconds > 0 ? time.device_seconds : time.whole_seconds};
  });
  variant.check = [memory, floats] { return memory->check_content(floats); };
  return variant;
}

KernelVariant filling_by(const MemoryHandle& memory, const Cut& cut, const gpu::Launch& launch, int accesses) {
  return filling(memory, "kernel, " + layout_text(cut.layout, memory->lanes), {launch},
                 cut.elements() * memory->element_bytes(), accesses);
}

KernelVariant writing(const MemoryHandle& memory, const Cut& cut) {
  return filling_by(memory, cut, memory->write(cut, memory->to), 1);
}

KernelVariant copying(const MemoryHandle& memory, const Cut& cut) {
  const gpu::Launch launch = {"copy_all",
                              {cut.layout.blocks},
                              {cut.layout.threads},
                              {memory->from, memory->to, cut.steps, cut.by_thread, cut.by_step}};
  return filling_by(memory, cut, launch, 2);
}

KernelVariant copying_by_driver(const MemoryHandle& memory) {
  return filling(memory, "the driver's copy", {gpu::Copy{memory->from, memory->to}}, memory->buffer_bytes, 2);
}

KernelVariant reading_shared(const MemoryHandle& memory, const Layout& layout) {
  KernelVariant variant;
  variant.conditions = "kernel, " + layout_text(layout, memory->lanes);
  const auto threads = static_cast<int64_t>(layout.threads * layout.blocks);
  auto reads = std::make_shared<int64_t>(0);  // of the last launch, by all threads
  variant.run = one_by_one([memory, layout, threads, reads](int64_t rounds) -> Result<Burst> {
    *reads = threads * rounds * kReadsPerRound;
    const gpu::Launch launch = {
        "read_shared", {layout.blocks}, {layout.threads}, {memory->sums, static_cast<int32_t>(rounds)}};
    RIDGE_ASSIGN(double seconds, memory->run(launch, 1));
    return Burst{static_cast<double>(*reads * memory->element_bytes()), seconds};
  });
  variant.check = [memory, threads, reads] {
    return memory->check_sum(threads, static_cast<double>(*reads * memory->lanes));
  };
  variant.most_repeats = kMostSum / kReadsPerRound;
  return variant;
}

MetricOf<BandwidthRow> bandwidth_of(std::string level, std::string access, int64_t bytes) {
  return {{std::move(level), std::move(access), bytes, {}}, {}};
}

struct Access {
  const char* name;
  KernelVariant (*way)(const MemoryHandle& memory, const Cut& cut);
  int buffers;
};
constexpr Access kAccesses[] = {{"read", reading, 1}, {"write", writing, 1}, {"copy", copying, 2}};

std::vector<MetricOf<BandwidthRow>> dram_metrics(const MemoryHandle& memory) {
  std::vector<MetricOf<BandwidthRow>> metrics;
  const int64_t bytes = memory->buffer_bytes;
  for (const Access& access : kAccesses) {
    MetricOf<BandwidthRow> bandwidth = bandwidth_of("DRAM", access.name, access.buffers * bytes);
    bandwidth.metric.sustained = true;
    for (const Layout& layout : memory_layouts(memory->facts))
      bandwidth.metric.variants.push_back(
          access.way(memory, cut_for(memory->facts, layout, bytes / memory->element_bytes())));
    metrics.push_back(std::move(bandwidth));
  }
  metrics.back().metric.variants.push_back(copying_by_driver(memory));
  return metrics;
}

MetricOf<BandwidthRow> cache_metric(const MemoryHandle& memory) {
  const int64_t bytes = cache_bytes(memory->facts);
  MetricOf<BandwidthRow> bandwidth = bandwidth_of("last cache", "read", bytes);
  if (bytes < kLeastBytes) {
    bandwidth.metric.reason = bytes == 0 ? "the device does not report the size of its cache"
                                         : "the device's last cache is too small to be told apart";
    return bandwidth;
  }
  for (const Layout& layout : memory_layouts(memory->facts))
    bandwidth.metric.variants.push_back(
        reading(memory, cut_for(memory->facts, layout, bytes / memory->element_bytes())));
  return bandwidth;
}

MetricOf<BandwidthRow> shared_metric(const MemoryHandle& memory) {
  MetricOf<BandwidthRow> bandwidth = bandwidth_of("shared", "read", 16 * 1024);
  for (const Layout& layout : shared_layouts(memory->facts))
    bandwidth.metric.variants.push_back(reading_shared(memory, layout));
  return bandwidth;
}

}  // namespace

std::vector<MetricOf<BandwidthRow>> memory_metrics(const gpu::Device& device) {
  Result<MemoryHandle> memory = make_memory(device);
  if (!memory) {
    MetricOf<BandwidthRow> bandwidth = bandwidth_of("DRAM", "read", 0);
    bandwidth.metric.reason = memory.error().message;
    return {bandwidth};
  }
  std::vector<MetricOf<BandwidthRow>> metrics = dram_metrics(*memory);
  metrics.push_back(cache_metric(*memory));
  metrics.push_back(shared_metric(*memory));
  return metrics;
}

}  // namespace ridge::limits::accelerator
