// L11. A part of an array, from `first`: `steps` steps on each of its values.
KERNEL iterate(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int first, int steps) {
  int i = first + BLOCK_X * THREADS_X + THREAD_X;
  float x = in[i];
  for (int step = 0; step < steps; ++step) x = fmaf(x, 0.75f, 0.125f);
  out[i] = x;
}
