// The types whose multiply-adds are measured, with the same macros:
//   VALUE               operand of one multiply-add: a number, or a whole hardware vector (LANES, packed halves)
//   SPREAD(f)           a VALUE that is f throughout
//   STEP(x, a, b)       the multiply-add; with a = b = 1 it counts: x + 1, until the type's limit (8 bits: see below)
//   PLUS, MINUS         sum and difference
//   RESULT, TO_RESULT   the same as floats
// Defined before this text: one of FP64, FP32, FP16, BF16, INT8; in OpenCL also LANES (default 1; 2, 4, 8, 16).
// INT8: four products of 8-bit integers and a sum. The chain goes through the lowest byte of a factor, which prevents
// precomputation: x + 1, where x is first read as a signed byte.
#define JOINED(a, b) a##b
#define VECTOR(type, lanes) JOINED(type, lanes)

#ifdef __OPENCL_VERSION__

#ifndef LANES
#define LANES 1
#endif
#if defined FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define NUMBER double
#elif defined FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define NUMBER half
#elif defined INT8
#define NUMBER int
#elif defined FP32
#define NUMBER float
#else
#error OpenCL does not compute in this type
#endif
#if LANES == 1
#define VALUE NUMBER
#define RESULT float
#define TO_RESULT(x) ((float)(x))
#else
#define VALUE VECTOR(NUMBER, LANES)
#define RESULT VECTOR(float, LANES)
#define TO_RESULT(x) VECTOR(convert_float, LANES)(x)
#endif
#define SPREAD(f) ((VALUE)((NUMBER)(f)))
#ifdef INT8
#define STEP(x, a, b) (dot_4x8packed_ss_int((uint)(x), (uint)(a)) + (b))
#else
// Contracted, OpenCL C's default (6.12.2 of its 1.2 specification); fma() of pocl splits vectors of 16.
#define STEP(x, a, b) ((x) * (a) + (b))
#endif
#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))

#elif defined FP16 || defined BF16

// Two in one register. In assembly, to avoid CUDA headers.
#define VALUE unsigned
#define RESULT float2
#ifdef FP16
#define PACKED "f16"
#else
#define PACKED "bf16"
#endif
__device__ inline unsigned SPREAD(float f) {
  unsigned both;
  asm("{ .reg .b16 one; cvt.rn." PACKED ".f32 one, %1; mov.b32 %0, {one, one}; }" : "=r"(both) : "f"(f));
  return both;
}
__device__ inline unsigned STEP(unsigned x, unsigned a, unsigned b) {
  unsigned result;
  asm("fma.rn." PACKED "x2 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(a), "r"(b));
  return result;
}
__device__ inline unsigned PLUS(unsigned x, unsigned y) { return STEP(y, SPREAD(1), x); }
__device__ inline unsigned MINUS(unsigned x, unsigned y) { return STEP(y, SPREAD(-1), x); }
__device__ inline float2 TO_RESULT(unsigned x) {
#ifdef FP16
  float2 result;
  asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
      : "=f"(result.x), "=f"(result.y)
      : "r"(x));
  return result;
#else
  return make_float2(__uint_as_float(x << 16), __uint_as_float(x & 0xffff0000u));  // BF16 is the upper half of binary32
#endif
}

#else

#define RESULT float
#define TO_RESULT(x) ((float)(x))
#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))
#if defined FP64
#define VALUE double
#define STEP(x, a, b) fma(x, a, b)
#elif defined INT8
#define VALUE int
#define STEP(x, a, b) __dp4a(x, a, b)
#else
#define VALUE float
#define STEP(x, a, b) fmaf(x, a, b)
#endif
#define SPREAD(f) ((VALUE)(f))

#endif
