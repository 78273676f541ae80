// For tests: required behaviour of any device's workspace (gpu/device.h).
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "gpu/device.h"

namespace ridge::gpu {

inline constexpr const char* kTwiceFrom =
    "__kernel void twice(__global float* x, int at) { x[at + get_global_id(0)] *= 2; }";
inline constexpr const char* kPut =
    "__kernel void put(__global float* x, float value) { x[get_global_id(0)] = value; }";

// in (host) → pinned or unified or device memory → kernel → out, in two halves by two queues, twice.
inline void expect_data_moves_between_all_kinds_of_memory(Workspace& workspace) {
  ASSERT_TRUE(workspace.build(kTwiceFrom));
  std::vector<float> content(256), nothing(256);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
  for (MemoryKind host : {MemoryKind::kHost, MemoryKind::kPinned})
    for (MemoryKind worked_on : {MemoryKind::kDevice, MemoryKind::kUnified}) {
      auto in = workspace.add(content, host), work = workspace.add(nothing, worked_on),
           out = workspace.add(nothing, host);
      ASSERT_TRUE(in && work && out) << (work ? "" : work.error().message);
      std::vector<Step> steps;
      for (size_t half : {0, 1}) {
        steps.push_back({Copy{*in, *work, 128 * half, 128}, half});
        if (worked_on == MemoryKind::kUnified) steps.push_back({Prefetch{*work, true}, half});
        steps.push_back({Launch{"twice", {2}, {64}, {*work, static_cast<int32_t>(128 * half)}}, half});
        steps.push_back({Copy{*work, *out, 128 * half, 128}, half});
      }
      auto time = workspace.run(steps, 2);
      ASSERT_TRUE(time) << time.error().message;
      EXPECT_GT(time->whole_seconds, 0);
      std::vector<float> got(256);
      ASSERT_TRUE(workspace.read(*out, got));
      for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * content[i]) << i;
    }
}

inline void expect_kernels_take_no_memory_of_the_host(Workspace& workspace) {
  ASSERT_TRUE(workspace.build(kPut));
  for (MemoryKind kind : {MemoryKind::kHost, MemoryKind::kPinned}) {
    auto host = workspace.add(std::vector<float>(64), kind);
    ASSERT_TRUE(host);
    Launch launch = {"put", {1}, {64}, {*host, 1.0F}};
    auto refused = workspace.run({&launch, 1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid);
  }
}

// Reads and writes the middle of a buffer, as bytes.
inline void expect_parts_are_read_and_written(Workspace& workspace) {
  for (MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kUnified}) {
    auto buffer = workspace.add(std::vector<float>(16), kind);
    ASSERT_TRUE(buffer);
    const std::vector<std::byte> sent = {std::byte{1}, std::byte{2}, std::byte{3}};
    ASSERT_TRUE(workspace.write_bytes(*buffer, sent, 5));
    std::vector<std::byte> got(2);
    ASSERT_TRUE(workspace.read_bytes(*buffer, got, 6));
    EXPECT_EQ(got, (std::vector<std::byte>{std::byte{2}, std::byte{3}}));
  }
}

// Reallocates `buffer`, 64 floats, before each of three launches of kPut, twice.
inline void expect_memory_is_taken_anew(Workspace& workspace, BufferNumber buffer, bool pooled) {
  std::vector<Step> steps;
  for (int round = 0; round < 3; ++round) {
    steps.push_back({Reallocate{buffer, pooled}});
    steps.push_back({Launch{"put", {1}, {64}, {buffer, static_cast<float>(round)}}});
  }
  auto time = workspace.run(steps, 2);
  ASSERT_TRUE(time) << time.error().message;
  std::vector<float> got(64);
  ASSERT_TRUE(workspace.read(buffer, got));
  EXPECT_EQ(got[63], 2);
}

}  // namespace ridge::gpu
