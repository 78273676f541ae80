#include "engine/onnxruntime/gpu_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>

namespace ridge::engine::onnxruntime {
namespace {

enum class Takes { kFlag, kNumber, kText, kSearch, kStrategy, kNothing };  // kNothing: set by ridge

struct ProviderOption {
  std::string_view key;
  Takes takes;
};

// onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html, "Configuration Options"; the names known to
// libonnxruntime_providers_cuda.so of 1.31.1.
constexpr std::array<ProviderOption, 22> kCudaOptions = {{
    {"arena_extend_strategy", Takes::kStrategy},
    {"cudnn_conv1d_pad_to_nc1d", Takes::kFlag},
    {"cudnn_conv_algo_search", Takes::kSearch},
    {"cudnn_conv_use_max_workspace", Takes::kFlag},
    {"device_id", Takes::kNothing},
    {"do_copy_in_default_stream", Takes::kFlag},
    {"enable_cuda_graph", Takes::kFlag},
    {"enable_skip_layer_norm_strict_mode", Takes::kFlag},
    {"fuse_conv_bias", Takes::kFlag},
    {"gpu_external_alloc", Takes::kNothing},
    {"gpu_external_empty_cache", Takes::kNothing},
    {"gpu_external_free", Takes::kNothing},
    {"gpu_mem_limit", Takes::kNumber},
    {"has_user_compute_stream", Takes::kNothing},
    {"prefer_nhwc", Takes::kFlag},
    {"sdpa_kernel", Takes::kNumber},
    {"tunable_op_enable", Takes::kFlag},
    {"tunable_op_max_tuning_duration_ms", Takes::kNumber},
    {"tunable_op_tuning_enable", Takes::kFlag},
    {"use_ep_level_unified_stream", Takes::kFlag},
    {"use_tf32", Takes::kFlag},
    {"user_compute_stream", Takes::kNothing},
}};

// onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html, "Configurations"; likewise.
constexpr std::array<ProviderOption, 48> kTensorRtOptions = {{
    {"device_id", Takes::kNothing},
    {"has_user_compute_stream", Takes::kNothing},
    {"trt_auxiliary_streams", Takes::kNumber},
    {"trt_bf16_enable", Takes::kFlag},
    {"trt_build_heuristics_enable", Takes::kFlag},
    {"trt_builder_optimization_level", Takes::kNumber},
    {"trt_context_memory_sharing_enable", Takes::kFlag},
    {"trt_cuda_graph_enable", Takes::kFlag},
    {"trt_detailed_build_log", Takes::kFlag},
    {"trt_dla_core", Takes::kNumber},
    {"trt_dla_enable", Takes::kFlag},
    {"trt_dump_ep_context_model", Takes::kFlag},
    {"trt_dump_subgraphs", Takes::kFlag},
    {"trt_engine_cache_enable", Takes::kFlag},
    {"trt_engine_cache_path", Takes::kText},
    {"trt_engine_cache_prefix", Takes::kText},
    {"trt_engine_decryption_enable", Takes::kFlag},
    {"trt_engine_decryption_lib_path", Takes::kText},
    {"trt_engine_hw_compatible", Takes::kFlag},
    {"trt_ep_context_embed_mode", Takes::kNumber},
    {"trt_ep_context_file_path", Takes::kText},
    {"trt_external_data_bytestream", Takes::kNothing},
    {"trt_external_data_bytestream_size", Takes::kNothing},
    {"trt_extra_plugin_lib_paths", Takes::kText},
    {"trt_force_sequential_engine_build", Takes::kFlag},
    {"trt_force_timing_cache", Takes::kFlag},
    {"trt_fp16_enable", Takes::kFlag},
    {"trt_int8_calibration_table_name", Takes::kText},
    {"trt_int8_enable", Takes::kFlag},
    {"trt_int8_use_native_calibration_table", Takes::kFlag},
    {"trt_layer_norm_fp32_fallback", Takes::kFlag},
    {"trt_load_user_initializer", Takes::kFlag},
    {"trt_max_partition_iterations", Takes::kNumber},
    {"trt_max_workspace_size", Takes::kNumber},
    {"trt_min_subgraph_size", Takes::kNumber},
    {"trt_onnx_bytestream", Takes::kNothing},
    {"trt_onnx_bytestream_size", Takes::kNothing},
    {"trt_onnx_model_folder_path", Takes::kText},
    {"trt_op_types_to_exclude", Takes::kText},
    {"trt_preview_features", Takes::kText},
    {"trt_profile_max_shapes", Takes::kText},
    {"trt_profile_min_shapes", Takes::kText},
    {"trt_profile_opt_shapes", Takes::kText},
    {"trt_sparsity_enable", Takes::kFlag},
    {"trt_tactic_sources", Takes::kText},
    {"trt_timing_cache_enable", Takes::kFlag},
    {"trt_timing_cache_path", Takes::kText},
    {"trt_weight_stripped_engine_enable", Takes::kFlag},
}};

// Null: it is not documented.
const ProviderOption* find_option(GpuProvider provider, std::string_view key) {
  const std::span<const ProviderOption> known =
      provider == GpuProvider::kCuda ? std::span<const ProviderOption>(kCudaOptions) : kTensorRtOptions;
  const auto option = std::find_if(known.begin(), known.end(), [&](const auto& row) { return row.key == key; });
  return option == known.end() ? nullptr : &*option;
}

bool is_one_of(std::string_view value, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), value) != names.end();
}

bool is_integer(std::string_view value) {
  uint64_t number = 0;
  if (value == "-1") return true;  // of trt_auxiliary_streams: TensorRT's own choice
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size();
}

// The expected form of `value`; empty: it is right.
std::string_view expected_instead_of(std::string_view value, Takes takes) {
  constexpr std::array<std::string_view, 6> kFlags = {"0", "1", "true", "false", "True", "False"};
  constexpr std::array<std::string_view, 3> kSearches = {"EXHAUSTIVE", "HEURISTIC", "DEFAULT"};
  constexpr std::array<std::string_view, 2> kStrategies = {"kNextPowerOfTwo", "kSameAsRequested"};
  switch (takes) {
    case Takes::kFlag: return is_one_of(value, kFlags) ? "" : "0 or 1";
    case Takes::kNumber: return is_integer(value) ? "" : "a whole number";
    case Takes::kSearch: return is_one_of(value, kSearches) ? "" : "EXHAUSTIVE, HEURISTIC or DEFAULT";
    case Takes::kStrategy: return is_one_of(value, kStrategies) ? "" : "kNextPowerOfTwo or kSameAsRequested";
    case Takes::kText: return value.empty() ? "a text" : "";
    case Takes::kNothing: break;
  }
  return "nothing: ridge sets it from --device and its own streams";
}

}  // namespace

std::string_view provider_name(GpuProvider provider) {
  return provider == GpuProvider::kCuda ? "CUDAExecutionProvider" : "TensorrtExecutionProvider";
}

bool takes_no_text(GpuProvider provider, std::string_view key) {
  const ProviderOption* option = find_option(provider, key);
  return option != nullptr && option->takes != Takes::kText;
}

Status check_provider_option(GpuProvider provider, const std::string& key, const std::string& value) {
  const ProviderOption* option = find_option(provider, key);
  if (option == nullptr) return {};
  const std::string_view expected = expected_instead_of(value, option->takes);
  if (expected.empty()) return {};
  return invalid("engine option " + std::string(provider == GpuProvider::kCuda ? kCudaPrefix : kTensorRtPrefix) + key +
                 "=" + value + ": expected " + std::string(expected));
}

}  // namespace ridge::engine::onnxruntime
