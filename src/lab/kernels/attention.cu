// L14. out = softmax(q · kᵀ / √64) · v for `count` positions of 64 values, one head per BLOCK_Y. count is a multiple of 64.
#define WIDTH 64

// In three kernels, with the count × count scores of each head written to memory and read again.
#define TILE 16
KERNEL_OF(TILE, TILE) attention_scores(GLOBAL const float* RESTRICT q, GLOBAL const float* RESTRICT k,
                                       GLOBAL float* RESTRICT scores, int count) {
  SHARED float tile_q[TILE][TILE];
  SHARED float tile_k[TILE][TILE + 1];  // padded: it is read by columns
  int head = BLOCK_Y / (count / TILE), top = BLOCK_Y % (count / TILE) * TILE, left = BLOCK_X * TILE;
  float sum = 0;
  for (int first = 0; first < WIDTH; first += TILE) {
    tile_q[THREAD_Y][THREAD_X] = q[(head * count + top + THREAD_Y) * WIDTH + first + THREAD_X];
    tile_k[THREAD_Y][THREAD_X] = k[(head * count + left + THREAD_Y) * WIDTH + first + THREAD_X];
    BARRIER();
    for (int i = 0; i < TILE; ++i) sum = fmaf(tile_q[THREAD_Y][i], tile_k[THREAD_X][i], sum);
    BARRIER();
  }
  scores[(head * count + top + THREAD_Y) * count + left + THREAD_X] = sum * 0.125f;
}

#define THREADS 128
KERNEL_OF(THREADS, 1) attention_softmax(GLOBAL float* scores, int count) {
  SHARED float part[THREADS];
  GLOBAL float* row = scores + BLOCK_X * count;
  float most = -INFINITE, sum = 0;
  for (int i = THREAD_X; i < count; i += THREADS) most = fmaxf(most, row[i]);
  OVER_BLOCK(fmaxf, most, part, THREADS)
  for (int i = THREAD_X; i < count; i += THREADS) sum += row[i] = expf(row[i] - most);
  OVER_BLOCK(ADD, sum, part, THREADS)
  for (int i = THREAD_X; i < count; i += THREADS) row[i] = row[i] / sum;
}

KERNEL_OF(TILE, TILE) attention_values(GLOBAL const float* RESTRICT scores, GLOBAL const float* RESTRICT v,
                                       GLOBAL float* RESTRICT out, int count) {
  SHARED float tile_s[TILE][TILE];
  SHARED float tile_v[TILE][TILE];
  int head = BLOCK_Y / (count / TILE), top = BLOCK_Y % (count / TILE) * TILE, left = BLOCK_X * TILE;
  float sum = 0;
  for (int first = 0; first < count; first += TILE) {
    tile_s[THREAD_Y][THREAD_X] = scores[(head * count + top + THREAD_Y) * count + first + THREAD_X];
    tile_v[THREAD_Y][THREAD_X] = v[(head * count + first + THREAD_Y) * WIDTH + left + THREAD_X];
    BARRIER();
    for (int i = 0; i < TILE; ++i) sum = fmaf(tile_s[THREAD_Y][i], tile_v[i][THREAD_X], sum);
    BARRIER();
  }
  out[(head * count + top + THREAD_Y) * WIDTH + left + THREAD_X] = sum;
}

// In one kernel, as FlashAttention does: a thread keeps one query and its sums in registers while tiles of keys and values pass by.
// Four keys at a time: when a larger score comes, what was summed so far is scaled down to it. (Dao et al. 2022, algorithm 1; Milakov and
// Gimelshein 2018 for the running softmax.)
#define QUERIES 64
#define KEYS 32
#define AT_A_TIME 4
KERNEL_OF(QUERIES, 1) attention_tiles(GLOBAL const float* RESTRICT q, GLOBAL const float* RESTRICT k,
                                      GLOBAL const float* RESTRICT v, GLOBAL float* RESTRICT out, int count) {
  SHARED float keys[KEYS][WIDTH];
  SHARED float values[KEYS][WIDTH];
  const int of_head = BLOCK_Y * count * WIDTH;
  const int row = of_head + (BLOCK_X * QUERIES + THREAD_X) * WIDTH;
  float query[WIDTH], sum[WIDTH], score[AT_A_TIME];
  float most = -INFINITE, total = 0;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    query[i] = q[row + i] * 0.125f;
    sum[i] = 0;
  }
  for (int first = 0; first < count; first += KEYS) {
    for (int i = THREAD_X; i < KEYS * WIDTH; i += QUERIES) {
      keys[i / WIDTH][i % WIDTH] = k[of_head + first * WIDTH + i];
      values[i / WIDTH][i % WIDTH] = v[of_head + first * WIDTH + i];
    }
    BARRIER();
    for (int key = 0; key < KEYS; key += AT_A_TIME) {
      float most_yet = most;
#pragma unroll
      for (int j = 0; j < AT_A_TIME; ++j) {
        score[j] = 0;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) score[j] = fmaf(query[i], keys[key + j][i], score[j]);
        most_yet = fmaxf(most_yet, score[j]);
      }
      float down = expf(most - most_yet);
      most = most_yet;
      total *= down;
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) sum[i] *= down;
#pragma unroll
      for (int j = 0; j < AT_A_TIME; ++j) {
        float weight = expf(score[j] - most);
        total += weight;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) sum[i] = fmaf(weight, values[key + j][i], sum[i]);
      }
    }
    BARRIER();
  }
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) out[row + i] = sum[i] / total;
}
