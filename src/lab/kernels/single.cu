// Values of FP32, under the names that half.cu has for those of 16 bits.
#define FP32 3
#define ELEMENT float
#define value_of(element, format) (element)
#define element_of(value, format) (value)
