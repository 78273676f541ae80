// Only multiply-adds in registers: twelve independent chains per thread, eight steps per round. With factor = addend =
// 1 every chain counts its steps, so the output shows their number. Thread t starts chain k at k + t mod 8: neighbours
// never compute the same, which a compiler could merge. Needs arithmetic.cu. `cycles` receives the clock cycles of the
// first thread's chains; OpenCL has none: 0.
#ifdef __OPENCL_VERSION__
#define CYCLES() 0L
#else
#define CYCLES() clock64()
#endif
#define EVERY(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define BEGIN(k) VALUE x##k = SPREAD((float)(k + (THREAD_X & 7)));
#define GO(k) x##k = STEP(x##k, a, b);
#define END(k) total = PLUS(total, MINUS(x##k, x0));

KERNEL multiply_adds(GLOBAL RESULT* RESTRICT out, GLOBAL long* RESTRICT cycles, int rounds, float factor,
                     float addend) {
  const VALUE a = SPREAD(factor), b = SPREAD(addend);
  EVERY(BEGIN)
  const long before = CYCLES();
  for (int round = 0; round < rounds; ++round) {
    EVERY(GO) EVERY(GO) EVERY(GO) EVERY(GO) EVERY(GO) EVERY(GO) EVERY(GO) EVERY(GO)
  }
  if (BLOCK_X == 0 && THREAD_X == 0) cycles[0] = CYCLES() - before;
  VALUE total = x0;
  EVERY(END)
  out[BLOCK_X * THREADS_X + THREAD_X] = TO_RESULT(total);
}
