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

TEST(DeviceName, AnIndexBeyondTheDevicesSaysHowManyThereAre) {
  EXPECT_TRUE(check_device_index(1, 2, "OpenCL"));
  EXPECT_EQ(check_device_index(1, 1, "CUDA").error().message, "there is no CUDA device 1; there is 1");
  EXPECT_EQ(check_device_index(2, 2, "OpenCL").error().message, "there is no OpenCL device 2; there are 2");
}

}  // namespace
}  // namespace ridge::gpu
