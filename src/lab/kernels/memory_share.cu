// L17. Every thread reads and writes memory in pieces of 16 bytes, neighbours side by side.
KERNEL copy_all(GLOBAL const float4* RESTRICT in, GLOBAL float4* RESTRICT out) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  out[i] = in[i];
}

KERNEL triad(GLOBAL const float4* RESTRICT first, GLOBAL const float4* RESTRICT second, GLOBAL float4* RESTRICT out,
             float factor) {
  int i = BLOCK_X * THREADS_X + THREAD_X;
  float4 a = first[i], b = second[i];
  a.x = fmaf(factor, b.x, a.x);
  a.y = fmaf(factor, b.y, a.y);
  a.z = fmaf(factor, b.z, a.z);
  a.w = fmaf(factor, b.w, a.w);
  out[i] = a;
}

// Each thread reads sixteen pieces, 256 apart, and writes their sum: the writes are negligible.
#define THREADS 256
#define PIECES 16
KERNEL_OF(THREADS, 1) read_all(GLOBAL const float4* RESTRICT in, GLOBAL float* RESTRICT sums) {
  GLOBAL const float4* from = in + BLOCK_X * THREADS * PIECES + THREAD_X;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < PIECES; ++i) {
    float4 piece = from[i * THREADS];
    sum += piece.x + piece.y + (piece.z + piece.w);
  }
  sums[BLOCK_X * THREADS + THREAD_X] = sum;
}
