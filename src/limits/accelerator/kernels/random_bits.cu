// Numbers between 1/2 and 1 of either sign, with random fraction bits: factors with the power draw of real data (with
// zeros a GPU draws less power and clocks higher). Word i is a masked hash plus the fixed bits of the type's exponent;
// masks differ for even and odd words because a double has two. The hash: Jarzynski and Olano, "Hash Functions for GPU
// Rendering", JCGT 9 (2020) 3, pcg.
KERNEL random_bits(GLOBAL unsigned* RESTRICT out, int words, int seed, int keep_even, int set_even, int keep_odd,
                   int set_odd) {
  for (int i = BLOCK_X * THREADS_X + THREAD_X; i < words; i += BLOCKS_X * THREADS_X) {
    unsigned state = (unsigned)(i + seed) * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    word = (word >> 22) ^ word;
    out[i] =
        (i & 1) ? (word & (unsigned)keep_odd) | (unsigned)set_odd : (word & (unsigned)keep_even) | (unsigned)set_even;
  }
}
