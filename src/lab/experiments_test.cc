// Every experiment, on every device of a test machine: do all variants compute the same, and do the kernels compile for absent
// GPUs?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "gpu/cuda/nvrtc.h"
#include "gpu/test_gpus.h"
#include "lab/device.h"
#include "lab/experiment.h"
#include "lab/kernels.h"

namespace ridge::lab {
namespace {

// Turing, Ampere (server and desktop), Ada, Hopper, Blackwell (server and desktop).
constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};

class EveryExperiment : public testing::TestWithParam<Experiment> {};

std::vector<Case> small_cases(const Experiment& experiment, Target target) {
  target.small = true;
  return experiment.cases(target);
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

void check_on(const Device& device, const Experiment& experiment) {
  for (const Case& work : small_cases(experiment, device.target)) {
    auto prepared = device.prepare(work);
    ASSERT_TRUE(prepared) << prepared.error().message;
    Status right = check(**prepared, work);
    EXPECT_TRUE(right) << right.error().message;
  }
}

void add_kernels(std::set<std::string>& names, const Variant& variant) {
  for (const gpu::Launch& launch : variant.launches) names.insert(launch.kernel);
  for (const gpu::Step& step : variant.steps)
    if (const auto* launch = std::get_if<gpu::Launch>(&step.operation)) names.insert(launch->kernel);
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

TEST_P(EveryExperiment, CompilesForEveryGenerationOfCudaGpus) {
  auto nvrtc = gpu::cuda::Nvrtc::open(std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc/libnvrtc.so");
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  for (int architecture : kArchitectures) {
    std::set<std::string> launched, texts, compiled;
    for (const Case& work : small_cases(GetParam(), cuda_gpu(architecture))) {
      if (!work.kernels.empty()) texts.insert(work.kernels);
      for (const Variant& variant : work.variants) add_kernels(launched, variant);
    }
    for (const std::string& text : texts) {
      ASSERT_NE(kernel_source(text), kernel_source("")) << text;
      auto program = nvrtc->compile(kernel_source(text), text + ".cu", architecture);
      ASSERT_TRUE(program) << program.error().message;
      for (const gpu::cuda::CudaKernelUse& kernel : program->kernels) {
        compiled.insert(kernel.name);
        EXPECT_EQ(kernel.spill_bytes, 0) << kernel.name << " for sm_" << architecture;
      }
    }
    EXPECT_EQ(compiled, launched) << "the kernels of the text are those that the variants start";
  }
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

// A wrong kernel must not pass. On Hopper the vendor's library uses instructions that ours do not: its products would seem to
// exceed the limit.
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
  work.expected[0][17] += 1;
  auto prepared = device->prepare(work);
  ASSERT_TRUE(prepared) << prepared.error().message;
  Status wrong = check(**prepared, work);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("value 17 is"), std::string::npos) << wrong.error().message;
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
