// L15, L16. c[row][column] = the product of row `row` of a and row `column` of b (b is transposed, like the weights of
// a linear layer), on the tensor cores: squares of `size`, whose rows hold `words` words (kernels/warp_matrix.cu,
// warp_rows.cu). size is a multiple of the block's columns, words of 32.
//
// A block of eight warps computes 128 × 128 or 128 × 256 results, a warp 64 × 32 or 64 × 64 of them in registers.
// Shared memory holds STAGES steps of 32 words of each row: one is multiplied while the others are filled, and the
// operands of the next multiplication are read during the present one. Wide blocks read two thirds as many bytes per
// multiply-add from shared memory, and need more of it.
// Structure: NVIDIA, CUTLASS, "Efficient GEMM in CUDA" (pipelining).
#define SIDE 128
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define STAGES 2
#else
#define STAGES 3
#endif
// Where 3 · (128 + 256) rows of 128 bytes fit: compute capabilities 8.0, 8.7, 9.0, 10.x, 11.x.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870 || \
    (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
#define WIDE
#endif

// Queues 32 words of 128 rows, of which `from` is this thread's first piece.
DEVICE void fetch(SHARED_POINTER WORD* to, GLOBAL const WORD* from, int words) {
  const int row = THREAD_X / 8, piece = THREAD_X % 8;
  UNROLL
  for (int i = 0; i < 4; ++i) copy_16_bytes(to + PIECE_AT(row + 32 * i, piece), from + 32 * i * words);
}

// A warp's operands for one multiplication deep: 64 rows of a, columns / 4 rows of b.
DEVICE void load(WORD (*of_a)[4], WORD (*of_b)[4], SHARED_POINTER const WORD* stage, int k,
                 const int columns WITH_SCRATCH) {
  const int top = THREAD_X / 128 * 64, left = SIDE + THREAD_X / 32 % 4 * (columns / 4);
  UNROLL
  for (int i = 0; i < 4; ++i) load_left(of_a[i], stage, top + 16 * i, k GIVE_SCRATCH);
  UNROLL
  for (int j = 0; j < columns / 64; ++j) load_right(of_b[j], stage, left + 16 * j, k GIVE_SCRATCH);
}

DEVICE void product(GLOBAL const WORD* a, GLOBAL const WORD* b, GLOBAL float* c, int size, int words,
                    SHARED_POINTER WORD* stages, const int columns, const int format WITH_SCRATCH) {
  const int parts = 1 + columns / SIDE, stage = parts * SIDE * ROW, steps = words / ROW;
  float sum[4][8][4];
  UNROLL
  for (int i = 0; i < 4; ++i) {
    UNROLL
    for (int j = 0; j < columns / 32; ++j) {
      UNROLL
      for (int k = 0; k < 4; ++k) sum[i][j][k] = 0;
    }
  }

  a += (BLOCK_Y * SIDE + THREAD_X / 8) * words + THREAD_X % 8 * 4;
  b += (BLOCK_X * columns + THREAD_X / 8) * words + THREAD_X % 8 * 4;
  UNROLL
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) {
      UNROLL
      for (int part = 0; part < parts; ++part)
        fetch(stages + step * stage + part * SIDE * ROW, (part == 0 ? a : b + (part - 1) * SIDE * words) + step * ROW,
              words);
    }
    COPIES_QUEUED();
  }
  COPIES_DONE_BUT(STAGES - 2);
  BARRIER();
  WORD of_a[2][4][4], of_b[2][4][4];
  load(of_a[0], of_b[0], stages, 0, columns GIVE_SCRATCH);
  SHARED_POINTER WORD *now = stages, *filled = stages + (STAGES - 1) * stage;
  for (int step = 0; step < steps; ++step) {
    SHARED_POINTER WORD* next = now == stages + (STAGES - 1) * stage ? stages : now + stage;
    a += ROW;
    b += ROW;
    UNROLL
    for (int k = 0; k < 4; ++k) {
      if (k == 3) {
        COPIES_DONE_BUT(STAGES - 2);
        BARRIER();  // the next step has arrived, and all have read this one
      }
      // After the last step, what is left there: no multiplication takes it.
      load(of_a[(k + 1) % 2], of_b[(k + 1) % 2], k == 3 ? next : now, (k + 1) % 4, columns GIVE_SCRATCH);
      if (k < parts && step + STAGES - 1 < steps)
        fetch(filled + k * SIDE * ROW, (k == 0 ? a : b + (k - 1) * SIDE * words) + (STAGES - 2) * ROW, words);
      if (k == parts - 1) COPIES_QUEUED();  // also with nothing left to fetch: the count queued stays
      UNROLL
      for (int i = 0; i < 4; ++i) {
        UNROLL
        for (int j = 0; j < columns / 32; ++j)
          multiply(sum[i][j], of_a[k % 2][i], of_b[k % 2][j / 2] + j % 2 * 2, format GIVE_SCRATCH);
      }
    }
    filled = now;
    now = next;
  }
  const int row = BLOCK_Y * SIDE + THREAD_X / 128 * 64 + THREAD_X % 32 / 4;
  c += row * size + BLOCK_X * columns + THREAD_X / 32 % 4 * (columns / 4) + THREAD_X % 4 * 2;
  UNROLL
  for (int i = 0; i < 8; ++i) {
    UNROLL
    for (int j = 0; j < columns / 32; ++j)
      store_two(c + 8 * i * size + 8 * j, sum[i / 2][j][i % 2 * 2], sum[i / 2][j][i % 2 * 2 + 1]);
  }
}

// The peak: multiplications of words in registers. Every result is `steps` · `each`.
DEVICE void products_alone(GLOBAL float* out, int steps, WORD one, const int format WITH_SCRATCH) {
  const WORD a[4] = {one, one, one, one}, b[2] = {one, one};
  float sum[8][4];
  UNROLL
  for (int i = 0; i < 8; ++i) {
    UNROLL
    for (int k = 0; k < 4; ++k) sum[i][k] = 0;
  }
  for (int step = 0; step < steps; ++step) {
    UNROLL
    for (int i = 0; i < 8; ++i) multiply(sum[i], a, b, format GIVE_SCRATCH);
  }
  float all = 0;
  UNROLL
  for (int i = 0; i < 8; ++i) {
    UNROLL
    for (int k = 0; k < 4; ++k) all += sum[i][k];
  }
  out[BLOCK_X * THREADS_X + THREAD_X] = all / 32;
}

#define PRODUCT_OF(name, columns, format)                                                                             \
  KERNEL_OF(256, 1)                                                                                                   \
  name(GLOBAL const WORD* RESTRICT a, GLOBAL const WORD* RESTRICT b, GLOBAL float* RESTRICT c, int size, int words) { \
    DYNAMIC_SHARED(uint4, stages, STAGES*(SIDE + columns) * ROW / 4);                                                 \
    WARP_SCRATCH(8);                                                                                                  \
    product(a, b, c, size, words, (SHARED_POINTER WORD*)stages, columns, format GIVE_SCRATCH);                        \
  }
#ifdef WIDE
#define PRODUCTS_OF(name, format) PRODUCT_OF(matmul_##name, 128, format) PRODUCT_OF(matmul_wide_##name, 256, format)
#else
#define PRODUCTS_OF(name, format) PRODUCT_OF(matmul_##name, 128, format)
#endif
// `one`: the word whose values are all 1.
#define ALONE_OF(name, format, one)                                       \
  KERNEL_OF(256, 1) alone_##name(GLOBAL float* RESTRICT out, int steps) { \
    WARP_SCRATCH(8);                                                      \
    products_alone(out, steps, one, format GIVE_SCRATCH);                 \
  }
PRODUCTS_OF(fp16, FP16)
ALONE_OF(fp16, FP16, 0x3c003c00u)
#if defined(__OPENCL_VERSION__) || __CUDA_ARCH__ >= 800
PRODUCTS_OF(bf16, BF16)
ALONE_OF(bf16, BF16, 0x3f803f80u)
PRODUCTS_OF(tf32, TF32)
ALONE_OF(tf32, TF32, 0x3f800000u)
#endif
