// After single.cu or half.cu. L14. out = softmax(q · kᵀ / √64) · v for `count` positions of 64 values, one head per
// BLOCK_Y, with sums in FP32; `out` is FP32. count is a multiple of 64.
#define WIDTH 64

// In three kernels; the count × count scores of each head are stored in the values' type, as in frameworks.
#define TILE 16
DEVICE void scores_of(GLOBAL const ELEMENT* q, GLOBAL const ELEMENT* k, GLOBAL ELEMENT* scores, int count,
                      SHARED_POINTER float (*tile_q)[TILE], SHARED_POINTER float (*tile_k)[TILE + 1],
                      const int format) {
  int head = BLOCK_Y / (count / TILE), top = BLOCK_Y % (count / TILE) * TILE, left = BLOCK_X * TILE;
  float sum = 0;
  for (int first = 0; first < WIDTH; first += TILE) {
    tile_q[THREAD_Y][THREAD_X] = value_of(q[(head * count + top + THREAD_Y) * WIDTH + first + THREAD_X], format);
    tile_k[THREAD_Y][THREAD_X] = value_of(k[(head * count + left + THREAD_Y) * WIDTH + first + THREAD_X], format);
    BARRIER();
    for (int i = 0; i < TILE; ++i) sum = fmaf(tile_q[THREAD_Y][i], tile_k[THREAD_X][i], sum);
    BARRIER();
  }
  scores[(head * count + top + THREAD_Y) * count + left + THREAD_X] = element_of(sum * 0.125f, format);
}

// One row per block of 128 threads.
#define THREADS 128
DEVICE void softmax_of(GLOBAL ELEMENT* scores, int count, SHARED_POINTER float* part, const int format) {
  GLOBAL ELEMENT* row = scores + BLOCK_X * count;
  float most = -INFINITE, sum = 0;
  for (int i = THREAD_X; i < count; i += THREADS) most = fmaxf(most, value_of(row[i], format));
  OVER_BLOCK(fmaxf, most, part, THREADS)
  for (int i = THREAD_X; i < count; i += THREADS) sum += expf(value_of(row[i], format) - most);
  OVER_BLOCK(ADD, sum, part, THREADS)
  for (int i = THREAD_X; i < count; i += THREADS)
    row[i] = element_of(expf(value_of(row[i], format) - most) / sum, format);
}

DEVICE void values_of(GLOBAL const ELEMENT* scores, GLOBAL const ELEMENT* v, GLOBAL float* out, int count,
                      SHARED_POINTER float (*tile_s)[TILE], SHARED_POINTER float (*tile_v)[TILE], const int format) {
  int head = BLOCK_Y / (count / TILE), top = BLOCK_Y % (count / TILE) * TILE, left = BLOCK_X * TILE;
  float sum = 0;
  for (int first = 0; first < count; first += TILE) {
    tile_s[THREAD_Y][THREAD_X] = value_of(scores[(head * count + top + THREAD_Y) * count + first + THREAD_X], format);
    tile_v[THREAD_Y][THREAD_X] = value_of(v[(head * count + first + THREAD_Y) * WIDTH + left + THREAD_X], format);
    BARRIER();
    for (int i = 0; i < TILE; ++i) sum = fmaf(tile_s[THREAD_Y][i], tile_v[i][THREAD_X], sum);
    BARRIER();
  }
  out[(head * count + top + THREAD_Y) * WIDTH + left + THREAD_X] = sum;
}

// In one kernel, like FlashAttention: a thread keeps one query and its sums in registers while iterating over tiles of
// keys and values. Four keys at a time: a larger score rescales the sums so far. (Dao et al. 2022, algorithm 1; Milakov
// and Gimelshein 2018 for the running softmax.)
#define QUERIES 64
#define TOGETHER 32
#define AT_A_TIME 4
DEVICE void tiles_of(GLOBAL const ELEMENT* q, GLOBAL const ELEMENT* k, GLOBAL const ELEMENT* v, GLOBAL float* out,
                     int count, SHARED_POINTER float (*keys)[WIDTH], SHARED_POINTER float (*values)[WIDTH],
                     const int format) {
  const int of_head = BLOCK_Y * count * WIDTH, row = of_head + (BLOCK_X * QUERIES + THREAD_X) * WIDTH;
  float query[WIDTH], sum[WIDTH], score[AT_A_TIME], most = -INFINITE, total = 0;
  UNROLL
  for (int i = 0; i < WIDTH; ++i) {
    query[i] = value_of(q[row + i], format) * 0.125f;
    sum[i] = 0;
  }
  for (int first = 0; first < count; first += TOGETHER) {
    for (int i = THREAD_X; i < TOGETHER * WIDTH; i += QUERIES) {
      keys[i / WIDTH][i % WIDTH] = value_of(k[of_head + first * WIDTH + i], format);
      values[i / WIDTH][i % WIDTH] = value_of(v[of_head + first * WIDTH + i], format);
    }
    BARRIER();
    for (int key = 0; key < TOGETHER; key += AT_A_TIME) {
      float most_yet = most;
      UNROLL
      for (int j = 0; j < AT_A_TIME; ++j) {
        score[j] = 0;
        UNROLL
        for (int i = 0; i < WIDTH; ++i) score[j] = fmaf(query[i], keys[key + j][i], score[j]);
        most_yet = fmaxf(most_yet, score[j]);
      }
      float down = expf(most - most_yet);
      most = most_yet;
      total *= down;
      UNROLL
      for (int i = 0; i < WIDTH; ++i) sum[i] *= down;
      UNROLL
      for (int j = 0; j < AT_A_TIME; ++j) {
        float weight = expf(score[j] - most);
        total += weight;
        UNROLL
        for (int i = 0; i < WIDTH; ++i) sum[i] = fmaf(weight, values[key + j][i], sum[i]);
      }
    }
    BARRIER();
  }
  UNROLL
  for (int i = 0; i < WIDTH; ++i) out[row + i] = sum[i] / total;
}

#define ATTENTION_IN(name, format)                                                                                   \
  KERNEL_OF(TILE, TILE)                                                                                              \
  scores_##name(GLOBAL const ELEMENT* RESTRICT q, GLOBAL const ELEMENT* RESTRICT k, GLOBAL ELEMENT* RESTRICT scores, \
                int count) {                                                                                         \
    SHARED float tile_q[TILE][TILE];                                                                                 \
    SHARED float tile_k[TILE][TILE + 1];                                                                             \
    scores_of(q, k, scores, count, tile_q, tile_k, format);                                                          \
  }                                                                                                                  \
  KERNEL_OF(THREADS, 1) softmax_##name(GLOBAL ELEMENT* scores, int count) {                                          \
    SHARED float part[THREADS];                                                                                      \
    softmax_of(scores, count, part, format);                                                                         \
  }                                                                                                                  \
  KERNEL_OF(TILE, TILE)                                                                                              \
  values_##name(GLOBAL const ELEMENT* RESTRICT scores, GLOBAL const ELEMENT* RESTRICT v, GLOBAL float* RESTRICT out, \
                int count) {                                                                                         \
    SHARED float tile_s[TILE][TILE];                                                                                 \
    SHARED float tile_v[TILE][TILE];                                                                                 \
    values_of(scores, v, out, count, tile_s, tile_v, format);                                                        \
  }                                                                                                                  \
  KERNEL_OF(QUERIES, 1)                                                                                              \
  tiles_##name(GLOBAL const ELEMENT* RESTRICT q, GLOBAL const ELEMENT* RESTRICT k, GLOBAL const ELEMENT* RESTRICT v, \
               GLOBAL float* RESTRICT out, int count) {                                                              \
    SHARED float keys[TOGETHER][WIDTH];                                                                              \
    SHARED float values[TOGETHER][WIDTH];                                                                            \
    tiles_of(q, k, v, out, count, keys, values, format);                                                             \
  }
#ifdef FP32
ATTENTION_IN(fp32, FP32)
#else
ATTENTION_IN(fp16, FP16)
ATTENTION_IN(bf16, BF16)
#endif
