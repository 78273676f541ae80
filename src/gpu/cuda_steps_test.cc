// On a stand-in for NVIDIA's driver that does the work on the processor.
#include "gpu/cuda_steps.h"

#include <gtest/gtest.h>

#include "gpu/cuda.h"
#include "gpu/test_child.h"

namespace ridge::gpu {
namespace {

Result<CudaSteps> steps_on_first_card() {
  RIDGE_ASSIGN(Cuda cuda, Cuda::open());
  RIDGE_ASSIGN(CudaWorkspace workspace, cuda.workspace(0));
  return CudaSteps::over(std::move(workspace), cuda.driver_version() / 1000);
}

const char* const kTwice = "__kernel void twice(__global float* x, int at) { x[at + get_global_id(0)] *= 2; }";

// in (host) → device or managed memory → kernel → out, in two halves by two streams, twice.
TEST(CudaSteps, MoveDataBetweenAllKindsOfMemory) {
  on_cards("healthy", [] {
    auto card = steps_on_first_card();
    ASSERT_TRUE(card) << card.error().message;
    ASSERT_TRUE(card->build(kTwice));
    std::vector<float> content(256), nothing(256);
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
    for (MemoryKind host : {MemoryKind::kHost, MemoryKind::kPinned})
      for (MemoryKind worked_on : {MemoryKind::kDevice, MemoryKind::kUnified}) {
        auto in = card->add(content, host), work = card->add(nothing, worked_on), out = card->add(nothing, host);
        ASSERT_TRUE(in && work && out) << (work ? "" : work.error().message);
        std::vector<Step> steps;
        for (size_t half : {0, 1}) {
          steps.push_back({Copy{*in, *work, 128 * half, 128}, half});
          if (worked_on == MemoryKind::kUnified) steps.push_back({Prefetch{*work, true}, half});
          steps.push_back({Launch{"twice", {2}, {64}, {*work, static_cast<int32_t>(128 * half)}}, half});
          steps.push_back({Copy{*work, *out, 128 * half, 128}, half});
        }
        auto time = card->run(steps, 2);
        ASSERT_TRUE(time) << time.error().message;
        std::vector<float> got(256);
        ASSERT_TRUE(card->read(*out, got));
        for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * content[i]) << i;
      }
  });
}

TEST(CudaSteps, TakeMemoryFromTheDriverAndFromThePoolInTurn) {
  on_cards("healthy", [] {
    auto card = steps_on_first_card();
    ASSERT_TRUE(card) << card.error().message;
    ASSERT_TRUE(card->build("__kernel void put(__global float* x, float value) { x[get_global_id(0)] = value; }"));
    auto buffer = card->add(std::vector<float>(64));
    ASSERT_TRUE(buffer);
    for (bool pooled : {true, false, true}) {
      std::vector<Step> steps;
      for (int round = 0; round < 3; ++round) {
        steps.push_back({Renew{*buffer, pooled}});
        steps.push_back({Launch{"put", {1}, {64}, {*buffer, static_cast<float>(round)}}});
      }
      auto time = card->run(steps, 2);
      ASSERT_TRUE(time) << time.error().message;
      std::vector<float> got(64);
      ASSERT_TRUE(card->read(*buffer, got));
      EXPECT_EQ(got[63], 2);
    }
  });
}

TEST(CudaSteps, RecordedLaunchesRunAsOftenAsTheyAreStarted) {
  on_cards("healthy", [] {
    auto card = steps_on_first_card();
    ASSERT_TRUE(card) << card.error().message;
    ASSERT_TRUE(card->build(kTwice));
    auto buffer = card->add(std::vector<float>(64, 1));
    ASSERT_TRUE(buffer);
    std::vector<Launch> launches(2, Launch{"twice", {1}, {64}, {*buffer, 0}});
    auto time = card->run_recorded(launches, 3);
    ASSERT_TRUE(time) << time.error().message;
    std::vector<float> got(64);
    ASSERT_TRUE(card->read(*buffer, got));
    EXPECT_EQ(got[63], 64) << "twice in each of three starts, and not while it was recorded";
  });
}

TEST(CudaSteps, KeepProductsApartWhoseFactorLiesOtherwise) {
  on_cards("healthy", [] {
    auto card = steps_on_first_card();
    ASSERT_TRUE(card) << card.error().message;
    std::vector<float> one(256), counted(256);
    for (size_t i = 0; i < 256; ++i) one[i] = i % 17 == 0 ? 1.0F : 0.0F, counted[i] = static_cast<float>(i);
    auto a = card->add(one), b = card->add(counted), d = card->add(std::vector<float>(256));
    ASSERT_TRUE(a && b && d);
    for (bool by_columns : {false, true}) {
      auto time = card->run(std::vector<Step>{{LibraryProduct{*a, *b, *d, ProductPrecision::kFp32, 16, by_columns}}});
      ASSERT_TRUE(time) << time.error().message;
      std::vector<float> got(256);
      ASSERT_TRUE(card->read(*d, got));
      EXPECT_EQ(got[1], by_columns ? 16 : 1) << "in row 0, column 1 of the product with one";
    }
  });
}

}  // namespace
}  // namespace ridge::gpu
