// On a fake of NVIDIA's driver that runs kernels on the CPU and delays queued work until it is waited for
// (tests/support/fake_cuda.cc).
#include "gpu/cuda/cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"
#include "gpu/test_child.h"

namespace ridge::gpu::cuda {
namespace {

Result<CudaContext> first_context() {
  RIDGE_ASSIGN(Cuda cuda, Cuda::open());
  return cuda.context(0);
}

TEST(Cuda, ThatIsNotThereIsAnError) {
  auto cuda = Cuda::open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, Code::kNotFound);
}

TEST(Cuda, TellsItsGpus) {
  on_gpus("two", [] {
    auto cuda = Cuda::open();
    ASSERT_TRUE(cuda) << cuda.error().message;
    EXPECT_EQ(cuda->driver_version_text(), "13.0");
    ASSERT_EQ(cuda->devices().size(), 2u);
    const CudaDevice &lost = cuda->devices()[0], &gpu = cuda->devices()[1];
    EXPECT_NE(lost.problem.find("CUDA_ERROR_DEVICE_UNAVAILABLE"), std::string::npos) << lost.problem;
    auto refused = cuda->device(0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_EQ(gpu.problem, "");
    EXPECT_EQ(gpu.name, "NVIDIA GeForce RTX 4090");
    EXPECT_EQ(gpu.uuid, "GPU-5c0d9f6e-1a2b-4c3d-8e4f-60718293a4b5");
    EXPECT_EQ(gpu.pci_address, "0000:41:00.0");
    EXPECT_EQ(gpu.capability, 89);
    EXPECT_EQ(gpu.multiprocessors, 128);
    EXPECT_EQ(gpu.memory_bytes, 25386352640);
    EXPECT_EQ(gpu.memory_clock_hz, 10.501e9);
    EXPECT_EQ(gpu.memory_bus_bits, 384);
    EXPECT_EQ(json_of(gpu)["compute_capability"], "8.9");
    EXPECT_TRUE(json_of(gpu)["mig_uuid"].is_null());
    auto missing = cuda->device(2);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "there is no CUDA device 2; there are 2");
    const DeviceFacts facts = cuda->facts()[1];
    EXPECT_EQ(facts.device, "cuda:1");
    EXPECT_EQ(facts.capability, "8.9");
    EXPECT_EQ(architecture_of(facts), 89);
    EXPECT_EQ(facts.memory_bytes, gpu.memory_bytes);
    EXPECT_TRUE(facts.bf16 && facts.integer_dot && facts.unified_memory);
  });
  on_gpus("mig", [] {
    auto cuda = Cuda::open();
    ASSERT_TRUE(cuda) << cuda.error().message;
    EXPECT_EQ(cuda->devices()[0].mig_uuid, "MIG-7d3c11aa-0b1e-5c8e-b5f2-93a6f0d14e22");
  });
}

TEST(Cuda, SaysWhyADriverIsOfNoUse) {
  on_gpus("refuses", [] {
    auto cuda = Cuda::open();
    ASSERT_FALSE(cuda);
    EXPECT_EQ(cuda.error().code, Code::kUnavailable);
    EXPECT_NE(cuda.error().message.find("reload the module or reboot"), std::string::npos) << cuda.error().message;
  });
  on_gpus("none", [] {
    auto cuda = Cuda::open();
    ASSERT_FALSE(cuda);
    EXPECT_EQ(cuda.error().code, Code::kUnavailable);
    EXPECT_NE(cuda.error().message.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << cuda.error().message;
  });
  on_gpus("healthy", [] {
    auto cuda = Cuda::open(test_support("libcuda-ancient.so.1"));
    ASSERT_FALSE(cuda);
    EXPECT_EQ(cuda.error().code, Code::kUnsupported);
    EXPECT_NE(cuda.error().message.find("too old"), std::string::npos) << cuda.error().message;
  });
}

// CUDA Driver API, CUresult: a corrupt or overflown stack of a kernel; the GPU is in order.
TEST(Cuda, DoesNotTakeAKernelsOverflownStackForALostGpu) {
  auto driver = open_table<cuda::Library>(test_support("libcuda.so.1"), "RIDGE_CUDA", {"libcuda.so.1"}, "the driver");
  ASSERT_TRUE(driver) << driver.error().message;
  const Error error = cuda_error(**driver, "cuStreamSynchronize", cuda::kHardwareStackError);
  EXPECT_EQ(error.code, Code::kFailed);
  EXPECT_EQ(error.message.find("Xid"), std::string::npos) << error.message;
}

TEST(CudaMemory, ThatDoesNotFitIsRefused) {
  on_gpus("small", [] {
    auto cuda = Cuda::open();
    ASSERT_TRUE(cuda) << cuda.error().message;
    auto context = cuda->context(0);
    ASSERT_TRUE(context) << context.error().message;
    auto half = CudaMemory::allocate(*context, 512 << 10);
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_EQ(*context->free_bytes(), 512u << 10);
    auto more = CudaMemory::allocate(*context, (512 << 10) + 1);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, Code::kExhausted);
    EXPECT_NE(more.error().message.find("524289 bytes"), std::string::npos) << more.error().message;
    EXPECT_TRUE(CudaMemory::allocate(*context, 2 << 20, MemoryKind::kPinned)) << "is not the GPU's";
  });
}

TEST(CudaStream, CannotCaptureThatItIsWaitedFor) {
  on_gpus("healthy", [] {
    auto context = first_context();
    ASSERT_TRUE(context) << context.error().message;
    auto stream = CudaStream::create(*context);
    ASSERT_TRUE(stream);
    EXPECT_FALSE(stream->capture([&] { return stream->synchronize(); }));
    auto memory = CudaMemory::allocate(*context, 64);
    ASSERT_TRUE(memory);
    EXPECT_TRUE(stream->fill(*memory, std::byte{1}) && stream->synchronize()) << "the stream is of use again";
  });
}

TEST(CudaMemory, OfAPoolComesAndGoesInTheOrderOfItsStream) {
  on_gpus("healthy", [] {
    {
      auto context = first_context();
      ASSERT_TRUE(context) << context.error().message;
      auto stream = CudaStream::create(*context);
      ASSERT_TRUE(stream);
      ASSERT_TRUE(keep_in_pool(*context, 1 << 20));
      auto memory = stream->allocate(64);
      ASSERT_TRUE(memory) << memory.error().message;
      std::vector<std::byte> content(64);
      ASSERT_TRUE(stream->fill(*memory, std::byte{3}));
      ASSERT_TRUE(stream->read(content, *memory));
      ASSERT_TRUE(stream->release(std::move(*memory)));
      ASSERT_TRUE(stream->synchronize());
      EXPECT_EQ(content[63], std::byte{3});
      auto forgotten = stream->allocate(64);
      ASSERT_TRUE(forgotten);
    }
    EXPECT_EQ(objects_alive(), 0u);
  });
}

TEST(CudaMemory, ThatIsUnifiedIsSeenByBoth) {
  on_gpus("healthy", [] {
    auto context = first_context();
    ASSERT_TRUE(context) << context.error().message;
    auto stream = CudaStream::create(*context);
    auto memory = CudaMemory::allocate(*context, 64, MemoryKind::kUnified);
    auto other = CudaMemory::allocate(*context, 64);
    ASSERT_TRUE(stream && memory && other) << memory.error().message;
    std::ranges::fill(memory->bytes(), std::byte{5});
    ASSERT_TRUE(stream->prefetch(*memory, true));
    ASSERT_TRUE(stream->copy(*other, *memory, 64));
    ASSERT_TRUE(stream->fill(*memory, std::byte{7}));
    ASSERT_TRUE(stream->prefetch(*memory, false));
    ASSERT_TRUE(stream->synchronize());
    EXPECT_EQ(memory->bytes()[63], std::byte{7});
    std::vector<std::byte> copied(1);
    ASSERT_TRUE(other->read(copied, 63));
    EXPECT_EQ(copied[0], std::byte{5});
    EXPECT_FALSE(stream->prefetch(*other, true)) << "is not unified";
  });
}

}  // namespace
}  // namespace ridge::gpu::cuda
