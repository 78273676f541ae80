#include "engine/openvino/executed.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace ridge::engine::openvino {
namespace {

// Node types of OpenVINO's CPU plugin (src/plugins/intel_cpu/src/cpu_types.cpp) that are sums of products.
constexpr std::array<std::string_view, 14> kMultiplies = {
    "Convolution",    "Deconvolution", "FullyConnected", "MatMul",           "RNNCell",
    "RNNSeq",         "MHA",           "Interaction",    "GatherMatmul",     "ScaledDotProductAttention",
    "PagedAttention", "QKVProjection", "LLMMLP",         "BinaryConvolution"};

std::vector<std::string_view> type_names_of(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return {"f32"};
    case Precision::kBf16: return {"bf16"};
    case Precision::kFp16: return {"f16"};
    case Precision::kInt8: return {"i8", "u8"};
    default: return {};
  }
}

std::map<std::string, int> count(std::span<const ExecutedLayer> layers) {
  std::map<std::string, int> counts;
  for (const ExecutedLayer& layer : layers)
    if (multiplies(layer.type)) ++counts[layer.precision];
  return counts;
}

Error refused(Precision wanted, const std::string& reason) {
  return {Code::kUnsupported, std::string(precision_name(wanted)) + " was asked for, but " + reason};
}

// Lower than FP32 without a request: integer layers are the model's own.
Status verify_fp32(std::span<const ExecutedLayer> layers) {
  for (const ExecutedLayer& layer : layers)
    if (multiplies(layer.type) && (layer.precision == "bf16" || layer.precision == "f16"))
      return refused(Precision::kFp32, "layer '" + layer.name + "' executes in " + layer.precision + " (" +
                                           precisions_text(layers) +
                                           "); request that precision, or use the engine option "
                                           "INFERENCE_PRECISION_HINT away");
  return {};
}

}  // namespace

bool multiplies(const std::string& type) {
  return std::find(kMultiplies.begin(), kMultiplies.end(), type) != kMultiplies.end();
}

Status verify_possible(Precision wanted, const InstructionSets& sets) {
  if (std::optional<std::string> missing = missing_for(wanted, sets)) return refused(wanted, *missing);
  return {};
}

Status verify(Precision wanted, std::span<const ExecutedLayer> layers) {
  if (wanted == Precision::kFp32) return verify_fp32(layers);
  const std::vector<std::string_view> names = type_names_of(wanted);
  bool found = false;
  for (const ExecutedLayer& layer : layers) {
    if (!multiplies(layer.type) || std::find(names.begin(), names.end(), layer.precision) == names.end()) continue;
    if (layer.kernel.starts_with("ref"))
      return refused(wanted, "layer '" + layer.name + "' would run by the engine's reference kernel (" + layer.kernel +
                                 "), which is many times slower; use fp32");
    found = true;
  }
  if (found) return {};
  const std::string executes = precisions_text(layers);
  if (executes.empty()) return refused(wanted, "this model has no layer with multiplications; use fp32");
  return refused(wanted, "no layer executes in it (" + executes + ")" +
                             (wanted == Precision::kInt8 ? "; give a model with QuantizeLinear and DequantizeLinear"
                                                         : "; use fp32"));
}

std::string precisions_text(std::span<const ExecutedLayer> layers) {
  std::vector<std::pair<std::string, int>> counts;
  for (const auto& entry : count(layers)) counts.push_back(entry);
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [precision, number] : counts) {
    text += (text.empty() ? "" : ", ") + precision + " in " + std::to_string(number);
    if (text.find("layer") == std::string::npos) text += number == 1 ? " layer" : " layers";
  }
  return text;
}

}  // namespace ridge::engine::openvino
