// L14: attention by way of a table of all scores, or by tiles that never leave the chip.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab {
namespace {

constexpr size_t kWidth = 64, kScoreTile = 16, kQueries = 64, kSoftmaxThreads = 128;  // as in kernels/attention.cu
enum AttentionBuffer : size_t { kQuery, kKey, kValue, kScores, kResult };

std::vector<Variant> attention_kernels(size_t heads, size_t count) {
  auto buffer = [](AttentionBuffer number) { return gpu::BufferNumber{number}; };
  auto positions = static_cast<int32_t>(count);
  const gpu::Extent tile = {kScoreTile, kScoreTile};
  size_t tiles = count / kScoreTile;
  Variant table, flash;
  table.name = "table of scores";
  table.launches = {
      {"attention_scores", {tiles, heads * tiles}, tile, {buffer(kQuery), buffer(kKey), buffer(kScores), positions}},
      {"attention_softmax", {heads * count}, {kSoftmaxThreads}, {buffer(kScores), positions}},
      {"attention_values",
       {kWidth / kScoreTile, heads * tiles},
       tile,
       {buffer(kScores), buffer(kValue), buffer(kResult), positions}}};
  flash.name = "tiles";
  flash.launches = {{"attention_tiles",
                     {count / kQueries, heads},
                     {kQueries},
                     {buffer(kQuery), buffer(kKey), buffer(kValue), buffer(kResult), positions}}};
  return {table, flash};
}

Case attention_case(size_t heads, size_t count, double claimed) {
  Case work;
  size_t values = heads * count * kWidth;
  work.title = fmt::format("attention over {} positions, {} head{} of {}", count, heads, heads > 1 ? "s" : "", kWidth);
  work.kernels = "attention";
  work.buffers = {random_values(values, 47), random_values(values, 53), random_values(values, 59),
                  std::vector<float>(heads * count * count), std::vector<float>(values)};
  work.output = kResult;
  work.expected = {attention_of(work.buffers[kQuery], work.buffers[kKey], work.buffers[kValue], count, kWidth)};
  work.tolerance = 1e-5;
  work.flops = 4.0 * static_cast<double>(values * count);  // two products; the exponentials are not counted
  work.variants = attention_kernels(heads, count);
  work.comparisons = {
      {"L14", 1, 0,
       fmt::format("the table of {} scores per head is written and read twice; in tiles they stay on the chip",
                   count * count),
       Figure{Figure::kGain, claimed, claimed}}};
  return work;
}

}  // namespace

std::vector<Case> attention_cases(const Target& target) {
  if (target.family == Family::kNative) return {};
  if (target.small) return {attention_case(2, 128, 2.6)};
  std::vector<Case> cases;
  for (auto [count, claimed] :
       {std::pair(size_t{512}, 2.6), std::pair(size_t{1024}, 4.4), std::pair(size_t{2048}, 7.9)})
    cases.push_back(attention_case(target.processor ? 1 : 16, count, claimed));
  return cases;
}

}  // namespace ridge::lab
