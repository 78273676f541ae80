// For tests of this folder: a small model file that engines run, and a plan for it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/tensor.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace ridge::tune {

// Just enough of protobuf's encoding to write an ONNX model: field numbers as in onnx.proto.
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

inline std::string value_info(const std::string& name, const std::string& first_dimension, int64_t second) {
  const std::string shape = block(1, block(2, first_dimension)) + block(1, number(1, static_cast<uint64_t>(second)));
  return block(1, name) + block(2, block(1, number(1, 1) + block(2, shape)));
}

// rows × columns of values that spread over [-1, 1], different for each `seed`.
inline std::string weight(const std::string& name, int64_t rows, int64_t columns, int seed) {
  std::string raw;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto value = static_cast<float>(std::sin(static_cast<double>(i * 7 + seed)));
    raw.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return number(1, static_cast<uint64_t>(rows)) + number(1, static_cast<uint64_t>(columns)) + number(2, 1) +
         block(8, name) + block(9, raw);
}

inline std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                        const std::string& output) {
  std::string bytes;
  for (const std::string& input : inputs) bytes += block(1, input);
  return block(1, bytes + block(2, output) + block(3, name) + block(4, op));
}

// x FP32 [rows,16] → first (MatMul) → Relu → second (MatMul) → y FP32 [rows,8].
inline std::string two_layers() {
  const std::string graph = node("MatMul", "first", {"x", "w1"}, "a") + node("Relu", "relu", {"a"}, "b") +
                            node("MatMul", "second", {"b", "w2"}, "y") + block(2, "g") +
                            block(5, weight("w1", 16, 32, 1)) + block(5, weight("w2", 32, 8, 2)) +
                            block(11, value_info("x", "rows", 16)) + block(12, value_info("y", "rows", 8));
  return number(1, 8) + block(7, graph) + block(8, number(2, 17));
}

inline std::string test_folder() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "/" + test->test_suite_name() + "-" + test->name() + "-" + std::to_string(getpid());
}

// two_layers() in `folder`, for one row on one thread.
inline plan::Plan two_layer_plan(const std::string& folder) {
  plan::Plan plan;
  plan.model = folder + "/model.onnx";
  plan.threads = 1;
  plan.shapes["x"] = {1, 16};
  EXPECT_TRUE(write_file_atomically(plan.model, two_layers()));
  return plan;
}

template <typename T>
Tensor tensor_of(DataType type, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor{type, shape, Buffer(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

}  // namespace ridge::tune
