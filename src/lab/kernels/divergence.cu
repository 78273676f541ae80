// L09. Every element takes one of two branches, by its sign. Diverging threads of a warp run both branches in sequence;
// uniform warps run one. Only the positions of the negative elements differ: alternating, or half and half.
#define STEPS 64

KERNEL two_ways(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  float x = in[i];
  if (x < 0) {
    for (int step = 0; step < STEPS; ++step) x = fmaf(x, 0.75f, -0.125f) * 0.5f;
  } else {
    for (int step = 0; step < STEPS; ++step) x = fmaf(x * x, -0.5f, 0.875f);
  }
  out[i] = x;
}
