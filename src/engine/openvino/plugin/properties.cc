#include "engine/openvino/plugin/properties.h"

#include <algorithm>
#include <charconv>
#include <openvino/runtime/properties.hpp>
#include <string_view>
#include <vector>

#include "engine/openvino/plugin/guarded.h"
#include "plan/device.h"

namespace ridge::engine::openvino::plugin {
namespace {

Error no_counterpart(const std::string& what) {
  return {Code::kUnsupported, "OpenVINO " + what + "; leave it at its default, or use the engine onnxruntime"};
}

// Spinning, memory arena and memory pattern have no counterpart either, but no effect on results: ignored.
Status check(const plan::Plan& plan) {
  if (plan.graph_level != plan::GraphLevel::kAll) return no_counterpart("always optimises the whole graph");
  if (plan.inter_op_threads > 1) return no_counterpart("runs one operator after the other");
  if (!plan.optimised_model.empty()) return no_counterpart("cannot write its graph as ONNX");
  return {};
}

// INT8 is in the model itself (QuantizeLinear, DequantizeLinear); the rest stays FP32.
ov::element::Type hint_of(Precision precision) {
  switch (precision) {
    case Precision::kBf16: return ov::element::bf16;
    case Precision::kFp16: return ov::element::f16;
    default: return ov::element::f32;
  }
}

constexpr std::string_view kShared = "ridge.shared_streams";

// The option's number of streams; 1 without it.
Result<int> streams_of(const plan::Plan& plan) {
  const auto found = plan.options.find(std::string(kShared));
  if (found == plan.options.end()) return 1;
  int number = 0;
  const std::string& value = found->second;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= 1 && number <= 4096) return number;
  return Error{Code::kInvalid, "engine option " + std::string(kShared) + "=" + value +
                                   ": expected the number of sessions that share the model, at least 1"};
}

void add_cpu_properties(const plan::Plan& plan, int streams, ov::AnyMap& properties) {
  // Pinned sessions of one process would all use the same first cores.
  properties.insert(ov::hint::enable_cpu_pinning(false));
  // The number of threads is the plan's: without this at most one per physical core would run.
  if (plan.threads > 0)
    properties.insert({ov::inference_num_threads(plan.threads * streams), ov::hint::enable_hyper_threading(true)});
}

}  // namespace

bool shares(const plan::Plan& plan) { return plan.options.contains(std::string(kShared)); }

Result<ov::AnyMap> properties_of(const plan::Plan& plan) {
  RIDGE_TRY(check(plan));
  RIDGE_ASSIGN(const int streams, streams_of(plan));
  ov::AnyMap properties = {ov::num_streams(streams), ov::hint::inference_precision(hint_of(plan.precision)),
                           ov::enable_profiling(plan.profile)};
  // Otherwise compressed weights would be multiplied in INT8.
  if (plan.precision == Precision::kFp32) properties.insert(ov::hint::dynamic_quantization_group_size(0));
  if (plan.device == "cpu") add_cpu_properties(plan, streams, properties);
  for (const auto& [key, value] : plan.options)
    if (key != kShared) properties[key] = value;
  return properties;
}

Result<std::string> device_of(const std::string& device) {
  RIDGE_ASSIGN(const plan::Device wanted, plan::device_from_name(device));
  if (wanted.kind == plan::DeviceKind::kCpu) return std::string("CPU");
  std::vector<std::string> found;
  RIDGE_TRY(guarded("OpenVINO could not list devices", [&]() -> Status {
    found = core().get_available_devices();
    return {};
  }));
  const std::string name = "GPU." + std::to_string(wanted.index);
  // A single GPU has no number.
  if (std::find(found.begin(), found.end(), name) != found.end()) return name;
  if (wanted.index == 0 && std::find(found.begin(), found.end(), "GPU") != found.end()) return name;
  std::string has;
  for (const std::string& one : found) has += (has.empty() ? "" : ", ") + one;
  return Error{
      Code::kUnavailable,
      "device " + plan::device_name(wanted) + " cannot be used: OpenVINO finds " + (has.empty() ? "none" : has) +
          " here, and no " + name +
          ". Its GPU plugin needs an Intel GPU, Intel's OpenCL driver (Debian: intel-opencl-icd) and access to "
          "/dev/dri (group render); clinfo shows whether they exist"};
}

}  // namespace ridge::engine::openvino::plugin
