#include "engine/onnxruntime/gpu_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::engine::onnxruntime {
namespace {

using testing::HasSubstr;
using testing::Not;

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

std::string message_of(const GpuFacts& facts, const plan::Device& device = kCuda0) {
  const std::string message = gpu_error(device, facts).message;
  EXPECT_THAT(message, HasSubstr("device " + plan::device_name(device) + " cannot be used: "));
  EXPECT_THAT(message, HasSubstr("what to do: "));
  return message;
}

TEST(GpuError, OfABuildWithoutTheProviderNamesTheNewestBuildThatTheDriverRuns) {
  GpuFacts facts = fitting();
  facts.version = "1.31.1";
  facts.compiled = {"AzureExecutionProvider", "CPUExecutionProvider"};
  EXPECT_EQ(gpu_error(kCuda0, facts).code, Code::kUnsupported);
  // Driver 570 runs CUDA 12 but not 13; the last release published for CUDA 12 is 1.26.
  EXPECT_THAT(message_of(facts), HasSubstr("onnxruntime-gpu[cuda,cudnn]==1.26.*"));
  EXPECT_THAT(message_of(facts), HasSubstr("/p/libonnxruntime.so is ONNX Runtime 1.31.1 with AzureExecutionProvider"));
  facts.driver = "580.95.05";
  EXPECT_THAT(message_of(facts), HasSubstr("onnxruntime-gpu[cuda,cudnn]==1.31.1"));
  facts.driver.reset();
  facts.gpus.clear();
  facts.driver_reason = "libnvidia-ml.so.1 is nowhere";
  EXPECT_THAT(message_of(facts), HasSubstr("no NVIDIA driver (libnvidia-ml.so.1 is nowhere)"));
  EXPECT_THAT(message_of(facts), HasSubstr("==1.31.1\", and install NVIDIA's driver"));
}

TEST(GpuError, NamesTheFirstMissingLibraryAndThePackagesThatBringThem) {
  GpuFacts facts = fitting();
  facts.missing = {"libcublasLt.so.12", "libcublas.so.12", "libcudnn.so.9"};
  const std::string message = message_of(facts);
  EXPECT_THAT(message,
              HasSubstr("needs libcublasLt.so.12, which is not installed; nor are libcublas.so.12, libcudnn.so.9"));
  EXPECT_THAT(message, HasSubstr("onnxruntime-gpu 1.22.x needs CUDA 12.8, cuDNN 9"));
  EXPECT_THAT(message, HasSubstr("pip install nvidia-cublas-cu12 nvidia-cudnn-cu12"));
  EXPECT_THAT(message, HasSubstr("in its words: it did not work"));
  facts.version = "1.31.1";  // CUDA 13, whose packages have no suffix
  facts.missing = {"libcudart.so.13", "libcudnn.so.9", "libnvinfer.so.10", "libcuda.so.1"};
  EXPECT_THAT(message_of(facts), HasSubstr("pip install nvidia-cuda-runtime nvidia-cudnn-cu13 tensorrt-cu13 "));
  EXPECT_THAT(message_of(facts), HasSubstr("nor is the driver's libcuda.so.1"));
  EXPECT_THAT(message_of(facts), HasSubstr("install NVIDIA's driver"));
}

TEST(GpuError, OfAMachineWithoutADriverSaysSo) {
  GpuFacts facts = fitting();
  facts.driver.reset();
  facts.gpus.clear();
  facts.driver_reason = "no library";
  EXPECT_THAT(message_of(facts), HasSubstr("there is no NVIDIA driver: no library"));
}

TEST(GpuError, OfAnOldDriverNamesTheOneThatIsNeededAndTheReleaseThatItRuns) {
  GpuFacts facts = fitting();
  facts.version = "1.27.0";  // CUDA 13.0: driver 580
  const std::string message = message_of(facts);
  EXPECT_THAT(message, HasSubstr("driver 570.124.06 is too old for CUDA 13.0"));
  EXPECT_THAT(message, HasSubstr("update the driver to 580 or newer"));
  EXPECT_THAT(message, HasSubstr("==1.26.*"));
}

TEST(GpuError, OfAGpuThatIsNotThereListsThoseThatAre) {
  const std::string message = message_of(fitting(), {plan::DeviceKind::kCuda, 2});
  EXPECT_THAT(message, HasSubstr("there is no GPU 2; the driver has 1: cuda:0 NVIDIA A100-SXM4-80GB"));
}

TEST(GpuError, OfAGpuThatCudaLeftBehindSaysWhereItBegins) {
  GpuFacts facts = fitting();
  facts.version = "1.27.0";
  facts.driver = "580.95.05";
  facts.gpus = {{"Tesla V100", "7.0"}};
  EXPECT_THAT(message_of(facts), HasSubstr("Tesla V100 has compute capability 7.0; CUDA 13.0.0 begins at 7.5"));
}

TEST(GpuError, WhereNothingIsWrongRepeatsWhatTheEngineSaid) {
  EXPECT_THAT(message_of(fitting()), HasSubstr("cannot be used: it did not work"));
  EXPECT_THAT(message_of(fitting()), Not(HasSubstr("in its words")));
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
