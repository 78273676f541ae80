#include "limits/accelerator/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "limits/limits_store.h"

namespace ridge::limits::accelerator {
namespace {

gpu::DeviceFacts some_gpu(const std::string& uuid = "GPU-a") {
  gpu::DeviceFacts facts;
  facts.device = "cuda:0";
  facts.name = "NVIDIA H100 PCIe";
  facts.software = "CUDA driver 13.0";
  facts.dialect = gpu::Dialect::kCuda;
  facts.uuid = uuid;
  facts.compute_units = 114;
  return facts;
}

Setting some_setting(const std::string& uuid = "GPU-a") {
  Setting setting = setting_of(some_gpu(uuid), nullptr);
  setting.driver = "580.95.05";
  setting.power_limit_mw = 350000;
  setting.ecc = true;
  return setting;
}

MetricResult reached(double value) {
  MetricResult result;
  result.best = value;
  result.typical = 0.98 * value;
  result.spread_percent = 0.5;
  result.bursts = 40;
  result.burst_seconds = 5e-3;
  result.clock_hz = 1.7e9;
  result.conditions = "256 threads";
  return result;
}

DeviceMeasurement some_figures(double peak) {
  DeviceMeasurement measured;
  measured.facts = some_gpu();
  measured.measured_at = "2026-11-22T05:00:00Z";
  measured.peaks = {{Precision::kFp16, "cuBLASLt", reached(peak)}};
  measured.bandwidths = {{"DRAM", "read", 1 << 30, reached(1.9e12)}};
  return measured;
}

class GpuStore : public testing::Test {
 protected:
  GpuStore() : folder_(*TemporaryFolder::make()) { options_.machine_cache = folder_.path() + "/deep/machine.json"; }

  // The FP16 peak known after the query, and whether it was measured for it.
  double ask(double peak, const Setting& now, bool fresh = false) {
    Result<DeviceMeasurement> known =
        recall_or_measure(some_gpu(now.gpu), now, options_, fresh, [&]() -> Result<DeviceMeasurement> {
          ++measurements_;
          return some_figures(peak);
        });
    EXPECT_TRUE(known.ok());
    EXPECT_EQ(known->setting, now);
    return *known->peaks.at(0).result.best;
  }
  std::string reason_for(const Setting& now) { return recall(some_gpu(now.gpu), now, options_.machine_cache).reason; }

  TemporaryFolder folder_;
  Options options_;
  std::atomic<int> measurements_ = 0;
};

TEST_F(GpuStore, MeasuresOnceAndRecallsAfterwards) {
  EXPECT_EQ(reason_for(some_setting()), "nothing was measured on it yet");
  EXPECT_EQ(ask(600e12, some_setting()), 600e12);
  EXPECT_EQ(ask(700e12, some_setting()), 600e12);
  EXPECT_EQ(measurements_, 1);
  const StoredLimits kept = recall(some_gpu(), some_setting(), options_.machine_cache);
  ASSERT_TRUE(kept.measured) << kept.reason;
  EXPECT_TRUE(kept.measured->recalled);
  EXPECT_EQ(kept.measured->facts.device, "cuda:0");
}

TEST_F(GpuStore, FreshMeasuresAgainAndReplaces) {
  ask(600e12, some_setting());
  EXPECT_EQ(ask(700e12, some_setting(), true), 700e12);
  EXPECT_EQ(ask(800e12, some_setting()), 700e12);
}

TEST_F(GpuStore, AnotherDriverOrPowerLimitIsMeasuredApartAndSaysWhy) {
  ask(600e12, some_setting());
  Setting capped = some_setting();
  capped.driver = "590.10";
  capped.power_limit_mw = 200000;
  EXPECT_EQ(reason_for(capped),
            "what was measured 2026-11-22T05:00:00Z holds for another setting: driver 580.95.05 then, 590.10 now; "
            "power limit 350 W then, 200 W now");
  EXPECT_EQ(ask(400e12, capped), 400e12);
  EXPECT_EQ(ask(1, some_setting()), 600e12) << "what was measured under the first setting is still there";
}

TEST_F(GpuStore, ASliceOfADividedGpuIsAnotherGpu) {
  ask(600e12, some_setting());
  Setting slice = some_setting();
  slice.name = "NVIDIA H100 PCIe MIG 1g.10gb";
  slice.compute_units = 16;
  EXPECT_EQ(reason_for(slice), "nothing was measured on it yet");
}

TEST_F(GpuStore, AMeasurementThatHadLessTimeIsNotEnough) {
  options_.rounds.most_seconds = 1;
  ask(500e12, some_setting());
  options_.rounds.most_seconds = 20;
  EXPECT_EQ(ask(600e12, some_setting()), 600e12);
  options_.rounds.most_seconds = 1;
  EXPECT_EQ(ask(1, some_setting()), 600e12);
}

TEST_F(GpuStore, WhatWasInterruptedIsNotKept) {
  options_.rounds.interrupted = [] { return true; };
  ask(100e12, some_setting());
  options_.rounds.interrupted = nullptr;
  EXPECT_EQ(ask(600e12, some_setting()), 600e12);
}

TEST_F(GpuStore, WithoutFiguresThereIsNothingToKeep) {
  auto without_compiler = []() -> Result<DeviceMeasurement> {
    DeviceMeasurement measured = some_figures(0);
    measured.peaks[0].result = MetricResult{};
    return measured;
  };
  const Result<DeviceMeasurement> measured =
      recall_or_measure(some_gpu(), some_setting(), options_, false, without_compiler);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->kept, "not kept: no peak, or no bandwidth, could be measured");
  EXPECT_EQ(ask(600e12, some_setting()), 600e12);
}

TEST_F(GpuStore, DamagedFileIsSaidMeasuredAgainAndRepaired) {
  for (const char* damage : {"", "not json", R"({"version": 1, "machines": {}, "cards": []})",
                             R"({"version": 1, "machines": {}, "cards": {"cuda GPU-a NVIDIA H100 PCIe": [{}]}})",
                             R"({"version": 1, "machines": {}, "cards": {"cuda GPU-a NVIDIA H100 PCIe": "x"}})"}) {
    ASSERT_TRUE(write_file_atomically(options_.machine_cache, damage).ok());
    EXPECT_TRUE(recall(some_gpu(), some_setting(), options_.machine_cache).damaged) << damage;
    measurements_ = 0;
    EXPECT_EQ(ask(600e12, some_setting()), 600e12) << damage;
    EXPECT_EQ(ask(700e12, some_setting()), 600e12) << damage;
    EXPECT_EQ(measurements_, 1) << damage;
  }
}

TEST_F(GpuStore, FileThatCannotBeWrittenCostsOnlyTheStore) {
  options_.machine_cache = "/proc/nowhere/machine.json";
  EXPECT_EQ(ask(600e12, some_setting()), 600e12);
  EXPECT_EQ(ask(700e12, some_setting()), 700e12);
}

TEST_F(GpuStore, TwoWhoAskAtOnceMeasureOnce) {
  {
    std::jthread one([&] { ask(600e12, some_setting()); });
    std::jthread other([&] { ask(600e12, some_setting()); });
  }
  EXPECT_EQ(measurements_, 1);
}

TEST_F(GpuStore, GpusAndTheCpuAreKeptBesideEachOther) {
  ask(600e12, some_setting("GPU-a"));
  ask(700e12, some_setting("GPU-b"));
  machine::Machine machine;
  machine.id = "m";
  auto limits = [](const machine::Machine&) -> Result<Limits> {
    Limits found;
    found.peaks.push_back({Precision::kFp32, 1, 1e9, "kernel", Origin::kMeasured, 1, 3e9});
    found.bandwidths.push_back({"DRAM", 1, 2e10, 2e10, 1e10, "kernel", Origin::kMeasured, 1, 1 << 20});
    return found;
  };
  ASSERT_TRUE(limits::recall_or_measure(machine, {false, options_.machine_cache, {}}, limits).ok());
  EXPECT_EQ(ask(1, some_setting("GPU-a")), 600e12);
  EXPECT_EQ(ask(1, some_setting("GPU-b")), 700e12);
  EXPECT_EQ(measurements_, 2);
}

TEST_F(GpuStore, KeepsTheNewestSettingsOfAGpu) {
  for (int watts = 100; watts < 110; ++watts) {
    Setting setting = some_setting();
    setting.power_limit_mw = watts * 1000;
    ask(watts, setting);
  }
  const Json store = *parse_json(*read_file(options_.machine_cache), "store");
  const Json& kept = store["cards"].front();
  EXPECT_EQ(kept.size(), 8u);
  EXPECT_EQ(kept.back()["measured"]["setting"]["power_limit_mw"], 109000);
}

TEST(MeasuredFigures, AreReadBackAsTheyWereWritten) {
  DeviceMeasurement measured = some_figures(600e12);
  measured.setting = some_setting();
  MetricResult& peak = measured.peaks[0].result;
  peak.utilisation = {{"datasheet of NVIDIA H100 PCIe", 756e12, Origin::kDatasheet, 79.4}};
  peak.gpu.clock_hz = 1.6e9;
  peak.gpu.slowdowns = {"power limit"};
  peak.gpu.clocks_set = true;
  peak.gpu.samples = 7;
  MetricResult missing;
  missing.reason = "open library libcublasLt.so: no such file";
  measured.peaks.push_back({Precision::kInt8, "cuBLASLt", missing});
  measured.links = {{Way::kBoth, gpu::MemoryKind::kPinned, 1 << 20, reached(40e9)}};
  measured.starts = {{"kernel, queued", "time per kernel", reached(4e5)}};
  Json json = to_json(measured);
  Result<DeviceMeasurement> back = from_json<DeviceMeasurement>(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  back->facts = measured.facts;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
}

// The driver and the management library use different indices for the GPU, but the same address.
TEST(Setting, IsThatOfTheSameGpuOfTheLibrary) {
  gpu::GpuSystem system;
  system.driver_version = std::string("580.95.05");
  system.gpus.resize(2);
  system.gpus[0].uuid = std::string("GPU-b");
  system.gpus[0].power_limit_mw = int64_t{100000};
  system.gpus[1].index = 1;
  system.gpus[1].uuid = std::string("GPU-a");
  system.gpus[1].power_limit_mw = int64_t{350000};
  system.gpus[1].ecc = true;
  const Setting setting = setting_of(some_gpu(), &system);
  EXPECT_EQ(setting.driver, "580.95.05, CUDA driver 13.0");
  EXPECT_EQ(setting.power_limit_mw, 350000);
  EXPECT_EQ(setting.ecc, true);
  EXPECT_EQ(describe(setting), "driver 580.95.05, CUDA driver 13.0, power limit 350 W, error correction on");
  EXPECT_EQ(differences(setting, setting), "");
  const Setting untold = setting_of(some_gpu(), nullptr);
  EXPECT_EQ(differences(setting, untold),
            "driver 580.95.05, CUDA driver 13.0 then, CUDA driver 13.0 now; power limit 350 W then, unknown now; error "
            "correction on then, unknown now");
  Result<Setting> back = from_json<Setting>(json_of(setting));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, setting);
}

}  // namespace
}  // namespace ridge::limits::accelerator
