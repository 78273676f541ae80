#include "engine/openvino/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "engine/parameter.h"
#include "plan/device.h"

namespace ridge::engine::openvino {
namespace {

using plan::Plan;

Status read_bf16(const std::string& value, Plan& plan) {
  if (value != "YES" && value != "NO") return wrong_value(value, "YES or NO");
  if (value == "YES") plan.precision = Precision::kBf16;
  return {};
}

// "CPU", "GPU" or "GPU.1": OpenVINO's names.
Status read_device(const std::string& value, Plan& plan) {
  if (value == "CPU") return {};
  const std::string index = value.starts_with("GPU.") ? value.substr(4) : value == "GPU" ? "0" : "";
  const Result<plan::Device> device = plan::device_from_name("gpu:" + index);
  if (!device)
    return Error{Code::kUnsupported, fmt::format("device '{}' is not supported, only CPU, GPU and GPU.N are", value)};
  plan.device = plan::device_name(*device);
  return {};
}

Status refuse_extension(const std::string&, Plan&) {
  return Error{Code::kUnsupported, "custom layers are not supported; remove it"};
}

// Open dimensions of the model stay open, and a batch runs with its actual rows.
Status pass_over(const std::string&, Plan&) { return {}; }

// README.md of triton-inference-server/openvino_backend, "Parameters".
constexpr std::array<Parameter, 7> kOpenVinoParameters = {
    {{"INFERENCE_NUM_THREADS", [](const std::string& v, Plan& p) { return read_threads(v, p.threads); }},
     {"HINT_BF16", read_bf16},
     {"TARGET_DEVICE", read_device},
     {"CPU_EXTENSION_PATH", refuse_extension},
     {"SKIP_OV_DYNAMIC_BATCHSIZE", pass_over},
     {"ENABLE_BATCH_PADDING", pass_over},
     {"RESHAPE_IO_LAYERS", pass_over}}};
// These are properties of OpenVINO itself.
constexpr std::array<std::string_view, 3> kProperties = {"NUM_STREAMS", "PERFORMANCE_HINT", "COMPILATION_NUM_THREADS"};

// OpenVINO's documentation, "Properties": those whose values are flags, numbers and words.
constexpr std::array<std::string_view, 15> kHarmlessProperties = {"NUM_STREAMS",
                                                                  "PERFORMANCE_HINT",
                                                                  "PERFORMANCE_HINT_NUM_REQUESTS",
                                                                  "EXECUTION_MODE_HINT",
                                                                  "INFERENCE_PRECISION_HINT",
                                                                  "INFERENCE_NUM_THREADS",
                                                                  "COMPILATION_NUM_THREADS",
                                                                  "ENABLE_CPU_PINNING",
                                                                  "ENABLE_HYPER_THREADING",
                                                                  "SCHEDULING_CORE_TYPE",
                                                                  "MODEL_DISTRIBUTION_POLICY",
                                                                  "DYNAMIC_QUANTIZATION_GROUP_SIZE",
                                                                  "KV_CACHE_PRECISION",
                                                                  "CPU_DENORMALS_OPTIMIZATION",
                                                                  "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE"};

// "GPU.1", OpenVINO's name; its backend takes it as a parameter, not as an instance group.
std::string gpu_name(const plan::Plan& plan) {
  const Result<plan::Device> device = plan::device_from_name(plan.device);
  return device && device->kind == plan::DeviceKind::kGpu ? fmt::format("GPU.{}", device->index) : "";
}

// Threads are those of the CPU; OpenVINO's GPUs refuse the property.
int cpu_threads(const plan::Plan& plan) { return gpu_name(plan).empty() ? plan.threads : 0; }

}  // namespace

bool is_harmless(std::string_view option) {
  return std::find(kHarmlessProperties.begin(), kHarmlessProperties.end(), option) != kHarmlessProperties.end();
}

Result<bool> read_parameter(const std::string& key, const std::string& value, plan::Plan& plan) {
  if (const Parameter* parameter = find_parameter(kOpenVinoParameters, key)) {
    RIDGE_TRY(parameter->read(value, plan));
    return true;
  }
  if (std::find(kProperties.begin(), kProperties.end(), key) == kProperties.end()) return false;
  plan.options[key] = value;
  return true;
}

Parameters parameters(const plan::Plan& plan) {
  Parameters result;
  if (const std::string gpu = gpu_name(plan); !gpu.empty()) result.emplace_back("TARGET_DEVICE", gpu);
  if (const int threads = cpu_threads(plan); threads > 0)
    result.emplace_back("INFERENCE_NUM_THREADS", std::to_string(threads));
  if (plan.precision == Precision::kBf16) result.emplace_back("HINT_BF16", "YES");
  // The whole measured plan: the plugin opens INT8 and FP16 differently from FP32.
  if (plan.precision != Precision::kFp32)
    result.emplace_back("ridge_precision", std::string(precision_name(plan.precision)));
  for (const auto& [key, value] : plan.options) result.emplace_back("ridge_option_" + key, value);
  return result;
}

std::string model_server_text(const std::string& name, const plan::Plan& plan) {
  Json plugin = {{"NUM_STREAMS", std::to_string(plan.instances)}};
  if (const int threads = cpu_threads(plan); threads > 0)
    plugin["INFERENCE_NUM_THREADS"] = std::to_string(threads * plan.instances);
  if (plan.precision == Precision::kBf16) plugin["INFERENCE_PRECISION_HINT"] = "bf16";
  for (const auto& [key, value] : plan.options) plugin[key] = value;
  Json config = {{"name", name}, {"base_path", "."}, {"nireq", plan.instances}, {"plugin_config", plugin}};
  if (const std::string gpu = gpu_name(plan); !gpu.empty()) config["target_device"] = gpu;
  Json model;
  model["config"] = config;
  Json all;
  all["model_config_list"] = Json::array();
  all["model_config_list"].push_back(std::move(model));
  return dump_json(all, true) + "\n";
}

}  // namespace ridge::engine::openvino
