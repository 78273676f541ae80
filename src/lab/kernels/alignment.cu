// L03. A copy with reads `offset` floats after the start of a line: the threads of a warp then touch one line more.
KERNEL copy_from(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int offset) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = in[i + offset];
}
