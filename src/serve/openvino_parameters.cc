#include "serve/openvino_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/device.h"
#include "serve/parameter.h"

namespace ridge::serve {
namespace {

using plan::Plan;

Status read_bf16(const std::string& value, Plan& plan) {
  if (value != "YES" && value != "NO") return wrong_value(value, "YES or NO");
  if (value == "YES") plan.precision = Precision::kBf16;
  return {};
}

// "CPU", "GPU" or "GPU.1": as OpenVINO names them.
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

// Dimensions that the model leaves open are open here, and a batch is run with the rows that it has.
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

}  // namespace

bool is_openvino_parameter(const std::string& key) {
  return find_parameter(kOpenVinoParameters, key) != nullptr ||
         std::find(kProperties.begin(), kProperties.end(), key) != kProperties.end();
}

Status read_openvino_parameter(const std::string& key, const std::string& value, plan::Plan& plan) {
  if (const Parameter* parameter = find_parameter(kOpenVinoParameters, key)) return parameter->read(value, plan);
  plan.options[key] = value;
  return {};
}

}  // namespace ridge::serve
