#include "tune/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::tune {
namespace {

using testing::HasSubstr;

// FP32 at 100 GFLOP/s, INT8 and BF16 at the given multiples; 0 = no such units.
machine::Machine machine_with(double int8, double bf16) {
  machine::Machine machine_with;
  machine_with.cpu.allowed_cpus = machine_with.cpu.allowed_cores = 1;
  for (auto [precision, times] :
       {std::pair(Precision::kFp32, 1.0), {Precision::kInt8, int8}, {Precision::kBf16, bf16}}) {
    if (times == 0) continue;
    machine::Peak peak;
    peak.precision = precision;
    peak.flops_per_s = 100e9 * times;
    machine_with.peaks.push_back(peak);
  }
  machine::Bandwidth memory;
  memory.level = "DRAM";
  memory.bytes_per_s = 10e9;
  machine_with.bandwidths.push_back(memory);
  return machine_with;
}

cost::Costs costs_of_op(const std::string& op, double bytes) {
  cost::Costs costs_of_op;
  cost::NodeCost node;
  node.op = op;
  node.kernel = cost::operator_of("", op).kernel;
  node.macs = 5e8;
  node.flops = node.needed_flops = 1e9;
  node.bytes_read = bytes;
  costs_of_op.nodes = {node};
  costs_of_op.flops = 1e9;
  costs_of_op.macs = 5e8;
  costs_of_op.compulsory_bytes = costs_of_op.compulsory_read = bytes;
  return costs_of_op;
}

bool wanted(const Choices& choices, const std::string& engine, const std::string& variant) {
  return std::find(choices.requests.begin(), choices.requests.end(), VariantRequest{engine, variant}) !=
         choices.requests.end();
}

std::string rejection(const Choices& choices, const std::string& engine, const std::string& variant) {
  for (const Rejection& rejection : choices.rejections)
    if (rejection.request == VariantRequest{engine, variant}) return rejection.id;
  return "none";
}

const std::vector<std::string> kBoth = {"onnxruntime", "openvino"};

TEST(Choices, AreWhatThePeaksOfTheMachineCanSpeedUp) {
  const Choices found = *choices(machine_with(4, 2), costs_of_op("Conv", 1e6), kBoth, {});
  EXPECT_EQ(found.requests.front(), (VariantRequest{"onnxruntime", "fp32"}));
  EXPECT_TRUE(wanted(found, "onnxruntime", "int8"));
  EXPECT_TRUE(wanted(found, "openvino", "fp32"));
  EXPECT_TRUE(wanted(found, "openvino", "bf16"));
  EXPECT_FALSE(wanted(found, "onnxruntime", "bf16")) << "it has no kernels for it";
  EXPECT_EQ(rejection(found, "openvino", "fp16"), "no-units");
}

TEST(Choices, BeginWithWhatCostsLeastToPrepare) {
  const Choices found = *choices(machine_with(4, 2), costs_of_op("MatMul", 1e9), kBoth, {});
  const auto at = [&](const char* engine, const char* variant) {
    return std::find(found.requests.begin(), found.requests.end(), VariantRequest{engine, variant}) -
           found.requests.begin();
  };
  EXPECT_LT(at("openvino", "fp32"), at("onnxruntime", "int8-dynamic"));
  EXPECT_LT(at("onnxruntime", "int8-dynamic"), at("onnxruntime", "int8"));
  EXPECT_LT(at("onnxruntime", "int8"), std::ssize(found.requests));
}

TEST(Choices, LeaveOutAPrecisionThatIsNoFasterHere) {
  const Choices found = *choices(machine_with(1, 0), costs_of_op("Conv", 1e6), kBoth, {});
  EXPECT_EQ(rejection(found, "onnxruntime", "int8"), "peak-not-higher");
  EXPECT_EQ(rejection(found, "openvino", "bf16"), "no-units");
}

TEST(Choices, TryInt8WhereItsPeakIsNotKnown) {
  EXPECT_TRUE(wanted(*choices(machine_with(0, 0), costs_of_op("Conv", 1e6), kBoth, {}), "onnxruntime", "int8"));
}

TEST(Choices, TryPassesOverProductsOnlyWhereTheseAreTheWork) {
  const Choices products = *choices(machine_with(4, 0), costs_of_op("MatMul", 1e6), kBoth, {});
  EXPECT_TRUE(wanted(products, "onnxruntime", "int8-dynamic"));
  EXPECT_EQ(rejection(products, "onnxruntime", "int4-weights"), "compute-limits");
  EXPECT_EQ(rejection(*choices(machine_with(4, 0), costs_of_op("Conv", 1e6), kBoth, {}), "onnxruntime", "int8-dynamic"),
            "few-matrices");
  EXPECT_TRUE(
      wanted(*choices(machine_with(4, 0), costs_of_op("MatMul", 1e9), kBoth, {}), "onnxruntime", "int4-weights"))
      << "memory limits it";
}

TEST(Choices, WhatWasAskedForByNameIsTriedWhateverThePeaksSay) {
  const Choices found = *choices(machine_with(1, 0), costs_of_op("Conv", 1e6), kBoth, {.variants = {{"int8"}}});
  EXPECT_TRUE(wanted(found, "onnxruntime", "int8"));
  EXPECT_TRUE(wanted(found, "openvino", "fp32"));
  EXPECT_FALSE(wanted(found, "openvino", "bf16"));
}

TEST(Choices, RefuseAnUnknownVariantWithTheNames) {
  Result<Choices> found = choices(machine_with(1, 0), costs_of_op("Conv", 1e6), kBoth, {.variants = {{"int3"}}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("int8-dynamic"));
}

TEST(Choices, SayWhatWasAskedForByNameAndNoEngineCanDo) {
  const std::vector<std::string> one = {"onnxruntime"};
  const Choices found = *choices(machine_with(4, 2), costs_of_op("Conv", 1e6), one, {.variants = {{"fp16", "int8"}}});
  EXPECT_EQ(rejection(found, "onnxruntime", "fp16"), "not-on-device");
  EXPECT_TRUE(wanted(found, "onnxruntime", "int8"));
  EXPECT_EQ(found.rejections.size(), 1u);
  EXPECT_TRUE(
      choices(machine_with(4, 2), costs_of_op("Conv", 1e6), kBoth, {.variants = {{"fp16"}}})->rejections.empty());
}

Target gpu_with(double fp16, plan::DeviceKind kind = plan::DeviceKind::kCuda) {
  cost::DeviceLimits limits;
  limits.device = "a GPU";
  limits.origin = Origin::kDatasheet;
  limits.flops_per_s = {{Precision::kFp32, 100e9}, {Precision::kFp16, 100e9 * fp16}};
  return {{kind, 0}, limits};
}

TEST(Choices, OnAGpuAreWhatItsOwnPeaksCanSpeedUp) {
  const std::vector<std::string> one = {"onnxruntime"};
  const cost::Costs costs = costs_of_op("Conv", 1e6);
  const Choices faster = *choices(machine_with(4, 2), costs, one, {}, gpu_with(8));
  EXPECT_TRUE(wanted(faster, "onnxruntime", "fp16"));
  EXPECT_FALSE(wanted(faster, "onnxruntime", "int8")) << "its kernels there are few";
  EXPECT_EQ(rejection(*choices(machine_with(4, 2), costs, one, {}, gpu_with(1)), "onnxruntime", "fp16"),
            "peak-not-higher");
  const Choices tensorrt = *choices(machine_with(4, 2), costs, one, {}, gpu_with(8, plan::DeviceKind::kTensorRt));
  EXPECT_TRUE(wanted(tensorrt, "onnxruntime", "fp16"));
  EXPECT_TRUE(wanted(tensorrt, "onnxruntime", "int8"));
}

}  // namespace
}  // namespace ridge::tune
