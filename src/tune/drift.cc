#include "tune/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace ridge::tune {
namespace {

template <typename T>
T read_at(std::span<const std::byte> data, size_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
double from_fp16(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  int fraction = bits & 1023;
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double from_bf16(uint16_t bits) {  // the upper half of an FP32
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

double element(DataType type, std::span<const std::byte> data, size_t index) {
  switch (type) {
    case DataType::kFp32: return read_at<float>(data, index);
    case DataType::kFp64: return read_at<double>(data, index);
    case DataType::kFp16: return from_fp16(read_at<uint16_t>(data, index));
    case DataType::kBf16: return from_bf16(read_at<uint16_t>(data, index));
    case DataType::kInt8: return read_at<int8_t>(data, index);
    case DataType::kInt16: return read_at<int16_t>(data, index);
    case DataType::kInt32: return read_at<int32_t>(data, index);
    case DataType::kInt64: return static_cast<double>(read_at<int64_t>(data, index));
    case DataType::kUint16: return read_at<uint16_t>(data, index);
    case DataType::kUint32: return read_at<uint32_t>(data, index);
    case DataType::kUint64: return static_cast<double>(read_at<uint64_t>(data, index));
    case DataType::kBool:
    case DataType::kUint8:
    case DataType::kBytes:  // its bytes, as numbers: equal or not is all that counts
    case DataType::kInvalid: break;
  }
  return read_at<uint8_t>(data, index);
}

std::vector<double> elements(const TensorView& tensor) {
  size_t size = std::max<size_t>(1, data_type_size(tensor.type));
  std::vector<double> values(tensor.data.size() / size);
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(tensor.type, tensor.data, i);
  return values;
}

}  // namespace

Status DriftMeter::add(const TensorView& reference, const TensorView& other) {
  if (reference.type != other.type || reference.shape != other.shape || reference.data.size() != other.data.size())
    return Error{Code::kFailed,
                 fmt::format("outputs cannot be compared: {} {} ({} bytes) against {} {} ({} bytes)",
                             data_type_name(reference.type), shape_text(reference.shape), reference.data.size(),
                             data_type_name(other.type), shape_text(other.shape), other.data.size())};
  std::vector<double> a = elements(reference);
  std::vector<double> b = elements(other);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::isinf(a[i]) && a[i] == b[i]) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      max_abs_ = difference_ = HUGE_VAL;
      continue;
    }
    double difference = std::abs(b[i] - a[i]);
    max_abs_ = std::max(max_abs_, difference);
    difference_ += difference * difference;
    reference_ += a[i] * a[i];
    other_ += b[i] * b[i];
    product_ += a[i] * b[i];
  }
  size_t row =
      reference.shape.empty() || reference.type == DataType::kBytes ? 0 : static_cast<size_t>(reference.shape.back());
  for (size_t start = 0; row > 1 && start + row <= a.size(); start += row) {
    auto top = [&](const std::vector<double>& values) {
      auto first = values.begin() + static_cast<std::ptrdiff_t>(start);
      return std::max_element(first, first + static_cast<std::ptrdiff_t>(row)) - first;
    };
    ++rows_;
    if (top(a) == top(b)) ++agreeing_rows_;
  }
  return {};
}

Drift DriftMeter::result() const {
  Drift drift;
  drift.max_abs = max_abs_;
  drift.relative_l2 = std::isinf(difference_) ? HUGE_VAL
                      : reference_ > 0        ? std::sqrt(difference_ / reference_)
                                              : (difference_ > 0 ? HUGE_VAL : 0);
  double norms = std::sqrt(reference_) * std::sqrt(other_);
  drift.cosine = norms > 0 ? std::clamp(product_ / norms, -1.0, 1.0) : (difference_ > 0 ? 0 : 1);
  drift.top1_agreement = rows_ > 0 ? static_cast<double>(agreeing_rows_) / static_cast<double>(rows_) : 1;
  return drift;
}

Json to_json(const Drift& drift) {
  Json json;
  json["max_abs"] = drift.max_abs;
  json["relative_l2"] = drift.relative_l2;
  json["cosine"] = drift.cosine;
  json["top1_agreement"] = drift.top1_agreement;
  return json;
}

}  // namespace ridge::tune
