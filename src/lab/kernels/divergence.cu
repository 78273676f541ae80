// L09. Every element goes one of two ways, as its sign says. The threads of a warp that go different ways take turns; where whole
// warps agree, each way is walked once. Which elements are negative is all that differs: alternating ones, or half and half.
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
