// On pocl, an implementation of OpenCL for CPUs, which ./dev setup installs.
#include "gpu/opencl/opencl.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "gpu/test_workspace.h"

namespace ridge::gpu::opencl {
namespace {

Result<std::unique_ptr<Workspace>> first_workspace() {
  RIDGE_ASSIGN(const Device device, open_device("opencl"));
  return device.open_workspace(Timing::kByDevice);
}

TEST(OpenCl, DescribesItsDevices) {
  auto all = devices();
  ASSERT_TRUE(all) << all.error().message;
  for (const Device& device : *all) {
    EXPECT_EQ(device.facts.device, "opencl:" + std::to_string(&device - all->data()));
    EXPECT_FALSE(device.facts.name.empty());
    EXPECT_EQ(device.details()["version"].get<std::string>().substr(0, 7), "OpenCL ") << device.facts.name;
    EXPECT_GT(device.facts.compute_units, 0) << device.facts.name;
    EXPECT_GT(device.facts.memory_bytes, 0) << device.facts.name;
    EXPECT_GE(device.facts.threads_per_block, 1) << device.facts.name;
    EXPECT_EQ(architecture_of(device.facts), 0) << device.facts.name;
  }
}

TEST(OpenCl, ThatIsNotThereIsAnError) {
  auto opencl = devices("/nowhere/libOpenCL.so.1");
  ASSERT_FALSE(opencl);
  EXPECT_EQ(opencl.error().code, Code::kNotFound);
}

TEST(OpenCl, RunsLaunchesInOrderAndTimesThem) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  std::vector<float> content(1024);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
  auto buffer = (*space)->add(content);
  ASSERT_TRUE(buffer) << buffer.error().message;
  Status built = (*space)->build(
      "__kernel void twice(__global float* x) { size_t i = get_global_id(0); x[i] *= 2; }"
      "__kernel void plus(__global float* x, int first, float more)"
      "  { int i = get_group_id(0) * get_local_size(0) + get_local_id(0); if (i >= first) x[i] += more; }");
  ASSERT_TRUE(built) << built.error().message;
  std::vector<Launch> launches = {{"twice", {16}, {64}, {*buffer}}, {"plus", {4}, {256}, {*buffer, 512, 0.5F}}};
  auto time = (*space)->run(launches, 2);
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_GT(time->device_seconds, 0);
  EXPECT_GE(time->whole_seconds, time->device_seconds);
  ASSERT_TRUE((*space)->read(*buffer, content));
  EXPECT_EQ(content[511], 4 * 511);
  EXPECT_EQ(content[512], 2 * (2 * 512 + 0.5F) + 0.5F);
}

TEST(OpenCl, StepsMoveDataBetweenAllKindsOfMemory) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  expect_data_moves_between_all_kinds_of_memory(**space);
}

TEST(OpenCl, MemoryOfABufferIsTakenAnewBetweenSteps) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_TRUE((*space)->build(kPut));
  for (bool pooled : {false, true}) {
    auto buffer = (*space)->add(std::vector<float>(64)),
         host = (*space)->add(std::vector<float>(64), MemoryKind::kHost);
    ASSERT_TRUE(buffer && host);
    expect_memory_is_taken_anew(**space, *buffer, pooled);
    auto of_host = (*space)->run(std::vector<Step>{{Reallocate{*host, pooled}}});
    EXPECT_FALSE(of_host);
  }
}

TEST(OpenCl, PartsAreReadAndWrittenAndKernelsTakeNoMemoryOfTheHost) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  expect_parts_are_read_and_written(**space);
  expect_kernels_take_no_memory_of_the_host(**space);
}

TEST(OpenCl, TimesByTheHostAloneWhereItIsToldTo) {
  auto device = open_device("opencl:0");
  ASSERT_TRUE(device) << device.error().message;
  auto space = workspace_with(*device, kPut, Timing::kByHost);
  ASSERT_TRUE(space) << space.error().message;
  auto buffer = (*space)->add(std::vector<float>(64));
  ASSERT_TRUE(buffer);
  Launch put{"put", {1}, {64}, {*buffer, 1.0F}};
  auto time = (*space)->run({&put, 1});
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_GT(time->whole_seconds, 0);
  EXPECT_EQ(time->device_seconds, 0);
}

// CUDA-only features.
TEST(OpenCl, RefusesWhatItDoesNotHave) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  Launch put{"put", {1}, {64}, {}};
  EXPECT_EQ((*space)->record({&put, 1}).error().code, Code::kUnsupported);
  EXPECT_EQ((*space)->residency(put).error().code, Code::kUnsupported);
  EXPECT_EQ((*space)->plan({Precision::kFp32, 1, 1, 1}).error().code, Code::kUnsupported);
  EXPECT_EQ((*space)->run(std::vector<Step>{{WaitFor{0}, 1}}).error().code, Code::kUnsupported);
}

// Large host memory, unmapped at once when it is freed.
TEST(OpenCl, WhatWasQueuedBeforeAFailureEndsBeforeItsMemoryDoes) {
  const std::vector<float> content(16 << 20, 1.0F);
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  auto host = (*space)->add(content, MemoryKind::kHost), device = (*space)->add(content);
  ASSERT_TRUE(host && device);
  EXPECT_FALSE(
      (*space)->run(std::vector<Step>{{Copy{*host, *device}}, {Copy{*device, *host}}, {Reallocate{*host, true}}}));
}

TEST(OpenCl, SaysWhatIsWrongWithASourceOrALaunch) {
  auto space = first_workspace();
  ASSERT_TRUE(space) << space.error().message;
  Status wrong = (*space)->build("__kernel void f(__global float* x) { nothing; }");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalid);
  EXPECT_NE(wrong.error().message.find("nothing"), std::string::npos) << wrong.error().message;
  ASSERT_TRUE((*space)->build("__kernel void f(__global float* x) { x[0] = 1; }"));
  Launch launch = {"g", {1}, {1}, {}};
  auto missing = (*space)->run({&launch, 1});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no kernel g"), std::string::npos) << missing.error().message;
}

}  // namespace
}  // namespace ridge::gpu::opencl
