// L14: attention through a table of all scores, or by tiles that stay on the chip; in FP32, FP16 and BF16, the latter
// two also by tiles on the tensor cores.
#include <fmt/format.h>

#include <optional>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kHeadWidth = 64, kTableTile = 16, kTileQueries = 64,
                 kTableThreads = 128;  // as in kernels/attention.cu
constexpr size_t kCheckedQueries = 256;
constexpr size_t kTensorQueries = 128, kWarpsThreads = 128;  // as in kernels/attention_tensor.cu
enum AttentionBuffer : size_t { kQuery, kKey, kValue, kScores, kResult };

struct AttentionFormat {
  std::optional<Precision> format;  // absent: FP32
  const char* name;
  const char* suffix;  // of the kernels' names
  const char* texts;   // of the kernels
  int tensor_from;     // first architecture whose tensor cores have it
  // Deviations from the reference, three to five times the largest of right kernels: the table rounds scores, of up to
  // 13, and weights; tiles on tensor cores round weights alone; other tiles compute in FP32.
  double of_table, of_tensor;
};
constexpr int kNoTensorCores = 1 << 30;
constexpr double kOfTiles = 5e-5;
constexpr AttentionFormat kSingle = {std::nullopt, "FP32", "fp32", "single attention", kNoTensorCores, kOfTiles, 0};
constexpr AttentionFormat kHalves[] = {{Precision::kFp16, "FP16", "fp16", "half attention", 75, 5e-3, 5e-4},
                                       {Precision::kBf16, "BF16", "bf16", "half attention", 80, 4e-2, 4e-3}};

gpu::Argument buffer_of(AttentionBuffer number) { return gpu::BufferNumber{number}; }

Variant by_table(const AttentionFormat& format, size_t heads, size_t count) {
  auto named = [&](const char* kernel) { return fmt::format("{}_{}", kernel, format.suffix); };
  auto positions = static_cast<int32_t>(count);
  const gpu::Extent tile = {kTableTile, kTableTile};
  const size_t tiles = count / kTableTile;
  Variant variant;
  variant.name = "table of scores";
  variant.launches = {{named("scores"),
                       {tiles, heads * tiles},
                       tile,
                       {buffer_of(kQuery), buffer_of(kKey), buffer_of(kScores), positions}},
                      {named("softmax"), {heads * count}, {kTableThreads}, {buffer_of(kScores), positions}},
                      {named("values"),
                       {kHeadWidth / kTableTile, heads * tiles},
                       tile,
                       {buffer_of(kScores), buffer_of(kValue), buffer_of(kResult), positions}}};
  return variant;
}

Variant by_tiles(std::string name, std::string kernel, size_t queries, size_t threads, size_t heads, size_t count) {
  Variant variant;
  variant.name = std::move(name);
  variant.launches = {
      {std::move(kernel),
       {count / queries, heads},
       {threads},
       {buffer_of(kQuery), buffer_of(kKey), buffer_of(kValue), buffer_of(kResult), static_cast<int32_t>(count)}}};
  return variant;
}

// Queries are large, so that each looks at few keys: where the weights are nearly equal, a mistake in one tile is
// within the rounding. About kCheckedQueries rows of each head are compared, spread over all blocks.
void fill_attention(Case& work, std::optional<Precision> format, size_t heads, size_t count) {
  const size_t values = heads * count * kHeadWidth;
  std::vector<float> inputs[3];
  for (uint32_t i = 0; i < 3; ++i) {
    inputs[i] = format ? coarse_values(values, 103 + i) : random_values(values, 47 + i);
    if (i == kQuery)
      for (float& value : inputs[i]) value *= 8;
    work.buffers.push_back(format ? words_of(inputs[i], *format) : inputs[i]);
  }
  work.buffers.emplace_back(heads * count * count / (format ? values_per_word(*format) : 1));
  work.buffers.emplace_back(values);
  work.expected = {reference_of(
      attention_of(inputs[kQuery], inputs[kKey], inputs[kValue], count, kHeadWidth, count / kCheckedQueries | 1))};
}

Case attention_case(const AttentionFormat& format, bool tensor, size_t heads, size_t count,
                    const measure::ClaimedFigure& claimed) {
  Case work;
  work.title = fmt::format("{} attention over {} positions, {} head{} of {}", format.name, count, heads,
                           heads > 1 ? "s" : "", kHeadWidth);
  work.kernels = tensor ? "half warp_matrix warp_rows attention attention_tensor" : format.texts;
  work.fill = [words = format.format, heads, count](Case& one) { fill_attention(one, words, heads, count); };
  work.output = kResult;
  work.tolerance = format.of_table;
  // Two products; exponentials are not counted.
  work.flops = 4.0 * static_cast<double>(heads * count * kHeadWidth * count);
  work.variants = {by_table(format, heads, count),
                   by_tiles("tiles", fmt::format("tiles_{}", format.suffix), kTileQueries, kTileQueries, heads, count)};
  work.variants[1].tolerance = kOfTiles;
  const std::string because =
      fmt::format("the table of {} scores per head is written, read, written and read again", count * count);
  work.comparisons = {{"L14", 1, 0, because + "; in tiles they stay on the chip", claimed}};
  if (!tensor) return work;
  work.variants.push_back(by_tiles("tiles on tensor cores", fmt::format("attention_tensor_{}", format.suffix),
                                   kTensorQueries, kWarpsThreads, heads, count));
  work.variants.back().tolerance = format.of_tensor;
  work.comparisons.push_back({"L14", 2, 0,
                              because +
                                  "; in tiles they stay in registers, where the tensor cores take them. The table's "
                                  "products use none, so that this ratio holds the tensor cores' own gain too",
                              claimed});
  return work;
}

// Devices without tensor cores emulate them, for tests only.
bool has_tensor_cores(const AttentionFormat& format, const Target& target) {
  if (format.tensor_from == kNoTensorCores) return false;
  return target.architecture > 0 ? code_architecture(target) >= format.tensor_from : target.small;
}

void add_cases(std::vector<Case>& cases, const AttentionFormat& format, const Target& target) {
  const bool tensor = has_tensor_cores(format, target);
  if (target.small) {
    cases.push_back(attention_case(format, tensor, 2, 128, {measure::ClaimedFigure::kGain, 2.6, 2.6}));
    return;
  }
  for (auto [count, claimed] :
       {std::pair(size_t{512}, 2.6), std::pair(size_t{1024}, 4.4), std::pair(size_t{2048}, 7.9)})
    cases.push_back(
        attention_case(format, tensor, target.cpu ? 1 : 16, count, {measure::ClaimedFigure::kGain, claimed, claimed}));
}

}  // namespace

std::vector<Case> attention_cases(const Target& target) {
  std::vector<Case> cases;
  if (target.family == Family::kKernels) add_cases(cases, kSingle, target);
  return cases;
}

std::vector<Case> attention_half_cases(const Target& target) {
  std::vector<Case> cases;
  if (target.family == Family::kNative) return cases;
  for (const AttentionFormat& format : kHalves) {
    add_cases(cases, format, target);
    if (!target.small && !target.cpu)  // beyond the claim's upper figure: at least this much
      cases.push_back(attention_case(format, has_tensor_cores(format, target), 8, 4096,
                                     {measure::ClaimedFigure::kGain, 7.9, std::nullopt}));
  }
  return cases;
}

}  // namespace ridge::lab::experiments
