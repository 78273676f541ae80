// Only multiply-adds on tensor cores: eight independent tiles per warp, four steps per round. CUDA only. All factors
// are one, so that every step adds the depth of the product to each number of a tile: the output shows the number of
// steps. Tile k of thread t begins at k + t mod 8. Source of shapes and registers: PTX ISA 8.5, 9.7.14.5 "Matrix
// multiply-accumulate operation using mma instruction". Defined before this text: one of the shapes below.
#define FOUR "{%0, %1, %2, %3}"
#define TWO "{%0, %1}"
#if defined FP16_16x8x16
#define OPERATION "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " FOUR ", {%4, %5, %6, %7}, {%8, %9}, " FOUR ";"
#define ONES 0x3c003c00
#elif defined BF16_16x8x16
#define OPERATION "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " FOUR ", {%4, %5, %6, %7}, {%8, %9}, " FOUR ";"
#define ONES 0x3f803f80
#elif defined TF32_16x8x8
#define OPERATION "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " FOUR ", {%4, %5, %6, %7}, {%8, %9}, " FOUR ";"
#define ONES 0x3f800000
#elif defined FP8_16x8x32
#define OPERATION "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " FOUR ", {%4, %5, %6, %7}, {%8, %9}, " FOUR ";"
#define ONES 0x38383838
#elif defined INT8_16x8x32
#define OPERATION "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " FOUR ", {%4, %5, %6, %7}, {%8, %9}, " FOUR ";"
#define ONES 0x01010101
#elif defined FP16_16x8x8
#define OPERATION "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " FOUR ", {%4, %5}, {%6}, " FOUR ";"
#define ONES 0x3c003c00
#elif defined INT8_8x8x16
#define OPERATION "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 " TWO ", {%2}, {%3}, " TWO ";"
#define ONES 0x01010101
#elif defined FP64_8x8x4
#define OPERATION "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 " TWO ", {%2}, {%3}, " TWO ";"
#endif

#if defined FP64_8x8x4
typedef double Number;
#define NUMBERS 2
#define MULTIPLY(c) asm volatile(OPERATION : "+d"(c[0]), "+d"(c[1]) : "d"(1.0), "d"(1.0))
#elif defined INT8_8x8x16
typedef int Number;
#define NUMBERS 2
#define MULTIPLY(c) asm volatile(OPERATION : "+r"(c[0]), "+r"(c[1]) : "r"(ONES), "r"(ONES))
#elif defined INT8_16x8x32
typedef int Number;
#define NUMBERS 4
#define MULTIPLY(c)                                             \
  asm volatile(OPERATION                                        \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) \
               : "r"(ONES), "r"(ONES), "r"(ONES), "r"(ONES), "r"(ONES), "r"(ONES))
#elif defined FP16_16x8x8
typedef float Number;
#define NUMBERS 4
#define MULTIPLY(c) \
  asm volatile(OPERATION : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(ONES), "r"(ONES), "r"(ONES))
#else
typedef float Number;
#define NUMBERS 4
#define MULTIPLY(c)                                             \
  asm volatile(OPERATION                                        \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
               : "r"(ONES), "r"(ONES), "r"(ONES), "r"(ONES), "r"(ONES), "r"(ONES))
#endif
#define TILES 8

KERNEL multiply_tiles(float* RESTRICT out, long* RESTRICT cycles, int rounds) {
  Number tiles[TILES][NUMBERS];
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile)
#pragma unroll
    for (int i = 0; i < NUMBERS; ++i) tiles[tile][i] = (Number)(tile + (THREAD_X & 7));
  const long before = clock64();
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) MULTIPLY(tiles[tile]);
  }
  if (BLOCK_X == 0 && THREAD_X == 0) cycles[0] = clock64() - before;
  // The count of tile 0, and the others' difference: the sum of the tiles' initial values, if all took the same steps.
  Number total = tiles[0][0];
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile)
#pragma unroll
    for (int i = 0; i < NUMBERS; ++i) total += i == 0 ? tiles[tile][0] - tiles[0][0] : tiles[tile][i] - tiles[tile][0];
  out[BLOCK_X * THREADS_X + THREAD_X] = (float)total;
}
