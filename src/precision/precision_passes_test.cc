// Output of the passes of precision/ in the engine: it loads, runs in integers, and its results are near FP32.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "engine/engine.h"
#include "machine/isa.h"
#include "model/optimised.h"
#include "precision/convert.h"
#include "precision/quantise.h"
#include "precision/test_pass.h"
#include "precision/variants.h"
#include "zoo/builder.h"
#include "zoo/writer.h"

namespace ridge::precision {
namespace {

// Two residual blocks with normalisations, pooling and a classifier.
zoo::Blueprint small_cnn() {
  zoo::GraphBuilder b("cnn", 17);
  zoo::Feature x = {b.input("input", DataType::kFp32, {std::string("batch"), int64_t{3}, int64_t{16}, int64_t{16}}), 3};
  x = b.conv("stem", x, 16, {.kernel = 3, .bias = false, .gain = zoo::kReluGain});
  x.value = b.node("stem", "Relu", {b.batch_norm("stem.bn", x, 1).value});
  x.value = b.node("pool", "MaxPool", {x.value},
                   {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  for (const std::string block : {"a", "b"}) {
    zoo::Feature y = b.conv(block + ".1", x, 16, {.kernel = 3, .gain = zoo::kReluGain});
    y.value = b.node(block + ".1", "Relu", {y.value});
    y = b.conv(block + ".2", y, 16, {.kernel = 3, .gain = zoo::kResidualScale});
    x.value = b.node(block, "Relu", {b.add(block, y.value, x.value)});
  }
  zoo::Value flat = b.node("flatten", "Flatten", {b.node("average", "GlobalAveragePool", {x.value})});
  b.output(b.gemm("fc", flat, 16, 10, 1, "output"), DataType::kFp32, {std::string("batch"), int64_t{10}});
  return b.blueprint();
}

// Matrix multiplications as in transformers, and one as in perceptrons.
zoo::Blueprint small_mlp() {
  zoo::GraphBuilder b("mlp", 17);
  zoo::Value x = b.input("input", DataType::kFp32, {std::string("batch"), int64_t{64}});
  x = b.gelu("one", b.linear("one", x, 64, 128, 0.125F));
  x = b.layer_norm("norm", x, 128, 1e-5F);
  b.output(b.gemm("two", x, 128, 32, 1, "output"), DataType::kFp32, {std::string("batch"), int64_t{32}});
  return b.blueprint();
}

class PrecisionPasses : public testing::Test {
 protected:
  void SetUp() override {
    if (auto engine = engine::find_engine({}); !engine) GTEST_SKIP() << engine.error().message;
    folder_ = testing::TempDir() + "/passes" + std::to_string(getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name + ".onnx"; }

  void make(const zoo::Blueprint& blueprint) {
    input_shape_ = blueprint.name == "cnn" ? Shape{kRows, 3, 16, 16} : Shape{kRows, 64};
    ASSERT_TRUE(zoo::write(blueprint, 1, path("fp32")).ok());
  }

  // All outputs of the model, by name, for inputs that depend on the seed.
  std::map<std::string, std::vector<float>> run(const std::string& file, unsigned seed,
                                                const std::string& optimised = "") {
    plan::Plan plan;
    plan.model = file;
    plan.threads = 1;
    plan.optimised_model = optimised;
    auto session = engine::open(plan);
    EXPECT_TRUE(session.ok()) << session.error().message;
    if (!session) return {};
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(element_count(input_shape_).value()));
    for (float& value : values) value = normal(random);
    const TensorView input{DataType::kFp32, input_shape_, std::as_bytes(std::span(values))};
    const auto& specs = (*session)->signature().outputs;
    std::vector<int> wanted;
    for (size_t i = 0; i < specs.size(); ++i) wanted.push_back(static_cast<int>(i));
    std::vector<engine::Output> outputs(specs.size());
    const Status ran = (*session)->run({&input, 1}, wanted, outputs);
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    std::map<std::string, std::vector<float>> found;
    for (size_t i = 0; i < specs.size() && ran; ++i) {
      std::vector<float>& to = found[specs[i].name];
      to.resize(outputs[i].data.size() / sizeof(float));
      std::memcpy(to.data(), outputs[i].data.data(), outputs[i].data.size());
    }
    found["input"] = values;
    return found;
  }

  // Where products of 8 by 8 bits are added in 16, weights have 7.
  static QuantiseOptions for_this_cpu() { return quantise_options(machine::this_isa()); }

  // Quantises path("fp32") into path("int8") with the ranges of two inputs.
  void quantise(const QuantiseOptions& options = for_this_cpu()) {
    auto tensors = calibration_tensors(whole(path("fp32")), options);
    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    ASSERT_TRUE(expose_tensors(whole(path("fp32")), *tensors, path("exposed")).ok());
    TensorRanges ranges;
    for (unsigned seed : {1, 2}) {
      const auto values = run(path("exposed"), seed);
      for (const std::string& tensor : *tensors) {
        const auto [low, high] = std::minmax_element(values.at(tensor).begin(), values.at(tensor).end());
        auto [range, is_new] = ranges.try_emplace(tensor, TensorRange{*low, *high});
        range->second = {std::min<double>(range->second.minimum, *low), std::max<double>(range->second.maximum, *high)};
      }
    }
    auto report = quantise_static(whole(path("fp32")), ranges, options, path("int8"));
    ASSERT_TRUE(report.ok()) << report.error().message;
  }

  double cosine(const std::string& file) {
    const std::vector<float> a = run(path("fp32"), 3)["output"];
    const std::vector<float> b = run(file, 3, path("optimised"))["output"];
    EXPECT_EQ(a.size(), b.size());
    double product = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      product += static_cast<double>(a[i]) * b[i];
      aa += static_cast<double>(a[i]) * a[i];
      bb += static_cast<double>(b[i]) * b[i];
    }
    return product / std::sqrt(aa * bb);
  }

  // Kernels in the engine's optimised file of the last cosine() run.
  std::map<std::string, int> kernels() {
    auto graph = model::read_optimised(path("optimised"));
    EXPECT_TRUE(graph.ok());
    std::map<std::string, int> counts;
    if (graph)
      for (const model::Node& node : graph->nodes) ++counts[node.op];
    return counts;
  }

  static constexpr int64_t kRows = 4;
  std::string folder_;
  Shape input_shape_;
};

TEST_F(PrecisionPasses, StaticFormOfAConvolutionalModelRunsInIntegersThroughout) {
  make(small_cnn());
  quantise();
  EXPECT_GT(cosine(path("int8")), 0.99);
  std::map<std::string, int> counts = kernels();
  EXPECT_EQ(counts["QLinearConv"], 5);
  EXPECT_EQ(counts["QLinearAdd"], 2);
  EXPECT_EQ(counts["QGemm"], 1);
  EXPECT_EQ(counts["QuantizeLinear"], 1);  // of the input
  EXPECT_EQ(counts["Conv"] + counts["Relu"] + counts["DequantizeLinear"], 0);
}

TEST_F(PrecisionPasses, StaticFormOfMatrixProductsIsFused) {
  make(small_mlp());
  quantise();
  EXPECT_GT(cosine(path("int8")), 0.99);
  std::map<std::string, int> counts = kernels();
  EXPECT_EQ(counts["QGemm"], 2);
  EXPECT_EQ(counts["MatMul"] + counts["Gemm"] + counts["DequantizeLinear"], 0);
}

TEST_F(PrecisionPasses, SymmetricAndPerTensorFormsAreNearToo) {
  make(small_cnn());
  QuantiseOptions options = for_this_cpu();
  options.symmetric_activations = true;
  quantise(options);
  EXPECT_GT(cosine(path("int8")), 0.99);
  options.symmetric_activations = false;
  options.per_channel = false;
  options.reduce_range = true;
  quantise(options);
  EXPECT_GT(cosine(path("int8")), 0.98);
}

TEST_F(PrecisionPasses, DynamicFormIsFused) {
  make(small_mlp());
  ASSERT_TRUE(quantise_dynamic(whole(path("fp32")), for_this_cpu(), path("dynamic")).ok());
  EXPECT_GT(cosine(path("dynamic")), 0.999);
  EXPECT_EQ(kernels()["MatMulInteger"], 0);
}

TEST_F(PrecisionPasses, WeightOnlyFormsAreNear) {
  make(small_mlp());
  for (int bits : {4, 8}) {
    for (WeightNodes nodes : {WeightNodes::kMatMulNBits, WeightNodes::kDequantize}) {
      QuantiseOptions options;
      options.weight_nodes = nodes;
      ASSERT_TRUE(quantise_weights(whole(path("fp32")), bits, 32, options, path("weights")).ok());
      EXPECT_GT(cosine(path("weights")), bits == 4 ? 0.98 : 0.999) << bits << " bits";
    }
  }
}

TEST_F(PrecisionPasses, HalfPrecisionLoadsAndIsNear) {
  make(small_cnn());
  ASSERT_TRUE(convert(whole(path("fp32")), Precision::kFp16, {}, path("fp16")).ok());
  EXPECT_GT(cosine(path("fp16")), 0.9999);
  ConvertOptions stored;
  stored.weights_only = true;
  ASSERT_TRUE(convert(whole(path("fp32")), Precision::kBf16, stored, path("bf16")).ok());
  EXPECT_GT(cosine(path("bf16")), 0.999);
}

}  // namespace
}  // namespace ridge::precision
