#include "base/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "base/number_type.h"

namespace ridge {
namespace {

template <typename T>
T read_at(std::span<const std::byte> data, size_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void write_at(std::byte* data, size_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

// Wide enough for every integer type.
__extension__ typedef __int128 Wide;  // NOLINT: `using` cannot carry the extension mark

Wide integer_at(DataType type, std::span<const std::byte> data, size_t index) {
  const auto read = [&](auto number) { return static_cast<Wide>(read_at<decltype(number)>(data, index)); };
  return with_number_type(type, read, [] { return Wide{0}; });
}

// False: the value does not fit.
bool write_integer(DataType type, std::byte* data, size_t index, Wide value) {
  const auto write = [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
      write_at(data, index, static_cast<T>(value));
    }
    return std::is_integral_v<T>;
  };
  return with_number_type(type, write, [] { return false; });
}

}  // namespace

bool is_floating(DataType type) {
  return type == DataType::kFp16 || type == DataType::kFp32 || type == DataType::kFp64 || type == DataType::kBf16;
}

bool is_integer(DataType type) {
  return type != DataType::kInvalid && type != DataType::kBool && type != DataType::kBytes && !is_floating(type);
}

double element(DataType type, std::span<const std::byte> data, size_t index) {
  if (type == DataType::kFp16) return from_fp16(read_at<uint16_t>(data, index));
  if (type == DataType::kBf16) return from_bf16(read_at<uint16_t>(data, index));
  const auto read = [&](auto number) { return static_cast<double>(read_at<decltype(number)>(data, index)); };
  return with_number_type(type, read, [&] { return static_cast<double>(read_at<uint8_t>(data, index)); });
}

void set_element(DataType type, std::byte* data, size_t index, double value) {
  switch (type) {
    case DataType::kFp64: return write_at(data, index, value);
    case DataType::kFp16: return write_at(data, index, to_fp16(value));
    case DataType::kBf16: return write_at(data, index, to_bf16(static_cast<float>(value)));
    default: return write_at(data, index, static_cast<float>(value));
  }
}

std::vector<double> elements(const TensorView& tensor) {
  size_t size = std::max<size_t>(1, data_type_size(tensor.type));
  std::vector<double> values(tensor.data.size() / size);
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(tensor.type, tensor.data, i);
  return values;
}

Tensor copy_of(const TensorView& tensor) {
  Tensor copy{tensor.type, tensor.shape, Buffer(tensor.data.size())};
  std::copy(tensor.data.begin(), tensor.data.end(), copy.data.data());
  return copy;
}

Result<Tensor> converted(const TensorView& tensor, DataType type, const std::string& what) {
  const bool floating = is_floating(tensor.type) && is_floating(type);
  if (!floating && tensor.type != type && !(is_integer(tensor.type) && is_integer(type)))
    return Error{Code::kInvalid, fmt::format("{} holds {} values, the model takes {}: save it as that type", what,
                                             data_type_name(tensor.type), data_type_name(type))};
  if (tensor.type == type) return copy_of(tensor);
  const size_t count = tensor.data.size() / data_type_size(tensor.type);
  Tensor result{type, tensor.shape, Buffer(count * data_type_size(type))};
  for (size_t i = 0; i < count; ++i) {
    if (floating)
      set_element(type, result.data.data(), i, element(tensor.type, tensor.data, i));
    else if (!write_integer(type, result.data.data(), i, integer_at(tensor.type, tensor.data, i)))
      return Error{Code::kInvalid, fmt::format("{} holds an integer out of range for {}, the model's type", what,
                                               data_type_name(type))};
  }
  return result;
}

}  // namespace ridge
