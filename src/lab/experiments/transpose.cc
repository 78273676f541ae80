// L07: a matrix transposed directly, by tiles in shared memory, and by tiles without bank conflicts; on the CPU by
// tiles, in place or copied.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kTile = 32, kRows = 8;  // as in kernels/transpose.cu

void transpose_rows(NativeBuffers buffers, size_t size) {
  const float* in = buffers[0].data();
  float* out = buffers[1].data();
  for (size_t row = 0; row < size; ++row)
    for (size_t column = 0; column < size; ++column) out[column * size + row] = in[row * size + column];
}

void transpose_by_tiles(NativeBuffers buffers, size_t size) {
  const float* in = buffers[0].data();
  float* out = buffers[1].data();
  for (size_t top = 0; top < size; top += kTile)
    for (size_t left = 0; left < size; left += kTile)
      for (size_t row = top; row < top + kTile; ++row)
        for (size_t column = left; column < left + kTile; ++column) out[column * size + row] = in[row * size + column];
}

void transpose_by_copied_tiles(NativeBuffers buffers, size_t size) {
  const float* in = buffers[0].data();
  float* out = buffers[1].data();
  float tile[kTile][kTile + 1];
  for (size_t top = 0; top < size; top += kTile)
    for (size_t left = 0; left < size; left += kTile) {
      for (size_t row = 0; row < kTile; ++row)
        for (size_t column = 0; column < kTile; ++column) tile[row][column] = in[(top + row) * size + left + column];
      for (size_t column = 0; column < kTile; ++column)
        for (size_t row = 0; row < kTile; ++row) out[(left + column) * size + top + row] = tile[row][column];
    }
}

void add_transpose_kernels(Case& work, size_t size) {
  for (auto [name, kernel] : {std::pair("direct", "transpose_direct"), std::pair("tile", "transpose_tile"),
                              std::pair("padded tile", "transpose_padded")}) {
    Variant variant;
    variant.name = name;
    variant.launches = {{kernel,
                         {size / kTile, size / kTile},
                         {kTile, kRows},
                         {gpu::BufferNumber{0}, gpu::BufferNumber{1}, static_cast<int32_t>(size)}}};
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {
      {"L07", 2, 0, "the direct way writes one float per line; by tiles whole lines are read and written"},
      {"L07", 2, 1, "a column of the tile lies in one bank of shared memory, of the padded tile in 32"}};
}

void add_transpose_loops(Case& work, size_t size) {
  auto way = [&](std::string name, void (*run)(NativeBuffers, size_t)) {
    Variant variant;
    variant.name = std::move(name);
    variant.native = [run, size](NativeBuffers buffers) { run(buffers, size); };
    work.variants.push_back(std::move(variant));
  };
  way("row by row", transpose_rows);
  way("tiles", transpose_by_tiles);
  way("copied tiles", transpose_by_copied_tiles);
  work.comparisons = {
      {"L07", 1, 0, "row by row, a line that is written is gone from the cache before its next float"},
      {"L07", 2, 1,
       fmt::format(
           "the lines of a column lie {} bytes apart and share few places in the cache; a copy of the tile has all",
           size * sizeof(float))}};
}

}  // namespace

std::vector<Case> transpose_cases(const Target& target) {
  Case work;
  size_t size = target.small ? 64 : 4096;
  work.title = fmt::format("{0} × {0} floats transposed", size);
  work.kernels = "transpose";
  read_and_write(work, size * size, size * size, 7);
  work.expected = {[size](const Buffers& in, size_t i) { return in[0][i % size * size + i / size]; }};
  if (target.family == Family::kKernels)
    add_transpose_kernels(work, size);
  else
    add_transpose_loops(work, size);
  return {work};
}

}  // namespace ridge::lab::experiments
