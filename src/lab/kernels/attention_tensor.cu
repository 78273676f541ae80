// L14. out = softmax(q · kᵀ / √64) · v for `count` positions of 64 values of FP16 or BF16, one head per BLOCK_Y, sums
// in FP32, on the tensor cores (kernels/warp_matrix.cu, warp_rows.cu). count is a multiple of 128. A row of 64 values
// is 32 words.
//
// A block of four warps has 128 queries, a warp 32 of them: each word of keys and values that a warp reads serves two
// multiplications. Keys and values come in tiles of 64, of which one is multiplied while the next is fetched; scores,
// weights and sums stay in registers: the scores of two multiplications already have the layout of the next one's left
// side. The sums so far are rescaled only where a row's largest score moved. Source: Dao, "FlashAttention-2", 2023,
// algorithm 1 and section 3.3.
#define KEYS 64
#define KEYS_TILE (KEYS * ROW)  // words
#define FACTOR 0.18033688f      // log2 e / √64: e^(x / √64) = 2^(x · FACTOR)

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
#define ANY_OF_WARP(yes) 1  // rescaling by 1 changes nothing
#else
DEVICE float of_four(float value, const int sum) {
  for (int apart = 1; apart < 4; apart *= 2) {
    float other = __shfl_xor_sync(0xffffffffu, value, apart);
    value = sum ? value + other : fmaxf(value, other);
  }
  return value;
}
#define ANY_OF_WARP(yes) __any_sync(0xffffffffu, yes)
#endif

// Queues a tile of keys and one of values.
DEVICE void fetch_tiles(SHARED_POINTER WORD* keys, SHARED_POINTER WORD* values, GLOBAL const WORD* k,
                        GLOBAL const WORD* v) {
  const int row = THREAD_X / 8, piece = THREAD_X % 8;
  UNROLL
  for (int i = 0; i < KEYS; i += 16) {
    copy_16_bytes(keys + PIECE_AT(row + i, piece), k + (row + i) * ROW + 4 * piece);
    copy_16_bytes(values + PIECE_AT(row + i, piece), v + (row + i) * ROW + 4 * piece);
  }
  COPIES_QUEUED();
}

// Turns a row's scores into weights; total is this thread's part of their sum. `most`: the largest score yet, over the
// tiles.
DEVICE void weigh(float (*score)[4], float (*sum)[4], float* most, float* total WITH_SCRATCH) {
  float now[2];
  UNROLL
  for (int row = 0; row < 2; ++row) {
    now[row] = most[row];
    UNROLL
    for (int i = 0; i < 8; ++i) now[row] = fmaxf(now[row], fmaxf(score[i][2 * row], score[i][2 * row + 1]));
    now[row] = of_four(now[row], 0 GIVE_SCRATCH);
  }
  if (ANY_OF_WARP(now[0] > most[0] || now[1] > most[1])) {
    UNROLL
    for (int row = 0; row < 2; ++row) {
      const float down = power_of_two((most[row] - now[row]) * FACTOR);
      most[row] = now[row];
      total[row] *= down;
      UNROLL
      for (int i = 0; i < 8; ++i) {
        sum[i][2 * row] *= down;
        sum[i][2 * row + 1] *= down;
      }
    }
  }
  UNROLL
  for (int i = 0; i < 8; ++i) {
    UNROLL
    for (int j = 0; j < 4; ++j) {
      score[i][j] = power_of_two(fmaf(score[i][j], FACTOR, -most[j / 2] * FACTOR));
      total[j / 2] += score[i][j];
    }
  }
}

DEVICE void attention(GLOBAL const WORD* q, GLOBAL const WORD* k, GLOBAL const WORD* v, GLOBAL float* out, int count,
                      SHARED_POINTER WORD* keys, SHARED_POINTER WORD* values, const int format WITH_SCRATCH) {
  const int group = THREAD_X % 32 / 4, place = THREAD_X % 4;
  const int query = BLOCK_Y * count + BLOCK_X * 128 + THREAD_X / 32 * 32 + group;  // and those 8, 16 and 24 below
  k += BLOCK_Y * count * ROW;
  v += BLOCK_Y * count * ROW;
  fetch_tiles(keys, values, k, v);
  WORD of_q[2][4][4];
  float sum[2][8][4], most[2][2], total[2][2];
  UNROLL
  for (int side = 0; side < 2; ++side) {
    UNROLL
    for (int i = 0; i < 4; ++i) {
      UNROLL
      for (int j = 0; j < 4; ++j)
        of_q[side][i][j] = q[(query + 16 * side + j % 2 * 8) * ROW + 8 * i + j / 2 * 4 + place];
    }
    UNROLL
    for (int i = 0; i < 8; ++i) {
      UNROLL
      for (int j = 0; j < 4; ++j) sum[side][i][j] = 0;
    }
    UNROLL
    for (int row = 0; row < 2; ++row) {
      most[side][row] = -INFINITE;
      total[side][row] = 0;
    }
  }

  for (int first = 0; first < count; first += KEYS) {
    COPIES_DONE_BUT(0);
    BARRIER();  // this tile has arrived, and all have finished the previous one
    SHARED_POINTER WORD *these_keys = keys + first / KEYS % 2 * KEYS_TILE,
                        *these_values = values + first / KEYS % 2 * KEYS_TILE;
    if (first + KEYS < count)
      fetch_tiles(keys + (first / KEYS + 1) % 2 * KEYS_TILE, values + (first / KEYS + 1) % 2 * KEYS_TILE,
                  k + (first + KEYS) * ROW, v + (first + KEYS) * ROW);
    float score[2][8][4];  // of eight keys each
    UNROLL
    for (int side = 0; side < 2; ++side) {
      UNROLL
      for (int i = 0; i < 8; ++i) {
        UNROLL
        for (int j = 0; j < 4; ++j) score[side][i][j] = 0;
      }
    }
    UNROLL
    for (int i = 0; i < 4; ++i) {
      UNROLL
      for (int j = 0; j < 4; ++j) {
        WORD of_k[4];
        load_right(of_k, these_keys, 16 * j, i GIVE_SCRATCH);
        UNROLL
        for (int side = 0; side < 2; ++side) {
          multiply(score[side][2 * j], of_q[side][i], of_k, format GIVE_SCRATCH);
          multiply(score[side][2 * j + 1], of_q[side][i], of_k + 2, format GIVE_SCRATCH);
        }
      }
    }
    UNROLL
    for (int side = 0; side < 2; ++side) weigh(score[side], sum[side], most[side], total[side] GIVE_SCRATCH);
    UNROLL
    for (int i = 0; i < 4; ++i) {
      WORD weights[2][4];
      UNROLL
      for (int side = 0; side < 2; ++side) {
        UNROLL
        for (int j = 0; j < 4; ++j)
          weights[side][j] =
              word_of(score[side][2 * i + j / 2][j % 2 * 2], score[side][2 * i + j / 2][j % 2 * 2 + 1], format);
      }
      UNROLL
      for (int j = 0; j < 4; ++j) {
        WORD of_v[4];
        load_right_turned(of_v, these_values, 16 * i, j GIVE_SCRATCH);
        UNROLL
        for (int side = 0; side < 2; ++side) {
          multiply(sum[side][2 * j], weights[side], of_v, format GIVE_SCRATCH);
          multiply(sum[side][2 * j + 1], weights[side], of_v + 2, format GIVE_SCRATCH);
        }
      }
    }
  }
  UNROLL
  for (int row = 0; row < 4; ++row) {
    const float share = 1 / of_four(total[row / 2][row % 2], 1 GIVE_SCRATCH);
    UNROLL
    for (int i = 0; i < 8; ++i)
      store_two(out + (query + 8 * row) * 64 + 8 * i + 2 * place, sum[row / 2][i][row % 2 * 2] * share,
                sum[row / 2][i][row % 2 * 2 + 1] * share);
  }
}

#define ATTENTION_OF(name, format)                                                                                     \
  KERNEL_OF(128, 1)                                                                                                    \
  attention_tensor_##name(GLOBAL const WORD* RESTRICT q, GLOBAL const WORD* RESTRICT k, GLOBAL const WORD* RESTRICT v, \
                          GLOBAL float* RESTRICT out, int count) {                                                     \
    SHARED uint4 keys[2 * KEYS_TILE / 4];                                                                              \
    SHARED uint4 values[2 * KEYS_TILE / 4];                                                                            \
    WARP_SCRATCH(4);                                                                                                   \
    attention(q, k, v, out, count, (SHARED_POINTER WORD*)keys, (SHARED_POINTER WORD*)values, format GIVE_SCRATCH);     \
  }
ATTENTION_OF(fp16, FP16)
#if defined(__OPENCL_VERSION__) || __CUDA_ARCH__ >= 800
ATTENTION_OF(bf16, BF16)
#endif
