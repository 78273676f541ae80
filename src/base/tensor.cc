#include "base/tensor.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/rounding.h"

namespace ridge {
namespace {

struct TypeRow {
  std::string_view name;
  size_t size;  // [bytes]
};

// Indexed by DataType. Names and sizes: Open Inference Protocol, "Tensor Data Types".
constexpr std::array<TypeRow, 15> kTypes = {{
    {"INVALID", 0},
    {"BOOL", 1},
    {"UINT8", 1},
    {"UINT16", 2},
    {"UINT32", 4},
    {"UINT64", 8},
    {"INT8", 1},
    {"INT16", 2},
    {"INT32", 4},
    {"INT64", 8},
    {"FP16", 2},
    {"FP32", 4},
    {"FP64", 8},
    {"BYTES", 0},
    {"BF16", 2},
}};

constexpr size_t kAlignment = 64;

}  // namespace

std::string_view data_type_name(DataType type) { return kTypes[static_cast<size_t>(type)].name; }

DataType data_type_from_name(std::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i)
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  return DataType::kInvalid;
}

size_t data_type_size(DataType type) { return kTypes[static_cast<size_t>(type)].size; }

std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, dim, &count)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

std::optional<size_t> byte_size(DataType type, std::span<const int64_t> shape) {
  size_t size = data_type_size(type);
  std::optional<int64_t> count = element_count(shape);
  if (size == 0 || !count) return std::nullopt;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, static_cast<int64_t>(size), &bytes)) return std::nullopt;
  return static_cast<size_t>(bytes);
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

const TensorSpec* find_spec(const std::vector<TensorSpec>& specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &TensorSpec::name);
  return found == specs.end() ? nullptr : &*found;
}

Status check_bytes_block(std::span<const std::byte> block, int64_t count) {
  size_t at = 0;
  int64_t seen = 0;
  while (at < block.size()) {
    if (seen == count)
      return Error{Code::kInvalid, std::to_string(block.size() - at) + " bytes remain after the last of " +
                                       std::to_string(count) + " elements"};
    uint32_t length = 0;
    if (block.size() - at < sizeof length)
      return Error{Code::kInvalid, "the length of element " + std::to_string(seen) + " is cut off"};
    std::memcpy(&length, block.data() + at, sizeof length);
    at += sizeof length;
    if (block.size() - at < length)
      return Error{Code::kInvalid, "element " + std::to_string(seen) + " claims " + std::to_string(length) +
                                       " bytes, only " + std::to_string(block.size() - at) + " are left"};
    at += length;
    ++seen;
  }
  if (seen != count)
    return Error{Code::kInvalid, "expected " + std::to_string(count) + " elements, found " + std::to_string(seen)};
  return {};
}

Buffer::Buffer(size_t size) : size_(size) {
  size_t rounded = round_up(size, kAlignment);
  if (rounded < size) throw std::bad_alloc();
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded));
  if (memory == nullptr) throw std::bad_alloc();
  data_.reset(memory);
}

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace ridge
