// L07, L16. c = a · b of squares of `size` floats, row-major.
#define TILE 16

// Every thread reads a row of a and a column of b from memory: 2 · size loads for one result.
KERNEL_OF(TILE, TILE)
matmul_naive(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b, GLOBAL float* RESTRICT c, int size) {
  int row = BLOCK_Y * TILE + THREAD_Y, column = BLOCK_X * TILE + THREAD_X;
  float sum = 0;
  for (int k = 0; k < size; ++k) sum = fmaf(a[row * size + k], b[k * size + column], sum);
  c[row * size + column] = sum;
}

// A block loads tiles of a and b into shared memory, where each value serves 16 threads. size is a multiple of 16.
KERNEL_OF(TILE, TILE)
matmul_tiles(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b, GLOBAL float* RESTRICT c, int size) {
  SHARED float tile_a[TILE][TILE];
  SHARED float tile_b[TILE][TILE];
  int row = BLOCK_Y * TILE + THREAD_Y, column = BLOCK_X * TILE + THREAD_X;
  float sum = 0;
  for (int first = 0; first < size; first += TILE) {
    tile_a[THREAD_Y][THREAD_X] = a[row * size + first + THREAD_X];
    tile_b[THREAD_Y][THREAD_X] = b[(first + THREAD_Y) * size + column];
    BARRIER();
    for (int k = 0; k < TILE; ++k) sum = fmaf(tile_a[THREAD_Y][k], tile_b[k][THREAD_X], sum);
    BARRIER();
  }
  c[row * size + column] = sum;
}

// A block of 256 threads computes 128 × 128 results, a thread 8 × 8 of them in registers: 16 loads from shared memory
// for 64 multiply-adds. Its rows and columns are two groups of four, 64 apart, so that neighbouring threads read
// neighbouring float4. a is transposed in shared memory. size is a multiple of 128.
#define WIDE 128
#define DEEP 8

KERNEL_OF(256, 1)
matmul_registers(GLOBAL const float* RESTRICT a, GLOBAL const float* RESTRICT b, GLOBAL float* RESTRICT c, int size) {
  SHARED float4 tile_a[DEEP][WIDE / 4];  // [k][row]
  SHARED float4 tile_b[DEEP][WIDE / 4];  // [k][column]
  SHARED_POINTER float* turned = (SHARED_POINTER float*)tile_a;
  const int tx = THREAD_X % 16, ty = THREAD_X / 16;
  const int top = BLOCK_Y * WIDE, left = BLOCK_X * WIDE;
  const int a_row = THREAD_X / 2, a_k = THREAD_X % 2 * 4;   // the float4 of a loaded by this thread
  const int b_k = THREAD_X / 32, b_column = THREAD_X % 32;  // likewise of b, in float4
  float sum[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) sum[i][j] = 0;

  for (int first = 0; first < size; first += DEEP) {
    float4 from_a = *(GLOBAL const float4*)(a + (top + a_row) * size + first + a_k);
    turned[(a_k + 0) * WIDE + a_row] = from_a.x;
    turned[(a_k + 1) * WIDE + a_row] = from_a.y;
    turned[(a_k + 2) * WIDE + a_row] = from_a.z;
    turned[(a_k + 3) * WIDE + a_row] = from_a.w;
    tile_b[b_k][b_column] = *(GLOBAL const float4*)(b + (first + b_k) * size + left + b_column * 4);
    BARRIER();
#pragma unroll
    for (int k = 0; k < DEEP; ++k) {
      float4 a0 = tile_a[k][ty], a1 = tile_a[k][16 + ty], b0 = tile_b[k][tx], b1 = tile_b[k][16 + tx];
      float rows[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      float columns[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(rows[i], columns[j], sum[i][j]);
    }
    BARRIER();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    GLOBAL float* out = c + (top + i / 4 * 64 + ty * 4 + i % 4) * size + left + tx * 4;
#pragma unroll
    for (int j = 0; j < 8; ++j) out[j / 4 * 64 + j % 4] = sum[i][j];
  }
}

// The peak: chains of multiply-adds in registers, enough of them to hide the latency.
#define CHAINS 16
KERNEL_OF(256, 1) multiply_adds(GLOBAL float* RESTRICT out, float factor, float offset, int steps) {
  float x[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) x[i] = i;
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) x[i] = fmaf(x[i], factor, offset);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sum += x[i];
  out[BLOCK_X * THREADS_X + THREAD_X] = sum;
}
