#include "gpu/device_name.h"

#include <gtest/gtest.h>

namespace ridge::gpu {
namespace {

TEST(DeviceName, IsAFamilyAndANumber) {
  ASSERT_TRUE(parse_device_name("opencl:12"));
  EXPECT_EQ(parse_device_name("opencl:12")->family, "opencl");
  EXPECT_EQ(parse_device_name("opencl:12")->index, 12u);
  EXPECT_EQ(parse_device_name("cuda")->index, 0u) << "without a number the first";
}

TEST(DeviceName, OfAnotherFormIsNone) {
  for (const char* name : {"", ":1", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda: 1"})
    EXPECT_FALSE(parse_device_name(name)) << name;
}

}  // namespace
}  // namespace ridge::gpu
