// L13. out = sigmoid(layer_norm(in)) of rows of `columns` floats: mean and variance of a row become 0 and 1, then scale
// and shift per column. One block of 256 threads per row; columns is a multiple of 256.
#define THREADS 256
#define EPSILON 1e-5f

// Declares `mean` and `inverse`, 1 / standard deviation, of a row.
#define MOMENTS_OF(row, columns)                                                                  \
  SHARED float part[THREADS];                                                                     \
  float mean = 0, inverse = 0;                                                                    \
  for (int i = THREAD_X; i < columns; i += THREADS) mean += row[i];                               \
  OVER_BLOCK(ADD, mean, part, THREADS)                                                            \
  mean /= columns;                                                                                \
  for (int i = THREAD_X; i < columns; i += THREADS) inverse += (row[i] - mean) * (row[i] - mean); \
  OVER_BLOCK(ADD, inverse, part, THREADS)                                                         \
  inverse = rsqrtf(inverse / columns + EPSILON);

// moments[row] = mean, moments[rows + row] = 1 / standard deviation
KERNEL_OF(THREADS, 1) row_moments(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT moments, int columns) {
  GLOBAL const float* row = in + BLOCK_X * columns;
  MOMENTS_OF(row, columns)
  if (THREAD_X == 0) {
    moments[BLOCK_X] = mean;
    moments[BLOCKS_X + BLOCK_X] = inverse;
  }
}

KERNEL_OF(THREADS, 1)
normalise(GLOBAL const float* RESTRICT in, GLOBAL const float* RESTRICT moments, GLOBAL const float* RESTRICT scale,
          GLOBAL const float* RESTRICT shift, GLOBAL float* RESTRICT out, int columns) {
  float mean = moments[BLOCK_X], inverse = moments[BLOCKS_X + BLOCK_X];
  for (int i = THREAD_X; i < columns; i += THREADS)
    out[BLOCK_X * columns + i] = fmaf((in[BLOCK_X * columns + i] - mean) * inverse, scale[i], shift[i]);
}

KERNEL_OF(THREADS, 1) sigmoid(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int columns) {
  for (int i = THREAD_X; i < columns; i += THREADS)
    out[BLOCK_X * columns + i] = 1 / (1 + expf(-in[BLOCK_X * columns + i]));
}

// All steps while the row is cached: memory is read once and written once.
KERNEL_OF(THREADS, 1)
layer_norm_sigmoid(GLOBAL const float* RESTRICT in, GLOBAL const float* RESTRICT scale,
                   GLOBAL const float* RESTRICT shift, GLOBAL float* RESTRICT out, int columns) {
  GLOBAL const float* row = in + BLOCK_X * columns;
  MOMENTS_OF(row, columns)
  for (int i = THREAD_X; i < columns; i += THREADS) {
    float value = fmaf((row[i] - mean) * inverse, scale[i], shift[i]);
    out[BLOCK_X * columns + i] = 1 / (1 + expf(-value));
  }
}
