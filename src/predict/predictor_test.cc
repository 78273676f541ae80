// A machine that follows the model exactly must be predicted exactly; also between its timed sizes.
#include "predict/predictor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "predict/held_out.h"

namespace ridge::predict {
namespace {

cost::Operand operand(Shape shape, bool weight = false) {
  return {true, DataType::kFp32, std::move(shape), weight, {}};
}

Kernel relu(int64_t elements) {
  Kernel kernel;
  kernel.op = "Relu";
  kernel.inputs = {operand({1, elements})};
  kernel.outputs = {operand({1, elements})};
  return kernel;
}

Kernel product(int64_t m, int64_t n, int64_t k) {
  Kernel kernel;
  kernel.op = "MatMul";
  kernel.inputs = {operand({m, k}), operand({k, n}, true)};
  kernel.outputs = {operand({m, n})};
  return kernel;
}

Kernel convolution_kernel(int64_t in, int64_t out, int64_t size, int64_t window) {
  Kernel kernel;
  kernel.op = "Conv";
  kernel.domain = "com.microsoft.nchwc";
  const int64_t pad = window / 2;
  kernel.attributes = {{"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                       {"strides", std::vector<int64_t>{1, 1}},
                       {"group", int64_t{1}}};
  kernel.inputs = {operand({1, in, size, size}), operand({out, in, window, window}, true)};
  kernel.outputs = {operand({1, out, size, size})};
  return kernel;
}

Kernel view() {
  Kernel kernel;
  kernel.op = "Reshape";
  kernel.inputs = {operand({1, 8}), operand({2}, true)};
  kernel.outputs = {operand({8, 1})};
  return kernel;
}

constexpr double kFootprint = 1e6;
constexpr double kClockUs = 4;

// Compute takes 1.25 of its least time, all else its least time; the profile adds kClockUs.
double true_us(const Kernel& kernel, const KernelDevice& device) {
  double us = 0.5;
  for (const KernelWork::Term& term : work_of(kernel, device, kFootprint).terms)
    us += term.name == "compute" ? 1.25 * term.us : term.name == "elements" || term.name == "near" ? term.us : 0;
  return us;
}

Calibration synthetic(const KernelDevice& device) {
  Calibration calibration;
  std::vector<Kernel> kernels = {view(), view()};
  for (int64_t size : {100, 1000, 3000, 10000, 50000, 100000}) kernels.push_back(relu(size));
  for (int64_t n : {64, 100, 256, 500})
    for (int64_t k : {64, 300, 512}) kernels.push_back(product(48, n, k));
  for (int64_t channels : {16, 48, 64, 128})
    for (int64_t size : {7, 14, 30}) kernels.push_back(convolution_kernel(channels, 2 * channels, size, 3));
  for (int copy = 0; copy < 6; ++copy) {
    CalibrationSample sample;
    sample.model = "synthetic";
    sample.footprint_bytes = kFootprint;
    for (const Kernel& kernel : kernels) {
      const double us = is_view(kernel) ? 0.2 : true_us(kernel, device);
      calibration.kernels.push_back({kernel, us + kClockUs, copy});
      sample.run_us += us + 0.1;  // and 0.1 µs between kernels
    }
    calibration.samples.push_back(sample);
  }
  return calibration;
}

TEST(Predictor, FindsTheTimesOfAMachineThatBehavesAsModelled) {
  const KernelDevice device;
  const Predictor predictor(synthetic(device), device);
  for (const Kernel& kernel : {relu(20000), product(48, 320, 400), convolution_kernel(96, 128, 20, 3)}) {
    const KernelTime time = predictor.time_of(kernel, kFootprint);
    EXPECT_NEAR(time.us / true_us(kernel, device), 1, 0.03) << kernel.op;
    EXPECT_TRUE(time.known);
    EXPECT_LT(time.error, 0.05);
  }
}

TEST(Predictor, TakesTheCostOfLookingAtTheClockFromViews) {
  const KernelDevice device;
  const Predictor predictor(synthetic(device), device);
  EXPECT_NEAR(predictor.dispatch_us(), 0.3, 0.15);  // 0.1, and the 0.2 that went with the clock
}

TEST(Predictor, MoreWorkTakesLonger) {
  const KernelDevice device;
  const Predictor predictor(synthetic(device), device);
  double last = 0;
  for (int64_t channels = 16; channels <= 512; channels *= 2) {
    const double us = predictor.time_of(convolution_kernel(channels, channels, 28, 3), kFootprint).us;
    EXPECT_GT(us, last) << channels;
    last = us;
  }
}

TEST(Predictor, AnOperatorThatWasNotTimedIsAGuessAndSaysSo) {
  const KernelDevice device;
  const Predictor predictor(synthetic(device), device);
  Kernel kernel = relu(20000);
  kernel.op = "Bernstein";
  const KernelTime time = predictor.time_of(kernel, kFootprint);
  EXPECT_FALSE(time.known);
  EXPECT_GE(time.error, 0.4);
  EXPECT_NEAR(time.us / true_us(relu(20000), device), 1, 0.1);  // like the other elementwise kernels
}

TEST(Predictor, WeightsThatLeaveTheCacheCostTheWayFromMemory) {
  const KernelDevice device;
  const Kernel kernel = product(2, 4096, 4096);
  auto amount = [&](double footprint) {
    for (const KernelWork::Term& term : work_of(kernel, device, footprint).terms)
      if (term.name == "weights from memory") return term.us;
    return -1.0;
  };
  EXPECT_EQ(amount(device.far_capacity_bytes / 2), 0);
  // Of a footprint of twice the cache half comes from memory: 64 MiB / 2 at 10 GB/s.
  EXPECT_NEAR(amount(device.far_capacity_bytes * 2), 4096.0 * 4096 * 4 / 2 / 1e10 * 1e6, 1e-6);
}

// 12 × 32 results in 24 accumulators: 24 slots per step; one row: two accumulators that wait four cycles each step.
TEST(KernelWork, ProductsArePaidByTheTile) {
  Kernel whole = product(12, 32, 100), row = product(1, 32, 100);
  const KernelDevice device;
  const double slot = 2 * 16 / device.flops_per_s * 1e6;
  EXPECT_NEAR(work_of(whole, device, 0).terms[0].us, 24 * 100 * slot, 1e-9);
  EXPECT_NEAR(work_of(row, device, 0).terms[0].us, 8 * 100 * slot, 1e-9);
}

// 8 × 8 outputs of 64 filters from 16 channels, 3 × 3 with padding: rows have 6 inner outputs (one tile of 6 × 4 = 24 slots)
// and 2 at the edges (8 slots each); 22 of 24 pairs of output row and kernel row lie inside; 16 channels, 3 taps per row.
TEST(KernelWork, ConvolutionsArePaidByTheTileAndTheEdges) {
  const KernelDevice device;
  const double slot = 2 * 16 / device.flops_per_s * 1e6;
  const KernelWork work = work_of(convolution_kernel(16, 64, 8, 3), device, 0);
  EXPECT_EQ(work.kind, "conv.direct");
  EXPECT_NEAR(work.terms[0].us, 24.0 * 22 * 16 * 3 * slot, 1e-9);
  EXPECT_NEAR(work.terms[1].us, 2 * 8.0 * 22 * 16 * 3 * slot, 1e-9);
}

TEST(KernelWork, ThreadsShareTheRowsAndTheBusiestOneCounts) {
  KernelDevice one, two;
  two.threads = 2;
  auto compute = [](int64_t size, const KernelDevice& device) {
    return work_of(convolution_kernel(16, 64, size, 3), device, 0).terms[0].us;
  };
  EXPECT_NEAR(compute(8, two), compute(8, one) / 2, 1e-9);
  EXPECT_NEAR(compute(7, two), compute(7, one) * 4 / 7, 1e-9);
}

TEST(HeldOut, APerfectMachineIsPredictedFromItsOtherSamples) {
  const KernelDevice device;
  const HoldOutResult result = held_out(synthetic(device), device);
  EXPECT_LT(result.error, 0.02);
  for (double ratio : result.ratios) EXPECT_NEAR(ratio, 1, 0.03);
}

Efficiency calibrated() {
  Efficiency efficiency;
  efficiency.machine = "m";
  efficiency.engine = "onnxruntime";
  efficiency.engine_version = "1.31.1";
  efficiency.block = 16;
  efficiency.measured_at = "2026-11-21T16:00:00Z";
  efficiency.seconds = 156;
  efficiency.calibrations = {synthetic({})};
  return efficiency;
}

TEST(EfficiencyJson, ReadsBackWhatItWrote) {
  Efficiency efficiency = calibrated();
  efficiency.calibrations[0].held_out_error = 0.1;
  const Json json = to_json(efficiency);
  Result<Efficiency> back = efficiency_from_json(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
}

TEST(EfficiencyJson, RefusesKernelsOfSamplesThatAreNotThere) {
  Efficiency efficiency = calibrated();
  efficiency.calibrations[0].kernels[0].sample = 99;
  EXPECT_FALSE(efficiency_from_json(to_json(efficiency)).ok());
  EXPECT_FALSE(efficiency_from_json(Json::object()).ok());
}

// 1000 regions of 256 channels, 7 × 7 values of 2 × 2 samples each: 4.0e8 operations, two a cycle at 4 GHz: 50 ms.
TEST(Predictor, LoopsThatGoValueByValueTakeTheirOperations) {
  KernelDevice device;
  device.flops_per_s = 256e9;  // two multiply-adds of 16 values a cycle
  Kernel regions;
  regions.op = "RoiAlign";
  regions.attributes = {{"sampling_ratio", int64_t{2}}};
  regions.inputs = {operand({1, 256, 40, 40}), operand({1000, 4})};
  regions.outputs = {operand({1000, 256, 7, 7})};
  const Predictor predictor(synthetic(device), device);
  const KernelTime time = predictor.time_of(regions, kFootprint);
  EXPECT_FALSE(time.known);
  EXPECT_GT(time.us, 50e3);
  EXPECT_LT(time.us, 80e3);  // and the elementwise time itself
}

}  // namespace
}  // namespace ridge::predict
