// L06. out = in · factor + offset, in blocks of any size.
KERNEL scale(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, float factor, float offset) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = fmaf(in[i], factor, offset);
}
