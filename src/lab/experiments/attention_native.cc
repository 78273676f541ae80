#include "lab/experiments/attention_native.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ridge::lab {
namespace {

// The same text for each width of vectors: what a function is compiled for must be said where it stands.
#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=fast")  // a multiply-add is one operation
namespace attention_plain {
constexpr size_t kBytes = 16;
#include "lab/experiments/attention_native.inc"
}  // namespace attention_plain
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
namespace attention_avx2 {
constexpr size_t kBytes = 32;
#include "lab/experiments/attention_native.inc"
}  // namespace attention_avx2
#pragma GCC target("avx512f,avx512vl,avx2,fma")
namespace attention_avx512 {
constexpr size_t kBytes = 64;
#include "lab/experiments/attention_native.inc"
}  // namespace attention_avx512
#endif
#pragma GCC pop_options

}  // namespace

const AttentionLoops& attention_loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return attention_avx512::kLoops;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return attention_avx2::kLoops;
#endif
  return attention_plain::kLoops;
}

}  // namespace ridge::lab
