// Small ONNX models for the engines' tests: just enough of protobuf's encoding, with field numbers as in onnx.proto.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace ridge::engine::test_model {

constexpr int kFloat = 1;
constexpr int kString = 8;

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}
inline std::string block(int field, const std::string& bytes) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

// ValueInfoProto. A negative dimension is the symbol "n".
inline std::string value_info(const std::string& name, int element_type, const Shape& shape) {
  std::string dimensions;
  for (int64_t d : shape) dimensions += block(1, d < 0 ? block(2, "n") : number(1, static_cast<uint64_t>(d)));
  return block(1, name) + block(2, block(1, number(1, static_cast<uint64_t>(element_type)) + block(2, dimensions)));
}

inline std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                        const std::string& output) {
  std::string bytes;
  for (const std::string& input : inputs) bytes += block(1, input);
  return block(1, bytes + block(2, output) + block(3, name) + block(4, op));
}

// An initialiser of the graph.
inline std::string weights(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  std::string dimensions;
  for (int64_t d : shape) dimensions += number(1, static_cast<uint64_t>(d));
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return block(5, dimensions + number(2, kFloat) + block(8, name) + block(9, raw));
}

inline std::string model(const std::string& nodes, const std::string& inputs, const std::string& outputs) {
  return number(1, 8) + block(7, nodes + block(2, "test") + inputs + outputs) + block(8, number(2, 17));
}

// x [n,4] → y [n,4], the same.
inline std::string identity(int element_type) {
  return model(node("Identity", "copy", {"x"}, "y"), block(11, value_info("x", element_type, {-1, 4})),
               block(12, value_info("y", element_type, {-1, 4})));
}

// y = softmax(relu(conv(x)) · b): x [n,3,8,8] → y [n,16,8,10]; weights are a fixed pattern around 0.
inline std::string convolution() {
  auto pattern = [](size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = (static_cast<float>(i * 7919 % 199) - 99) / 400;
    return values;
  };
  return model(node("Conv", "conv", {"x", "w"}, "c") + node("Relu", "relu", {"c"}, "r") +
                   node("MatMul", "product", {"r", "b"}, "m") + node("Softmax", "soft", {"m"}, "y") +
                   weights("w", {16, 3, 1, 1}, pattern(48)) + weights("b", {8, 10}, pattern(80)),
               block(11, value_info("x", kFloat, {-1, 3, 8, 8})), block(12, value_info("y", kFloat, {-1, 16, 8, 10})));
}

}  // namespace ridge::engine::test_model
