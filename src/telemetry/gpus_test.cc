#include "telemetry/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/fake_clock.h"
#include "gpu/test_child.h"

namespace ridge::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

gpu::Gpu measured_gpu() {
  gpu::Gpu gpu;
  gpu.uuid = std::string("GPU-1");
  gpu.utilization_percent = int64_t{87};
  gpu.memory_total_bytes = int64_t{85520809984};
  gpu.power_mw = int64_t{412500};
  gpu.power_limit_mw = int64_t{700000};
  gpu.energy_mj = int64_t{5000};
  gpu.sm_clock_mhz = int64_t{1980};
  gpu.slowdown_bits = int64_t{0x24};
  return gpu;
}

TEST(GpuMetrics, HaveTritonsNamesAndUnits) {
  const std::string text = exposition_text(gpu_families({sample_of(measured_gpu(), 2000)}));
  for (const char* line :
       {"nv_gpu_utilization{gpu_uuid=\"GPU-1\"} 0.87\n", "nv_gpu_memory_total_bytes{gpu_uuid=\"GPU-1\"} 85520809984\n",
        "nv_gpu_power_usage{gpu_uuid=\"GPU-1\"} 412.5\n", "nv_gpu_power_limit{gpu_uuid=\"GPU-1\"} 700\n",
        "nv_energy_consumption{gpu_uuid=\"GPU-1\"} 3\n", "ridge_gpu_clock_hertz{gpu_uuid=\"GPU-1\"} 1980000000\n",
        "ridge_gpu_slowdown{gpu_uuid=\"GPU-1\",reason=\"power limit\"} 1\n",
        "ridge_gpu_slowdown{gpu_uuid=\"GPU-1\",reason=\"heat\"} 1\n", "ridge_gpu_up{gpu_uuid=\"GPU-1\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("ridge_gpu_temperature_celsius{"))) << "what is not reported has no series";
}

TEST(GpuMetrics, ALostGpuIsDown) {
  gpu::Gpu lost;
  lost.index = 1;
  lost.failure = "GPU is lost";
  const std::string text = exposition_text(gpu_families({sample_of(lost, std::nullopt)}));
  EXPECT_THAT(text, HasSubstr("ridge_gpu_up{gpu_uuid=\"1\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("nv_gpu_power_usage{")));
}

void play(const std::string& script) {
  setenv("RIDGE_NVML", RIDGE_TEST_SUPPORT "/libnvidia-ml.so.1", 1);
  setenv("RIDGE_FAKE_NVML", script.c_str(), 1);
}

constexpr std::chrono::milliseconds kPeriod(2000);

TEST(GpuSampler, SeesTheGpusOfTheLibrary) {
  gpu::in_child("four GPUs", [] {
    play(RIDGE_SOURCE_DIR "/tests/support/nvml/four.txt");
    FakeClock clock;
    GpuSampler sampler(kPeriod, clock);
    clock.await(clock.now() + kPeriod);  // it has sampled
    ASSERT_EQ(sampler.last().size(), 4u);
    EXPECT_EQ(sampler.last()[3].uuid, "GPU-77aa0000-0000-0000-0000-000000000004");
  });
}

TEST(GpuSampler, SeesNothingWithoutALibrary) {
  gpu::in_child("no library", [] {
    setenv("RIDGE_NVML", "/nowhere.so", 1);
    { GpuSampler sampler; }  // waits for its thread
    GpuSampler sampler;
    EXPECT_TRUE(sampler.last().empty());
  });
}

// The second sample never ends.
TEST(GpuSampler, SaysThatAGpuNoLongerAnswersWithoutWaiting) {
  const std::filesystem::path script =
      std::filesystem::path(testing::TempDir()) / ("hangs_later" + std::to_string(getpid()) + ".txt");
  std::ofstream(script) << "driver_version 580.95.05\ngpu\nuuid GPU-1\npower_mw 69800\n"
                           "hang nvmlDeviceGetPowerUsage 3600 1\n";
  gpu::in_child("a driver that hangs", [&] {
    play(script.string());
    FakeClock clock;
    GpuSampler sampler(kPeriod, clock);
    clock.await(clock.now() + kPeriod);
    clock.advance(3 * kPeriod);
    ASSERT_EQ(sampler.last().size(), 1u);
    EXPECT_EQ(sampler.last()[0].power_w, 69.8);
    clock.advance(Nanoseconds(1));
    EXPECT_FALSE(sampler.last()[0].answers);
    EXPECT_EQ(sampler.last()[0].uuid, "GPU-1");
    EXPECT_FALSE(sampler.last()[0].power_w) << "an old value is none";
  });
}

}  // namespace
}  // namespace ridge::telemetry
