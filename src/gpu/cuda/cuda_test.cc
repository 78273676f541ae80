// On a fake for NVIDIA's driver that runs kernels on the CPU and puts queued work off until it is waited for
// (tests/support/fake_cuda.cc).
#include "gpu/cuda/cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/dynlib.h"
#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"
#include "gpu/test_child.h"

namespace ridge::gpu::cuda {
namespace {

// Of the fake: contexts, memory, streams, events, modules and graphs that are alive.
size_t objects_alive() {
  auto library = DynamicLibrary::open(test_support("libcuda.so.1"));
  return (*library->symbol<size_t()>("fakeCudaObjects").value())();
}

constexpr const char* kKernels =
    "__kernel void twice(__global float* x) { size_t i = get_global_id(0); x[i] *= 2; }"
    "__kernel void plus(__global float* x, int first, float more)"
    "  { int i = get_group_id(0) * get_local_size(0) + get_local_id(0); if (i >= first) x[i] += more; }";

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// A workspace with the kernels and one buffer of 0, 1, 2, ….
struct Prepared {
  CudaWorkspace space;
  BufferNumber buffer;
};
Result<Prepared> prepared(size_t count) {
  RIDGE_ASSIGN(Cuda cuda, Cuda::open());
  RIDGE_ASSIGN(CudaWorkspace space, cuda.workspace(0));
  RIDGE_TRY(space.build(kKernels));
  RIDGE_ASSIGN(BufferNumber buffer, space.add(counted(count)));
  return Prepared{std::move(space), buffer};
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
    auto refused = cuda->workspace(0);
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
    EXPECT_EQ(to_json(gpu)["compute_capability"], "8.9");
    EXPECT_TRUE(to_json(gpu)["mig_uuid"].is_null());
    auto missing = cuda->workspace(2);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "there is no CUDA device 2; there are 2");
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

TEST(CudaWorkspace, RunsLaunchesInOrderAndTimesThem) {
  on_gpus("healthy", [] {
    {
      auto made = prepared(1024);
      ASSERT_TRUE(made) << made.error().message;
      std::vector<Launch> launches = {{"twice", {16}, {64}, {made->buffer}},
                                      {"plus", {4}, {256}, {made->buffer, 512, 0.5F}}};
      auto time = made->space.run(launches, 2);
      ASSERT_TRUE(time) << time.error().message;
      EXPECT_GT(time->device_seconds, 0);
      EXPECT_GE(time->whole_seconds, time->device_seconds);
      std::vector<float> content(1024);
      ASSERT_TRUE(made->space.read(made->buffer, content));
      EXPECT_EQ(content[511], 4 * 511);
      EXPECT_EQ(content[512], 2 * (2 * 512 + 0.5F) + 0.5F);
    }
    EXPECT_EQ(objects_alive(), 0u);
  });
}

TEST(CudaWorkspace, SaysWhatIsWrongWithASourceOrALaunch) {
  on_gpus("healthy", [] {
    auto made = prepared(1024);
    ASSERT_TRUE(made) << made.error().message;
    Launch unknown{"g", {1}, {1}, {}};
    auto missing = made->space.run({&unknown, 1});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kNotFound);
    Launch wide{"twice", {1}, {2048}, {made->buffer}};
    auto refused = made->space.run({&wide, 1});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("twice with 2048 × 1 × 1 threads"), std::string::npos)
        << refused.error().message;
    Status wrong = made->space.build("__kernel void f(__global float* x) { nothing; }");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Code::kInvalid);
    EXPECT_NE(wrong.error().message.find("nothing"), std::string::npos) << wrong.error().message;
  });
}

TEST(CudaWorkspace, GivesAGpuThatNvrtcDoesNotKnowItsNearestPtx) {
  on_gpus("newer", [] {
    auto made = prepared(64);
    ASSERT_TRUE(made) << made.error().message;
    Launch twice{"twice", {1}, {64}, {made->buffer}};
    EXPECT_TRUE(made->space.run({&twice, 1}));
  });
  auto target = choose_target({75, 80, 86, 89, 90, 100, 120}, 103);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->architecture, 100);
  EXPECT_FALSE(target->exact);
  EXPECT_TRUE(choose_target({75, 80}, 80)->exact);
  auto old = choose_target({75, 80}, 61);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Code::kUnsupported);
}

TEST(CudaWorkspace, ReportsALostGpuFromTheRunOnwards) {
  on_gpus("loses", [] {
    auto made = prepared(64);
    ASSERT_TRUE(made) << made.error().message;
    Launch twice{"twice", {1}, {64}, {made->buffer}};
    ASSERT_TRUE(made->space.run({&twice, 1}, 3));
    for (int i = 0; i < 2; ++i) {
      auto lost = made->space.run({&twice, 1});
      ASSERT_FALSE(lost);
      EXPECT_EQ(lost.error().code, Code::kUnavailable);
      EXPECT_NE(lost.error().message.find("NVRM: Xid"), std::string::npos) << lost.error().message;
    }
  });
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
    EXPECT_TRUE(CudaMemory::allocate(*context, 2 << 20, CudaMemoryKind::kPinned)) << "is not the GPU's";
  });
}

// Two streams: one brings data in, the other works on it when it has come.
TEST(CudaStream, WaitsForAnEventOfAnotherStream) {
  on_gpus("healthy", [] {
    auto made = prepared(256);
    ASSERT_TRUE(made) << made.error().message;
    const CudaContext& context = made->space.context();
    auto in = CudaStream::create(context), out = CudaStream::create(context);
    auto here = CudaMemory::allocate(context, 1024, CudaMemoryKind::kPinned);
    auto arrived = CudaEvent::create(context);
    ASSERT_TRUE(in && out && here && arrived);
    std::fill(here->bytes().begin(), here->bytes().end(), std::byte{0});
    ASSERT_TRUE(in->write(made->space.memory(made->buffer), here->bytes()));
    ASSERT_TRUE(in->record(*arrived));
    ASSERT_TRUE(out->wait(*arrived));
    Launch plus{"plus", {1}, {256}, {made->buffer, 0, 7.0F}};
    ASSERT_TRUE(made->space.queue(*out, {&plus, 1}, 3));
    std::vector<float> result(256);
    ASSERT_TRUE(out->read(std::as_writable_bytes(std::span(result)), made->space.memory(made->buffer)));
    ASSERT_TRUE(out->synchronize());
    EXPECT_EQ(result[0], 21);
    EXPECT_EQ(result[255], 21);
  });
}

TEST(CudaGraph, RunsWhatWasCapturedAsOftenAsItIsLaunched) {
  on_gpus("healthy", [] {
    auto made = prepared(64);
    ASSERT_TRUE(made) << made.error().message;
    Launch plus{"plus", {1}, {64}, {made->buffer, 0, 1.0F}};
    const CudaStream& stream = made->space.stream();
    auto graph = stream.capture([&] { return made->space.queue(stream, {&plus, 1}, 10); });
    ASSERT_TRUE(graph) << graph.error().message;
    std::vector<float> content(64);
    ASSERT_TRUE(stream.synchronize());
    ASSERT_TRUE(made->space.read(made->buffer, content));
    EXPECT_EQ(content[63], 63) << "captured, not run";
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream.launch(*graph));
    ASSERT_TRUE(stream.synchronize());
    ASSERT_TRUE(made->space.read(made->buffer, content));
    EXPECT_EQ(content[63], 63 + 20);
    // Waiting is no work that can be captured.
    auto broken = stream.capture([&] { return stream.synchronize(); });
    ASSERT_FALSE(broken);
    EXPECT_TRUE(made->space.run({&plus, 1})) << "the stream is of use again";
  });
}

TEST(CudaMemory, OfAPoolComesAndGoesInTheOrderOfItsStream) {
  on_gpus("healthy", [] {
    {
      auto made = prepared(16);
      ASSERT_TRUE(made) << made.error().message;
      const CudaStream& stream = made->space.stream();
      ASSERT_TRUE(keep_in_pool(stream.context(), 1 << 20));
      auto memory = stream.allocate(64);
      ASSERT_TRUE(memory) << memory.error().message;
      std::vector<std::byte> content(64);
      ASSERT_TRUE(stream.fill(*memory, std::byte{3}));
      ASSERT_TRUE(stream.read(content, *memory));
      ASSERT_TRUE(stream.release(std::move(*memory)));
      ASSERT_TRUE(stream.synchronize());
      EXPECT_EQ(content[63], std::byte{3});
      auto forgotten = stream.allocate(64);
      ASSERT_TRUE(forgotten);
    }
    EXPECT_EQ(objects_alive(), 0u);
  });
}

TEST(CudaMemory, ThatIsManagedIsSeenByBoth) {
  on_gpus("healthy", [] {
    auto made = prepared(16);
    ASSERT_TRUE(made) << made.error().message;
    auto memory = CudaMemory::allocate(made->space.context(), 64, CudaMemoryKind::kManaged);
    ASSERT_TRUE(memory) << memory.error().message;
    auto* values = reinterpret_cast<float*>(memory->bytes().data());
    std::fill_n(values, 16, 5.0F);
    ASSERT_TRUE(made->space.stream().prefetch(*memory, true));
    BufferNumber number = made->space.adopt(std::move(*memory));
    Launch twice{"twice", {1}, {16}, {number}};
    ASSERT_TRUE(made->space.run({&twice, 1}));
    EXPECT_EQ(values[15], 10.0F);
    ASSERT_TRUE(made->space.stream().prefetch(made->space.memory(number), false));
    EXPECT_FALSE(made->space.stream().prefetch(made->space.memory(made->buffer), true)) << "is not managed";
  });
}

TEST(CudaKernel, TellsWhatItTakesAndHowManyBlocksFit) {
  on_gpus("healthy", [] {
    auto made = prepared(16);
    ASSERT_TRUE(made) << made.error().message;
    auto kernel = made->space.kernel("twice");
    ASSERT_TRUE(kernel) << kernel.error().message;
    auto use = kernel->use();
    ASSERT_TRUE(use) << use.error().message;
    EXPECT_EQ(use->registers, 32);
    EXPECT_EQ(use->most_threads, 1024);
    EXPECT_EQ(*kernel->blocks_per_multiprocessor(256), 8);
    EXPECT_EQ(*kernel->blocks_per_multiprocessor(256, 100 << 10), 2);
    EXPECT_TRUE(kernel->allow_dynamic_shared(227 << 10));
    Status refused = kernel->allow_dynamic_shared(228 << 10);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("233472 bytes"), std::string::npos) << refused.error().message;
  });
}

// Of CUDA 10: no pools, graphs cannot be made, the release of the primary context has its old name.
TEST(Cuda, WorksWithAnOldDriverButForWhatItLacks) {
  on_gpus("turing", [] {
    setenv("RIDGE_CUDA", test_support("libcuda-old.so.1").c_str(), 1);
    auto made = prepared(64);
    ASSERT_TRUE(made) << made.error().message;
    Launch twice{"twice", {1}, {64}, {made->buffer}};
    EXPECT_TRUE(made->space.run({&twice, 1}));
    const CudaStream& stream = made->space.stream();
    auto pool = stream.allocate(64);
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().code, Code::kUnsupported);
    EXPECT_NE(pool.error().message.find("CUDA 11.2"), std::string::npos) << pool.error().message;
    EXPECT_FALSE(stream.capture([] { return Status{}; }));
    auto memory = CudaMemory::allocate(stream.context(), 64, CudaMemoryKind::kManaged);
    ASSERT_TRUE(memory);
    EXPECT_TRUE(stream.prefetch(*memory, true));
  });
}

// Everything above once more where it counts.
TEST(Cuda, WorksOnTheGpuOfThisMachine) {
  auto cuda = Cuda::open();
  if (!cuda) GTEST_SKIP() << "no GPU here: " << cuda.error().message;
  for (size_t i = 0; i < cuda->devices().size(); ++i) {
    SCOPED_TRACE(dump_json(to_json(cuda->devices()[i])));
    auto space = cuda->workspace(i);
    ASSERT_TRUE(space) << space.error().message;
    Status built = space->build(
        "extern \"C\" __global__ void plus(float* x, int first, float more)"
        "  { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= first) x[i] += more; }");
    if (!built && built.error().code == Code::kNotFound) GTEST_SKIP() << built.error().message;
    ASSERT_TRUE(built) << built.error().message;
    auto buffer = space->add(counted(1024));
    ASSERT_TRUE(buffer) << buffer.error().message;
    Launch plus{"plus", {4}, {256}, {*buffer, 512, 0.5F}};
    auto time = space->run({&plus, 1}, 4);
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_GT(time->device_seconds, 0);
    auto graph = space->stream().capture([&] { return space->queue(space->stream(), {&plus, 1}, 4); });
    ASSERT_TRUE(graph) << graph.error().message;
    ASSERT_TRUE(space->stream().launch(*graph));
    ASSERT_TRUE(space->stream().synchronize());
    std::vector<float> content(1024);
    ASSERT_TRUE(space->read(*buffer, content));
    EXPECT_EQ(content[511], 511);
    EXPECT_EQ(content[512], 512 + 8 * 0.5F);
    auto kernel = space->kernel("plus");
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_GT(*kernel->blocks_per_multiprocessor(256), 0);
  }
}

}  // namespace
}  // namespace ridge::gpu::cuda
