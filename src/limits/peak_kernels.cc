#include "limits/peak_kernels.h"

#include <array>

namespace ridge::limits {
namespace {

#if defined(__x86_64__)

// The value of every 32-bit lane of the two multiplicands: small finite numbers in each format, so that no accumulator
// becomes infinite, NaN or denormal (all of which may be slower or draw less power).
constexpr uint32_t kHalfFp32 = 0x3f000000;  // 0.5; as half of an FP64: 0x3f0000003f000000 = 3e-5
constexpr uint32_t kHalfBf16 = 0x3f003f00;  // 0.5, 0.5
constexpr uint32_t kHalfFp16 = 0x38003800;  // 0.5, 0.5
constexpr uint32_t kOnesInt8 = 0x01010101;  // 1, 1, 1, 1

#define RIDGE_XMM_0_15                                                                                                \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "xmm14", "xmm15"
// Without AVX-512 in its target the compiler never uses the upper sixteen, and clang refuses their names.
#if defined(__AVX512F__)
#define RIDGE_XMM_ALL                                                                                                \
  RIDGE_XMM_0_15, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", \
      "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"
#else
#define RIDGE_XMM_ALL RIDGE_XMM_0_15
#endif

#define RIDGE_8 "0,1,2,3,4,5,6,7"
#define RIDGE_10 RIDGE_8 ",8,9"
#define RIDGE_12 RIDGE_10 ",10,11"
#define RIDGE_16 RIDGE_12 ",12,13,14,15"
#define RIDGE_24 RIDGE_16 ",16,17,18,19,20,21,22,23"

// acc_r += b · c for every accumulator r of `list`, four times per iteration. `reg` is the register file ("zmm"); its
// registers `b` and `c` hold the pattern. `clear` sets register r to 0.
#define RIDGE_MULTIPLY_ADD_FOR(clear, reg, b, c, function, instruction, list, pattern) \
  void function(int64_t iterations) {                                                  \
    const uint32_t value = pattern;                                                    \
    asm volatile(".irp r," list "\n\t" clear                                           \
                 "\n\t"                                                                \
                 ".endr\n\t"                                                           \
                 "vbroadcastss %[value], %%" reg b                                     \
                 "\n\t"                                                                \
                 "vbroadcastss %[value], %%" reg c                                     \
                 "\n\t"                                                                \
                 ".p2align 6\n"                                                        \
                 "1:\n\t"                                                              \
                 ".rept 4\n\t"                                                         \
                 ".irp r," list "\n\t" instruction " %%" reg b ", %%" reg c ", %%" reg \
                 "\\r\n\t"                                                             \
                 ".endr\n\t"                                                           \
                 ".endr\n\t"                                                           \
                 "dec %[iterations]\n\t"                                               \
                 "jnz 1b\n\t"                                                          \
                 "vzeroupper\n\t"                                                      \
                 : [iterations] "+r"(iterations)                                       \
                 : [value] "m"(value)                                                  \
                 : "cc", RIDGE_XMM_ALL);                                               \
  }

#define RIDGE_MULTIPLY_ADD(...) \
  RIDGE_MULTIPLY_ADD_FOR("vpxor %%xmm\\r, %%xmm\\r, %%xmm\\r", "ymm", "14", "15", __VA_ARGS__)
// For accumulators beyond 15, which vpxor without AVX-512 encoding cannot clear.
#define RIDGE_MULTIPLY_ADD_512(...) \
  RIDGE_MULTIPLY_ADD_FOR("vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r", "zmm", "30", "31", __VA_ARGS__)

RIDGE_MULTIPLY_ADD_512(fp32_avx512_8, "vfmadd231ps", RIDGE_8, kHalfFp32)
RIDGE_MULTIPLY_ADD_512(fp32_avx512_12, "vfmadd231ps", RIDGE_12, kHalfFp32)
RIDGE_MULTIPLY_ADD_512(fp32_avx512_24, "vfmadd231ps", RIDGE_24, kHalfFp32)
RIDGE_MULTIPLY_ADD_512(fp64_avx512_12, "vfmadd231pd", RIDGE_12, kHalfFp32)
RIDGE_MULTIPLY_ADD_512(fp16_avx512_12, "vfmadd231ph", RIDGE_12, kHalfFp16)
RIDGE_MULTIPLY_ADD_512(fp16_avx512_24, "vfmadd231ph", RIDGE_24, kHalfFp16)
RIDGE_MULTIPLY_ADD_512(bf16_avx512_12, "vdpbf16ps", RIDGE_12, kHalfBf16)
RIDGE_MULTIPLY_ADD_512(bf16_avx512_24, "vdpbf16ps", RIDGE_24, kHalfBf16)
RIDGE_MULTIPLY_ADD_512(int8_avx512_12, "vpdpbusd", RIDGE_12, kOnesInt8)
RIDGE_MULTIPLY_ADD_512(int8_avx512_24, "vpdpbusd", RIDGE_24, kOnesInt8)
RIDGE_MULTIPLY_ADD(fp32_fma_8, "vfmadd231ps", RIDGE_8, kHalfFp32)
RIDGE_MULTIPLY_ADD(fp32_fma_10, "vfmadd231ps", RIDGE_10, kHalfFp32)
RIDGE_MULTIPLY_ADD(fp32_fma_12, "vfmadd231ps", RIDGE_12, kHalfFp32)
RIDGE_MULTIPLY_ADD(fp64_fma_10, "vfmadd231pd", RIDGE_10, kHalfFp32)
RIDGE_MULTIPLY_ADD(int8_avx_vnni_12, "%{vex%} vpdpbusd", RIDGE_12, kOnesInt8)

// Separate multiplications and additions, six chains of each, for CPUs without a fused one.
#define RIDGE_MULTIPLY_AND_ADD(function, multiply, add)                                                     \
  void function(int64_t iterations) {                                                                       \
    const uint32_t value = kHalfFp32;                                                                       \
    asm volatile(".irp r," RIDGE_12                                                                         \
                 "\n\t"                                                                                     \
                 "xorps %%xmm\\r, %%xmm\\r\n\t"                                                             \
                 ".endr\n\t"                                                                                \
                 "movss %[value], %%xmm15\n\t"                                                              \
                 "shufps $0, %%xmm15, %%xmm15\n\t"                                                          \
                 ".p2align 6\n"                                                                             \
                 "1:\n\t"                                                                                   \
                 ".rept 4\n\t" multiply " %%xmm15, %%xmm0\n\t" add " %%xmm15, %%xmm6\n\t" multiply          \
                 " %%xmm15, %%xmm1\n\t" add " %%xmm15, %%xmm7\n\t" multiply " %%xmm15, %%xmm2\n\t" add      \
                 " %%xmm15, %%xmm8\n\t" multiply " %%xmm15, %%xmm3\n\t" add " %%xmm15, %%xmm9\n\t" multiply \
                 " %%xmm15, %%xmm4\n\t" add " %%xmm15, %%xmm10\n\t" multiply " %%xmm15, %%xmm5\n\t" add     \
                 " %%xmm15, %%xmm11\n\t"                                                                    \
                 ".endr\n\t"                                                                                \
                 "dec %[iterations]\n\t"                                                                    \
                 "jnz 1b\n\t"                                                                               \
                 : [iterations] "+r"(iterations)                                                            \
                 : [value] "m"(value)                                                                       \
                 : "cc", RIDGE_XMM_0_15);                                                                   \
  }

RIDGE_MULTIPLY_AND_ADD(fp32_sse2, "mulps", "addps")
RIDGE_MULTIPLY_AND_ADD(fp64_sse2, "mulpd", "addpd")

// 8-bit products added in pairs to 16, then 32 bits: INT8 code without VNNI.
void int8_avx2(int64_t iterations) {
  const uint32_t bytes = kOnesInt8;
  const uint32_t words = 0x00010001;
  asm volatile(".irp r," RIDGE_8
               "\n\t"
               "vpxor %%ymm\\r, %%ymm\\r, %%ymm\\r\n\t"
               ".endr\n\t"
               "vbroadcastss %[bytes], %%ymm15\n\t"
               "vbroadcastss %[words], %%ymm14\n\t"
               ".p2align 6\n"
               "1:\n\t"
               ".rept 4\n\t"
               ".irp r,0,2,4,6\n\t"
               "vpmaddubsw %%ymm15, %%ymm15, %%ymm8\n\t"
               "vpmaddubsw %%ymm15, %%ymm15, %%ymm9\n\t"
               "vpmaddwd %%ymm14, %%ymm8, %%ymm10\n\t"
               "vpmaddwd %%ymm14, %%ymm9, %%ymm11\n\t"
               "vpaddd %%ymm10, %%ymm\\r, %%ymm\\r\n\t"
               "vpaddd %%ymm11, %%ymm\\r, %%ymm\\r\n\t"
               ".endr\n\t"
               ".endr\n\t"
               "dec %[iterations]\n\t"
               "jnz 1b\n\t"
               "vzeroupper\n\t"
               : [iterations] "+r"(iterations)
               : [bytes] "m"(bytes), [words] "m"(words)
               : "cc", RIDGE_XMM_0_15);
}

// Palette 1: eight tiles of 16 rows of 64 bytes (SDM volume 1, 18.2).
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
  std::array<uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// Six accumulator tiles: one instruction occupies the unit for 16 cycles, takes 52 (Intel's manual, 20.1).
#define RIDGE_TILE_DOT(function, instruction, pattern)                                       \
  void function(int64_t iterations) {                                                        \
    const TileConfig config;                                                                 \
    alignas(64) std::array<uint32_t, 256> tile;                                              \
    tile.fill(pattern);                                                                      \
    const int64_t row_stride = 64;                                                           \
    asm volatile(                                                                            \
        "ldtilecfg %[config]\n\t"                                                            \
        "tileloadd (%[tile], %[stride], 1), %%tmm6\n\t"                                      \
        "tileloadd (%[tile], %[stride], 1), %%tmm7\n\t"                                      \
        ".irp r,0,1,2,3,4,5\n\t"                                                             \
        "tilezero %%tmm\\r\n\t"                                                              \
        ".endr\n\t"                                                                          \
        ".p2align 6\n"                                                                       \
        "1:\n\t"                                                                             \
        ".irp r,0,1,2,3,4,5\n\t" instruction                                                 \
        " %%tmm7, %%tmm6, %%tmm\\r\n\t"                                                      \
        ".endr\n\t"                                                                          \
        "dec %[iterations]\n\t"                                                              \
        "jnz 1b\n\t"                                                                         \
        "tilerelease\n\t"                                                                    \
        : [iterations] "+r"(iterations)                                                      \
        : [config] "m"(config), [tile] "r"(tile.data()), [stride] "r"(row_stride), "m"(tile) \
        : "cc");                                                                             \
  }

RIDGE_TILE_DOT(bf16_amx, "tdpbf16ps", kHalfBf16)
RIDGE_TILE_DOT(fp16_amx, "tdpfp16ps", kHalfFp16)
RIDGE_TILE_DOT(int8_amx, "tdpbssd", kOnesInt8)

// FLOPs of one iteration: 4 rounds × accumulators × multiply-adds per instruction × 2.
constexpr double vector_flops(int accumulators, int multiply_adds) { return 4.0 * accumulators * multiply_adds * 2.0; }
constexpr double tile_flops(int depth) { return 6.0 * 16 * 16 * depth * 2.0; }  // 16 × 16 results, each over `depth`

const std::vector<PeakKernel>& x86_kernels() {
  using enum Precision;
  static const std::vector<PeakKernel> kernels = {
      {kFp64, "sse2 mulpd + addpd", {"sse2"}, {"fma"}, 4 * 12 * 2, fp64_sse2},
      {kFp64, "fma vfmadd231pd, 10 ymm", {"avx", "fma"}, {"avx512f"}, vector_flops(10, 4), fp64_fma_10},
      {kFp64, "avx512f vfmadd231pd, 12 zmm", {"avx512f"}, {}, vector_flops(12, 8), fp64_avx512_12},
      {kFp32, "sse2 mulps + addps", {"sse2"}, {"fma"}, 4 * 12 * 4, fp32_sse2},
      {kFp32, "fma vfmadd231ps, 8 ymm", {"avx", "fma"}, {"avx512f"}, vector_flops(8, 8), fp32_fma_8},
      {kFp32, "fma vfmadd231ps, 10 ymm", {"avx", "fma"}, {}, vector_flops(10, 8), fp32_fma_10},
      {kFp32, "fma vfmadd231ps, 12 ymm", {"avx", "fma"}, {"avx512f"}, vector_flops(12, 8), fp32_fma_12},
      {kFp32, "avx512f vfmadd231ps, 8 zmm", {"avx512f"}, {}, vector_flops(8, 16), fp32_avx512_8},
      {kFp32, "avx512f vfmadd231ps, 12 zmm", {"avx512f"}, {}, vector_flops(12, 16), fp32_avx512_12},
      {kFp32, "avx512f vfmadd231ps, 24 zmm", {"avx512f"}, {}, vector_flops(24, 16), fp32_avx512_24},
      {kFp16,
       "avx512_fp16 vfmadd231ph, 12 zmm",
       {"avx512f", "avx512_fp16"},
       {"amx_fp16"},
       vector_flops(12, 32),
       fp16_avx512_12},
      {kFp16,
       "avx512_fp16 vfmadd231ph, 24 zmm",
       {"avx512f", "avx512_fp16"},
       {"amx_fp16"},
       vector_flops(24, 32),
       fp16_avx512_24},
      {kFp16, "amx_fp16 tdpfp16ps, 6 tiles", {"amx_tile", "amx_fp16"}, {}, tile_flops(32), fp16_amx},
      {kBf16,
       "avx512_bf16 vdpbf16ps, 12 zmm",
       {"avx512f", "avx512_bf16"},
       {"amx_bf16"},
       vector_flops(12, 32),
       bf16_avx512_12},
      {kBf16,
       "avx512_bf16 vdpbf16ps, 24 zmm",
       {"avx512f", "avx512_bf16"},
       {"amx_bf16"},
       vector_flops(24, 32),
       bf16_avx512_24},
      {kBf16, "amx_bf16 tdpbf16ps, 6 tiles", {"amx_tile", "amx_bf16"}, {}, tile_flops(32), bf16_amx},
      {kInt8, "avx2 vpmaddubsw + vpmaddwd", {"avx2"}, {"avx_vnni", "avx512_vnni"}, 4 * 4 * 2 * 32 * 2, int8_avx2},
      {kInt8,
       "avx_vnni vpdpbusd, 12 ymm",
       {"avx2", "avx_vnni"},
       {"avx512_vnni"},
       vector_flops(12, 32),
       int8_avx_vnni_12},
      {kInt8,
       "avx512_vnni vpdpbusd, 12 zmm",
       {"avx512f", "avx512_vnni"},
       {"amx_int8"},
       vector_flops(12, 64),
       int8_avx512_12},
      {kInt8,
       "avx512_vnni vpdpbusd, 24 zmm",
       {"avx512f", "avx512_vnni"},
       {"amx_int8"},
       vector_flops(24, 64),
       int8_avx512_24},
      {kInt8, "amx_int8 tdpbssd, 6 tiles", {"amx_tile", "amx_int8"}, {}, tile_flops(64), int8_amx},
  };
  return kernels;
}

#endif

}  // namespace

std::span<const PeakKernel> peak_kernels() {
#if defined(__x86_64__)
  return x86_kernels();
#else
  return {};
#endif
}

std::vector<const PeakKernel*> peak_kernels_for(const std::vector<std::string>& isa) {
  return worth_running(peak_kernels(), isa);
}

bool run_addition_chain(int64_t additions) {
#if defined(__x86_64__)
  int64_t blocks = additions / 1024;
  uint64_t sum = 0;
  // Two registers are used because some cores fold an immediate addend into the next instruction at no cost.
  asm volatile(
      ".p2align 6\n"
      "1:\n\t"
      ".rept 1024\n\t"
      "add %[one], %[sum]\n\t"
      ".endr\n\t"
      "dec %[blocks]\n\t"
      "jnz 1b\n\t"
      : [sum] "+r"(sum), [blocks] "+r"(blocks)
      : [one] "r"(uint64_t{1})
      : "cc");
  return true;
#else
  return additions < 0;
#endif
}

}  // namespace ridge::limits
