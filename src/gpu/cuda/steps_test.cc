// On a fake for NVIDIA's driver that does the work on the CPU.
#include "gpu/cuda/steps.h"

#include <gtest/gtest.h>

#include "gpu/cuda/cuda.h"
#include "gpu/test_child.h"
#include "gpu/test_steps.h"

namespace ridge::gpu::cuda {
namespace {

Result<CudaSteps> steps_on_first_gpu() {
  RIDGE_ASSIGN(Cuda cuda, Cuda::open());
  RIDGE_ASSIGN(CudaWorkspace workspace, cuda.workspace(0));
  return CudaSteps::over(std::move(workspace), cuda.driver_version() / 1000);
}

TEST(CudaSteps, MoveDataBetweenAllKindsOfMemory) {
  on_gpus("healthy", [] {
    auto gpu = steps_on_first_gpu();
    ASSERT_TRUE(gpu) << gpu.error().message;
    expect_data_moves_between_all_kinds_of_memory(*gpu);
  });
}

TEST(CudaSteps, TakeMemoryFromTheDriverAndFromThePoolInTurn) {
  on_gpus("healthy", [] {
    auto gpu = steps_on_first_gpu();
    ASSERT_TRUE(gpu) << gpu.error().message;
    ASSERT_TRUE(gpu->build(kPut));
    auto buffer = gpu->add(std::vector<float>(64));
    ASSERT_TRUE(buffer);
    for (bool pooled : {true, false, true}) expect_memory_is_taken_anew(*gpu, *buffer, pooled);
  });
}

TEST(CudaSteps, RecordedLaunchesRunAsOftenAsTheyAreStarted) {
  on_gpus("healthy", [] {
    auto gpu = steps_on_first_gpu();
    ASSERT_TRUE(gpu) << gpu.error().message;
    ASSERT_TRUE(gpu->build(kTwiceFrom));
    auto buffer = gpu->add(std::vector<float>(64, 1));
    ASSERT_TRUE(buffer);
    std::vector<Launch> launches(2, Launch{"twice", {1}, {64}, {*buffer, 0}});
    auto time = gpu->run_recorded(launches, 3);
    ASSERT_TRUE(time) << time.error().message;
    std::vector<float> got(64);
    ASSERT_TRUE(gpu->read(*buffer, got));
    EXPECT_EQ(got[63], 64) << "twice in each of three starts, and not while it was recorded";
  });
}

TEST(CudaSteps, KeepProductsApartWhoseFactorLiesOtherwise) {
  on_gpus("healthy", [] {
    auto gpu = steps_on_first_gpu();
    ASSERT_TRUE(gpu) << gpu.error().message;
    std::vector<float> one(256), counted(256);
    for (size_t i = 0; i < 256; ++i) one[i] = i % 17 == 0 ? 1.0F : 0.0F, counted[i] = static_cast<float>(i);
    auto a = gpu->add(one), b = gpu->add(counted), d = gpu->add(std::vector<float>(256));
    ASSERT_TRUE(a && b && d);
    for (bool by_columns : {false, true}) {
      auto time = gpu->run(std::vector<Step>{{LibraryProduct{*a, *b, *d, ProductPrecision::kFp32, 16, by_columns}}});
      ASSERT_TRUE(time) << time.error().message;
      std::vector<float> got(256);
      ASSERT_TRUE(gpu->read(*d, got));
      EXPECT_EQ(got[1], by_columns ? 16 : 1) << "in row 0, column 1 of the product with one";
    }
  });
}

}  // namespace
}  // namespace ridge::gpu::cuda
