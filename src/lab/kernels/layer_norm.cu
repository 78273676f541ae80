// L13. out = sigmoid(layer_norm(in)) of rows of `columns` floats: mean and variance of a row become 0 and 1, then scale and shift per
// column. One block of 256 threads per row; columns is a multiple of 256.
#define THREADS 256
#define EPSILON 1e-5f

// Sum over the block, the same for all threads; `part` is 256 floats of shared memory.
#define SUM_OF_BLOCK(value, part)                                     \
  BARRIER();                                                          \
  part[THREAD_X] = value;                                             \
  BARRIER();                                                          \
  for (int half_of = THREADS / 2; half_of > 0; half_of /= 2) {        \
    if (THREAD_X < half_of) part[THREAD_X] += part[THREAD_X + half_of]; \
    BARRIER();                                                        \
  }                                                                   \
  value = part[0];

// moments[row] = mean, moments[rows + row] = 1 / standard deviation
KERNEL_OF(THREADS, 1) row_moments(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT moments, int columns) {
  SHARED float part[THREADS];
  GLOBAL const float* row = in + BLOCK_X * columns;
  float sum = 0, squares = 0;
  for (int i = THREAD_X; i < columns; i += THREADS) sum += row[i];
  SUM_OF_BLOCK(sum, part)
  float mean = sum / columns;
  for (int i = THREAD_X; i < columns; i += THREADS) squares += (row[i] - mean) * (row[i] - mean);
  SUM_OF_BLOCK(squares, part)
  if (THREAD_X == 0) {
    moments[BLOCK_X] = mean;
    moments[BLOCKS_X + BLOCK_X] = rsqrtf(squares / columns + EPSILON);
  }
}

KERNEL_OF(THREADS, 1) normalise(GLOBAL const float* RESTRICT in, GLOBAL const float* RESTRICT moments,
                                GLOBAL const float* RESTRICT scale, GLOBAL const float* RESTRICT shift,
                                GLOBAL float* RESTRICT out, int columns) {
  float mean = moments[BLOCK_X], inverse = moments[BLOCKS_X + BLOCK_X];
  for (int i = THREAD_X; i < columns; i += THREADS)
    out[BLOCK_X * columns + i] = fmaf((in[BLOCK_X * columns + i] - mean) * inverse, scale[i], shift[i]);
}

KERNEL_OF(THREADS, 1) sigmoid(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int columns) {
  for (int i = THREAD_X; i < columns; i += THREADS)
    out[BLOCK_X * columns + i] = 1 / (1 + expf(-in[BLOCK_X * columns + i]));
}

// All of it while the row is near: memory is read once and written once.
KERNEL_OF(THREADS, 1) layer_norm_sigmoid(GLOBAL const float* RESTRICT in, GLOBAL const float* RESTRICT scale,
                                         GLOBAL const float* RESTRICT shift, GLOBAL float* RESTRICT out, int columns) {
  SHARED float part[THREADS];
  GLOBAL const float* row = in + BLOCK_X * columns;
  float sum = 0, squares = 0;
  for (int i = THREAD_X; i < columns; i += THREADS) sum += row[i];
  SUM_OF_BLOCK(sum, part)
  float mean = sum / columns;
  for (int i = THREAD_X; i < columns; i += THREADS) squares += (row[i] - mean) * (row[i] - mean);
  SUM_OF_BLOCK(squares, part)
  float inverse = rsqrtf(squares / columns + EPSILON);
  for (int i = THREAD_X; i < columns; i += THREADS) {
    float value = fmaf((row[i] - mean) * inverse, scale[i], shift[i]);
    out[BLOCK_X * columns + i] = 1 / (1 + expf(-value));
  }
}
