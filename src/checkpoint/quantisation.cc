#include "checkpoint/quantisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

namespace ridge::checkpoint {
namespace {

Error unknown(std::string_view what, const std::string& found) {
  return Error{
      Code::kUnsupported,
      fmt::format("quantisation: {} '{}' is not known; known: fp8, mxfp4, awq, gptq, bitsandbytes, modelopt and "
                  "compressed-tensors in 4 or 8 bits; --weights gives a form by name",
                  what, found)};
}

Result<WeightFormat> of_bits(int64_t bits) {
  if (bits == 4) return WeightFormat::kInt4;
  if (bits == 8) return WeightFormat::kInt8;
  return unknown("a number of bits", std::to_string(bits));
}

// modelopt: "FP8", "NVFP4", "W4A16_AWQ", "INT8_SQ", "FP8_PB_WO" …
Result<WeightFormat> of_algorithm(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, WeightFormat>, 7> kAlgorithms = {
      {{"NVFP4", WeightFormat::kNvfp4},
       {"MXFP4", WeightFormat::kMxfp4},
       {"FP8_PB", WeightFormat::kFp8Block},
       {"FP8_BLOCK", WeightFormat::kFp8Block},
       {"FP8", WeightFormat::kFp8},
       {"W4A16", WeightFormat::kInt4},
       {"INT8", WeightFormat::kInt8}}};
  for (const auto& [part, format] : kAlgorithms)
    if (name.find(part) != std::string::npos) return format;
  return unknown("quant_algo", name);
}

// A group of compressed-tensors: {"weights": {"num_bits": 4, "type": "float", "strategy": "block", "group_size": 16}}.
Result<WeightFormat> of_group(const Json& group) {
  const auto weights = group.find("weights");
  if (weights == group.end() || !weights->is_object()) return unknown("a group without 'weights' of", "config_groups");
  RIDGE_ASSIGN(const int64_t bits, json_member_or<int64_t>(*weights, "num_bits", 8));
  RIDGE_ASSIGN(const std::string type, json_member_or<std::string>(*weights, "type", "int"));
  RIDGE_ASSIGN(const std::string strategy, json_member_or<std::string>(*weights, "strategy", ""));
  RIDGE_ASSIGN(const int64_t size, json_member_or<int64_t>(*weights, "group_size", 0));
  if (type != "float") return of_bits(bits);
  if (bits == 4) return size == 32 ? WeightFormat::kMxfp4 : WeightFormat::kNvfp4;
  if (bits == 8) return strategy == "block" ? WeightFormat::kFp8Block : WeightFormat::kFp8;
  return unknown("a number of bits", std::to_string(bits));
}

// By the form of the file where no group is given.
Result<WeightFormat> of_form(const std::string& form) {
  constexpr std::array<std::pair<std::string_view, WeightFormat>, 6> kForms = {
      {{"nvfp4", WeightFormat::kNvfp4},
       {"mxfp4", WeightFormat::kMxfp4},
       {"pack-quantized", WeightFormat::kInt4},
       {"marlin", WeightFormat::kInt4},
       {"float-quantized", WeightFormat::kFp8},
       {"int-quantized", WeightFormat::kInt8}}};
  for (const auto& [part, format] : kForms)
    if (form.find(part) != std::string::npos) return format;
  return unknown("format", form);
}

Result<WeightFormat> format_of(const Json& config, const std::string& method) {
  if (method == "fp8") {
    const auto block = config.find("weight_block_size");
    return block != config.end() && block->is_array() ? WeightFormat::kFp8Block : WeightFormat::kFp8;
  }
  if (method == "fbgemm_fp8") return WeightFormat::kFp8;
  if (method == "mxfp4") return WeightFormat::kMxfp4;
  if (method == "awq" || method == "gptq" || method == "auto-round" || method == "gptq_marlin") {
    RIDGE_ASSIGN(const int64_t bits, json_member_or<int64_t>(config, "bits", 4));
    return of_bits(bits);
  }
  if (method == "bitsandbytes") {
    RIDGE_ASSIGN(const bool four, json_member_or<bool>(config, "load_in_4bit", false));
    return four ? WeightFormat::kInt4 : WeightFormat::kInt8;
  }
  if (method == "compressed-tensors") {
    const auto groups = config.find("config_groups");
    if (groups != config.end() && groups->is_object() && !groups->empty()) return of_group(groups->front());
    RIDGE_ASSIGN(const std::string form, json_member_or<std::string>(config, "format", ""));
    return of_form(form);
  }
  if (method == "modelopt" || method == "modelopt_fp4") {
    RIDGE_ASSIGN(const std::string algorithm,
                 json_member_or<std::string>(config, "quant_algo", method == "modelopt_fp4" ? "NVFP4" : ""));
    return of_algorithm(algorithm);
  }
  return unknown("quant_method", method);
}

std::vector<std::string> excluded(const Json& config) {
  std::vector<std::string> patterns;
  for (const char* member : {"ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"}) {
    const auto list = config.find(member);
    if (list == config.end() || !list->is_array()) continue;
    for (const Json& pattern : *list)
      if (pattern.is_string()) patterns.push_back(pattern.get<std::string>());
  }
  return patterns;
}

// The number after "layers." in a pattern; -1: it is of no single layer.
int layer_of(const std::string& pattern) {
  const size_t at = pattern.find("layers.");
  const size_t digit = at == std::string::npos ? at : at + 7;
  if (digit >= pattern.size() || pattern[digit] < '0' || pattern[digit] > '9') return -1;
  return static_cast<int>(std::strtol(pattern.c_str() + digit, nullptr, 10));
}

// True if a pattern excludes the part in general, or in at least half of the layers.
bool leaves_out(const std::vector<std::string>& patterns, int64_t layers, auto names_part) {
  std::set<int> single;
  for (const std::string& pattern : patterns) {
    if (!names_part(pattern)) continue;
    const int layer = layer_of(pattern);
    if (layer < 0) return true;
    single.insert(layer);
  }
  return 2 * static_cast<int64_t>(single.size()) >= layers && !single.empty();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

Result<bool> read_quantisation(const Json& json, Model& model) {
  const Json* config = nullptr;
  std::string method;
  if (const auto found = json.find("quantization_config"); found != json.end() && found->is_object()) {
    config = &*found;
    RIDGE_ASSIGN(method, json_member_or<std::string>(*config, "quant_method", "modelopt"));
  } else if (const auto older = json.find("quantization"); older != json.end() && older->is_object()) {
    config = &*older;  // hf_quant_config.json
    method = "modelopt";
  }
  if (config == nullptr) return false;
  RIDGE_ASSIGN(const WeightFormat format, format_of(*config, method));
  const Formats stored = model.formats;
  model.formats = {.attention = format, .feed_forward = format, .experts = format};
  const std::vector<std::string> patterns = excluded(*config);
  const int64_t layers = model.layer_count();
  const auto out = [&](auto names_part) { return leaves_out(patterns, layers, names_part); };
  if (method == "mxfp4")
    model.formats.attention = model.formats.feed_forward = stored.attention;  // gpt-oss: experts only
  if (out([](const std::string& p) { return has(p, "attn") || has(p, "attention"); }))
    model.formats.attention = stored.attention;
  if (out([](const std::string& p) {
        return has(p, "shared_expert") || has(p, "mlp\\.(gate|") || has(p, "mlp.gate_proj");
      }))
    model.formats.feed_forward = stored.feed_forward;
  if (out([](const std::string& p) { return has(p, "experts") && !has(p, "shared"); }))
    model.formats.experts = stored.experts;
  return true;
}

}  // namespace ridge::checkpoint
