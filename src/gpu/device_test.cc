#include "gpu/device.h"

#include <gtest/gtest.h>

#include "gpu/gemm.h"

namespace ridge::gpu {
namespace {

TEST(OpenDevice, RefusesWhatIsNoDevicesName) {
  for (const char* name : {"", "gpu", "cpu", ":0", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "opencl7", "opencl: 1",
                           "99999999999999999999"}) {
    auto device = open_device(name);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error().code, Code::kInvalid) << name;
  }
  auto overflow = open_device("opencl:99999999999999999999");
  ASSERT_FALSE(overflow);
  EXPECT_EQ(overflow.error().code, Code::kInvalid);
}

// On pocl, an implementation of OpenCL for CPUs, which ./dev setup installs.
TEST(OpenDevice, TakesTheFirstWhereNoNumberIsGiven) {
  auto device = open_device("opencl");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->facts.device, "opencl:0");
  auto missing = open_device("opencl:99");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

TEST(CheckDeviceIndex, RefusesWhatIsBeyondTheLast) {
  EXPECT_TRUE(check_device_index(1, 2, "CUDA"));
  EXPECT_EQ(check_device_index(2, 2, "CUDA").error().code, Code::kNotFound);
  EXPECT_EQ(check_device_index(0, 0, "CUDA").error().code, Code::kNotFound);
}

TEST(Gemm, CountsItsBytesByTheTypeOfFactorsAndResult) {
  struct Row {
    Precision precision;
    bool wide;
    size_t a, d;
  };
  for (const Row& row :
       {Row{Precision::kFp64, false, 8, 8}, Row{Precision::kTf32, true, 4, 4}, Row{Precision::kFp16, false, 2, 2},
        Row{Precision::kBf16, true, 2, 4}, Row{Precision::kFp8, false, 1, 2}, Row{Precision::kInt8, false, 1, 4}}) {
    const GemmProblem problem{row.precision, 2, 3, 5, true, row.wide};
    const GemmBytes needed = bytes(problem);
    EXPECT_EQ(needed.a, 2 * 5 * row.a) << precision_name(row.precision);
    EXPECT_EQ(needed.b, 5 * 3 * row.a) << precision_name(row.precision);
    EXPECT_EQ(needed.d, 2 * 3 * row.d) << precision_name(row.precision);
    EXPECT_EQ(flops(problem), 60);
  }
}

}  // namespace
}  // namespace ridge::gpu
