#include "telemetry/host.h"

#include <gtest/gtest.h>

namespace ridge::telemetry {
namespace {

TEST(Host, ReadsCpuTimes) {
  auto times = parse_cpu_times("cpu  100 1 50 800 40 3 4 2 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->total, 1000u);
  EXPECT_EQ(times->busy, 160u) << "all but idle and iowait; guest time is part of user time";
  EXPECT_FALSE(parse_cpu_times(""));
  EXPECT_FALSE(parse_cpu_times("cpu 1 2 3"));
  EXPECT_FALSE(parse_cpu_times("intr 1 2 3 4 5 6 7 8"));
}

TEST(Host, UtilizationIsTheShareBetweenTwoMoments) {
  EXPECT_DOUBLE_EQ(utilization({10, 100}, {35, 200}), 0.25);
  EXPECT_DOUBLE_EQ(utilization({10, 100}, {10, 100}), 0);
  EXPECT_DOUBLE_EQ(utilization({10, 100}, {5, 90}), 0) << "counters may step back when a CPU goes offline";
}

TEST(Host, ReadsMemory) {
  auto memory = parse_memory("MemTotal:        8000 kB\nMemFree: 1 kB\nMemAvailable:    5000 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total_bytes, 8000u * 1024);
  EXPECT_EQ(memory->available_bytes, 5000u * 1024);
  EXPECT_FALSE(parse_memory("MemTotal: 8000 kB\n"));
  EXPECT_EQ(parse_resident_pages("2000 345 6 7 0 8 0\n"), 345u);
  EXPECT_FALSE(parse_resident_pages("2000"));
}

TEST(Host, SamplesThisMachine) {
  HostSampler sampler;
  HostSample sample = sampler.sample();
  ASSERT_TRUE(sample.cpu_utilization);
  EXPECT_GE(*sample.cpu_utilization, 0);
  EXPECT_LE(*sample.cpu_utilization, 1);
  ASSERT_TRUE(sample.memory);
  EXPECT_GT(sample.memory->total_bytes, sample.memory->available_bytes);
  EXPECT_GT(sample.resident_bytes.value_or(0), 100'000u);
}

}  // namespace
}  // namespace ridge::telemetry
