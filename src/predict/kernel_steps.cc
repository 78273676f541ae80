#include "predict/kernel_steps.h"

#include <algorithm>
#include <string_view>

#include "model/domains.h"

namespace ridge::predict {
namespace {

cost::Operand tensor(Shape shape, bool weight = false) { return {true, DataType::kFp32, std::move(shape), weight, {}}; }

ExecutedKernel step(std::string op, std::vector<cost::Operand> inputs, Shape output, double times) {
  Kernel kernel;
  kernel.name = op;
  kernel.op = std::move(op);
  kernel.inputs = std::move(inputs);
  kernel.outputs = {tensor(std::move(output))};
  return {std::move(kernel), times, {}, false};
}

// The state of every step meets the same weights, just read by the previous step: a near operand, not a distant weight as in
// other multiplications of few rows.
ExecutedKernel state_matmul(int64_t rows, int64_t depth, int64_t columns, double times) {
  return step("MatMul", {tensor({rows, depth}), tensor({depth, columns})}, {rows, columns}, times);
}

// [rows, depth] · weights [depth, columns]
ExecutedKernel product(int64_t rows, int64_t depth, int64_t columns, double times) {
  return step("MatMul", {tensor({rows, depth}), tensor({depth, columns}, true)}, {rows, columns}, times);
}

ExecutedKernel elementwise(const char* op, int64_t elements, double times) {
  return step(op, {tensor({1, elements})}, {1, elements}, times);
}

const Shape* whole_shape(const std::vector<cost::Operand>& operands, size_t i, size_t rank) {
  if (i >= operands.size() || !operands[i].present || !operands[i].shape || operands[i].shape->size() != rank)
    return nullptr;
  const Shape& shape = *operands[i].shape;
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; }) ? &shape : nullptr;
}

// core/providers/cpu/rnn/uni_directional_lstm.cc, deep_cpu_gru.cc, rnn.cc: per direction one multiplication of all inputs with
// the weights of all gates; then step by step one with the state, and the gates' functions. A GRU multiplies the state in two
// parts, because its third gate needs the second.
std::vector<ExecutedKernel> recurrent(const Kernel& kernel, int64_t gates) {
  const Shape *x = whole_shape(kernel.inputs, 0, 3), *w = whole_shape(kernel.inputs, 1, 3);
  if (x == nullptr || w == nullptr) return {};
  const bool batch_first = attribute_or<int64_t>(kernel, "layout", 0) == 1;
  const int64_t length = (*x)[batch_first ? 1 : 0], batch = (*x)[batch_first ? 0 : 1];
  const int64_t units = (*w)[1] / gates, depth = (*w)[2];
  const auto directions = static_cast<double>((*w)[0]), turns = directions * static_cast<double>(length);
  std::vector<ExecutedKernel> steps = {product(length * batch, depth, gates * units, directions)};
  if (gates == 3) {
    steps.push_back(state_matmul(batch, units, 2 * units, turns));
    steps.push_back(state_matmul(batch, units, units, turns));
  } else {
    steps.push_back(state_matmul(batch, units, gates * units, turns));
  }
  // Sigmoid for all gates, tanh for input and output.
  if (gates > 1) steps.push_back(elementwise("Sigmoid", batch * (gates == 4 ? 3 : 2) * units, turns));
  steps.push_back(elementwise("Tanh", batch * (gates == 4 ? 2 : 1) * units, turns));
  return steps;
}

// core/providers/cpu/nn/conv_transpose.cc: per image and group the filters [out · taps, in] times the image [in, positions];
// the results are added where windows overlap.
std::vector<ExecutedKernel> transposed_convolution(const Kernel& kernel) {
  const size_t rank = kernel.inputs.size() < 2 || !kernel.inputs[0].shape ? 0 : kernel.inputs[0].shape->size();
  const Shape *x = whole_shape(kernel.inputs, 0, rank), *w = whole_shape(kernel.inputs, 1, rank);
  if (rank < 3 || x == nullptr || w == nullptr) return {};
  const int64_t group = std::max<int64_t>(1, attribute_or<int64_t>(kernel, "group", 1));
  int64_t taps = 1, positions = 1;
  for (size_t i = 2; i < rank; ++i) {
    taps *= (*w)[i];
    positions *= (*x)[i];
  }
  const double times = static_cast<double>((*x)[0] * group);
  const int64_t rows = (*w)[1] * taps, depth = (*w)[0] / group;
  return {step("MatMul", {tensor({rows, depth}), tensor({depth, positions})}, {rows, positions}, times),
          elementwise("Neg", rows * positions, times)};
}

// core/providers/cpu/llm/attention.cc: per head the scores, softmax over them, and the mean of the values. Operands are
// [batch, heads, length, size], or [batch, length, heads · size] with the heads as attributes.
std::vector<ExecutedKernel> attention(const Kernel& kernel) {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, size = 0, value_size = 0;
  if (const Shape* q = whole_shape(kernel.inputs, 0, 4)) {
    const Shape *k = whole_shape(kernel.inputs, 1, 4), *v = whole_shape(kernel.inputs, 2, 4);
    if (k == nullptr || v == nullptr) return {};
    batch = (*q)[0], heads = (*q)[1], queries = (*q)[2], size = (*q)[3], keys = (*k)[2], value_size = (*v)[3];
  } else if (const Shape* flat = whole_shape(kernel.inputs, 0, 3)) {
    const Shape *k = whole_shape(kernel.inputs, 1, 3), *v = whole_shape(kernel.inputs, 2, 3);
    heads = attribute_or<int64_t>(kernel, "q_num_heads", 0);
    const int64_t value_heads = attribute_or<int64_t>(kernel, "kv_num_heads", heads);
    if (k == nullptr || v == nullptr || heads < 1 || value_heads < 1) return {};
    batch = (*flat)[0], queries = (*flat)[1], size = (*flat)[2] / heads, keys = (*k)[1];
    value_size = (*v)[2] / value_heads;
  } else {
    return {};
  }
  if (const Shape* past = whole_shape(kernel.inputs, 4, 4)) keys += (*past)[2];
  const Shape scores = {batch, heads, queries, keys};
  return {step("MatMul", {tensor({batch, heads, queries, size}), tensor({batch, heads, size, keys})}, scores, 1),
          step("Softmax", {tensor(scores)}, scores, 1),
          step("MatMul", {tensor(scores), tensor({batch, heads, keys, value_size})},
               {batch, heads, queries, value_size}, 1)};
}

// mlas/lib/qgemm.cpp, qlinearconv.cc: products of the same sizes as in FP32, channels last; depthwise ones walk the image as
// those in FP32 do.
std::vector<ExecutedKernel> integer_convolution(const Kernel& kernel, size_t weight, double integer_share) {
  const size_t rank = kernel.inputs.empty() || !kernel.inputs[0].shape ? 0 : kernel.inputs[0].shape->size();
  const Shape *x = whole_shape(kernel.inputs, 0, rank), *y = whole_shape(kernel.outputs, 0, rank);
  const Shape* w = whole_shape(kernel.inputs, weight, rank);
  if (rank < 3 || x == nullptr || y == nullptr || w == nullptr) return {};
  const int64_t group = std::max<int64_t>(1, attribute_or<int64_t>(kernel, "group", 1));
  if (group > 1 && (*w)[1] == 1 && rank == 4) {
    ExecutedKernel walk = step("Conv", {tensor(*x), tensor(*w, true)}, *y, 1);
    walk.kernel.domain = model::kBlocked;
    walk.kernel.attributes = kernel.attributes;
    return {walk};
  }
  int64_t positions = (*y)[0], depth = (*w)[1];
  for (size_t i = 2; i < rank; ++i) {
    positions *= (*y)[i];
    depth *= (*w)[i];
  }
  return {product(positions, depth, (*w)[0] / group, static_cast<double>(group) * integer_share)};
}

std::vector<ExecutedKernel> integer_product(const Kernel& kernel, size_t right, double integer_share) {
  if (kernel.inputs.size() <= right || kernel.outputs.empty()) return {};
  const auto &x = kernel.inputs[0].shape, &w = kernel.inputs[right].shape, &y = kernel.outputs[0].shape;
  if (!x || !w || !y || w->size() < 2 || y->empty() || element_count(*y).value_or(-1) < 0) return {};
  ExecutedKernel whole = step("MatMul", {tensor(*x), tensor(*w, kernel.inputs[right].weight)}, *y, integer_share);
  for (const char* flag : {"transA", "transB"})
    if (auto found = kernel.attributes.find(flag); found != kernel.attributes.end())
      whole.kernel.attributes.insert(*found);
  return {whole};
}

// Operators that ONNX Runtime computes by the kernels of others.
struct Composition {
  std::string_view domain, op;
  std::vector<ExecutedKernel> (*steps)(const Kernel& kernel);
};
constexpr Composition kCompositions[] = {
    {"", "LSTM", [](const Kernel& kernel) { return recurrent(kernel, 4); }},
    {"", "GRU", [](const Kernel& kernel) { return recurrent(kernel, 3); }},
    {"", "RNN", [](const Kernel& kernel) { return recurrent(kernel, 1); }},
    {"", "ConvTranspose", transposed_convolution},
    {"", "Attention", attention},
};

struct IntegerComposition {
  std::string_view op;
  std::vector<ExecutedKernel> (*steps)(const Kernel& kernel, size_t weight, double integer_share);
  size_t weight = 1;  // its input, where the scales and zero points are inputs too
};
constexpr IntegerComposition kIntegerCompositions[] = {
    // of every domain
    {"QLinearConv", integer_convolution, 3}, {"ConvInteger", integer_convolution},
    {"QLinearMatMul", integer_product, 3},   {"QGemm", integer_product, 3},
    {"MatMulInteger", integer_product},      {"MatMulIntegerToFloat", integer_product},
};

}  // namespace

double integer_share_of(double fp32_per_s, double int8_per_s) {
  constexpr double kReached = 2.9 / 4;
  return int8_per_s > 0 && fp32_per_s > 0 ? fp32_per_s / int8_per_s / kReached : 1;
}

std::vector<ExecutedKernel> steps_of(const Kernel& kernel, double integer_share) {
  for (const auto& [op, steps, weight] : kIntegerCompositions)
    if (op == kernel.op) return steps(kernel, kernel.inputs.size() > 3 ? weight : 1, integer_share);
  for (const auto& [domain, op, steps] : kCompositions)
    if (op == kernel.op && domain == kernel.domain) return steps(kernel);
  return {};
}

}  // namespace ridge::predict
