#include "serve/gpu_accelerators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/parameter.h"
#include "model_config.pb.h"
#include "plan/device.h"

namespace ridge::serve {
namespace {

using engine::wrong_value;
using inference::ModelConfig;
using plan::Plan;

// The backend's numbers for ONNX Runtime's names; README.md of triton-inference-server/onnxruntime_backend, "Deprecated
// Parameters".
constexpr std::array<std::string_view, 3> kSearches = {"EXHAUSTIVE", "HEURISTIC", "DEFAULT"};
constexpr std::array<std::string_view, 2> kStrategies = {"kNextPowerOfTwo", "kSameAsRequested"};

constexpr std::array<std::string_view, 4> kCudaParameters = {"cudnn_conv_algo_search", "gpu_mem_limit",
                                                             "arena_extend_strategy", "do_copy_in_default_stream"};

// The same README, "Parameter mapping"; others have one name on both sides.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTensorRtNames = {
    {{"max_workspace_size_bytes", "trt_max_workspace_size"},
     {"int8_calibration_table_name", "trt_int8_calibration_table_name"},
     {"int8_use_native_calibration_table", "trt_int8_use_native_calibration_table"}}};

template <size_t N>
std::string named(const std::string& value, const std::array<std::string_view, N>& names) {
  const bool number = value.size() == 1 && value[0] >= '0' && static_cast<size_t>(value[0] - '0') < N;
  return number ? std::string(names[static_cast<size_t>(value[0] - '0')]) : value;
}

Status read_precision_mode(const std::string& value, Plan& plan) {
  if (value != "FP32" && value != "FP16" && value != "INT8") return wrong_value(value, "FP32, FP16 or INT8");
  if (value == "FP16") plan.options["tensorrt.trt_fp16_enable"] = "1";
  if (value == "INT8") plan.options["tensorrt.trt_int8_enable"] = "1";
  return {};
}

Status read_tensorrt(const std::string& key, const std::string& value, Plan& plan) {
  if (key == "precision_mode") return read_precision_mode(value, plan);
  for (const auto& [triton, onnxruntime] : kTensorRtNames)
    if (key == triton) return plan.options["tensorrt." + std::string(onnxruntime)] = value, ok_status();
  plan.options["tensorrt." + key] = value;
  return {};
}

// "input:1x3x224x224,…": TensorRT builds its engine for this range once, instead of for every new number of rows. Empty unless
// the configuration lists every input with fixed dimensions.
std::string profile_text(const ModelConfig& config, int64_t rows) {
  std::string text;
  for (const auto& input : config.input()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", input.name(), rows);
    for (const int64_t size : input.dims()) {
      if (size < 0) return "";
      text += fmt::format("x{}", size);
    }
  }
  return text;
}

void add_profiles(const ModelConfig& config, Plan& plan) {
  const bool given = std::any_of(plan.options.begin(), plan.options.end(),
                                 [](const auto& option) { return option.first.starts_with("tensorrt.trt_profile_"); });
  if (given || config.max_batch_size() < 1 || config.input().empty()) return;
  const auto& preferred = config.dynamic_batching().preferred_batch_size();
  const int64_t best =
      preferred.empty() ? config.max_batch_size() : *std::max_element(preferred.begin(), preferred.end());
  for (const auto& [name, rows] :
       std::array<std::pair<const char*, int64_t>, 3>{{{"min", 1}, {"opt", best}, {"max", config.max_batch_size()}}})
    if (const std::string shapes = profile_text(config, rows); !shapes.empty())
      plan.options[fmt::format("tensorrt.trt_profile_{}_shapes", name)] = shapes;
}

}  // namespace

bool is_cuda_parameter(const std::string& key) {
  return std::find(kCudaParameters.begin(), kCudaParameters.end(), key) != kCudaParameters.end();
}

Status read_cuda_parameter(const std::string& key, const std::string& value, Plan& plan) {
  std::string& option = plan.options["cuda." + key];
  option = key == "cudnn_conv_algo_search"  ? named(value, kSearches)
           : key == "arena_extend_strategy" ? named(value, kStrategies)
                                            : value;
  return {};
}

Status read_gpu_accelerators(const ModelConfig& config, Plan& plan) {
  RIDGE_ASSIGN(plan::Device device, plan::device_from_name(plan.device));
  for (const auto& accelerator : config.optimization().execution_accelerators().gpu_execution_accelerator()) {
    const std::string& name = accelerator.name();
    if (name != "cuda" && name != "tensorrt")
      return Error{Code::kUnsupported,
                   fmt::format("gpu_execution_accelerator '{}' is not supported, only cuda and tensorrt are", name)};
    if (name == "tensorrt") device.kind = plan::DeviceKind::kTensorRt;
    for (const auto& [key, value] : accelerator.parameters()) {
      Status read = name == "cuda" ? read_cuda_parameter(key, value, plan) : read_tensorrt(key, value, plan);
      if (!read) return wrap(read.error(), fmt::format("gpu_execution_accelerator '{}', parameter '{}'", name, key));
    }
  }
  plan.device = plan::device_name(device);
  if (device.kind == plan::DeviceKind::kTensorRt) add_profiles(config, plan);
  return {};
}

}  // namespace ridge::serve
