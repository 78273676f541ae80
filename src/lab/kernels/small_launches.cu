// L12. Sixteen steps over a small array: one launch each, or all in one.
KERNEL one_step(GLOBAL float* x, float factor, float offset) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  x[i] = fmaf(x[i], factor, offset);
}

KERNEL first_step(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, float factor, float offset) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = fmaf(in[i], factor, offset);
}

KERNEL all_steps(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, float factor, float offset, int steps) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  float x = in[i];
  for (int step = 0; step < steps; ++step) x = fmaf(x, factor, offset);
  out[i] = x;
}
