// Every experiment, on every device of a test machine: do all variants compute the same, and do the kernels compile for
// absent GPUs?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "gpu/cuda/nvrtc.h"
#include "gpu/test_child.h"
#include "gpu/test_gpus.h"
#include "lab/device.h"
#include "lab/experiment.h"
#include "lab/kernels.h"

namespace ridge::lab {
namespace {

// Turing, Ampere (server, desktop, Orin), Ada, Hopper; Blackwell (server, Thor, desktop).
// One of each generation: 87 and 88 compile as 86 does, and 121 as 120.
constexpr int kUpToHopper[] = {75, 80, 86, 89, 90}, kBlackwell[] = {100, 103, 110, 120};

// GPUs that a compiler does not know, and what it compiles for instead.
constexpr std::pair<int, int> kUnknown[] = {{80, 75}, {87, 86}, {103, 100}, {120, 90}};

class EveryExperiment : public testing::TestWithParam<Experiment> {};

std::vector<Case> small_cases(const Experiment& experiment, Target target) {
  target.small = true;
  std::vector<Case> cases = experiment.cases(target);
  for (Case& work : cases) work.fill(work);
  return cases;
}

Target cuda_gpu(int architecture) {
  Target target;
  target.unified_memory = true;
  target.architecture = architecture;
  target.warp_groups = architecture == 90;
  return target;
}

Target cpu() {
  Target target;
  target.family = Family::kNative;
  return target;
}

void add_kernels(std::set<std::string>& names, const Variant& variant) {
  for (const gpu::Launch& launch : variant.launches) names.insert(launch.kernel);
  for (const gpu::Step& step : variant.steps)
    if (const auto* launch = std::get_if<gpu::Launch>(&step.operation)) names.insert(launch->kernel);
}

// All kernels that the variants start on such a GPU are in what is compiled for it, without spilling.
void check_compiles(const gpu::cuda::Nvrtc& nvrtc, const Experiment& experiment, const Target& target) {
  const int code = target.compiled_for > 0 ? target.compiled_for : target.architecture;
  std::set<std::string> launched, texts, compiled;
  for (const Case& work : small_cases(experiment, target)) {
    if (!work.kernels.empty()) texts.insert(work.kernels);
    for (const Variant& variant : work.variants) add_kernels(launched, variant);
  }
  for (const std::string& text : texts) {
    ASSERT_NE(kernel_source(text), kernel_source("")) << text;
    auto program = nvrtc.compile(kernel_source(text), text + ".cu", code, target.compiled_for > 0);
    ASSERT_TRUE(program) << program.error().message;
    for (const gpu::cuda::CudaKernelUse& kernel : program->kernels) {
      compiled.insert(kernel.name);
      EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name << " for sm_" << code;
    }
  }
  if (target.compiled_for == 0) {
    EXPECT_EQ(compiled, launched) << "the kernels of the text are those that the variants start";
  }
  for (const std::string& kernel : launched)
    EXPECT_TRUE(compiled.contains(kernel)) << kernel << " for sm_" << target.architecture << " by sm_" << code;
}

void check_on(const Device& device, const Experiment& experiment) {
  for (const Case& work : small_cases(experiment, device.target)) {
    auto prepared = device.prepare(work);
    ASSERT_TRUE(prepared) << prepared.error().message;
    Status right = check(**prepared, work);
    EXPECT_TRUE(right) << right.error().message;
  }
}

// On pocl, an implementation of OpenCL for CPUs, which ./dev setup installs.
TEST_P(EveryExperiment, ComputesTheSameInEveryVariantOnOpenCl) {
  auto device = open_device("opencl:0");
  ASSERT_TRUE(device) << device.error().message;
  check_on(*device, GetParam());
}

// On a fake of NVIDIA's driver that runs the kernels on pocl.
TEST_P(EveryExperiment, ComputesTheSameInEveryVariantOnAGpu) {
  gpu::play_gpus("healthy");
  auto device = open_device("cuda:0");
  ASSERT_TRUE(device) << device.error().message;
  check_on(*device, GetParam());
}

TEST_P(EveryExperiment, ComputesTheSameInEveryVariantOnTheCpu) {
  auto device = open_device("cpu");
  ASSERT_TRUE(device) << device.error().message;
  check_on(*device, GetParam());
}

Result<gpu::cuda::Nvrtc> open_compiler() {
  return gpu::cuda::Nvrtc::open(std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc/libnvrtc.so");
}

TEST_P(EveryExperiment, CompilesForEveryCudaGpuUpToHopper) {
  auto nvrtc = open_compiler();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  for (int architecture : kUpToHopper) check_compiles(*nvrtc, GetParam(), cuda_gpu(architecture));
}

TEST_P(EveryExperiment, CompilesForEveryBlackwell) {
  auto nvrtc = open_compiler();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  for (int architecture : kBlackwell) check_compiles(*nvrtc, GetParam(), cuda_gpu(architecture));
}

TEST_P(EveryExperiment, StartsOnlyWhatTheCodeForAnOlderGpuHas) {
  auto nvrtc = open_compiler();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  for (const auto& [architecture, code] : kUnknown) {
    Target target = cuda_gpu(architecture);
    target.warp_groups = false;
    target.compiled_for = code;
    check_compiles(*nvrtc, GetParam(), target);
  }
}

// Gigabytes, and seconds of a CPU: those of one case at a time, when it comes to its turn.
TEST_P(EveryExperiment, MakesNothingBeforeItsTurn) {
  Target gpu = cuda_gpu(90);
  gpu.last_cache_bytes = int64_t{50} << 20;
  gpu.multiprocessors = 132;
  gpu.library = true;
  for (const Case& work : GetParam().cases(gpu))
    for (size_t i = 0; i < work.buffers.size(); ++i)
      EXPECT_LE(work.buffers[i].size(), size_t{1} << 20) << work.title << ", buffer " << i;
}

// Both sides of a comparison must exist.
TEST_P(EveryExperiment, ComparesVariantsThatItHas) {
  for (const Target& target : {cuda_gpu(90), cpu()})
    for (const Case& work : small_cases(GetParam(), target)) {
      EXPECT_GT(work.bytes + work.flops, 0) << work.title;
      EXPECT_FALSE(work.comparisons.empty()) << work.title;
      for (const Comparison& comparison : work.comparisons) {
        EXPECT_LT(std::max(comparison.variant, comparison.baseline), work.variants.size()) << work.title;
        EXPECT_NE(std::count(GetParam().claims.begin(), GetParam().claims.end(), comparison.claim), 0);
        EXPECT_FALSE(comparison.because.empty());
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Lab, EveryExperiment, testing::ValuesIn(all_experiments().begin(), all_experiments().end()),
                         [](const auto& one) { return std::string(one.param.name); });

// A wrong kernel must not pass. On Hopper the vendor's library uses instructions that ours do not: its products would
// seem to exceed the limit.
TEST(MatmulTensor, ComparesTheVendorsLibraryWithTheCoresAloneOnlyWhereThatIsALimit) {
  const auto experiment = std::find_if(all_experiments().begin(), all_experiments().end(),
                                       [](const Experiment& one) { return one.name == "matmul_tensor"; });
  auto compares_library = [&](int architecture) {
    Target gpu = cuda_gpu(architecture);
    gpu.library = true;
    const std::vector<Case> cases = small_cases(*experiment, gpu);
    return std::any_of(cases.begin(), cases.end(), [](const Case& work) {
      return std::any_of(work.comparisons.begin(), work.comparisons.end(),
                         [&](const Comparison& one) { return work.variants[one.variant].name == "vendor's library"; });
    });
  };
  EXPECT_TRUE(compares_library(89));
  EXPECT_FALSE(compares_library(90));
  EXPECT_FALSE(compares_library(100));
  EXPECT_TRUE(compares_library(120));
}

TEST(Check, FindsAVariantThatComputesSomethingElse) {
  auto device = open_device("opencl:0");
  ASSERT_TRUE(device) << device.error().message;
  const auto alignment = std::find_if(all_experiments().begin(), all_experiments().end(),
                                      [](const Experiment& one) { return one.name == "alignment"; });
  Case work = small_cases(*alignment, device->target).front();
  work.expected[0] = [right = work.expected[0]](const Buffers& in, size_t i) {
    return right(in, i) + (i == 17 ? 1 : 0);
  };
  auto prepared = device->prepare(work);
  ASSERT_TRUE(prepared) << prepared.error().message;
  Status wrong = check(**prepared, work);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("value 17 is"), std::string::npos) << wrong.error().message;
}

// The fake for NVRTC does not know compute capability 10.3.
TEST(Devices, SayWhatTheyAreCompiledForWhereTheCompilerDoesNotKnowThem) {
  for (const auto& [script, code] : {std::pair("newer", 100), std::pair("healthy", 0)})
    gpu::on_gpus(script, [code = code] {
      auto device = open_device("cuda:0");
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ(device->target.compiled_for, code);
    });
}

TEST(Devices, AreNamedOrRefused) {
  for (const char* name : {"gpu", "opencl:", "opencl:x", "opencl7", "cuda:-1"}) {
    auto device = open_device(name);
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error().code, Code::kInvalid) << name;
  }
  auto device = open_device("opencl:99");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace ridge::lab
