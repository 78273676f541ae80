// For tests of this folder: a small model file that engines run, and a plan for it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/element.h"
#include "base/file.h"
#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/test_model.h"
#include "plan/plan.h"

namespace ridge::precision {

// rows × columns of values that spread over [-1, 1], different for each `seed`.
inline std::string weight(const std::string& name, int64_t rows, int64_t columns, int seed) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i * 7) + seed));
  return engine::test_model::weights(name, {rows, columns}, values);
}

// x FP32 [n,16] → first (MatMul) → Relu → second (MatMul) → y FP32 [n,8].
inline std::string two_layers() {
  using engine::test_model::block, engine::test_model::kFloat, engine::test_model::model, engine::test_model::node,
      engine::test_model::value_info;
  return model(node("MatMul", "first", {"x", "w1"}, "a") + node("Relu", "relu", {"a"}, "b") +
                   node("MatMul", "second", {"b", "w2"}, "y") + weight("w1", 16, 32, 1) + weight("w2", 32, 8, 2),
               block(11, value_info("x", kFloat, {-1, 16})), block(12, value_info("y", kFloat, {-1, 8})));
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
  return copy_of({type, shape, std::as_bytes(std::span(values))});
}

}  // namespace ridge::precision
