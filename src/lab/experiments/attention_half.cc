// L14 in FP16 and BF16: attention by way of a table of all scores, by tiles, and by tiles on the tensor cores.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab {
namespace {

constexpr size_t kHeadWidth = 64, kTableTile = 16, kTileQueries = 64,
                 kTableThreads = 128;                       // as in kernels/attention_half.cu
constexpr size_t kTensorQueries = 64, kWarpsThreads = 128;  // as in kernels/attention_tensor.cu
enum HalfBuffer : size_t { kHalfQuery, kHalfKey, kHalfValue, kHalfScores, kHalfResult };

struct HalfFormat {
  WordFormat format;
  const char* name;
  const char* kernels;  // their names' end
  int tensor_from;      // first architecture whose tensor cores have it
  double tolerance;     // the weights are rounded once more: to 11 and 8 bits
};
constexpr HalfFormat kHalfFormats[] = {{WordFormat::kFp16, "FP16", "fp16", 75, 2e-3},
                                       {WordFormat::kBf16, "BF16", "bf16", 80, 1.6e-2}};

gpu::Argument half_buffer(HalfBuffer number) { return gpu::BufferNumber{number}; }

Variant by_table(const HalfFormat& format, size_t heads, size_t count) {
  auto named = [&](const char* kernel) { return fmt::format("{}_{}", kernel, format.kernels); };
  auto positions = static_cast<int32_t>(count);
  const gpu::Extent tile = {kTableTile, kTableTile};
  const size_t tiles = count / kTableTile;
  Variant variant;
  variant.name = "table of scores";
  variant.launches = {{named("scores"),
                       {tiles, heads * tiles},
                       tile,
                       {half_buffer(kHalfQuery), half_buffer(kHalfKey), half_buffer(kHalfScores), positions}},
                      {named("softmax"), {heads * count}, {kTableThreads}, {half_buffer(kHalfScores), positions}},
                      {named("values"),
                       {kHeadWidth / kTableTile, heads * tiles},
                       tile,
                       {half_buffer(kHalfScores), half_buffer(kHalfValue), half_buffer(kHalfResult), positions}}};
  return variant;
}

Variant by_tiles(std::string name, std::string kernel, size_t queries, size_t threads, size_t heads, size_t count) {
  Variant variant;
  variant.name = std::move(name);
  variant.launches = {{std::move(kernel),
                       {count / queries, heads},
                       {threads},
                       {half_buffer(kHalfQuery), half_buffer(kHalfKey), half_buffer(kHalfValue),
                        half_buffer(kHalfResult), static_cast<int32_t>(count)}}};
  return variant;
}

Case half_case(const HalfFormat& format, bool tensor, size_t heads, size_t count, const Figure& claimed) {
  Case work;
  const size_t values = heads * count * kHeadWidth;
  work.title = fmt::format("{} attention over {} positions, {} head{} of {}", format.name, count, heads,
                           heads > 1 ? "s" : "", kHeadWidth);
  work.kernels = tensor ? "half warp_matrix attention_half attention_tensor" : "half attention_half";
  std::vector<float> inputs[3];
  for (uint32_t i = 0; i < 3; ++i) {
    inputs[i] = coarse_values(values, 103 + i);
    work.buffers.push_back(words_of(inputs[i], format.format));
  }
  work.buffers.emplace_back(heads * count * count / values_per_word(format.format));
  work.buffers.emplace_back(values);
  work.output = kHalfResult;
  work.expected = {attention_of(inputs[0], inputs[1], inputs[2], count, kHeadWidth)};
  work.tolerance = format.tolerance;
  work.flops = 4.0 * static_cast<double>(values * count);  // two products; the exponentials are not counted
  work.variants = {by_table(format, heads, count), by_tiles("tiles", fmt::format("tiles_{}", format.kernels),
                                                            kTileQueries, kTileQueries, heads, count)};
  const std::string because =
      fmt::format("the table of {} scores per head is written, read, written and read again", count * count);
  work.comparisons = {{"L14", 1, 0, because + "; in tiles they stay on the chip", claimed}};
  if (!tensor) return work;
  work.variants.push_back(by_tiles("tiles on tensor cores", fmt::format("attention_tensor_{}", format.kernels),
                                   kTensorQueries, kWarpsThreads, heads, count));
  work.comparisons.push_back({"L14", 2, 0,
                              because +
                                  "; in tiles they stay in registers, where the tensor cores take them. The table's "
                                  "products use none, so that this ratio holds the tensor cores' own gain too",
                              claimed});
  return work;
}

}  // namespace

std::vector<Case> attention_half_cases(const Target& target) {
  if (target.family == Family::kNative) return {};
  std::vector<Case> cases;
  for (const HalfFormat& format : kHalfFormats) {
    // Where there are no tensor cores they are played, for tests only.
    const bool tensor = target.architecture > 0 ? target.architecture >= format.tensor_from : target.small;
    if (target.small) {
      cases.push_back(half_case(format, tensor, 2, 128, {Figure::kGain, 2.6, 2.6}));
      continue;
    }
    for (auto [count, claimed] :
         {std::pair(size_t{512}, 2.6), std::pair(size_t{1024}, 4.4), std::pair(size_t{2048}, 7.9)})
      cases.push_back(half_case(format, tensor, target.processor ? 1 : 16, count, {Figure::kGain, claimed, claimed}));
    if (!target.processor)  // beyond the claim's last figure: at least that
      cases.push_back(half_case(format, tensor, 8, 4096, {Figure::kGain, 7.9, std::nullopt}));
  }
  return cases;
}

}  // namespace ridge::lab
