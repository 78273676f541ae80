// Matrix multiplications. [M,K] times [K,N] is M·N·K multiply-adds.
#include "cost/einsum.h"
#include "cost/rules.h"

namespace ridge::cost {
namespace {

// Length of the contracted dimension: the last of A, the last but one if A is transposed; a vector's only one.
double inner(Context& context, size_t a, bool transposed) {
  const Shape* shape = context.input_shape(a);
  if (shape == nullptr || shape->empty()) return 0;
  size_t back = transposed && shape->size() > 1 ? 2 : 1;
  return static_cast<double>((*shape)[shape->size() - back]);
}

void product(Context& context, bool transposed) {
  context.multiply_adds(context.output_elements(0) * inner(context, 0, transposed));
}

void matmul(Context& context, double) { product(context, context.integer("transA", 0) != 0); }

// α·A·B + β·C; a factor of 1 costs nothing.
void gemm(Context& context, double) {
  product(context, context.integer("transA", 0) != 0);
  if (context.number("alpha", 1) != 1) per_output_element(context, 1);
  if (context.has_input(2)) {
    per_output_element(context, 1);
    if (context.number("beta", 1) != 1) context.add_flops(context.input_elements(2));
  }
  per_output_element(context, activation_flops(context.text("activation")));
}

void fused_matmul(Context& context, double) {
  product(context, context.integer("transA", 0) != 0);
  if (context.number("alpha", 1) != 1) per_output_element(context, 1);
  per_output_element(context, activation_flops(context.text("activation")));
}

void integer_matmul(Context& context, double requantise) {
  context.work.cost.precision = Precision::kInt8;
  product(context, false);
  per_output_element(context, requantise);
}

// A is quantised on the fly (5 per element, as DynamicQuantizeLinear), the result scaled and biased.
void dynamic_matmul(Context& context, double) {
  context.work.cost.precision = Precision::kInt8;
  product(context, false);
  per_input_element(context, 5);
  per_output_element(context, context.has_input(4) ? 2 : 1);
}

// A is already quantised; the integer result is scaled to floating point.
void integer_matmul_to_float(Context& context, double) {
  context.work.cost.precision = Precision::kInt8;
  product(context, false);
  per_output_element(context, context.has_input(6) ? 2 : 1);
}

// Weights of 2 to 8 bits, expanded (subtract, scale) beside the product. accuracy_level 4 computes in int8.
void matmul_nbits(Context& context, double) {
  if (context.integer("accuracy_level", 0) == 4) context.work.cost.precision = Precision::kInt8;
  double k = static_cast<double>(context.integer("K", 0));
  double n = static_cast<double>(context.integer("N", 0));
  context.multiply_adds(context.output_elements(0) * k);
  context.add_flops(2 * k * n);
}

void qgemm(Context& context, double) {
  context.work.cost.precision = Precision::kInt8;
  product(context, context.integer("transA", 0) != 0);
  per_output_element(context, context.has_input(6) ? 4 : 3);
}

void einsum(Context& context, double) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    const Shape* shape = context.input_shape(i);
    if (shape == nullptr) return;
    shapes.push_back(*shape);
  }
  EinsumWork work = einsum_work(context.text("equation"), shapes);
  if (!work.valid) return context.mark_unknown();
  context.multiply_adds(work.macs, work.needed_macs);
  context.add_flops(work.other_flops);
}

// Determinant by LU: 2/3·n³.
void determinant(Context& context, double) {
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr || shape->empty()) return;
  double n = static_cast<double>(shape->back());
  context.add_flops(2.0 / 3.0 * n * context.input_elements(0));
}

void linear_model(Context& context, double) {
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr || shape->empty()) return;
  size_t last = context.outputs.empty() ? 0 : context.outputs.size() - 1;  // scores, after the label
  context.multiply_adds(context.output_elements(last) * static_cast<double>(shape->back()), 0);
}

constexpr Rule kMatmulRules[] = {
    {kOnnx, "MatMul", matmul, 0, {kKeepsFactors, kMatMul}},
    {kOnnx, "Gemm", gemm, 0, {kKeepsInputForWeight, kMatMul}},
    {kOnnx, "Einsum", einsum, 0, {kKeepsFactors}},
    {kOnnx, "Det", determinant},
    {kOnnx, "MatMulInteger", integer_matmul, 0, {kIntegerProduct}},
    {kOnnx, "QLinearMatMul", integer_matmul, 3, {kQuantisedProduct}},  // scale, round, zero point
    {kMicrosoft, "FusedMatMul", fused_matmul, 0, {kKeepsFactors, kMatMul}},
    {kMicrosoft, "FusedMatMulActivation", fused_matmul},
    {kMicrosoft, "TransposeMatMul", fused_matmul},
    {kMicrosoft, "FusedGemm", gemm, 0, {kMatMul}},
    {kMicrosoft, "GemmFloat8", gemm},
    {kMicrosoft, "GemmFastGelu", fused_matmul},
    {kMicrosoft, "QGemm", qgemm, 0, {kQuantisedProduct}},
    {kMicrosoft, "MatMulInteger16", matmul},
    {kMicrosoft, "MatMulIntegerToFloat", integer_matmul_to_float, 0, {kIntegerProduct}},
    {kMicrosoft, "DynamicQuantizeMatMul", dynamic_matmul, 0, {kIntegerProduct}},
    {kMicrosoft, "MatMulNBits", matmul_nbits},
    {kMicrosoft, "MatMulBnb4", matmul_nbits},
    {kOnnxMl, "LinearRegressor", linear_model},
    {kOnnxMl, "LinearClassifier", linear_model},
};

}  // namespace

std::span<const Rule> matmul_rules() { return kMatmulRules; }

}  // namespace ridge::cost
