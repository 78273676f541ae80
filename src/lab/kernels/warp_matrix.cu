// After half.cu. Multiplications of small matrices by the 32 threads of a warp: c[16][8] += a[16][8 words] · b[8][8
// words]ᵀ, where a 32-bit word holds two values of FP16 or BF16, or one of TF32. Thread `lane` = 4 · group + place of
// the warp holds
//   of a the words (row group, word place), (group + 8, place), (group, place + 4), (group + 8, place + 4),
//   of b the words (row group, word place), (group, place + 4),
//   of c the values (row group, column 2 · place), (group, 2 · place + 1), (group + 8, …), (group + 8, … + 1).
// Source: PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type" and "mma.m16n8k8" (TF32). Turing only
// has the FP16 instruction with half as many words, which is issued twice, and neither BF16 nor TF32. OpenCL has no
// such instructions: shared memory emulates them, slowly, so that layouts can be checked on any device.
#ifdef __OPENCL_VERSION__
#undef UNROLL
#define UNROLL __attribute__((opencl_unroll_hint(1)))  // emulated, a kernel unrolled takes a minute to compile
#define WARP_SCRATCH(warps) SHARED WORD warp_scratch[(warps) * 192]  // at a kernel's beginning
#define WITH_SCRATCH , SHARED_POINTER WORD* warp_scratch             // last parameter of a function that multiplies
#define GIVE_SCRATCH , warp_scratch

void multiply(float* c, const WORD* a, const WORD* b, const int format WITH_SCRATCH) {
  const int lane = THREAD_X % 32;
  SHARED_POINTER WORD* mine = warp_scratch + THREAD_X / 32 * 192;
  for (int i = 0; i < 4; ++i) mine[i * 32 + lane] = a[i];
  for (int i = 0; i < 2; ++i) mine[128 + i * 32 + lane] = b[i];
  BARRIER();
  UNROLL
  for (int i = 0; i < 4; ++i) {
    int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    UNROLL
    for (int k = 0; k < 8; ++k) {
      WORD of_a = mine[(row / 8 + k / 4 * 2) * 32 + row % 8 * 4 + k % 4],
           of_b = mine[128 + k / 4 * 32 + column * 4 + k % 4];
      if (format == TF32)
        c[i] += as_float(of_a) * as_float(of_b);
      else
        for (int which = 0; which < 32; which += 16)
          c[i] += value_of(of_a >> which, format) * value_of(of_b >> which, format);
    }
  }
  BARRIER();
}

// Four matrices of eight rows of 16 bytes: thread `lane` gives the address of row lane % 8 of matrix lane / 8, and
// to[i] is the word (row group, word place) of matrix i. Turned, it is the values (2 · place, group) and (2 · place +
// 1, group) of a matrix of 16-bit values. Source: PTX ISA, "ldmatrix".
void load_four(WORD* to, SHARED_POINTER const WORD* row WITH_SCRATCH) {
  const int lane = THREAD_X % 32;
  SHARED_POINTER WORD* mine = warp_scratch + THREAD_X / 32 * 192;
  for (int i = 0; i < 4; ++i) mine[4 * lane + i] = row[i];
  BARRIER();
  for (int i = 0; i < 4; ++i) to[i] = mine[32 * i + lane];
  BARRIER();
}
void load_four_turned(WORD* to, SHARED_POINTER const WORD* row WITH_SCRATCH) {
  const int lane = THREAD_X % 32;
  SHARED_POINTER WORD* mine = warp_scratch + THREAD_X / 32 * 192;
  for (int i = 0; i < 4; ++i) mine[4 * lane + i] = row[i];
  BARRIER();
  for (int i = 0; i < 4; ++i) {
    SHARED_POINTER const ushort* from = (SHARED_POINTER const ushort*)(mine + 32 * i + 8 * (lane % 4)) + lane / 4;
    to[i] = from[0] | (WORD)from[8] << 16;
  }
  BARRIER();
}

void copy_16_bytes(SHARED_POINTER WORD* to, GLOBAL const WORD* from) {
  *(SHARED_POINTER uint4*)to = *(GLOBAL const uint4*)from;
}
#define COPIES_QUEUED()
#define COPIES_DONE_BUT(count)

#define power_of_two(x) exp2(x)

#else
#define WARP_SCRATCH(warps)
#define WITH_SCRATCH
#define GIVE_SCRATCH

DEVICE void multiply(float* c, const WORD* a, const WORD* b, const int format) {
#if __CUDA_ARCH__ >= 800
#define RIDGE_MMA(shape, type)                                         \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "   \
               "{%0, %1, %2, %3};"                                     \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if (format == FP16) RIDGE_MMA("m16n8k16", "f16");
  if (format == BF16) RIDGE_MMA("m16n8k16", "bf16");
  if (format == TF32) RIDGE_MMA("m16n8k8", "tf32");
#undef RIDGE_MMA
#else
  for (int half = 0; half < 2; ++half)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
#endif
}

#define RIDGE_LDMATRIX(type)                                                              \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" type ".shared.b16 {%0, %1, %2, %3}, [%4];" \
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])                       \
               : "r"((unsigned)__cvta_generic_to_shared(row))                             \
               : "memory")
DEVICE void load_four(WORD* to, const WORD* row) { RIDGE_LDMATRIX(""); }
DEVICE void load_four_turned(WORD* to, const WORD* row) { RIDGE_LDMATRIX(".trans"); }
#undef RIDGE_LDMATRIX

// Fills shared memory asynchronously, bypassing the registers, on GPUs that can (from Ampere).
DEVICE void copy_16_bytes(WORD* to, const WORD* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
#else
  *(uint4*)to = *(const uint4*)from;
#endif
}
#if __CUDA_ARCH__ >= 800
#define COPIES_QUEUED() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_DONE_BUT(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")
#else
#define COPIES_QUEUED()
#define COPIES_DONE_BUT(count)
#endif

// One instruction, for sums that do not notice that subnormal results are zero. exp2f scales them, by three more.
DEVICE float power_of_two(float x) {
  asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  return x;
}
#endif
