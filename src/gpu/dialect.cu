// One source, two languages: common names for what CUDA C++ and OpenCL C call differently. A kernel that needs more is
// written twice.
#ifdef __OPENCL_VERSION__
#define KERNEL __kernel void
#define KERNEL_OF(x, y) __kernel __attribute__((reqd_work_group_size(x, y, 1))) void  // blocks of x · y threads
#define DEVICE  // before the type of a function called by kernels
#define UNROLL  // before a loop whose arrays belong in registers
#define GLOBAL __global
#define SHARED __local
#define SHARED_POINTER __local                                      // a pointer to shared memory
#define DYNAMIC_SHARED(type, name, count) __local type name[count]  // of the size that the launch gives
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)  // all threads of the block have arrived, and see shared memory alike
#define THREAD_X ((int)get_local_id(0))
#define THREAD_Y ((int)get_local_id(1))
#define BLOCK_X ((int)get_group_id(0))
#define BLOCK_Y ((int)get_group_id(1))
#define THREADS_X ((int)get_local_size(0))  // per block
#define BLOCKS_X ((int)get_num_groups(0))   // in the grid
#define INFINITE INFINITY
#define expf exp
#define exp2f exp2
#define fmaf fma
#define fmaxf fmax
#define rsqrtf rsqrt
#else
#define KERNEL extern "C" __global__ void
#define KERNEL_OF(x, y) extern "C" __global__ void __launch_bounds__((x) * (y))
#define DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define GLOBAL
#define SHARED __shared__
#define SHARED_POINTER
#define DYNAMIC_SHARED(type, name, count) extern __shared__ __align__(1024) type name[]
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()
#define THREAD_X ((int)threadIdx.x)
#define THREAD_Y ((int)threadIdx.y)
#define BLOCK_X ((int)blockIdx.x)
#define BLOCK_Y ((int)blockIdx.y)
#define THREADS_X ((int)blockDim.x)
#define BLOCKS_X ((int)gridDim.x)
#define INFINITE __int_as_float(0x7f800000)
#endif

// Reduces `value` over all threads of the block, a power of two of them, into `value` of each: JOIN(a, b) is fmaxf or
// ADD. `part` is one float of shared memory per thread; it may be reused at once.
#define ADD(a, b) ((a) + (b))
#define OVER_BLOCK(JOIN, value, part, threads)                                           \
  BARRIER();                                                                             \
  part[THREAD_X] = value;                                                                \
  BARRIER();                                                                             \
  for (int other = (threads) / 2; other > 0; other /= 2) {                               \
    if (THREAD_X < other) part[THREAD_X] = JOIN(part[THREAD_X], part[THREAD_X + other]); \
    BARRIER();                                                                           \
  }                                                                                      \
  value = part[0];
