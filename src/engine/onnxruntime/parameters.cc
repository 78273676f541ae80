#include "engine/onnxruntime/parameters.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/onnxruntime/accelerators.h"
#include "engine/onnxruntime/gpu_options.h"
#include "engine/parameter.h"

namespace ridge::engine::onnxruntime {
namespace {

using plan::Plan;

// ONNX Runtime runs independent operators at the same time only in parallel mode; the Plan says so by more than one
// thread.
Status read_execution_mode(const std::string& value, Plan& plan) {
  if (value != "0" && value != "1") return wrong_value(value, "0 (one operator after the other) or 1 (parallel)");
  if (value == "1") plan.inter_op_threads = std::max(2, plan.inter_op_threads);
  return {};
}

// Parameters of Triton's ONNX Runtime backend.
constexpr std::array kBackendParameters = {
    Parameter{"intra_op_thread_count", [](const std::string& v, Plan& p) { return read_threads(v, p.threads); }},
    Parameter{"inter_op_thread_count",
              [](const std::string& v, Plan& p) { return read_threads(v, p.inter_op_threads); }},
    Parameter{"execution_mode", read_execution_mode},
    Parameter{"enable_mem_arena", [](const std::string& v, Plan& p) { return read_flag(v, p.memory_arena); }},
    Parameter{"enable_mem_pattern", [](const std::string& v, Plan& p) { return read_flag(v, p.memory_pattern); }},
    Parameter{"intra_op_allow_spinning", [](const std::string& v, Plan& p) { return read_spin(v, p.spin); }},
    Parameter{"session.intra_op.allow_spinning", [](const std::string& v, Plan& p) { return read_spin(v, p.spin); }},
};
// Session options begin so.
constexpr std::array<std::string_view, 5> kSessionOptions = {"session.", "optimization.", "memory.", "mlas.", "ep."};

// onnxruntime_session_options_config_keys.h and onnxruntime_run_options_config_keys.h: those whose values are flags,
// numbers and names of optimisers.
constexpr std::array<std::string_view, 16> kHarmlessOptions = {"session.intra_op.allow_spinning",
                                                               "session.inter_op.allow_spinning",
                                                               "session.force_spinning_stop",
                                                               "session.dynamic_block_base",
                                                               "session.set_denormal_as_zero",
                                                               "session.disable_prepacking",
                                                               "session.use_env_allocators",
                                                               "session.use_device_allocator_for_initializers",
                                                               "session.qdqisint8allowed",
                                                               "session.disable_quant_qdq",
                                                               "session.enable_quant_qdq_cleanup",
                                                               "session.qdq_matmulnbits_accuracy_level",
                                                               "optimization.enable_gelu_approximation",
                                                               "optimization.disable_specified_optimizers",
                                                               "memory.enable_memory_arena_shrinkage",
                                                               "mlas.enable_gemm_fastmath_arm64_bfloat16"};
constexpr std::string_view kOwnOption = "ridge.";            // numbers, all of them
constexpr std::string_view kProfileShapes = "trt_profile_";  // shapes of the inputs

bool begins_with_one_of(std::string_view key, std::span<const std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return key.starts_with(start); });
}

}  // namespace

Parameters parameters(const Plan& plan) {
  Parameters result;
  if (plan.threads > 0) result.emplace_back("intra_op_thread_count", std::to_string(plan.threads));
  if (plan.inter_op_threads > 1) {
    result.emplace_back("inter_op_thread_count", std::to_string(plan.inter_op_threads));
    result.emplace_back("execution_mode", "1");
  }
  if (plan.spin != plan::Spin::kDefault)
    result.emplace_back("session.intra_op.allow_spinning", plan.spin == plan::Spin::kOn ? "1" : "0");
  for (const auto& option : plan.options)
    if (!begins_with_one_of(option.first, std::array{kCudaPrefix, kTensorRtPrefix})) result.push_back(option);
  return result;
}

Result<bool> read_parameter(const std::string& key, const std::string& value, Plan& plan) {
  if (const Parameter* parameter = find_parameter(kBackendParameters, key)) {
    RIDGE_TRY(parameter->read(value, plan));
    return true;
  }
  if (read_cuda_parameter(key, value, plan)) return true;
  if (!begins_with_one_of(key, kSessionOptions)) return false;
  plan.options[key] = value;
  return true;
}

bool is_harmless(std::string_view option) {
  if (option.starts_with(kCudaPrefix)) return takes_no_text(GpuProvider::kCuda, option.substr(kCudaPrefix.size()));
  if (option.starts_with(kTensorRtPrefix)) {
    const std::string_view own = option.substr(kTensorRtPrefix.size());
    const bool writes = own.find("cache") != own.npos || own.find("dump") != own.npos;  // into the current folder
    return own.starts_with(kProfileShapes) || (!writes && takes_no_text(GpuProvider::kTensorRt, own));
  }
  return option.starts_with(kOwnOption) ||
         std::find(kHarmlessOptions.begin(), kHarmlessOptions.end(), option) != kHarmlessOptions.end();
}

}  // namespace ridge::engine::onnxruntime
