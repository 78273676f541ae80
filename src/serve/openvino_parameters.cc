#include "serve/openvino_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace ridge::serve {
namespace {

using plan::Plan;

Status wrong_property(const std::string& value, std::string_view expected) {
  return Error{Code::kInvalid, fmt::format("'{}' is not {}", value, expected)};
}

Status read_threads(const std::string& value, Plan& plan) {
  int number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 0 || number > 4096)
    return wrong_property(value, "a number of threads between 0 (the engine's default) and 4096");
  plan.threads = number;
  return {};
}

Status read_bf16(const std::string& value, Plan& plan) {
  if (value != "YES" && value != "NO") return wrong_property(value, "YES or NO");
  if (value == "YES") plan.precision = Precision::kBf16;
  return {};
}

Status read_device(const std::string& value, Plan&) {
  if (value == "CPU") return {};
  return Error{Code::kUnsupported, fmt::format("device '{}' is not supported, only CPU is", value)};
}

Status refuse_extension(const std::string&, Plan&) {
  return Error{Code::kUnsupported, "custom layers are not supported; remove it"};
}

// Dimensions that the model leaves open are open here, and a batch is run with the rows that it has.
Status pass_over(const std::string&, Plan&) { return {}; }

struct OpenVinoParameter {
  std::string_view key;
  Status (*read)(const std::string& value, Plan& plan);
};

// README.md of triton-inference-server/openvino_backend, "Parameters".
constexpr std::array<OpenVinoParameter, 7> kOpenVinoParameters = {{{"INFERENCE_NUM_THREADS", read_threads},
                                                                   {"HINT_BF16", read_bf16},
                                                                   {"TARGET_DEVICE", read_device},
                                                                   {"CPU_EXTENSION_PATH", refuse_extension},
                                                                   {"SKIP_OV_DYNAMIC_BATCHSIZE", pass_over},
                                                                   {"ENABLE_BATCH_PADDING", pass_over},
                                                                   {"RESHAPE_IO_LAYERS", pass_over}}};
// These are properties of OpenVINO itself.
constexpr std::array<std::string_view, 3> kProperties = {"NUM_STREAMS", "PERFORMANCE_HINT", "COMPILATION_NUM_THREADS"};

const OpenVinoParameter* find(const std::string& key) {
  auto found = std::find_if(kOpenVinoParameters.begin(), kOpenVinoParameters.end(),
                            [&](const OpenVinoParameter& row) { return row.key == key; });
  return found == kOpenVinoParameters.end() ? nullptr : &*found;
}

}  // namespace

bool is_openvino_parameter(const std::string& key) {
  return find(key) != nullptr || std::find(kProperties.begin(), kProperties.end(), key) != kProperties.end();
}

Status read_openvino_parameter(const std::string& key, const std::string& value, plan::Plan& plan) {
  if (const OpenVinoParameter* parameter = find(key)) return parameter->read(value, plan);
  plan.options[key] = value;
  return {};
}

}  // namespace ridge::serve
