#include "limits/accelerator/watch.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace ridge::limits::accelerator {
namespace {

TimePoint at_ms(int ms) { return TimePoint(std::chrono::milliseconds(ms)); }

GpuSample sample(int ms, int64_t clock_mhz, int64_t power_mw, int64_t slowdown_bits) {
  GpuSample result;
  result.at = at_ms(ms);
  result.gpu.sm_clock_mhz = clock_mhz;
  result.gpu.power_mw = power_mw;
  result.gpu.temperature_c = ms / 10;
  result.gpu.slowdown_bits = slowdown_bits;
  return result;
}

// NVML's bits: 1 idle, 4 software power cap, 0x40 hardware thermal slowdown.
TEST(GpuConditions, AreOfWhatFellIntoTheVisits) {
  const std::vector<GpuSample> samples = {sample(100, 300, 60000, 1), sample(210, 1700, 600000, 4),
                                          sample(290, 1500, 700000, 4), sample(500, 1980, 300000, 0x40)};
  const std::vector<TimeSpan> visits = {{at_ms(200), at_ms(300)}};
  GpuConditions conditions = conditions_during(samples, visits);
  EXPECT_EQ(conditions.samples, 2);
  EXPECT_DOUBLE_EQ(*conditions.clock_hz, 1600e6);
  EXPECT_DOUBLE_EQ(*conditions.power_w, 650);
  EXPECT_DOUBLE_EQ(*conditions.temperature_c, 29);
  EXPECT_FALSE(conditions.memory_clock_hz) << "not told is not zero";
  ASSERT_EQ(conditions.slowdowns.size(), 1u);
  const std::vector<TimeSpan> hot = {{at_ms(450), at_ms(600)}};
  EXPECT_EQ(conditions_during(samples, hot).slowdowns.size(), 1u);
  const std::vector<TimeSpan> idle = {{at_ms(50), at_ms(150)}};
  EXPECT_TRUE(conditions_during(samples, idle).slowdowns.empty()) << "idle is no slowdown";
}

TEST(MatchingGpu, IsTheSameByUuidOrAddress) {
  std::vector<gpu::Gpu> gpus(2);
  gpus[0].index = 0;
  gpus[0].uuid = std::string("GPU-a");
  gpus[0].pci_address = std::string("0000:3b:00.0");
  gpus[1].index = 1;
  gpus[1].pci_address = std::string("0000:af:00.0");
  gpu::DeviceFacts facts;
  facts.uuid = "GPU-a";
  EXPECT_EQ(*matching_gpu(gpus, facts), 0);
  facts.uuid = "GPU-b";
  facts.pci_address = "0000:af:00.0";
  EXPECT_EQ(*matching_gpu(gpus, facts), 1);
  facts.pci_address = "0000:11:00.0";
  ASSERT_FALSE(matching_gpu(gpus, facts));
}

TEST(Watch, LooksEveryTwentyMillisecondsUntilItEnds) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  int looks = 0;
  {
    Watch watch(
        [&] {
          ++looks;
          return gpu::Gpu{};
        },
        clock);
    clock.advance(std::chrono::milliseconds(50));
    const std::vector<GpuSample> samples = watch.samples();
    ASSERT_EQ(samples.size(), 3u);
    for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i].at, begin + i * std::chrono::milliseconds(20));
  }
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(looks, 3);
}

}  // namespace
}  // namespace ridge::limits::accelerator
