#include "plan/device.h"

#include <gtest/gtest.h>

namespace ridge::plan {
namespace {

TEST(Device, IsReadFromItsNameAndWrittenBack) {
  for (const char* name : {"cpu", "cuda:0", "cuda:3", "tensorrt:1", "gpu:0"}) {
    const auto device = device_from_name(name);
    ASSERT_TRUE(device.ok()) << device.error().message;
    EXPECT_EQ(device_name(*device), name);
  }
  EXPECT_EQ(device_name(*device_from_name("cuda")), "cuda:0");
  EXPECT_TRUE(is_nvidia(*device_from_name("tensorrt:1")));
  EXPECT_FALSE(is_nvidia(*device_from_name("gpu:0")));
}

TEST(Device, AnotherNameOrNumberIsAnErrorThatListsTheDevices) {
  for (const char* name :
       {"", "gpu0", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:256", "cpu:0", "opencl:0", ":0"}) {
    const auto device = device_from_name(name);
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.error().code, Code::kInvalid);
    EXPECT_NE(device.error().message.find("tensorrt:N"), std::string::npos) << device.error().message;
  }
}

}  // namespace
}  // namespace ridge::plan
