// L04. Every thread reads one float and writes one; only the order differs. Neighbouring threads read neighbouring
// floats with stride 1, and floats `stride` apart otherwise; all read each float once.
KERNEL read_with_stride(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int count, int stride) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  int rows = count / stride;
  out[i] = in[(i % rows) * stride + i / rows];
}
