#include "lab/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "base/units.h"

namespace ridge::lab {

std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  // Portable: standard distributions differ between implementations.
  for (float& value : values) value = static_cast<float>(random() >> 8) / static_cast<float>(1 << 23) - 1;
  return values;
}

std::vector<float> coarse_values(size_t count, uint32_t seed) {
  std::vector<float> values = random_values(count, seed);
  for (float& value : values) value = std::floor(value * 64) / 64;
  return values;
}

int code_architecture(const Target& target) {
  return target.compiled_for > 0 ? target.compiled_for : target.architecture;
}

size_t values_per_word(Precision format) { return format == Precision::kTf32 ? 1 : 2; }

std::vector<float> words_of(std::span<const float> values, Precision format) {
  auto bits_of = [&](float value) -> uint32_t {
    auto bits = std::bit_cast<uint32_t>(value);
    if (format == Precision::kTf32) return bits;
    if (format == Precision::kBf16) return bits >> 16;
    // binary16: 5 exponent bits around 15 and 10 of the fraction; zero keeps only its sign.
    if (value == 0) return bits >> 31 << 15;
    return (bits >> 31 << 15) | (((bits >> 23 & 0xff) - 127 + 15) << 10) | (bits >> 13 & 0x3ff);
  };
  const size_t together = values_per_word(format);
  std::vector<float> words(values.size() / together);
  for (size_t i = 0; i < words.size(); ++i) {
    uint32_t word = bits_of(values[together * i]);
    if (together == 2) word |= bits_of(values[2 * i + 1]) << 16;
    std::memcpy(&words[i], &word, sizeof word);  // not as a number: some words would be NaN
  }
  return words;
}

std::vector<float> product_of(std::span<const float> a, std::span<const float> b, size_t size, size_t rows) {
  std::vector<float> c(rows * size);
  std::vector<double> row(size);
  for (size_t i = 0; i < rows; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (size_t k = 0; k < size; ++k)
      for (size_t j = 0; j < size; ++j) row[j] += static_cast<double>(a[i * size + k]) * b[k * size + j];
    std::ranges::copy(row, c.begin() + static_cast<ptrdiff_t>(i * size));
  }
  return c;
}

RowSums row_sums_of(std::span<const float> a, std::span<const float> b, size_t size) {
  RowSums sums{random_values(size, 89), std::vector<double>(size)};
  for (float& weight : sums.weights) weight = weight < 0 ? -1.0F : 1.0F;
  std::vector<double> of_b(size);
  for (size_t k = 0; k < size; ++k)
    for (size_t j = 0; j < size; ++j) of_b[k] += static_cast<double>(b[k * size + j]) * sums.weights[j];
  for (size_t i = 0; i < size; ++i)
    for (size_t k = 0; k < size; ++k) sums.expected[i] += a[i * size + k] * of_b[k];
  return sums;
}

std::vector<float> turned(std::span<const float> in, size_t size) {
  std::vector<float> out(in.size());
  for (size_t row = 0; row < size; ++row)
    for (size_t column = 0; column < size; ++column) out[column * size + row] = in[row * size + column];
  return out;
}

double after_steps(double x, int steps, double factor, double offset) {
  const double limit = offset / (1 - factor);
  return limit + (x - limit) * std::pow(factor, steps);
}

Reference reference_of(std::vector<float> values) {
  return [all = std::make_shared<const std::vector<float>>(std::move(values))](const Buffers&, size_t i) -> double {
    return i < all->size() ? (*all)[i] : std::numeric_limits<float>::quiet_NaN();
  };
}

std::vector<float> attention_of(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                                size_t count, size_t width, size_t step) {
  std::vector<float> out(q.size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<double> scores(count), sums(width);
  for (size_t row = 0; row < q.size() / width; ++row) {
    const size_t head = row / count * count;
    if (row % count % step != row / count % step) continue;
    for (size_t key = 0; key < count; ++key) {
      scores[key] = 0;
      for (size_t i = 0; i < width; ++i)
        scores[key] += static_cast<double>(q[row * width + i]) * k[(head + key) * width + i] / std::sqrt(width);
    }
    double most = *std::max_element(scores.begin(), scores.end()), total = 0;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t key = 0; key < count; ++key) {
      double weight = std::exp(scores[key] - most);
      for (size_t i = 0; i < width; ++i) sums[i] += weight * v[(head + key) * width + i];
      total += weight;
    }
    for (size_t i = 0; i < width; ++i) out[row * width + i] = static_cast<float>(sums[i] / total);
  }
  return out;
}

size_t floats_beyond_caches(const Target& target) {
  constexpr size_t kMi = 1 << 20;
  if (target.small) return 16 << 10;
  // Repeated passes over an array still find a share of it in a cache that replaces at random: h = exp(-(1 - h) · r),
  // with r the array's size over the cache's (a line survives r · (1 - h) replacements per line): 17 % at 2, 2 % at 4,
  // 0.03 % at 8.
  const bool gpu = target.family == Family::kKernels && !target.cpu;
  const size_t wanted = (gpu ? 16 : 4) * static_cast<size_t>(target.last_cache_bytes) / sizeof(float);
  return std::bit_ceil(std::clamp(wanted, 16 * kMi, 256 * kMi));
}

Waves waves_of(size_t size, size_t rows, size_t columns, const Target& target) {
  if (target.multiprocessors == 0 || target.small) return {};
  const size_t blocks = size / rows * (size / columns);
  const double waves = static_cast<double>(blocks) / static_cast<double>(target.multiprocessors);
  return {waves >= 3 && waves / std::ceil(waves) >= 0.8,
          fmt::format("; {} blocks of {} × {} are {:.2g} waves of {} multiprocessors", blocks, rows, columns, waves,
                      target.multiprocessors)};
}

size_t checked_rows(size_t rows, size_t multiply_adds_per_row) {
  return std::min(rows, (size_t{1} << 30) / multiply_adds_per_row);
}

gpu::Launch launch_per_element(std::string kernel, size_t count, size_t threads, std::vector<gpu::Argument> arguments) {
  assert(count % threads == 0);
  return {std::move(kernel), {count / threads}, {threads}, std::move(arguments)};
}

void read_and_write(Case& work, size_t read, size_t written, uint32_t seed, size_t others) {
  work.fill = [=](Case& one) {
    one.buffers = {random_values(read, seed)};
    one.buffers.resize(1 + others, std::vector<float>(written));
  };
  work.output = others;
  work.bytes = static_cast<double>((read + written) * sizeof(float));
}

std::string size_text(size_t floats) { return format_bytes(static_cast<double>(floats * sizeof(float))); }

}  // namespace ridge::lab
