// L08. Each thread adds up a polynomial of 64 values in different lines of memory. The variants differ in the number of
// simultaneous loads, each in its own register: with more, a thread waits less often; with fewer, more threads fit on a
// multiprocessor and hide each other's latency.
#define VALUES 64

#define SUM_OF_POLYNOMIALS(name, at_a_time)                                                      \
  KERNEL_WITH_ALL name(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int apart) { \
    int i = BLOCK_X * THREADS_X + THREAD_X;                                                      \
    float x[at_a_time], sum = 0;                                                                 \
    ONE_BY_ONE                                                                                   \
    for (int first = 0; first < VALUES; first += at_a_time) {                                    \
      ALL_AT_ONCE                                                                                \
      for (int j = 0; j < at_a_time; ++j) x[j] = in[(first + j) * apart + i];                    \
      ALL_AT_ONCE                                                                                \
      for (int j = 0; j < at_a_time; ++j) sum += fmaf(fmaf(x[j], 0.25f, -0.5f), x[j], 0.125f);   \
    }                                                                                            \
    out[i] = sum;                                                                                \
  }
#ifdef __OPENCL_VERSION__
#define KERNEL_WITH_ALL KERNEL_OF(256, 1)
#define ONE_BY_ONE __attribute__((opencl_unroll_hint(1)))
#define ALL_AT_ONCE __attribute__((opencl_unroll_hint))
#else
// One resident block suffices: the compiler need not save registers.
#define KERNEL_WITH_ALL extern "C" __global__ void __launch_bounds__(256, 1)
#define ONE_BY_ONE _Pragma("unroll 1")
#define ALL_AT_ONCE _Pragma("unroll")
#endif
SUM_OF_POLYNOMIALS(waits_for_64, 64)
SUM_OF_POLYNOMIALS(waits_for_16, 16)
SUM_OF_POLYNOMIALS(waits_for_4, 4)
