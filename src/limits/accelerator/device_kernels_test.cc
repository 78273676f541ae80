// The kernels that measure a device: they compile for absent GPUs, and compute correctly on pocl, an implementation of
// OpenCL for CPUs, which ./dev setup installs.
#include "gpu/device.h"
#include "limits/accelerator/kernels.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>

#include "disassembly.h"
#include "gpu/cuda/nvrtc.h"
#include "gpu/test_gpus.h"
#include "limits/accelerator/gemm.h"
#include "limits/accelerator/links.h"
#include "limits/accelerator/memory.h"
#include "limits/accelerator/mma.h"
#include "limits/accelerator/multiply_adds.h"

namespace ridge::limits::accelerator {
namespace {

// This machine (pocl), with small limits, so that everything runs quickly and in little memory: 8 MiB buffers, 64 KiB
// of "cache".
Result<gpu::Device> small_opencl_device() {
  RIDGE_ASSIGN(gpu::Device device, gpu::open_device("opencl:0"));
  device.facts.memory_bytes = 64 << 20;
  device.facts.last_cache_bytes = 128 << 10;
  return device;
}

// Facts of a fully equipped GPU of that compute capability.
gpu::DeviceFacts gpu_of(int capability) {
  gpu::DeviceFacts facts;
  facts.dialect = gpu::Dialect::kCuda;
  facts.capability = std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  facts.fp64_lanes = facts.fp32_lanes = 1;
  facts.fp16_lanes = 2;
  facts.bf16 = capability >= 80;
  facts.integer_dot = true;
  return facts;
}

constexpr int kOfThousandThreads = 64;  // registers of each, so that 1024 are resident on a multiprocessor of 65536

// Turing, Ampere (server, desktop, Orin), Ada, Hopper, Blackwell (server, Thor, desktop).
class EveryGeneration : public testing::TestWithParam<int> {
 protected:
  void compile(const std::string& definitions, std::initializer_list<std::string_view> texts, int most_registers,
               std::string* machine_code = nullptr) {
    auto nvrtc = gpu::cuda::Nvrtc::open(std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc/libnvrtc.so");
    ASSERT_TRUE(nvrtc) << nvrtc.error().message;
    auto program = nvrtc->compile(kernel_source(definitions, texts), "device.cu", GetParam());
    ASSERT_TRUE(program) << definitions << program.error().message;
    for (const gpu::cuda::CudaKernelUse& kernel : program->kernels) {
      EXPECT_EQ(kernel.spill_bytes, 0) << definitions << kernel.name;
      EXPECT_EQ(kernel.stack_bytes, 0) << definitions << kernel.name << ": accumulators that are not in registers";
      EXPECT_LE(kernel.registers, most_registers) << definitions << kernel.name;
    }
    EXPECT_FALSE(program->kernels.empty());
    if (machine_code != nullptr) *machine_code = program->machine_code;
  }
};

TEST_P(EveryGeneration, OfCudaGpusHasItsMultiplyAdds) {
  for (const LaneType& type : lane_types(gpu_of(GetParam())))
    if (type.reason.empty()) compile(type.definitions, {"arithmetic", "multiply_adds"}, kOfThousandThreads);
}

TEST_P(EveryGeneration, OfCudaGpusHasItsTiles) {
  for (Precision precision :
       {Precision::kFp64, Precision::kTf32, Precision::kFp16, Precision::kBf16, Precision::kFp8, Precision::kInt8})
    if (const MmaShape* shape = shape_of(precision, GetParam())) {
      std::string machine_code;
      compile("#define " + std::string(shape->name) + "\n", {"mma"}, kOfThousandThreads, &machine_code);
      const std::string text = fake::disassembled(machine_code);
      // "HMMA.16816", "DMMA.884"; Hopper's is DMMA.8x8x4.
      const int64_t tiles = fake::count_of(text, fmt::format("MMA.{}{}{}", shape->m, shape->n, shape->k)) +
                            fake::count_of(text, fmt::format("MMA.{}x{}x{}", shape->m, shape->n, shape->k));
      EXPECT_GE(tiles, kTiles * kTileStepsPerRound) << shape->name << " of sm_" << GetParam() << " is emulated";
      EXPECT_LT(fake::count_of(text, "FADD"), tiles) << shape->name;
    }
}

// No tensor core of Hopper or server Blackwell multiplies FP8 by mma.sync: what compiles for them is emulated, and
// measures additions.
TEST(Mma, HasNoFp8WhereItIsEmulated) {
  for (const int capability : {80, 90, 100, 103, 110})
    EXPECT_EQ(shape_of(Precision::kFp8, capability), nullptr) << capability;
  for (const int capability : {89, 120, 121}) EXPECT_NE(shape_of(Precision::kFp8, capability), nullptr) << capability;
}

TEST_P(EveryGeneration, OfCudaGpusReadsAndWrites) {
  compile("", {"memory"}, 128);
  compile("", {"launch"}, 128);
  compile("", {"random_bits"}, 128);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryGeneration,
                         testing::Values(75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121));

void run_and_check(Metric& metric) {
  EXPECT_FALSE(metric.variants.empty()) << metric.reason;
  for (KernelVariant& variant : metric.variants) {
    for (int64_t repeats : {1, 3}) {
      auto bursts = variant.run(std::min(repeats, variant.most_repeats), 1);
      ASSERT_TRUE(bursts) << variant.conditions << ": " << bursts.error().message;
      ASSERT_EQ(bursts->size(), 1u);
      EXPECT_GT(bursts->front().units, 0) << variant.conditions;
      EXPECT_GT(bursts->front().seconds, 0) << variant.conditions;
    }
    Status right = variant.check ? variant.check() : Status{};
    EXPECT_TRUE(right) << variant.conditions << ": " << right.error().message;
  }
}

TEST(DeviceKernels, CountTheirStepsOnOpenCl) {
  auto device = small_opencl_device();
  ASSERT_TRUE(device) << device.error().message;
  for (MetricOf<PeakRow>& asked : multiply_add_metrics(*device))
    if (asked.row.precision == Precision::kFp32 || asked.metric.reason.empty()) run_and_check(asked.metric);
}

TEST(DeviceKernels, ReadWriteAndCopyAllOnOpenCl) {
  auto device = small_opencl_device();
  ASSERT_TRUE(device) << device.error().message;
  for (MetricOf<BandwidthRow>& asked : memory_metrics(*device)) run_and_check(asked.metric);
}

// Compiles another text than it is given.
class OtherText : public gpu::Workspace {
 public:
  OtherText(std::unique_ptr<gpu::Workspace> inner, std::string from, std::string to)
      : inner_(std::move(inner)), from_(std::move(from)), to_(std::move(to)) {}
  Status build(const std::string& source) override {
    std::string other = source;
    const size_t at = other.find(from_);
    EXPECT_NE(at, std::string::npos) << from_;
    return inner_->build(other.replace(at, from_.size(), to_));
  }
  Result<gpu::BufferNumber> add_bytes(size_t size, gpu::MemoryKind kind) override {
    return inner_->add_bytes(size, kind);
  }
  Status write_bytes(gpu::BufferNumber buffer, std::span<const std::byte> content, size_t at) override {
    return inner_->write_bytes(buffer, content, at);
  }
  Status read_bytes(gpu::BufferNumber buffer, std::span<std::byte> content, size_t at) override {
    return inner_->read_bytes(buffer, content, at);
  }
  Result<gpu::LaunchTime> run(std::span<const gpu::Step> steps, int repeats) override {
    return inner_->run(steps, repeats);
  }

 private:
  std::unique_ptr<gpu::Workspace> inner_;
  std::string from_, to_;
};

// Writing the first and last parts of a buffer is not enough, and results of the right kernels before it are no excuse.
TEST(DeviceKernels, ThatWriteOrCopyAPartAreFoundOut) {
  auto device = small_opencl_device();
  ASSERT_TRUE(device) << device.error().message;
  struct Mistake {
    const char *access, *from, *to;
  };
  for (const Mistake& mistake :
       {Mistake{"write", "i < steps; ++i, at += by_step) out[at]", "i < steps / 2; ++i, at += by_step) out[at]"},
        Mistake{"copy", "out[at + 3 * by_step] = d;", "if (i > 0) out[at + 3 * by_step] = d;"}}) {
    gpu::Device wrong = *device;
    wrong.open_workspace = [device, mistake](gpu::Timing timing) -> Result<std::unique_ptr<gpu::Workspace>> {
      RIDGE_ASSIGN(std::unique_ptr<gpu::Workspace> inner, device->open_workspace(timing));
      return std::unique_ptr<gpu::Workspace>(std::make_unique<OtherText>(std::move(inner), mistake.from, mistake.to));
    };
    for (MetricOf<BandwidthRow>& asked : memory_metrics(wrong)) {
      if (asked.row.access != mistake.access) continue;
      KernelVariant& variant = asked.metric.variants.front();
      ASSERT_TRUE(variant.run(1, 1));
      const Status found = variant.check();
      ASSERT_FALSE(found) << mistake.access;
      EXPECT_NE(found.error().message.find("after the write or copy"), std::string::npos) << found.error().message;
    }
  }
}

TEST(DeviceKernels, LinksAndStartsWorkOnOpenCl) {
  auto device = small_opencl_device();
  ASSERT_TRUE(device) << device.error().message;
  for (MetricOf<LinkRow>& asked : link_metrics(*device)) run_and_check(asked.metric);
  for (MetricOf<StartRow>& asked : start_metrics(*device)) run_and_check(asked.metric);
}

// Through the fake of NVIDIA's driver, which runs kernels on pocl: all but GPU assembly.
TEST(DeviceKernels, RunThroughNvidiasDriver) {
  gpu::play_gpus("bench");
  auto device = gpu::open_device("cuda:0");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->facts.capability, "9.0");
  for (MetricOf<PeakRow>& asked : multiply_add_metrics(*device))
    if (asked.row.precision == Precision::kFp32 || asked.row.precision == Precision::kFp64) run_and_check(asked.metric);
  for (MetricOf<BandwidthRow>& asked : memory_metrics(*device)) {
    run_and_check(asked.metric);
    if (asked.row.level == "last cache") {
      EXPECT_EQ(asked.row.working_set_bytes, device->facts.last_cache_bytes / 4);
    }
  }
  for (MetricOf<LinkRow>& asked : link_metrics(*device)) run_and_check(asked.metric);
  std::vector<MetricOf<StartRow>> starts = start_metrics(*device);
  EXPECT_EQ(starts.size(), 5u);
  for (MetricOf<StartRow>& asked : starts) run_and_check(asked.metric);
}

TEST(DeviceKernels, MultiplicationsOfTheLibraryAreRightInEveryType) {
  gpu::play_gpus("bench");
  auto device = gpu::open_device("cuda:0");
  ASSERT_TRUE(device) << device.error().message;
  for (Precision precision : {Precision::kFp64, Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16,
                              Precision::kFp8, Precision::kInt8}) {
    auto memory = open_gemm_memory(*device);
    ASSERT_TRUE(memory) << memory.error().message;
    auto variant = gemm_variant(*memory, {precision, 48, 32, 64, true});
    ASSERT_TRUE(variant) << precision_name(precision) << ": " << variant.error().message;
    auto bursts = variant->run(2, 1);
    ASSERT_TRUE(bursts) << variant->conditions << ": " << bursts.error().message;
    EXPECT_EQ(bursts->front().units, 2 * 2.0 * 48 * 32 * 64);
    Status right = variant->check();
    EXPECT_TRUE(right) << right.error().message;
    EXPECT_EQ(variant->how().substr(0, 10), "algorithm ");
  }
}

// A kernel that computes too little is detected.
TEST(DeviceKernels, ThatSkipStepsAreFoundOut) {
  auto device = small_opencl_device();
  ASSERT_TRUE(device) << device.error().message;
  std::string source = kernel_source("#define FP32\n#define LANES 1\n", {"arithmetic", "multiply_adds"});
  const std::string whole = "round < rounds";
  ASSERT_NE(source.find(whole), std::string::npos);
  source.replace(source.find(whole), whole.size(), "round < rounds - 1");
  CountingKernel counting;
  counting.what = "fp32";
  counting.kernel = "multiply_adds";
  counting.further = {1.0F, 1.0F};
  counting.layout = {8, 2};
  counting.most_steps = 1000;
  counting.expected = [](int64_t thread, int64_t steps) { return expected_count(Precision::kFp32, thread, steps); };
  Metric metric;
  const Status added = add_counting_variants(*device, source, [&](const Layout&) { return counting; }, metric);
  ASSERT_TRUE(added) << added.error().message;
  ASSERT_TRUE(metric.variants[0].run(2, 1));
  Status found = metric.variants[0].check();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("counted to 74 instead of 82 in 16 steps"), std::string::npos)
      << found.error().message;
}

}  // namespace
}  // namespace ridge::limits::accelerator
