// After matmul_tensor.cu and warp_group.cu. The same product for Hopper, in blocks of 128 × 256: two groups of four
// warps multiply 64 rows of a with 256 of b, both in shared memory, without reading them into registers. One thread
// asks the tensor memory accelerator for whole steps, up to three ahead; a step's memory is filled again when both
// groups have done with it, while the next multiplications already run. Boxes lie as PIECE_AT has it
// (CU_TENSOR_MAP_SWIZZLE_128B).
#define GROUP_STAGES 4
#define GROUP_STAGE ((SIDE + 256) * ROW)  // words

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Rows of 128 bytes, swizzled, from a multiple of 1024 bytes on; those 8 rows on are 1024 bytes on. Source: PTX ISA,
// "Matrix Descriptor Format" of wgmma: address, leading and stride offset in units of 16 bytes, swizzling 1 of 128
// bytes.
DEVICE unsigned long long matrix_at(const WORD* rows) {
  return ((shared_address(rows) & 0x3ffff) >> 4) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

DEVICE void fetch_step(WORD* stages, ARRIVAL* arrivals, const TENSOR_MAP* a, const TENSOR_MAP* b, int step) {
  WORD* stage = stages + step % GROUP_STAGES * GROUP_STAGE;
  ARRIVAL* at = arrivals + step % GROUP_STAGES;
  expect_bytes(at, GROUP_STAGE * 4);
  fetch_box(stage, a, step * ROW, BLOCK_Y * SIDE, at);
  fetch_box(stage + SIDE * ROW, b, step * ROW, BLOCK_X * 256, at);
}

DEVICE void product_by_groups(const TENSOR_MAP* a, const TENSOR_MAP* b, float* c, int size, int words, WORD* stages,
                              ARRIVAL* arrivals, const int format) {
  const int steps = words / ROW;
  float sum[128];
  if (THREAD_X == 0) start_arrivals(arrivals, GROUP_STAGES);
  BARRIER();
  if (THREAD_X == 0)
    for (int step = 0; step < GROUP_STAGES && step < steps; ++step) fetch_step(stages, arrivals, a, b, step);
  for (int step = 0; step < steps; ++step) {
    const WORD* stage = stages + step % GROUP_STAGES * GROUP_STAGE;
    wait_for(arrivals + step % GROUP_STAGES, step / GROUP_STAGES % 2);
    const unsigned long long of_a = matrix_at(stage + THREAD_X / 128 * 64 * ROW), of_b = matrix_at(stage + SIDE * ROW);
    GROUP_BEGINS();
    UNROLL
    for (int k = 0; k < 4; ++k) multiply_group(sum, of_a + 2 * k, of_b + 2 * k, step + k > 0, format);  // 32 bytes on
    GROUP_QUEUED();
    GROUPS_DONE_BUT(1);
    BARRIER();  // both groups have done with the previous step
    if (THREAD_X == 0 && step > 0 && step - 1 + GROUP_STAGES < steps)
      fetch_step(stages, arrivals, a, b, step - 1 + GROUP_STAGES);
  }
  GROUPS_DONE_BUT(0);
  c += (BLOCK_Y * SIDE + THREAD_X / 32 * 16 + THREAD_X % 32 / 4) * size + BLOCK_X * 256 + THREAD_X % 4 * 2;
  UNROLL
  for (int i = 0; i < 32; ++i) {
    store_two(c + 8 * i, sum[4 * i], sum[4 * i + 1]);
    store_two(c + 8 * size + 8 * i, sum[4 * i + 2], sum[4 * i + 3]);
  }
}

#define HOPPER_PRODUCT_OF(name, format)                                                                \
  KERNEL_OF(256, 1) matmul_hopper_##name(TENSOR a, TENSOR b, float* RESTRICT c, int size, int words) { \
    DYNAMIC_SHARED(uint4, stages, GROUP_STAGES* GROUP_STAGE / 4);                                      \
    SHARED ARRIVAL arrivals[GROUP_STAGES];                                                             \
    product_by_groups(&a, &b, c, size, words, (WORD*)stages, arrivals, format);                        \
  }
#elif defined(__OPENCL_VERSION__)
#define HOPPER_PRODUCT_OF(name, format) PRODUCT_OF(matmul_hopper_##name, 256, format)  // to be launched in its place
#else
#define HOPPER_PRODUCT_OF(name, format)
#endif
HOPPER_PRODUCT_OF(fp16, FP16)
HOPPER_PRODUCT_OF(bf16, BF16)
HOPPER_PRODUCT_OF(tf32, TF32)
