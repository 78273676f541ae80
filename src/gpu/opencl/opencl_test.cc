// On pocl, an implementation of OpenCL for CPUs, which ./dev setup brings.
#include "gpu/opencl/opencl.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gpu/test_steps.h"

namespace ridge::gpu::opencl {
namespace {

Result<OpenClWorkspace> first_workspace() {
  RIDGE_ASSIGN(OpenCl opencl, OpenCl::open());
  return opencl.workspace(0);
}

TEST(OpenCl, TellsItsDevices) {
  auto opencl = OpenCl::open();
  ASSERT_TRUE(opencl) << opencl.error().message;
  for (const OpenClDevice& device : opencl->devices()) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_EQ(device.version.substr(0, 7), "OpenCL ") << device.name;
    EXPECT_GT(device.compute_units, 0) << device.name;
    EXPECT_GT(device.memory_bytes, 0) << device.name;
    EXPECT_GE(device.threads_per_block, 1) << device.name;
  }
  EXPECT_FALSE(opencl->workspace(opencl->devices().size()));
}

TEST(OpenCl, ThatIsNotThereIsAnError) {
  auto opencl = OpenCl::open("/nowhere/libOpenCL.so.1");
  ASSERT_FALSE(opencl);
  EXPECT_EQ(opencl.error().code, Code::kNotFound);
}

TEST(OpenCl, RunsLaunchesInOrderAndTimesThem) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  std::vector<float> content(1024);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
  auto buffer = space->add(content);
  ASSERT_TRUE(buffer) << buffer.error().message;
  Status built = space->build(
      "__kernel void twice(__global float* x) { size_t i = get_global_id(0); x[i] *= 2; }"
      "__kernel void plus(__global float* x, int first, float more)"
      "  { int i = get_group_id(0) * get_local_size(0) + get_local_id(0); if (i >= first) x[i] += more; }");
  ASSERT_TRUE(built) << built.error().message;
  std::vector<Launch> launches = {{"twice", {16}, {64}, {*buffer}}, {"plus", {4}, {256}, {*buffer, 512, 0.5F}}};
  auto time = space->run(launches, 2);
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_GT(time->device_seconds, 0);
  EXPECT_GE(time->whole_seconds, time->device_seconds);
  ASSERT_TRUE(space->read(*buffer, content));
  EXPECT_EQ(content[511], 4 * 511);
  EXPECT_EQ(content[512], 2 * (2 * 512 + 0.5F) + 0.5F);
}

TEST(OpenCl, StepsMoveDataBetweenAllKindsOfMemory) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  expect_data_moves_between_all_kinds_of_memory(*space);
}

TEST(OpenCl, MemoryOfABufferIsTakenAnewBetweenSteps) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_TRUE(space->build(kPut));
  for (bool pooled : {false, true}) {
    auto buffer = space->add(std::vector<float>(64)), host = space->add(std::vector<float>(64), MemoryKind::kHost);
    ASSERT_TRUE(buffer && host);
    expect_memory_is_taken_anew(*space, *buffer, pooled);
    auto of_host = space->run(std::vector<Step>{{Reallocate{*host, pooled}}});
    EXPECT_FALSE(of_host);
  }
}

TEST(OpenCl, KernelsCannotTakeTheHostsMemory) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_TRUE(space->build("__kernel void f(__global float* x) { x[0] = 1; }"));
  auto host = space->add(std::vector<float>(64), MemoryKind::kPinned);
  ASSERT_TRUE(host);
  Launch launch = {"f", {1}, {1}, {*host}};
  auto refused = space->run({&launch, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

// Large memory of the host, which is gone at once when it is freed.
TEST(OpenCl, WhatWasQueuedBeforeAFailureEndsBeforeItsMemoryDoes) {
  const std::vector<float> content(16 << 20, 1.0F);
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  auto host = space->add(content, MemoryKind::kHost), device = space->add(content);
  ASSERT_TRUE(host && device);
  EXPECT_FALSE(
      space->run(std::vector<Step>{{Copy{*host, *device}}, {Copy{*device, *host}}, {Reallocate{*host, true}}}));
}

TEST(OpenCl, SaysWhatIsWrongWithASourceOrALaunch) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  Status wrong = space->build("__kernel void f(__global float* x) { nothing; }");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalid);
  EXPECT_NE(wrong.error().message.find("nothing"), std::string::npos) << wrong.error().message;
  ASSERT_TRUE(space->build("__kernel void f(__global float* x) { x[0] = 1; }"));
  Launch launch = {"g", {1}, {1}, {}};
  auto missing = space->run({&launch, 1});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no kernel g"), std::string::npos) << missing.error().message;
}

}  // namespace
}  // namespace ridge::gpu::opencl
