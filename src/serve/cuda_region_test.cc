// Refusals. For present memory of another process: gpu/cuda/memory_test.cc and tests/process/test_gpu_memory.py.
#include "serve/cuda_region.h"

#include <gtest/gtest.h>

#include "gpu/test_gpus.h"

namespace ridge::serve {
namespace {

RegionRequest gpu_region(uint64_t device, uint64_t size) {
  return {.kind = RegionKind::kCuda, .name = "r", .byte_size = size, .handle = std::string(64, 'h'), .device = device};
}

std::string rejection_of_gpu(const RegionRequest& request, Code code) {
  auto region = open_cuda_region(request);
  EXPECT_FALSE(region);
  if (region) return "";
  EXPECT_EQ(region.error().code, code) << region.error().message;
  EXPECT_TRUE(region.error().message.starts_with("failed to register CUDA shared memory region: 'r': "));
  return region.error().message;
}

TEST(CudaRegion, WithoutADriverSaysWhatIsMissing) {
  setenv("RIDGE_CUDA", "/nowhere/libcuda.so.1", 1);
  EXPECT_NE(rejection_of_gpu(gpu_region(0, 16), Code::kUnsupported).find("/nowhere/libcuda.so.1"), std::string::npos);
  unsetenv("RIDGE_CUDA");
}

TEST(CudaRegion, RefusesGpusAndHandlesThatAreNone) {
  gpu::play_gpus("shares");
  EXPECT_NE(rejection_of_gpu(gpu_region(7, 16), Code::kUnsupported).find("no CUDA device 7"), std::string::npos);
  EXPECT_NE(rejection_of_gpu(gpu_region(0, 16), Code::kInvalid).find("cuIpcOpenMemHandle"), std::string::npos);
  EXPECT_NE(rejection_of_gpu(gpu_region(0, 0), Code::kInvalid).find("byte_size"), std::string::npos);
  unsetenv("RIDGE_CUDA");
}

}  // namespace
}  // namespace ridge::serve
