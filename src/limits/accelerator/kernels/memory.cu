// Reads, writes and copies of memory, WIDE at a time: a vector of four floats, of sixteen if WIDE_LANES is 16. A
// thread's element at its i-th step: thread · by_thread + i · by_step, so that neighbours take neighbouring elements
// (GPUs) or each thread its own stretch (CPUs). Steps are a multiple of four. Every buffer is filled with 0, 1, 2, 3,
// 0, 1, …: the sum is 1.5 per float read.
#ifdef __OPENCL_VERSION__
#if WIDE_LANES == 16
#define WIDE float16
#define PATTERN ((float16)(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3))
#else
#define WIDE float4
#define PATTERN ((float4)(0, 1, 2, 3))
#endif
#define NOTHING ((WIDE)(0))
#define LOAD(pointer) (*(pointer))
#else
#define WIDE float4
#define PATTERN make_float4(0, 1, 2, 3)
#define NOTHING make_float4(0, 0, 0, 0)
#define LOAD(pointer) __ldcg(pointer)  // bypasses the first cache, which is not measured
__device__ inline float4 operator+(float4 x, float4 y) {
  return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
#endif
#define ME (BLOCK_X * THREADS_X + THREAD_X)

KERNEL write_all(GLOBAL WIDE* RESTRICT out, int steps, int by_thread, int by_step) {
  int at = ME * by_thread;
  for (int i = 0; i < steps; ++i, at += by_step) out[at] = PATTERN;
}

// Repeated passes over the same elements; in each, a block takes its neighbour's elements of the previous pass, so that
// its own cache does not hold them.
KERNEL read_all(GLOBAL const WIDE* RESTRICT in, GLOBAL WIDE* RESTRICT sums, int steps, int by_thread, int by_step,
                int passes) {
  WIDE a = NOTHING, b = NOTHING, c = NOTHING, d = NOTHING;
  for (int pass = 0; pass < passes; ++pass) {
    int at = (BLOCK_X + pass) % BLOCKS_X * THREADS_X + THREAD_X;
    at *= by_thread;
    for (int i = 0; i < steps; i += 4, at += 4 * by_step) {
      a = a + LOAD(in + at);
      b = b + LOAD(in + at + by_step);
      c = c + LOAD(in + at + 2 * by_step);
      d = d + LOAD(in + at + 3 * by_step);
    }
  }
  sums[ME] = (a + b) + (c + d);
}

KERNEL copy_all(GLOBAL const WIDE* RESTRICT in, GLOBAL WIDE* RESTRICT out, int steps, int by_thread, int by_step) {
  int at = ME * by_thread;
  for (int i = 0; i < steps; i += 4, at += 4 * by_step) {
    const WIDE a = LOAD(in + at), b = LOAD(in + at + by_step), c = LOAD(in + at + 2 * by_step),
               d = LOAD(in + at + 3 * by_step);
    out[at] = a;
    out[at + by_step] = b;
    out[at + 2 * by_step] = c;
    out[at + 3 * by_step] = d;
  }
}

// Memory shared by the threads of a block: each thread reads onwards, side by side with its neighbours. 16 KiB,
// available on every device; eight reads per round.
#define SHARED_WIDES (16 * 1024 / (int)sizeof(WIDE))
KERNEL read_shared(GLOBAL WIDE* RESTRICT sums, int rounds) {
  SHARED WIDE block[SHARED_WIDES];
  for (int i = THREAD_X; i < SHARED_WIDES; i += THREADS_X) block[i] = PATTERN;
  BARRIER();
  WIDE a = NOTHING, b = NOTHING, c = NOTHING, d = NOTHING;
  int at = THREAD_X;
#define TAKE(sum)        \
  sum = sum + block[at]; \
  at = (at + THREADS_X) & (SHARED_WIDES - 1);
  for (int round = 0; round < rounds; ++round) {
    TAKE(a) TAKE(b) TAKE(c) TAKE(d) TAKE(a) TAKE(b) TAKE(c) TAKE(d)
  }
  sums[ME] = (a + b) + (c + d);
}
