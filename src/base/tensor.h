// The vocabulary of tensors, shared by models, engines and protocols: element types, shapes, and views of memory.
//
// Memory layout everywhere: packed, row-major, little-endian, as the Open Inference Protocol's binary form has it.
// BOOL is one byte 0/1. BYTES (strings) is, per element, a uint32 length and that many bytes; so every tensor is one
// contiguous block that can be concatenated along the first dimension whatever its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge {

enum class DataType : uint8_t {
  kInvalid,
  kBool,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFp16,
  kFp32,
  kFp64,
  kBytes,
  kBf16,
};

// "FP32", "BYTES", … as on the wire; "INVALID" for kInvalid.
std::string_view data_type_name(DataType type);
// Exact match of the wire name; anything else is kInvalid.
DataType data_type_from_name(std::string_view name);
// [bytes] per element; 0 for kBytes and kInvalid.
size_t data_type_size(DataType type);

// Dimensions, outermost first. -1 = not known before the request. Empty = a scalar.
using Shape = std::vector<int64_t>;

// Product of the dimensions; nullopt if one is negative or the product does not fit in int64.
std::optional<int64_t> element_count(std::span<const int64_t> shape);
// element_count × element size; nullopt likewise, and for BYTES.
std::optional<size_t> byte_size(DataType type, std::span<const int64_t> shape);
std::string shape_text(std::span<const int64_t> shape);  // "[1,3,224,224]"

struct TensorSpec {
  std::string name;
  DataType type = DataType::kInvalid;
  Shape shape;
};
// The spec of that name; null if there is none.
const TensorSpec* find_spec(const std::vector<TensorSpec>& specs, std::string_view name);

// Borrowed tensor. The memory belongs to the caller and outlives the call it is passed to.
struct TensorView {
  DataType type = DataType::kInvalid;
  Shape shape;
  std::span<const std::byte> data;
};

// Checks the block of a BYTES tensor: exactly `count` elements, no rest. The error says where it fails.
Status check_bytes_block(std::span<const std::byte> block, int64_t count);

// Byte buffer aligned to 64 (cache line, AVX-512 and what engines expect), not zeroed. Move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t size);  // throws std::bad_alloc only
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {data_.get(), size_}; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  size_t size_ = 0;
};

// Owning tensor.
struct Tensor {
  DataType type = DataType::kInvalid;
  Shape shape;
  Buffer data;
  TensorView view() const { return {type, shape, data.span()}; }
};

}  // namespace ridge
