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

// The same in steps of 1/64: FP16, BF16 and TF32 hold them exactly, and FP32 holds every sum of up to 2^12 of their
// products exactly.
std::vector<float> coarse_values(size_t count, uint32_t seed);

// The architecture of the code that the compiler makes for a CUDA device; 0: not CUDA.
int code_architecture(const Target& target);

// Of the formats that kernels/warp_matrix.cu packs into a 32-bit word: FP16, BF16, TF32.
size_t values_per_word(Precision format);
// Values that the format holds exactly, packed into words; the words in a buffer's element type.
std::vector<float> words_of(std::span<const float> values, Precision format);

// The first `rows` rows of a · b, squares of `size`, row-major. Sums in double, so that its own rounding does not
// affect a comparison.
std::vector<float> product_of(std::span<const float> a, std::span<const float> b, size_t size, size_t rows);
// Sums of all rows, by random signs x of the columns: a · (b · x), size² multiply-adds instead of size³.
RowSums row_sums_of(std::span<const float> a, std::span<const float> b, size_t size);
std::vector<float> turned(std::span<const float> in, size_t size);  // a square
// x after `steps` steps of x · factor + offset, 0 < factor < 1, in closed form.
double after_steps(double x, int steps, double factor, double offset);
// These values; what is behind their end is not computed.
Reference reference_of(std::vector<float> values);

// softmax(q · kᵀ / √width) · v of each head of `count` positions; [head, position, width]. Of every `step`th row,
// counted from the head's number so that together they are of all places in a block; the others are NaN.
std::vector<float> attention_of(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                                size_t count, size_t width, size_t step = 1);

// Floats in an array that exceeds every cache: a power of two, of 64 MiB to 1 GiB; of four times the last cache for a
// CPU, 16 times for a GPU. Small setups: 16 Ki.
size_t floats_beyond_caches(const Target& target);

// How a product of squares of `size`, in blocks of rows × columns, is spread over a GPU. Of few waves of blocks the
// last, partly filled one decides the rate: `fills` says whether they are three at least, of whose time the last wastes
// less than a fifth. Where the number of multiprocessors is not known it does, and the text is empty.
struct Waves {
  bool fills = true;
  std::string text;  // "; 1024 blocks of 128 × 128 are 7.8 waves of 132 multiprocessors"
};
Waves waves_of(size_t size, size_t rows, size_t columns, const Target& target);

// How many of a result's `rows` the reference computes and the check compares: the first ones, in about a second (2^30
// multiply-adds in double on one thread). Small cases check all.
size_t checked_rows(size_t rows, size_t multiply_adds_per_row);

// The end of the argument list of every kernel launch over `count` elements: one thread per element.
gpu::Launch launch_per_element(std::string kernel, size_t count, size_t threads, std::vector<gpu::Argument> arguments);

// For a case that reads an array of random values once and writes one of the same size or another: fill, output and
// bytes. `others`: buffers of that size beside the first, of which the last is the output.
void read_and_write(Case& work, size_t read, size_t written, uint32_t seed, size_t others = 1);

// "64 MiB", of floats.
std::string size_text(size_t floats);

}  // namespace ridge::lab
