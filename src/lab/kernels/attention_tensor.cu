// L14. out = softmax(q · kᵀ / √64) · v for `count` positions of 64 values of FP16 or BF16, one head per BLOCK_Y, sums in FP32,
// on the tensor cores (kernels/warp_matrix.cu). count is a multiple of 64. A row of 64 values is 32 words.
//
// A block of four warps has 64 queries, a warp 16 of them. Keys and values come in tiles of 64; scores, weights and sums stay
// in registers: the scores of two multiplications already have the layout of the next one's left side. Each tile rescales the
// sums so far to the largest score yet. Source: Dao, "FlashAttention-2", 2023, algorithm 1.
#define KEYS 64
#define ROW 32
#define PITCH 36  // words between rows in shared memory: a warp's simultaneous reads use 32 banks

#ifdef __OPENCL_VERSION__
// The largest, or the sum, over the four threads that share rows.
float of_four(float value, const int sum WITH_SCRATCH) {
  SHARED_POINTER float* mine = (SHARED_POINTER float*)warp_scratch + THREAD_X / 32 * 192;
  const int lane = THREAD_X % 32, first = lane / 4 * 4;
  mine[lane] = value;
  BARRIER();
  value = sum ? mine[first] + mine[first + 1] + (mine[first + 2] + mine[first + 3])
              : fmax(fmax(mine[first], mine[first + 1]), fmax(mine[first + 2], mine[first + 3]));
  BARRIER();
  return value;
}

// Two columns of words, each transposed: in to[i] the values at (8 · i + 2 · place, column), (8 · i + 2 · place + 1, column) of
// rows of values that begin at `rows`, column = group.
void load_turned(WORD* to, SHARED_POINTER const WORD* rows) {
  const int group = THREAD_X % 32 / 4, place = THREAD_X % 4;
  for (int i = 0; i < 2; ++i) {
    SHARED_POINTER const ushort* from = (SHARED_POINTER const ushort*)(rows + (8 * i + 2 * place) * PITCH) + group;
    to[i] = from[0] | (WORD)from[2 * PITCH] << 16;
  }
}
#else
DEVICE float of_four(float value, const int sum) {
  for (int apart = 1; apart < 4; apart *= 2) {
    float other = __shfl_xor_sync(0xffffffffu, value, apart);
    value = sum ? value + other : fmaxf(value, other);
  }
  return value;
}

DEVICE void load_turned(WORD* to, const WORD* rows) {
  // Threads 0 to 15 name the sixteen rows; PTX ISA, ldmatrix with .trans.
  unsigned row = (unsigned)__cvta_generic_to_shared(rows + THREAD_X % 16 * PITCH);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(row) : "memory");
}
#endif

DEVICE void fetch_tile(SHARED_POINTER WORD* tile, GLOBAL const WORD* from) {
  UNROLL
  for (int i = 0; i < 4; ++i) {
    int piece = THREAD_X + 128 * i;
    copy_16_bytes(tile + piece / 8 * PITCH + piece % 8 * 4, from + piece * 4);
  }
}

DEVICE void attention(GLOBAL const WORD* q, GLOBAL const WORD* k, GLOBAL const WORD* v, GLOBAL float* out, int count,
                      SHARED_POINTER WORD* keys, SHARED_POINTER WORD* values, const int format WITH_SCRATCH) {
  const int group = THREAD_X % 32 / 4, place = THREAD_X % 4;
  const int query = BLOCK_Y * count + BLOCK_X * 64 + THREAD_X / 32 * 16 + group;  // and the one 8 below
  WORD of_q[4][4];
  UNROLL
  for (int i = 0; i < 4; ++i)
    UNROLL
    for (int j = 0; j < 4; ++j) of_q[i][j] = q[(query + j % 2 * 8) * ROW + 8 * i + j / 2 * 4 + place];
  float sum[8][4], most[2] = {-INFINITE, -INFINITE}, total[2] = {0, 0};
  UNROLL
  for (int i = 0; i < 8; ++i)
    UNROLL
    for (int j = 0; j < 4; ++j) sum[i][j] = 0;

  for (int first = 0; first < count; first += KEYS) {
    BARRIER();  // all have finished the previous tile
    fetch_tile(keys, k + (BLOCK_Y * count + first) * ROW);
    fetch_tile(values, v + (BLOCK_Y * count + first) * ROW);
    COPIES_QUEUED();
    COPIES_DONE_BUT(0);
    BARRIER();
    float score[8][4];  // of eight keys each
    UNROLL
    for (int i = 0; i < 8; ++i) {
      UNROLL
      for (int j = 0; j < 4; ++j) score[i][j] = 0;
      UNROLL
      for (int j = 0; j < 4; ++j) {
        SHARED_POINTER WORD* from = keys + (8 * i + group) * PITCH + 8 * j + place;
        WORD of_k[2] = {from[0], from[4]};
        multiply(score[i], of_q[j], of_k, format GIVE_SCRATCH);
      }
    }
    // 2^(x · log2 e / √64) = e^(x / √64)
    UNROLL
    for (int row = 0; row < 2; ++row) {
      float most_yet = -INFINITE;
      UNROLL
      for (int i = 0; i < 8; ++i) most_yet = fmaxf(most_yet, fmaxf(score[i][2 * row], score[i][2 * row + 1]));
      most_yet = fmaxf(most[row], of_four(most_yet, 0 GIVE_SCRATCH));
      float down = exp2f((most[row] - most_yet) * 0.18033688f);
      most[row] = most_yet;
      total[row] *= down;
      UNROLL
      for (int i = 0; i < 8; ++i) {
        UNROLL
        for (int j = 2 * row; j < 2 * row + 2; ++j) {
          sum[i][j] *= down;
          score[i][j] = exp2f((score[i][j] - most_yet) * 0.18033688f);
          total[row] += score[i][j];
        }
      }
    }
    UNROLL
    for (int i = 0; i < 4; ++i) {
      const WORD weights[4] = {word_of(score[2 * i][0], score[2 * i][1], format), word_of(score[2 * i][2], score[2 * i][3], format),
                               word_of(score[2 * i + 1][0], score[2 * i + 1][1], format),
                               word_of(score[2 * i + 1][2], score[2 * i + 1][3], format)};
      UNROLL
      for (int j = 0; j < 8; ++j) {
        WORD of_v[2];
        load_turned(of_v, values + 16 * i * PITCH + 4 * j);
        multiply(sum[j], weights, of_v, format GIVE_SCRATCH);
      }
    }
  }
  UNROLL
  for (int row = 0; row < 2; ++row) {
    float all = of_four(total[row], 1 GIVE_SCRATCH);
    UNROLL
    for (int i = 0; i < 8; ++i)
      UNROLL
      for (int j = 0; j < 2; ++j) out[(query + 8 * row) * 64 + 8 * i + 2 * place + j] = sum[i][2 * row + j] / all;
  }
}

#define ATTENTION_OF(name, format)                                                                                         \
  KERNEL_OF(128, 1) attention_tensor_##name(GLOBAL const WORD* RESTRICT q, GLOBAL const WORD* RESTRICT k,                     \
                                            GLOBAL const WORD* RESTRICT v, GLOBAL float* RESTRICT out, int count) {           \
    SHARED uint4 keys[KEYS * PITCH / 4];                                                                                   \
    SHARED uint4 values[KEYS * PITCH / 4];                                                                                 \
    WARP_SCRATCH(4);                                                                                                       \
    attention(q, k, v, out, count, (SHARED_POINTER WORD*)keys, (SHARED_POINTER WORD*)values, format GIVE_SCRATCH);         \
  }
ATTENTION_OF(fp16, FP16)
#if defined(__OPENCL_VERSION__) || __CUDA_ARCH__ >= 800
ATTENTION_OF(bf16, BF16)
#endif
