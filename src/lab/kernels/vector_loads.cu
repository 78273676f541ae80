// L05. The same copy with one, two or four floats per load and store.
KERNEL copy_float(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = in[i];
}

KERNEL copy_float2(GLOBAL const float2* RESTRICT in, GLOBAL float2* RESTRICT out) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = in[i];
}

KERNEL copy_float4(GLOBAL const float4* RESTRICT in, GLOBAL float4* RESTRICT out) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = in[i];
}
