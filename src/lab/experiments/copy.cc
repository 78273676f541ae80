#include "lab/experiments/copy.h"

#include <cstdint>

namespace ridge::lab::experiments {
namespace {

// The compiler must neither call memcpy nor widen the loads of these loops.
#define RIDGE_AS_WRITTEN \
  __attribute__((noinline, optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns", "no-tree-slp-vectorize")))

RIDGE_AS_WRITTEN void copy_float(const float* in, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = in[i];
}

// GCC's vectors, read and written at any address.
template <size_t Bytes>
struct VectorOf {
  typedef float Type __attribute__((vector_size(Bytes), aligned(4), may_alias));
};

// One function per width: each states its compilation target.
#define RIDGE_COPY(name, bytes, isa)                                                                   \
  RIDGE_AS_WRITTEN __attribute__((target(isa))) void name(const float* in, float* out, size_t count) { \
    using Vector = VectorOf<bytes>::Type;                                                              \
    constexpr size_t kFloats = (bytes) / sizeof(float);                                                \
    for (size_t i = 0; i < count; i += kFloats)                                                        \
      *reinterpret_cast<Vector*>(out + i) = *reinterpret_cast<const Vector*>(in + i);                  \
  }
#if defined(__x86_64__)
RIDGE_COPY(copy_16, 16, "sse2")
RIDGE_COPY(copy_32, 32, "avx")
RIDGE_COPY(copy_64, 64, "avx512f")
#endif
#undef RIDGE_COPY
#undef RIDGE_AS_WRITTEN

std::vector<CopyOfWidth> copies_of_this_cpu() {
  std::vector<CopyOfWidth> all = {{4, copy_float}};
#if defined(__x86_64__)
  all.push_back({16, copy_16});
  if (__builtin_cpu_supports("avx")) all.push_back({32, copy_32});
  if (__builtin_cpu_supports("avx512f")) all.push_back({64, copy_64});
#endif
  return all;
}

}  // namespace

std::span<const CopyOfWidth> copies() {
  static const std::vector<CopyOfWidth> all = copies_of_this_cpu();
  return all;
}

Copy widest_copy() { return copies().back().copy; }
size_t widest_copy_bytes() { return copies().back().bytes; }

}  // namespace ridge::lab::experiments
