// Contents and sizes shared by several experiments. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace ridge::lab {

// `count` values spread evenly over [-1, 1), the same for the same seed.
std::vector<float> random_values(size_t count, uint32_t seed);

// The same in steps of 1/64: FP16, BF16 and TF32 hold them exactly, and FP32 holds every sum of up to 2^12 of their products
// exactly.
std::vector<float> coarse_values(size_t count, uint32_t seed);

// The formats that kernels/warp_matrix.cu packs into a 32-bit word.
enum class WordFormat { kFp16, kBf16, kTf32 };
size_t values_per_word(WordFormat format);
// Values that the format holds exactly, packed into words; the words in a buffer's element type.
std::vector<float> words_of(std::span<const float> values, WordFormat format);

// The first `rows` rows of a · b, squares of `size`, row-major. Sums in double, so that its own rounding does not affect a
// comparison.
std::vector<float> product_of(std::span<const float> a, std::span<const float> b, size_t size, size_t rows);
std::vector<float> turned(std::span<const float> in, size_t size);  // a square

// softmax(q · kᵀ / √width) · v of each head of `count` positions; [head, position, width].
std::vector<float> attention_of(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                                size_t count, size_t width);

// Floats in an array that exceeds every cache: a power of two, at least four times the last cache and 16 Mi floats, at most 32
// Mi. Small setups: 16 Ki.
size_t floats_beyond_caches(const Target& target);

// The end of the argument list of every kernel launch over `count` elements: one thread per element.
gpu::Launch launch_per_element(std::string kernel, size_t count, size_t threads, std::vector<gpu::Argument> arguments);

// "64 MiB", of floats.
std::string size_text(size_t floats);

}  // namespace ridge::lab
