// After warp_rows.cu, for Hopper alone (sm_90a). Multiplications of matrices in shared memory by the 128 threads of a
// warp group, which go on while the threads do: c[64][256] += a[64][8 words] · b[256][8 words]ᵀ. And copies of boxes of
// a matrix in global memory by the tensor memory accelerator, whose arrival a barrier in shared memory counts in bytes.
// Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", "Data Movement and
// Conversion Instructions: cp.async.bulk.tensor" and "Parallel Synchronization and Communication Instructions:
// mbarrier".
#ifdef __OPENCL_VERSION__
#define TENSOR GLOBAL const WORD*
#else
struct __align__(64) TENSOR_MAP {
  unsigned long long opaque[16];  // CUtensorMap
};
#define TENSOR const __grid_constant__ TENSOR_MAP
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ARRIVAL unsigned long long

DEVICE unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// One thread makes the barriers, before a BARRIER().
DEVICE void start_arrivals(ARRIVAL* all, int count) {
  for (int i = 0; i < count; ++i)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(all + i)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}

// The one arrival of this round, which is complete with that number of bytes.
DEVICE void expect_bytes(ARRIVAL* at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes)
               : "memory");
}

// `odd`: whether the round's number is.
DEVICE void wait_for(ARRIVAL* at, int odd) {
  for (unsigned done = 0; !done;)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared_address(at)), "r"(odd)
                 : "memory");
  __syncwarp();  // the threads may have left the loop one by one; what multiplies takes them together
}

// Queues the map's box that begins at (row, word).
DEVICE void fetch_box(WORD* to, const TENSOR_MAP* map, int word, int row, ARRIVAL* at) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(word), "r"(row), "r"(shared_address(at))
      : "memory");
}

#define GROUP_BEGINS() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define GROUP_QUEUED() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define GROUPS_DONE_BUT(count) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

#define RIDGE_4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define RIDGE_16(i) RIDGE_4(i), RIDGE_4(i + 4), RIDGE_4(i + 8), RIDGE_4(i + 12)
#define RIDGE_64(i) RIDGE_16(i), RIDGE_16(i + 16), RIDGE_16(i + 32), RIDGE_16(i + 48)
// `turned`: for formats of 16 bits, that neither side is.
#define RIDGE_WGMMA(shape, type, turned)                                                                               \
  asm volatile(                                                                                                        \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." type           \
      " {"                                                                                                             \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, " \
      "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, " \
      "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, " \
      "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "  \
      "%128, %129, p, 1, 1" turned ";\n}"                                                                              \
      : RIDGE_64(0), RIDGE_64(64)                                                                                      \
      : "l"(a), "l"(b), "r"(more))
// a, b: descriptors of matrices in shared memory. Thread t of the group holds in c[4 · i + j] row 16 · (t / 32) + t %
// 32 / 4 + j / 2 · 8, column 8 · i + t % 4 · 2 + j % 2. Source: PTX ISA, "Register Fragments for
// wgmma.mma_async.m64nNk16", D. Without `more`, c is replaced instead of added to: no other instruction may write it
// while multiplications are under way.
DEVICE void multiply_group(float* c, unsigned long long a, unsigned long long b, const int more, const int format) {
  if (format == FP16) RIDGE_WGMMA("m64n256k16", "f16", ", 0, 0");
  if (format == BF16) RIDGE_WGMMA("m64n256k16", "bf16", ", 0, 0");
  if (format == TF32) RIDGE_WGMMA("m64n256k8", "tf32", "");
}
#undef RIDGE_WGMMA
#undef RIDGE_64
#undef RIDGE_16
#undef RIDGE_4
#endif
