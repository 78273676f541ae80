#include "engine/onnxruntime/accelerators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/onnxruntime/gpu_options.h"
#include "engine/parameter.h"
#include "plan/device.h"

namespace ridge::engine::onnxruntime {
namespace {

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
std::string value_named(const std::string& value, const std::array<std::string_view, N>& names) {
  const bool number = value.size() == 1 && value[0] >= '0' && static_cast<size_t>(value[0] - '0') < N;
  return number ? std::string(names[static_cast<size_t>(value[0] - '0')]) : value;
}

void read_cuda(const std::string& key, const std::string& value, Plan& plan) {
  std::string& option = plan.options["cuda." + key];
  option = key == "cudnn_conv_algo_search"  ? value_named(value, kSearches)
           : key == "arena_extend_strategy" ? value_named(value, kStrategies)
                                            : value;
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

// "input:1x3x224x224,…"; empty unless every input is listed with fixed dimensions.
std::string profile_text(const ServedShapes& served, int64_t rows) {
  std::string text;
  for (const TensorSpec& input : served.inputs) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", input.name, rows);
    for (const int64_t size : input.shape) {
      if (size < 0) return "";
      text += fmt::format("x{}", size);
    }
  }
  return text;
}

void add_profiles(const ServedShapes& served, Plan& plan) {
  const bool given = std::any_of(plan.options.begin(), plan.options.end(),
                                 [](const auto& option) { return option.first.starts_with("tensorrt.trt_profile_"); });
  if (given || served.most_rows < 1) return;
  for (const auto& [name, rows] : std::array<std::pair<const char*, int64_t>, 3>{
           {{"min", 1}, {"opt", served.usual_rows}, {"max", served.most_rows}}})
    if (const std::string shapes = profile_text(served, rows); !shapes.empty())
      plan.options[fmt::format("tensorrt.trt_profile_{}_shapes", name)] = shapes;
}

}  // namespace

bool read_cuda_parameter(const std::string& key, const std::string& value, Plan& plan) {
  if (std::find(kCudaParameters.begin(), kCudaParameters.end(), key) == kCudaParameters.end()) return false;
  if (plan.device != "cpu") read_cuda(key, value, plan);
  return true;
}

std::vector<Accelerator> accelerators(const Plan& plan) {
  const Result<plan::Device> device = plan::device_from_name(plan.device);
  if (!device || !plan::is_nvidia(*device)) return {};
  std::vector<Accelerator> result;
  for (const std::string_view prefix : {kTensorRtPrefix, kCudaPrefix}) {
    const std::string_view name = prefix.substr(0, prefix.size() - 1);
    Accelerator accelerator{std::string(name), {}};
    for (const auto& [key, value] : plan.options)
      if (key.starts_with(prefix)) accelerator.parameters.emplace_back(key.substr(prefix.size()), value);
    const bool is_device =
        name == "tensorrt" && device->kind == plan::DeviceKind::kTensorRt;  // also without parameters
    if (is_device || !accelerator.parameters.empty()) result.push_back(std::move(accelerator));
  }
  return result;
}

Status read_accelerators(std::span<const Accelerator> accelerators, const ServedShapes& served, Plan& plan) {
  RIDGE_ASSIGN(plan::Device device, plan::device_from_name(plan.device));
  for (const auto& [name, parameters] : accelerators) {
    const bool tensorrt = name == "tensorrt";
    if (!tensorrt && name != "cuda")
      return Error{Code::kUnsupported,
                   fmt::format("gpu_execution_accelerator '{}' is not supported, only cuda and tensorrt are", name)};
    if (tensorrt) device.kind = plan::DeviceKind::kTensorRt;
    for (const auto& [key, value] : parameters) {
      if (!tensorrt)
        read_cuda(key, value, plan);
      else if (Status read = read_tensorrt(key, value, plan); !read)
        return wrap(read.error(), fmt::format("gpu_execution_accelerator '{}', parameter '{}'", name, key));
    }
  }
  plan.device = plan::device_name(device);
  if (device.kind == plan::DeviceKind::kTensorRt) add_profiles(served, plan);
  return {};
}

}  // namespace ridge::engine::onnxruntime
