#include "machine/cgroup.h"

#include <gtest/gtest.h>

namespace ridge::machine {
namespace {

struct QuotaCase {
  const char* text;
  std::optional<double> cpus;
  bool readable;
};

TEST(CpuMax, IsQuotaOverPeriodOrNoLimit) {
  for (const QuotaCase& expected :
       {QuotaCase{"50000 100000\n", 0.5, true}, QuotaCase{"max 100000\n", {}, true},
        QuotaCase{"300000 200000", 1.5, true}, QuotaCase{"150000", 1.5, true}, QuotaCase{"max", {}, true},
        QuotaCase{"", {}, false}, QuotaCase{"many 100000", {}, false}, QuotaCase{"1000 0", {}, false},
        QuotaCase{"0 100000", {}, false}}) {
    bool readable = false;
    EXPECT_EQ(parse_cpu_max(expected.text, readable), expected.cpus) << expected.text;
    EXPECT_EQ(readable, expected.readable) << expected.text;
  }
}

TEST(CfsQuota, MinusOneIsNoLimit) {
  bool readable = false;
  EXPECT_FALSE(parse_cfs_quota("-1\n", "100000\n", readable).has_value());
  EXPECT_TRUE(readable);
  EXPECT_EQ(parse_cfs_quota("200000\n", "100000\n", readable), 2.0);
}

TEST(MemoryLimit, MaxAndTheLargestPageOfVersion1AreNoLimit) {
  bool readable = false;
  EXPECT_FALSE(parse_memory_limit("max\n", readable).has_value());
  EXPECT_FALSE(parse_memory_limit("9223372036854771712\n", readable).has_value());
  EXPECT_TRUE(readable);
  EXPECT_EQ(parse_memory_limit("1048576\n", readable), 1048576);
  EXPECT_FALSE(parse_memory_limit("1 GB\n", readable).has_value());
  EXPECT_FALSE(readable);
}

TEST(CgroupLimits, SystemWithoutControlGroupsHasNone) {
  CgroupLimits limits = cgroup_limits("/nonexistent");
  EXPECT_FALSE(limits.cpus.has_value());
  EXPECT_FALSE(limits.memory_bytes.has_value());
}

}  // namespace
}  // namespace ridge::machine
