#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "catalogue/compatibility.h"
#include "doctor/installed.h"
#include "doctor/test_facts.h"
#include "gpu/gpu.h"

namespace ridge::doctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

catalogue::Version version(std::string_view text) {
  return catalogue::parse_version(text).value_or(catalogue::Version{});
}

TEST(Version, ComparesNumberByNumber) {
  EXPECT_LT(version("525.60.13"), version("525.105.17"));
  EXPECT_EQ(version("12.4"), version("12.4.0"));
  EXPECT_GT(version("550.54.14"), version("550"));
  EXPECT_EQ(catalogue::version_text(version("12.4.1-runtime")), "12.4.1");
  EXPECT_EQ(catalogue::version_text(version("535.129.03")), "535.129.03");
  EXPECT_FALSE(catalogue::parse_version("runtime").has_value());
}

TEST(Version, PatternsOfTheTables) {
  EXPECT_TRUE(catalogue::fits(version("12.4.1"), "12.0-12.6"));
  EXPECT_TRUE(catalogue::fits(version("12.6.3"), "12.0-12.6"));
  EXPECT_FALSE(catalogue::fits(version("12.8"), "12.0-12.6"));
  EXPECT_TRUE(catalogue::fits(version("12.8"), "12.x"));
  EXPECT_TRUE(catalogue::fits(version("13.1"), "12, 13"));
  EXPECT_TRUE(catalogue::fits(version("10.2"), "11.8, 10.2"));
  EXPECT_FALSE(catalogue::fits(version("11.7"), "11.8, 10.2"));
  EXPECT_FALSE(catalogue::fits(version("12"), ""));
}

// CUDA 12.4.0 came with 550.54.14; every 12.x runs from 525.60.13 (table cuda_compat).
TEST(Compatibility, DriverFitsACudaReleaseFullyMinorlyOrNot) {
  std::optional<catalogue::CudaRow> row = catalogue::cuda_row(version("12.4"));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(catalogue::version_text(row->cuda), "12.4.0");
  EXPECT_EQ(catalogue::version_text(catalogue::cuda_row(version("12.4.1"))->cuda), "12.4.1");
  EXPECT_EQ(catalogue::version_text(catalogue::cuda_row(version("12.4.127"))->cuda), "12.4.0");
  EXPECT_EQ(catalogue::driver_fit(version("550.54.14"), *row), catalogue::DriverFit::kFull);
  EXPECT_EQ(catalogue::driver_fit(version("535.104.05"), *row), catalogue::DriverFit::kMinor);
  EXPECT_EQ(catalogue::driver_fit(version("470.57.02"), *row), catalogue::DriverFit::kNone);
  EXPECT_FALSE(catalogue::cuda_row(version("99.0")).has_value());
}

TEST(Compatibility, NewestCudaOfADriver) {
  EXPECT_EQ(catalogue::version_text(catalogue::newest_cuda_for(version("535.104.05"))->cuda), "12.2.2");
  EXPECT_EQ(catalogue::version_text(catalogue::newest_cuda_for(version("580.95.05"))->cuda), "13.0.2");
  EXPECT_FALSE(catalogue::newest_cuda_for(version("1.0")).has_value());
}

TEST(Compatibility, LibraryRowIsTheNewestNotNewerThatIsMadeForThisCuda) {
  EXPECT_EQ(catalogue::cudnn_row(version("9.6.0"), version("12.4"))->cuda, "12.0-12.6");
  EXPECT_EQ(catalogue::cudnn_row(version("9.5.0"), version("11.8"))->cuda, "11.0-11.8");
  EXPECT_EQ(catalogue::cudnn_row(version("8.9.7"), version("12.1"))->cuda, "12.x");
  EXPECT_EQ(catalogue::version_text(catalogue::tensorrt_row(version("10.14.1"), {})->version), "10.14.1.48");
  EXPECT_FALSE(catalogue::cudnn_row(version("7.6.5"), version("10.1")).has_value());
}

TEST(Compatibility, OnnxRuntimeRowsCoverTheirPatchesAndTheEndOfTheTableSaysSo) {
  EXPECT_EQ(catalogue::onnxruntime_row(version("1.20.1"))->version, "1.20.x");
  EXPECT_EQ(catalogue::onnxruntime_row(version("1.18.1"))->cudnn_major, 8);
  EXPECT_EQ(catalogue::onnxruntime_row(version("1.24.3"))->cuda_text, "12.8");
  EXPECT_TRUE(catalogue::onnxruntime_row(version("1.24.3"))->exact);
  std::optional<catalogue::OnnxRuntimeRow> newer = catalogue::onnxruntime_row(version("1.99.0"));
  EXPECT_EQ(newer->version, "1.30.x");
  EXPECT_FALSE(newer->exact);
}

const std::string kModule =
    "=== proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 "
    "UTC 2024\n";

std::string installed(const std::vector<std::string>& paths) {
  std::string text = "=== tools/installed\n";
  for (const std::string& path : paths) text += path + "\n";
  return text;
}

std::string judged_versions(const std::string& text, std::string_view id) {
  return found(judge_versions(facts_of(text)), id);
}

TEST(Installed, ReadsVersionsFromNamesAndPrefersTheExactOne) {
  InstalledSoftware found = installed_of(
      facts_of(kModule +
               installed({"/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14", "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                          "/usr/local/cuda/lib64/libcudart.so.12.4.127", "/v/nvidia/cudnn/lib/libcudnn.so.9",
                          "/v/nvidia_cudnn_cu12-9.1.0.70.dist-info", "/v/onnxruntime_gpu-1.20.1.dist-info",
                          "/v/onnxruntime-1.31.1.dist-info", "/usr/lib/libnvinfer.so.10.3.0",
                          "/usr/local/cuda/compat/libcuda.so.560.35.03"}))
          .tree);
  EXPECT_EQ(catalogue::version_text(found.module->version), "550.54.14");
  EXPECT_EQ(catalogue::version_text(found.driver->version), "550.54.14");
  EXPECT_EQ(catalogue::version_text(found.compatibility->version), "560.35.03");
  EXPECT_EQ(catalogue::version_text(found.cuda->version), "12.4.127");
  EXPECT_EQ(catalogue::version_text(found.cudnn->version), "9.1.0.70");
  EXPECT_EQ(catalogue::version_text(found.tensorrt->version), "10.3.0");
  EXPECT_TRUE(found.onnxruntime_gpu);
}

TEST(Versions, ModuleAndLibraryOfDifferentVersionsFail) {
  std::string text = kModule + installed({"/usr/lib/libcuda.so.560.35.03"});
  EXPECT_THAT(judged_versions(text, "versions.driver"),
              AllOf(StartsWith("fail: kernel module 550.54.14, library 560.35.03"), HasSubstr("reboot")));
  EXPECT_THAT(judged_versions(kModule + installed({"/usr/lib/libcuda.so.550.54.14"}), "versions.driver"),
              StartsWith("ok: "));
}

TEST(Versions, ContainerWithoutTheHostsLibrariesIsNamed) {
  EXPECT_THAT(judged_versions(kModule + "=== .dockerenv\n", "versions.driver"),
              AllOf(StartsWith("warn: kernel module 550.54.14"), HasSubstr("in a container (/.dockerenv)"),
                    HasSubstr("--gpus all")));
}

TEST(Versions, CudaNewerThanTheDriverFailsWithTheDriverThatItNeeds) {
  const std::string driver = kModule + "=== tools/environment: x=1\n";
  EXPECT_THAT(judged_versions(driver + installed({"/usr/local/cuda-13.0/lib64/libcudart.so.13.0.48"}), "versions.cuda"),
              AllOf(StartsWith("fail: driver 550.54.14"),
                    HasSubstr("update the driver to 580 or newer, or use CUDA 12.4.0 or older")));
  EXPECT_THAT(judged_versions(driver + installed({"/usr/local/cuda-12.6/lib64/libcudart.so.12.6.77"}), "versions.cuda"),
              AllOf(StartsWith("ok: "), HasSubstr("minor-version compatibility")));
  EXPECT_THAT(judged_versions(driver + installed({"/usr/local/cuda-12.4/lib64/libcudart.so.12.4.99"}), "versions.cuda"),
              AllOf(StartsWith("ok: "), Not(HasSubstr("minor-version"))));
}

TEST(Versions, CudnnForAnotherCudaFails) {
  std::string text = kModule + installed({"/u/libcudart.so.12.4.99", "/u/libcudnn.so.9.12.0"});
  EXPECT_THAT(judged_versions(text, "versions.cudnn"),
              AllOf(StartsWith("fail: cuDNN 9.12.0"), HasSubstr("row 9.12.0: CUDA 13.0, found CUDA 12.4.99")));
  EXPECT_THAT(
      judged_versions(kModule + installed({"/u/libcudart.so.12.4.99", "/u/libcudnn.so.9.1.0"}), "versions.cudnn"),
      StartsWith("ok: "));
}

TEST(Versions, TensorRtForAnotherMinorCudaOnlyWarns) {
  EXPECT_THAT(judged_versions(installed({"/u/libcudart.so.12.4.99", "/u/libnvinfer.so.10.14.1"}), "versions.tensorrt"),
              AllOf(StartsWith("warn: TensorRT 10.14.1"), HasSubstr("found CUDA 12.4.99")));
  EXPECT_THAT(judged_versions(installed({"/u/libcudart.so.11.8.89", "/u/libnvinfer.so.10.14.1"}), "versions.tensorrt"),
              StartsWith("fail: TensorRT 10.14.1"));
}

TEST(Versions, OnnxRuntimeNeedsItsCudaAndCudnn) {
  const std::string ort = "/v/onnxruntime_gpu-1.20.1.dist-info";
  EXPECT_THAT(judged_versions(kModule + installed({ort, "/u/libcudart.so.11.8.89"}), "versions.onnxruntime"),
              AllOf(StartsWith("fail: onnxruntime-gpu 1.20.1"), HasSubstr("found CUDA 11.8.89"),
                    HasSubstr("also built for CUDA 11.8 with cuDNN 8")));
  EXPECT_THAT(judged_versions(kModule + installed({ort, "/u/libcudart.so.12.4.99", "/u/libcudnn.so.8.9.7"}),
                              "versions.onnxruntime"),
              AllOf(StartsWith("fail: "), HasSubstr("install cuDNN 9 for CUDA 12")));
  EXPECT_THAT(judged_versions(kModule + installed({ort, "/u/libcudart.so.12.4.99", "/u/libcudnn.so.9.1.0"}),
                              "versions.onnxruntime"),
              StartsWith("ok: "));
  EXPECT_THAT(judged_versions(kModule + installed({"/v/onnxruntime-1.31.1.dist-info"}), "versions.onnxruntime"),
              AllOf(StartsWith("warn: "), HasSubstr("onnxruntime-gpu")));
  EXPECT_THAT(judged_versions(installed({"/v/onnxruntime-1.31.1.dist-info"}), "versions.onnxruntime"),
              StartsWith("ok: "));
}

TEST(Versions, GpuOlderThanTheCudaFails) {
  gpu::GpuSystem system;
  system.driver_version = std::string("580.95.05");
  system.gpus.emplace_back().compute_capability = std::string("7.0");
  Facts facts = facts_of(installed({"/u/libcudart.so.13.0.48"}));
  facts.tree.files[entry::kNvml] = dump_json(json_of(system));
  EXPECT_THAT(found(judge_versions(facts), "versions.capability"),
              StartsWith("fail: capability 7.0; CUDA 13.0.0 begins at 7.5"));
  facts.tree.files[entry::kInstalled] = "/u/libcudart.so.12.9.37\n";
  EXPECT_THAT(found(judge_versions(facts), "versions.capability"), StartsWith("ok: capability 7.0"));
}

TEST(Versions, MachineWithoutAGpuHasNothingToMatch) {
  for (const Finding& finding : judge_versions(facts_of("")))
    EXPECT_EQ(finding.verdict, Verdict::kNotApplicable) << finding.id;
}

// nccl_compat: 2.28.3 for CUDA 13 begins at capability 7.5, for CUDA 12 at 6.0; CUDA 13 needs driver 580 (cuda_compat).
TEST(Versions, NcclIsComparedWithDriverAndGpus) {
  const std::string cu13 = "/v/nvidia_nccl_cu13-2.28.9.dist-info", cu12 = "/v/nvidia_nccl_cu12-2.28.9.dist-info";
  EXPECT_THAT(judged_versions(kModule + installed({cu13}), "versions.nccl"),
              AllOf(StartsWith("fail: NCCL 2.28.9"), HasSubstr("driver 580"), HasSubstr("here is 550.54.14")));
  EXPECT_THAT(judged_versions(kModule + installed({cu12}), "versions.nccl"),
              AllOf(StartsWith("ok: NCCL 2.28.9"), HasSubstr("row 2.28.3 for CUDA 12: GPUs from capability 6.0")));
  EXPECT_THAT(judged_versions(kModule + installed({"/usr/lib/libnccl.so.2"}), "versions.nccl"),
              HasSubstr("has no version"));
  EXPECT_THAT(judged_versions(kModule + installed({"/v/nvidia_nccl_cu-2.28.9.dist-info"}), "versions.nccl"),
              StartsWith("not_applicable: "));
  EXPECT_EQ(catalogue::nccl_row(version("2.28.9"), 13)->least_capability, version("7.5"));
  EXPECT_FALSE(catalogue::nccl_row(version("1.3"), 12).has_value());
}

}  // namespace
}  // namespace ridge::doctor
