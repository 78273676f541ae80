#include "engine/onnxruntime/gpu_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::engine::onnxruntime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr plan::Device kCuda0{plan::DeviceKind::kCuda, 0};

// A correct machine for onnxruntime-gpu 1.22: CUDA 12.8, cuDNN 9.
GpuFacts fitting() {
  GpuFacts facts;
  facts.runtime = "/p/libonnxruntime.so";
  facts.version = "1.22.0";
  facts.compiled = {"TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"};
  facts.provider_library = "/p/libonnxruntime_providers_cuda.so";
  facts.engine_words = "it did not work";
  facts.driver = "570.124.06";
  facts.gpus = {{"NVIDIA A100-SXM4-80GB", "8.0"}};
  return facts;
}

std::string message_of(const GpuFacts& facts) { return gpu_error(kCuda0, facts).message; }

TEST(GpuError, OfABuildWithoutTheProviderNamesTheNewestBuildThatTheDriverRuns) {
  GpuFacts facts = fitting();
  facts.version = "1.31.1";
  facts.compiled = {"AzureExecutionProvider", "CPUExecutionProvider"};
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnsupported);
  // Driver 570 runs CUDA 12 but not 13; the last release published for CUDA 12 is 1.26.
  EXPECT_THAT(message_of(facts), HasSubstr("onnxruntime-gpu[cuda,cudnn]==1.26.*"));
  facts.driver = "580.95.05";
  EXPECT_THAT(message_of(facts), HasSubstr("onnxruntime-gpu[cuda,cudnn]==1.31.1"));
  facts.driver.reset();
  facts.gpus.clear();
  facts.driver_reason = "libnvidia-ml.so.1 is nowhere";
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnsupported);
  EXPECT_THAT(message_of(facts), AllOf(HasSubstr("libnvidia-ml.so.1 is nowhere"), HasSubstr("==1.31.1")));
}

TEST(GpuError, NamesTheMissingLibrariesAndThePackagesThatBringThem) {
  GpuFacts facts = fitting();
  facts.missing = {"libcublasLt.so.12", "libcublas.so.12", "libcudnn.so.9"};
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnavailable);
  EXPECT_THAT(message_of(facts),
              AllOf(HasSubstr("libcublasLt.so.12"), HasSubstr("libcublas.so.12"), HasSubstr("libcudnn.so.9"),
                    HasSubstr("1.22.x"), HasSubstr("CUDA 12.8"), HasSubstr("nvidia-cublas-cu12 nvidia-cudnn-cu12"),
                    HasSubstr(facts.engine_words)));
  facts.version = "1.31.1";  // CUDA 13, whose packages have no suffix
  facts.missing = {"libcudart.so.13", "libcudnn.so.9", "libnvinfer.so.10", "libcuda.so.1"};
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnavailable);
  EXPECT_THAT(message_of(facts),
              AllOf(HasSubstr("nvidia-cuda-runtime nvidia-cudnn-cu13 tensorrt-cu13 "), HasSubstr("libcuda.so.1")));
}

TEST(GpuError, OfAMachineWithoutADriverHasTheReason) {
  GpuFacts facts = fitting();
  facts.driver.reset();
  facts.gpus.clear();
  facts.driver_reason = "no library";
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnavailable);
  EXPECT_THAT(message_of(facts), HasSubstr("no library"));
}

TEST(GpuError, OfAnOldDriverNamesTheOneThatIsNeededAndTheReleaseThatItRuns) {
  GpuFacts facts = fitting();
  facts.version = "1.27.0";  // CUDA 13.0: driver 580
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnavailable);
  EXPECT_THAT(message_of(facts), AllOf(HasSubstr("570.124.06"), HasSubstr("580 "), HasSubstr("==1.26.*")));
}

TEST(GpuError, OfAGpuThatIsNotThereListsThoseThatAre) {
  const plan::Device third{plan::DeviceKind::kCuda, 2};
  EXPECT_EQ(gpu_error(third, fitting()).code, Code::kUnavailable);
  EXPECT_THAT(gpu_error(third, fitting()).message, HasSubstr("cuda:0 NVIDIA A100-SXM4-80GB"));
}

TEST(GpuError, OfAGpuThatCudaLeftBehindSaysWhereItBegins) {
  GpuFacts facts = fitting();
  facts.version = "1.27.0";
  facts.driver = "580.95.05";
  facts.gpus = {{"Tesla V100", "7.0"}};
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnavailable);
  EXPECT_THAT(message_of(facts), AllOf(HasSubstr("Tesla V100"), HasSubstr("7.0"), HasSubstr("7.5")));
}

TEST(GpuError, WhereNothingIsWrongRepeatsWhatTheEngineSaidOnce) {
  EXPECT_EQ(gpu_error(kCuda0, fitting()).code, Code::kUnavailable);
  const std::string message = message_of(fitting());
  const size_t at = message.find(fitting().engine_words);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(message.find(fitting().engine_words, at + 1), std::string::npos);
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
