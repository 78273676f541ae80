// L09. The sum of 256 values per block, written per block. The same tree in two orders.
#define THREADS 256

// Partners are 1, 2, 4, … apart: in every step all warps work, each with fewer active threads.
KERNEL_OF(THREADS, 1) sum_scattered(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out) {
  SHARED float part[THREADS];
  part[THREAD_X] = in[BLOCK_X * THREADS + THREAD_X];
  BARRIER();
  for (int step = 1; step < THREADS; step *= 2) {
    if (THREAD_X % (2 * step) == 0) part[THREAD_X] += part[THREAD_X + step];
    BARRIER();
  }
  if (THREAD_X == 0) out[BLOCK_X] = part[0];
}

// Partners are 128, 64, 32, … apart: the active threads are the first ones, whole warps until the last five steps.
KERNEL_OF(THREADS, 1) sum_together(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out) {
  SHARED float part[THREADS];
  part[THREAD_X] = in[BLOCK_X * THREADS + THREAD_X];
  BARRIER();
  for (int step = THREADS / 2; step > 0; step /= 2) {
    if (THREAD_X < step) part[THREAD_X] += part[THREAD_X + step];
    BARRIER();
  }
  if (THREAD_X == 0) out[BLOCK_X] = part[0];
}
