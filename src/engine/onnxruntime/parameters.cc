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

// Of Triton's ONNX Runtime backend.
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

}  // namespace ridge::engine::onnxruntime
