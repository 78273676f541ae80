#include "cost/gpu_limits.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "limits/accelerator/utilisation.h"

namespace ridge::cost {
namespace {

using limits::MetricResult;
using limits::accelerator::DeviceMeasurement;

MetricResult reached(double value) {
  MetricResult result;
  result.best = value;
  result.spread_percent = 0.5;
  return result;
}

MetricResult missing(const char* reason) {
  MetricResult result;
  result.reason = reason;
  return result;
}

limits::NvidiaGpu gpu_of(const char* name, const char* capability) {
  limits::NvidiaGpu gpu;
  gpu.index = 1;
  gpu.facts.name = name;
  gpu.facts.capability = capability;
  gpu.facts.last_cache_bytes = 50 << 20;
  if (Result<catalogue::CatalogueDevice> found = catalogue::find_device(*catalogue::catalogue(), name))
    gpu.datasheet = *found;
  if (!gpu.datasheet) gpu.datasheet_reason = "the catalogue does not know it";
  gpu.measured_reason = "nothing was measured on it yet";
  return gpu;
}

// An H100 PCIe: 756 TFLOP/s in FP16, 51.2 in FP32, 2.04 TB/s (datasheet).
limits::NvidiaGpu h100() { return gpu_of("H100 PCIe 80GB", "9.0"); }

DeviceMeasurement measured_on(const limits::NvidiaGpu& gpu) {
  DeviceMeasurement measured;
  measured.facts = gpu.facts;
  measured.measured_at = "2026-11-22T05:00:00Z";
  measured.setting.driver = "580.95.05";
  measured.peaks = {{Precision::kFp32, "multiply-adds", reached(48e12)},
                    {Precision::kFp32, "cuBLASLt", reached(46e12)},
                    {Precision::kFp16, "multiply-adds", reached(90e12)},
                    {Precision::kFp16, "mma", reached(400e12)},
                    {Precision::kFp16, "cuBLASLt", reached(610e12)}};
  measured.bandwidths = {{"DRAM", "read", 0, reached(1.9e12)},
                         {"DRAM", "copy", 0, reached(1.95e12)},
                         {"last cache", "read", 0, reached(5e12)}};
  return measured;
}

std::string all_remarks(const DeviceLimits& limits) {
  std::string text;
  for (const DeviceLimits::Remark& remark : limits.remarks) text += remark.text + "\n";
  return text;
}

double rate_at(const DeviceLimits& limits, Precision precision) { return rate_of(limits, precision).flops_per_s; }

TEST(GpuLimits, AreTheDatasheetsUntilSomethingIsMeasuredAndSaySo) {
  auto limits = limits_of(h100());
  ASSERT_TRUE(limits);
  EXPECT_EQ(origin_at(*limits, Precision::kFp16), Origin::kDatasheet);
  EXPECT_NEAR(rate_at(*limits, Precision::kFp16), 756e12, 1e12);
  EXPECT_NE(all_remarks(*limits).find("nothing was measured on it yet; `ridge bench device -d cuda:1` measures them"),
            std::string::npos)
      << all_remarks(*limits);
}

// Tensor cores multiply FP64 twice as fast as the lanes that the datasheet's FP64 figure is of; healthy GPUs run 8-bit
// products at 0.71.
TEST(GpuLimits, AreComparedWithTheDatasheetsFigureOfTheSameUnits) {
  limits::NvidiaGpu gpu = h100();
  gpu.measured = measured_on(gpu);
  const double fp8 = limits::accelerator::datasheet_peak(*gpu.datasheet, Precision::kFp8, "cuBLASLt")->flops_per_s;
  gpu.measured->peaks.push_back({Precision::kFp64, "cuBLASLt", reached(46e12)});
  gpu.measured->peaks.push_back({Precision::kFp8, "cuBLASLt", reached(0.71 * fp8)});
  auto limits = limits_of(gpu);
  ASSERT_TRUE(limits);
  EXPECT_NEAR(*source_of(*limits, "fp64")->datasheet, 51.2e12, 0.05e12);
  EXPECT_EQ(all_remarks(*limits).find("fp64 reached"), std::string::npos) << all_remarks(*limits);
  EXPECT_TRUE(source_of(*limits, "fp8")->datasheet);
  EXPECT_EQ(all_remarks(*limits).find("fp8 reached"), std::string::npos) << all_remarks(*limits);
}

TEST(GpuLimits, TakeTheBestWayThatWasMeasuredAndTheDatasheetForTheRest) {
  limits::NvidiaGpu gpu = h100();
  gpu.measured = measured_on(gpu);
  auto limits = limits_of(gpu);
  ASSERT_TRUE(limits);
  EXPECT_DOUBLE_EQ(rate_at(*limits, Precision::kFp32), 48e12);
  EXPECT_DOUBLE_EQ(rate_at(*limits, Precision::kFp16), 610e12);
  EXPECT_EQ(origin_at(*limits, Precision::kFp16), Origin::kMeasured);
  EXPECT_GT(rate_at(*limits, Precision::kInt8), 1000e12) << "of the datasheet";
  EXPECT_EQ(origin_at(*limits, Precision::kInt8), Origin::kDatasheet);
  ASSERT_EQ(limits->levels.size(), 2u);
  EXPECT_DOUBLE_EQ(limits->levels.back().bytes_per_s, 1.9e12) << "a copy reads only half of its bytes";
  EXPECT_DOUBLE_EQ(limits->levels.front().bytes_per_s, 5e12);
  EXPECT_NE(all_remarks(*limits).find("limits measured on cuda:1 2026-11-22T05:00:00Z (driver 580.95.05); of its "
                                      "datasheet: "),
            std::string::npos)
      << all_remarks(*limits);
}

TEST(GpuLimits, OfHopperAreNotWhatMmaReachesWithoutTheVendorsLibrary) {
  limits::NvidiaGpu gpu = h100();
  gpu.measured = measured_on(gpu);
  gpu.measured->peaks.back().result = missing("open library libcublasLt.so: no such file\nlooked in …");
  auto limits = limits_of(gpu);
  ASSERT_TRUE(limits);
  EXPECT_NEAR(rate_at(*limits, Precision::kFp16), 756e12, 1e12);
  EXPECT_NE(all_remarks(*limits).find("no measured fp16 peak fills the tensor cores; cuBLASLt: open library "
                                      "libcublasLt.so: no such file\n"),
            std::string::npos)
      << all_remarks(*limits);
  limits::NvidiaGpu ampere = gpu_of("A100 SXM4 80GB", "8.0");
  ampere.measured = measured_on(ampere);
  ampere.measured->peaks.back().result = missing("no library");
  ampere.measured->peaks[3].result = reached(280e12);
  EXPECT_DOUBLE_EQ(rate_at(*limits_of(ampere), Precision::kFp16), 280e12) << "there mma fills them";
}

TEST(GpuLimits, WellBelowTheDatasheetSayWhatSlowedTheGpu) {
  limits::NvidiaGpu gpu = h100();
  gpu.measured = measured_on(gpu);
  MetricResult& fp16 = gpu.measured->peaks.back().result;
  fp16 = reached(300e12);
  fp16.gpu.slowdowns = {"power limit", "heat"};
  fp16.gpu.clock_hz = 1.2e9;
  auto limits = limits_of(gpu);
  ASSERT_TRUE(limits);
  const std::string said = all_remarks(*limits);
  EXPECT_NE(said.find("(slowed by power limit, heat, 1.20 GHz); the bound uses the measured rate"), std::string::npos)
      << said;
  EXPECT_NE(said.find("fp16 was measured while the GPU was slowed by power limit, heat: it may be too low"),
            std::string::npos)
      << said;
}

TEST(GpuLimits, KeepTheRateOfFp16AccumulatorsWhereOnlyFp32sWasMeasured) {
  limits::NvidiaGpu gpu = gpu_of("GeForce RTX 4090", "8.9");
  gpu.measured = measured_on(gpu);
  gpu.measured->peaks.back().result = reached(160e12);
  gpu.measured->peaks[3].result = reached(158e12);
  EXPECT_NEAR(rate_at(*limits_of(gpu), Precision::kFp16), 330.3e12, 1e11) << "TensorRT may add in FP16";
  EXPECT_DOUBLE_EQ(rate_at(*limits_of(gpu, Accumulate::kFp32), Precision::kFp16), 160e12);
}

TEST(GpuLimits, OfAGpuThatTheCatalogueDoesNotKnowAreOnlyMeasured) {
  limits::NvidiaGpu unknown = gpu_of("NVIDIA X900", "9.0");
  auto nothing = limits_of(unknown);
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("`ridge bench device -d cuda:1` measures them"), std::string::npos)
      << nothing.error().message;
  unknown.measured = measured_on(unknown);
  auto limits = limits_of(unknown);
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_DOUBLE_EQ(rate_at(*limits, Precision::kFp16), 610e12);
  EXPECT_EQ(all_remarks(*limits).find("datasheet's"), std::string::npos) << "there is none to lie below";
  EXPECT_DOUBLE_EQ(rate_at(*limits, Precision::kInt8), 0) << "its tensor cores have an unknown rate";
  EXPECT_EQ(origin_at(*limits, Precision::kInt8), Origin::kMeasured) << "of memory, which alone bounds it";
  EXPECT_GT(bound(1e12, 1e9, Precision::kInt8, *limits).memory_ms, 0);
}

TEST(LimitSources, IsReadBackAsItWasWritten) {
  limits::NvidiaGpu gpu = h100();
  gpu.measured = measured_on(gpu);
  const Result<DeviceLimits> limits = limits_of(gpu);
  ASSERT_TRUE(limits);
  for (const DeviceLimits::Source& source : limits->sources) {
    const Json json = json_of(source);
    Result<DeviceLimits::Source> back = from_json<DeviceLimits::Source>(json);
    ASSERT_TRUE(back.ok()) << dump_json(json);
    EXPECT_EQ(dump_json(json_of(*back)), dump_json(json));
  }
  EXPECT_EQ(json_of(limits->sources.front())["origin"], "measured");
}

}  // namespace
}  // namespace ridge::cost
