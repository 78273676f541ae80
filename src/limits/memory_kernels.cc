#include "limits/memory_kernels.h"

#include <span>

#include "limits/peak_kernels.h"

namespace ridge::limits {
namespace {

#if defined(__x86_64__)

#define RIDGE_XMM_0_15                                                                                                \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "xmm14", "xmm15"

// At a loop's end: wide registers with dirty upper halves slow down subsequent SSE code.
#define RIDGE_END_xmm ""
#define RIDGE_END_ymm "vzeroupper\n\t"
#define RIDGE_END_zmm "vzeroupper\n\t"

#define RIDGE_1_KIB_BY_64 "0,64,128,192,256,320,384,448,512,576,640,704,768,832,896,960"
#define RIDGE_512_B_BY_32 "0,32,64,96,128,160,192,224,256,288,320,352,384,416,448,480"
#define RIDGE_256_B_BY_16 "0,16,32,48,64,80,96,112,128,144,160,176,192,208,224,240"

// Loads front to back. `offsets` step through `block` bytes in vectors of register file `reg`.
#define RIDGE_LOAD(function, instruction, reg, offsets, block)                  \
  void function(std::byte* data, size_t size, int64_t passes) {                 \
    for (; passes > 0; --passes) {                                              \
      const std::byte* at = data;                                               \
      const std::byte* end = data + size;                                       \
      asm volatile(                                                             \
          ".p2align 6\n"                                                        \
          "1:\n\t"                                                              \
          ".irp offset," offsets "\n\t" instruction " \\offset(%[at]), %%" #reg \
          "0\n\t"                                                               \
          ".endr\n\t"                                                           \
          "add $" block                                                         \
          ", %[at]\n\t"                                                         \
          "cmp %[end], %[at]\n\t"                                               \
          "jb 1b\n\t" RIDGE_END_##reg                                           \
          : [at] "+r"(at)                                                       \
          : [end] "r"(end)                                                      \
          : "cc", "memory", RIDGE_XMM_0_15);                                    \
    }                                                                           \
  }

RIDGE_LOAD(load_sse2, "movaps", xmm, RIDGE_256_B_BY_16, "256")
RIDGE_LOAD(load_avx, "vmovaps", ymm, RIDGE_512_B_BY_32, "512")
RIDGE_LOAD(load_avx512, "vmovaps", zmm, RIDGE_1_KIB_BY_64, "1024")

// The same with base and index, as compilers write a loop over an array. Slower from L2 on some CPUs (AMD Zen 5: 184
// GB/s against 224 with the same loads).
#define RIDGE_PLAIN_LOAD(function, instruction, reg, offsets, block)                       \
  void function(std::byte* data, size_t size, int64_t passes) {                            \
    for (; passes > 0; --passes) {                                                         \
      size_t index = 0;                                                                    \
      asm volatile(                                                                        \
          ".p2align 6\n"                                                                   \
          "1:\n\t"                                                                         \
          ".irp offset," offsets "\n\t" instruction " \\offset(%[data],%[index]), %%" #reg \
          "0\n\t"                                                                          \
          ".endr\n\t"                                                                      \
          "add $" block                                                                    \
          ", %[index]\n\t"                                                                 \
          "cmp %[size], %[index]\n\t"                                                      \
          "jb 1b\n\t" RIDGE_END_##reg                                                      \
          : [index] "+r"(index)                                                            \
          : [data] "r"(data), [size] "r"(size)                                             \
          : "cc", "memory", RIDGE_XMM_0_15);                                               \
    }                                                                                      \
  }

RIDGE_PLAIN_LOAD(plain_load_sse2, "movaps", xmm, "0,16,32,48", "64")
RIDGE_PLAIN_LOAD(plain_load_avx, "vmovaps", ymm, "0,32,64,96", "128")

// Loads from the four quarters of the working set alternately: more streams for the prefetchers of one core.
#define RIDGE_LOAD_4_STREAMS(function, instruction, reg, offsets, block)                            \
  void function(std::byte* data, size_t size, int64_t passes) {                                     \
    const size_t quarter = size / 4;                                                                \
    for (; passes > 0; --passes) {                                                                  \
      const std::byte* at = data;                                                                   \
      const std::byte* third = data + 2 * quarter;                                                  \
      const std::byte* end = data + quarter;                                                        \
      asm volatile(                                                                                 \
          ".p2align 6\n"                                                                            \
          "1:\n\t"                                                                                  \
          ".irp offset," offsets "\n\t" instruction " \\offset(%[at]), %%" #reg "0\n\t" instruction \
          " \\offset(%[at],%[quarter]), %%" #reg "1\n\t" instruction " \\offset(%[third]), %%" #reg \
          "2\n\t" instruction " \\offset(%[third],%[quarter]), %%" #reg                             \
          "3\n\t"                                                                                   \
          ".endr\n\t"                                                                               \
          "add $" block                                                                             \
          ", %[at]\n\t"                                                                             \
          "add $" block                                                                             \
          ", %[third]\n\t"                                                                          \
          "cmp %[end], %[at]\n\t"                                                                   \
          "jb 1b\n\t" RIDGE_END_##reg                                                               \
          : [at] "+r"(at), [third] "+r"(third)                                                      \
          : [end] "r"(end), [quarter] "r"(quarter)                                                  \
          : "cc", "memory", RIDGE_XMM_0_15);                                                        \
    }                                                                                               \
  }

RIDGE_LOAD_4_STREAMS(load_avx_4, "vmovaps", ymm, "0,32,64,96", "128")
RIDGE_LOAD_4_STREAMS(load_avx512_4, "vmovaps", zmm, "0,64,128,192", "256")

// a = b · s + c over three consecutive arrays.
#define RIDGE_TRIAD(function, load, store, zero, compute, reg, offsets, block)                                   \
  void function(std::byte* data, size_t size, int64_t passes) {                                                  \
    const size_t third = size / 3;                                                                               \
    for (; passes > 0; --passes) {                                                                               \
      std::byte* at = data;                                                                                      \
      const std::byte* end = data + third;                                                                       \
      const std::byte* c = data + 2 * third;                                                                     \
      asm volatile(zero                                                                                          \
                   ".p2align 6\n"                                                                                \
                   "1:\n\t"                                                                                      \
                   ".irp offset," offsets "\n\t" load " \\offset(%[at],%[third]), %%" #reg "0\n\t" compute store \
                   " %%" #reg                                                                                    \
                   "0, \\offset(%[at])\n\t"                                                                      \
                   ".endr\n\t"                                                                                   \
                   "add $" block                                                                                 \
                   ", %[at]\n\t"                                                                                 \
                   "add $" block                                                                                 \
                   ", %[c]\n\t"                                                                                  \
                   "cmp %[end], %[at]\n\t"                                                                       \
                   "jb 1b\n\t" RIDGE_END_##reg                                                                   \
                   : [at] "+r"(at), [c] "+r"(c)                                                                  \
                   : [end] "r"(end), [third] "r"(third)                                                          \
                   : "cc", "memory", RIDGE_XMM_0_15);                                                            \
    }                                                                                                            \
    asm volatile("sfence" ::: "memory");                                                                         \
  }

#define RIDGE_SSE_ZERO "xorps %%xmm15, %%xmm15\n\t"
#define RIDGE_AVX_ZERO "vxorps %%xmm15, %%xmm15, %%xmm15\n\t"
#define RIDGE_SSE_MULTIPLY_ADD "mulps %%xmm15, %%xmm0\n\taddps \\offset(%[c]), %%xmm0\n\t"
#define RIDGE_AVX_MULTIPLY_ADD "vfmadd213ps \\offset(%[c]), %%ymm15, %%ymm0\n\t"
#define RIDGE_AVX512_MULTIPLY_ADD "vfmadd213ps \\offset(%[c]), %%zmm15, %%zmm0\n\t"

RIDGE_TRIAD(triad_sse2, "movaps", "movaps", RIDGE_SSE_ZERO, RIDGE_SSE_MULTIPLY_ADD, xmm, RIDGE_256_B_BY_16, "256")
RIDGE_TRIAD(triad_avx, "vmovaps", "vmovaps", RIDGE_AVX_ZERO, RIDGE_AVX_MULTIPLY_ADD, ymm, RIDGE_512_B_BY_32, "512")
RIDGE_TRIAD(triad_avx512, "vmovaps", "vmovaps", RIDGE_AVX_ZERO, RIDGE_AVX512_MULTIPLY_ADD, zmm, RIDGE_1_KIB_BY_64,
            "1024")
RIDGE_TRIAD(triad_nt_sse2, "movaps", "movntps", RIDGE_SSE_ZERO, RIDGE_SSE_MULTIPLY_ADD, xmm, RIDGE_256_B_BY_16, "256")
RIDGE_TRIAD(triad_nt_avx, "vmovaps", "vmovntps", RIDGE_AVX_ZERO, RIDGE_AVX_MULTIPLY_ADD, ymm, RIDGE_512_B_BY_32, "512")
RIDGE_TRIAD(triad_nt_avx512, "vmovaps", "vmovntps", RIDGE_AVX_ZERO, RIDGE_AVX512_MULTIPLY_ADD, zmm, RIDGE_1_KIB_BY_64,
            "1024")

const std::vector<MemoryKernel>& x86_kernels() {
  using enum Traffic;
  static const std::vector<MemoryKernel> kernels = {
      {kRead, "sse2 load", {"sse2"}, {"avx"}, load_sse2},
      {kRead, "avx load", {"avx"}, {}, load_avx},
      {kRead, "avx load, 4 streams", {"avx"}, {"avx512f"}, load_avx_4},
      {kRead, "avx512 load", {"avx512f"}, {}, load_avx512},
      {kRead, "avx512 load, 4 streams", {"avx512f"}, {}, load_avx512_4},
      {kPlainRead, "sse2 load, loop of 4", {"sse2"}, {"avx"}, plain_load_sse2},
      {kPlainRead, "avx load, loop of 4", {"avx"}, {}, plain_load_avx},
      {kTriad, "sse2 triad", {"sse2"}, {"fma"}, triad_sse2},
      {kTriad, "avx triad", {"avx", "fma"}, {}, triad_avx},
      {kTriad, "avx512 triad", {"avx512f"}, {}, triad_avx512},
      {kTriadNonTemporal, "sse2 triad, non-temporal stores", {"sse2"}, {"fma"}, triad_nt_sse2},
      {kTriadNonTemporal, "avx triad, non-temporal stores", {"avx", "fma"}, {}, triad_nt_avx},
      {kTriadNonTemporal, "avx512 triad, non-temporal stores", {"avx512f"}, {}, triad_nt_avx512},
  };
  return kernels;
}

#endif

}  // namespace

std::vector<const MemoryKernel*> memory_kernels_for([[maybe_unused]] const std::vector<std::string>& isa) {
#if defined(__x86_64__)
  return worth_running(std::span(x86_kernels()), isa);
#else
  return {};
#endif
}

}  // namespace ridge::limits
