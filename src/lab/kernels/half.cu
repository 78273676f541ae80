// Values of 16 bits: FP16 is IEEE 754 binary16, BF16 the upper half of binary32. Two of them, or one of TF32 (the upper
// 19 bits of binary32), are a word. Kernels compute in FP32.
#define FP16 0
#define BF16 1
#define TF32 2

#ifdef __OPENCL_VERSION__
#define WORD uint
#define ELEMENT ushort

float value_of(ELEMENT bits, const int format) {
  return format == BF16 ? as_float((WORD)bits << 16) : vload_half(0, (const half*)&bits);
}

// Rounds to nearest, ties to even.
ELEMENT element_of(float value, const int format) {
  ELEMENT bits;
  WORD all = as_uint(value);
  if (format == BF16) return (all + 0x7fffu + ((all >> 16) & 1)) >> 16;
  vstore_half(value, 0, (half*)&bits);
  return bits;
}

WORD word_of(float low, float high, const int format) {
  return element_of(low, format) | (WORD)element_of(high, format) << 16;
}

#else
#define WORD unsigned int
#define ELEMENT unsigned short

DEVICE float value_of(ELEMENT bits, const int format) {
  float value;
  if (format == BF16) return __uint_as_float((WORD)bits << 16);
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

DEVICE ELEMENT element_of(float value, const int format) {
  ELEMENT bits;
  WORD all = __float_as_uint(value);
  if (format == BF16) return (all + 0x7fffu + ((all >> 16) & 1)) >> 16;  // GPUs before Ampere cannot round to it
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

DEVICE WORD word_of(float low, float high, const int format) {
#if __CUDA_ARCH__ >= 800
  WORD word;
  if (format == BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return element_of(low, format) | (WORD)element_of(high, format) << 16;
#endif
}
#endif
