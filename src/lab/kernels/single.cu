// FP32 values, with the names that half.cu uses for 16 bits.
#define FP32 3
#define ELEMENT float
#define value_of(element, format) (element)
#define element_of(value, format) (value)
