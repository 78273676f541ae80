// L15, L16. c[row][column] = the product of row `row` of a and row `column` of b (b is transposed, like the weights of a linear
// layer), on the tensor cores: squares of `size`, whose rows hold `words` words (kernels/warp_matrix.cu). size is a multiple of
// 128, words of 16.
//
// A block of eight warps computes 128 × 128 results, a warp 64 × 32 of them in registers. Shared memory is double-buffered: one
// buffer is multiplied while the other is filled. Rows are 20 words apart there, so that the 32 words of a warp's read, four of
// eight rows each, use 32 banks.
#define SIDE 128
#define DEEP 16
#define PITCH 20
#define STAGE (2 * SIDE * PITCH)  // words: of a, then of b

DEVICE void fetch(SHARED_POINTER WORD* stage, GLOBAL const WORD* a, GLOBAL const WORD* b, int words) {
  UNROLL
  for (int i = 0; i < 2; ++i) {
    int piece = THREAD_X + 256 * i, row = piece / 4, word = piece % 4 * 4;
    copy_16_bytes(stage + row * PITCH + word, a + row * words + word);
    copy_16_bytes(stage + (SIDE + row) * PITCH + word, b + row * words + word);
  }
  COPIES_QUEUED();
}

DEVICE void product(GLOBAL const WORD* a, GLOBAL const WORD* b, GLOBAL float* c, int size, int words, SHARED_POINTER WORD* stages,
                    const int format WITH_SCRATCH) {
  const int group = THREAD_X % 32 / 4, place = THREAD_X % 4;
  const int top = THREAD_X / 128 * 64, left = THREAD_X / 32 % 4 * 32;  // of the warp, in the block
  float sum[4][4][4];
  UNROLL
  for (int i = 0; i < 4; ++i)
    UNROLL
    for (int j = 0; j < 4; ++j)
      UNROLL
      for (int k = 0; k < 4; ++k) sum[i][j][k] = 0;

  a += BLOCK_Y * SIDE * words;
  b += BLOCK_X * SIDE * words;
  fetch(stages, a, b, words);
  for (int first = 0; first < words; first += DEEP) {
    SHARED_POINTER WORD* stage = stages + first / DEEP % 2 * STAGE;
    if (first + DEEP < words) {
      fetch(stages + (first / DEEP + 1) % 2 * STAGE, a + first + DEEP, b + first + DEEP, words);
      COPIES_DONE_BUT(1);
    } else {
      COPIES_DONE_BUT(0);
    }
    BARRIER();
    UNROLL
    for (int word = 0; word < DEEP; word += 8) {
      WORD of_a[4][4], of_b[4][2];
      UNROLL
      for (int i = 0; i < 4; ++i) {
        SHARED_POINTER WORD* from = stage + (top + 16 * i + group) * PITCH + word + place;
        of_a[i][0] = from[0];
        of_a[i][1] = from[8 * PITCH];
        of_a[i][2] = from[4];
        of_a[i][3] = from[8 * PITCH + 4];
      }
      UNROLL
      for (int j = 0; j < 4; ++j) {
        SHARED_POINTER WORD* from = stage + (SIDE + left + 8 * j + group) * PITCH + word + place;
        of_b[j][0] = from[0];
        of_b[j][1] = from[4];
      }
      UNROLL
      for (int i = 0; i < 4; ++i)
        UNROLL
        for (int j = 0; j < 4; ++j) multiply(sum[i][j], of_a[i], of_b[j], format GIVE_SCRATCH);
    }
    BARRIER();
  }
  c += (BLOCK_Y * SIDE + top + group) * size + BLOCK_X * SIDE + left + 2 * place;
  UNROLL
  for (int i = 0; i < 4; ++i)
    UNROLL
    for (int j = 0; j < 4; ++j)
      UNROLL
      for (int k = 0; k < 4; ++k) c[(16 * i + k / 2 * 8) * size + 8 * j + k % 2] = sum[i][j][k];
}

// The peak: multiplications of words in registers. Every result is `steps` · `each`.
DEVICE void products_alone(GLOBAL float* out, int steps, WORD one, const int format WITH_SCRATCH) {
  const WORD a[4] = {one, one, one, one}, b[2] = {one, one};
  float sum[8][4];
  UNROLL
  for (int i = 0; i < 8; ++i)
    UNROLL
    for (int k = 0; k < 4; ++k) sum[i][k] = 0;
  for (int step = 0; step < steps; ++step)
    UNROLL
    for (int i = 0; i < 8; ++i) multiply(sum[i], a, b, format GIVE_SCRATCH);
  float all = 0;
  UNROLL
  for (int i = 0; i < 8; ++i)
    UNROLL
    for (int k = 0; k < 4; ++k) all += sum[i][k];
  out[BLOCK_X * THREADS_X + THREAD_X] = all / 32;
}

// `one`: the word whose values are all 1.
#define PRODUCTS_OF(name, format, one)                                                                                  \
  KERNEL_OF(256, 1) matmul_##name(GLOBAL const WORD* RESTRICT a, GLOBAL const WORD* RESTRICT b, GLOBAL float* RESTRICT c, \
                                  int size, int words) {                                                                \
    SHARED uint4 stages[2 * STAGE / 4];                                                                                 \
    WARP_SCRATCH(8);                                                                                                    \
    product(a, b, c, size, words, (SHARED_POINTER WORD*)stages, format GIVE_SCRATCH);                                   \
  }                                                                                                                     \
  KERNEL_OF(256, 1) alone_##name(GLOBAL float* RESTRICT out, int steps) {                                               \
    WARP_SCRATCH(8);                                                                                                    \
    products_alone(out, steps, one, format GIVE_SCRATCH);                                                               \
  }
PRODUCTS_OF(fp16, FP16, 0x3c003c00u)
#if defined(__OPENCL_VERSION__) || __CUDA_ARCH__ >= 800
PRODUCTS_OF(bf16, BF16, 0x3f803f80u)
PRODUCTS_OF(tf32, TF32, 0x3f800000u)
#endif
