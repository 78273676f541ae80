#include "gpu/cuda/memory.h"

#include "gpu/test_child.h"
#include "gpu/test_share.h"

namespace ridge::gpu::cuda {
namespace {

CudaContext context_of_gpu() {
  auto cuda = Cuda::open();
  EXPECT_TRUE(cuda);
  return *cuda->context(0);
}

TEST(CudaMemory, OfAnotherProcessIsReadAndWritten) {
  on_gpus("shares", [] {
    SharingProcess other("shares", {1, 2, 3, 4});
    CudaContext context = context_of_gpu();
    auto memory = CudaMemory::open_shared(context, other.handle(), 16);
    ASSERT_TRUE(memory) << memory.error().message;
    std::vector<float> values(2);
    ASSERT_TRUE(memory->read(std::as_writable_bytes(std::span(values)), 4));
    EXPECT_EQ(values, (std::vector<float>{2, 3}));
    ASSERT_TRUE(memory->write(std::as_bytes(std::span(values)), 8));
    EXPECT_EQ(other.values(), (std::vector<float>{1, 2, 2, 3}));
  });
}

TEST(CudaMemory, OfWrongHandlesAndSizesIsRefused) {
  on_gpus("shares", [] {
    SharingProcess other("shares", {1, 2, 3, 4});
    CudaContext context = context_of_gpu();
    auto large = CudaMemory::open_shared(context, other.handle(), 17);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message, "the handle's memory has 16 bytes, 17 were requested");
    auto nothing = CudaMemory::open_shared(context, {}, 4);
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, Code::kInvalid) << nothing.error().message;
    auto own = CudaMemory::allocate(context, 16);
    const auto handle = share(context, *own);
    ASSERT_TRUE(handle);
    EXPECT_FALSE(CudaMemory::open_shared(context, *handle, 16)) << "of this process";
  });
}

TEST(CudaMemory, ThatAGpuDoesNotShareIsUnsupported) {
  on_gpus("healthy", [] {
    CudaContext context = context_of_gpu();
    EXPECT_EQ(CudaMemory::open_shared(context, {}, 16).error().code, Code::kUnsupported);
  });
}

}  // namespace
}  // namespace ridge::gpu::cuda
