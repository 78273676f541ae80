// L02: memory for the results between layers, from the driver each time or from a pool.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kLayers = 8, kPoolIn = 0, kPoolBetween = 1, kPoolOther = 2, kPoolLast = 3;
constexpr float kLayerFactor = 0.75F, kLayerOffset = 0.125F;
enum class From { kDriver, kPool, kKept };

// in → between → also between → between … → last; each layer first allocates its output.
Variant layers(std::string name, size_t count, From from) {
  Variant variant;
  variant.name = std::move(name);
  size_t read = kPoolIn;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    size_t written = layer + 1 == kLayers ? kPoolLast : layer % 2 == 0 ? kPoolBetween : kPoolOther;
    if (from != From::kKept && written != kPoolLast)
      variant.steps.push_back({gpu::Reallocate{{written}, from == From::kPool}});
    variant.steps.push_back({launch_per_element(
        "scale", count, 256, {gpu::BufferNumber{read}, gpu::BufferNumber{written}, kLayerFactor, kLayerOffset})});
    read = written;
  }
  return variant;
}

Case layers_case(size_t count) {
  Case work;
  work.title = fmt::format("{} layers over {}, memory for each result", kLayers, size_text(count));
  work.kernels = "block_size";
  read_and_write(work, count, count, 71, 3);
  work.expected = {
      [](const Buffers& in, size_t i) { return after_steps(in[kPoolIn][i], kLayers, kLayerFactor, kLayerOffset); }};
  work.tolerance = 1e-6;
  work.bytes *= kLayers;
  work.time_scope = TimeScope::kWhole;
  work.variants = {layers("from the driver", count, From::kDriver), layers("from a pool", count, From::kPool),
                   layers("kept", count, From::kKept)};
  work.comparisons = {
      {"L02", 1, 0,
       fmt::format(
           "{} times per run the driver takes memory back and hands it out, and may wait for the device to do so; a "
           "pool hands out what was given back in the queue's own order",
           kLayers - 1)},
      {"L02", 2, 0, "memory that is kept from run to run is the most that a pool could gain"}};
  return work;
}

}  // namespace

std::vector<Case> pools_cases(const Target& target) {
  if (target.family == Family::kNative) return {};
  if (target.small) return {layers_case(1024)};
  return {layers_case(256 << 10), layers_case(4 << 20)};  // 1 MiB and 16 MiB
}

}  // namespace ridge::lab::experiments
