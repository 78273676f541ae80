// One piece of code for every type of tensor elements that is a type of numbers in C++, too.
#pragma once

#include <cstdint>

#include "base/tensor.h"

namespace ridge {

// use(T{}), where T is the C++ type of such elements; otherwise() for BOOL, FP16, BF16, BYTES and INVALID.
template <typename Use, typename Otherwise>
auto with_number_type(DataType type, Use use, Otherwise otherwise) -> decltype(otherwise()) {
  switch (type) {
    case DataType::kUint8: return use(uint8_t{});
    case DataType::kUint16: return use(uint16_t{});
    case DataType::kUint32: return use(uint32_t{});
    case DataType::kUint64: return use(uint64_t{});
    case DataType::kInt8: return use(int8_t{});
    case DataType::kInt16: return use(int16_t{});
    case DataType::kInt32: return use(int32_t{});
    case DataType::kInt64: return use(int64_t{});
    case DataType::kFp32: return use(float{});
    case DataType::kFp64: return use(double{});
    default: return otherwise();
  }
}

}  // namespace ridge
