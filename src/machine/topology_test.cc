#include "machine/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CpuList, ReadsRangesAndSingleNumbers) {
  EXPECT_THAT(*parse_cpu_list("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(*parse_cpu_list("5"), ElementsAre(5));
  EXPECT_THAT(*parse_cpu_list("\n"), IsEmpty());
  EXPECT_THAT(*parse_cpu_list("3,1,1-2"), ElementsAre(1, 2, 3));
}

TEST(CpuList, RefusesWhatIsNoList) {
  for (const char* text : {"a", "3-1", "-1", "1-", "0-999999999999", "1,,2", "0x3"})
    EXPECT_FALSE(parse_cpu_list(text).ok()) << text;
}

TEST(CpuList, IsWrittenAsItIsRead) {
  EXPECT_EQ(format_cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list({7}), "7");
  EXPECT_EQ(format_cpu_list({}), "");
}

}  // namespace
}  // namespace ridge::machine
