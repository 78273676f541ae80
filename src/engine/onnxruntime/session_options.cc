#include "engine/onnxruntime/session_options.h"

#include <onnxruntime_session_options_config_keys.h>

#include <filesystem>

namespace ridge::engine::onnxruntime {
namespace {

GraphOptimizationLevel to_onnxruntime(plan::GraphLevel level) {
  switch (level) {
    case plan::GraphLevel::kOff: return ORT_DISABLE_ALL;
    case plan::GraphLevel::kBasic: return ORT_ENABLE_BASIC;
    case plan::GraphLevel::kExtended: return ORT_ENABLE_EXTENDED;
    case plan::GraphLevel::kAll: return ORT_ENABLE_ALL;
  }
  return ORT_ENABLE_ALL;
}

Status set_threads(const OrtApi& api, OrtSessionOptions* options, const plan::Plan& plan, const SharedOptions& shared) {
  if (shared.threads) return take(api, api.DisablePerSessionThreads(options));
  if (plan.threads > 0) RIDGE_TRY(take(api, api.SetIntraOpNumThreads(options, plan.threads)));
  bool parallel = plan.inter_op_threads > 1;
  RIDGE_TRY(take(api, api.SetSessionExecutionMode(options, parallel ? ORT_PARALLEL : ORT_SEQUENTIAL)));
  if (parallel) RIDGE_TRY(take(api, api.SetInterOpNumThreads(options, plan.inter_op_threads)));
  if (plan.spin == plan::Spin::kDefault) return {};
  const char* spin = plan.spin == plan::Spin::kOn ? "1" : "0";
  RIDGE_TRY(take(api, api.AddSessionConfigEntry(options, kOrtSessionOptionsConfigAllowIntraOpSpinning, spin)));
  return take(api, api.AddSessionConfigEntry(options, kOrtSessionOptionsConfigAllowInterOpSpinning, spin));
}

Status set_memory(const OrtApi& api, OrtSessionOptions* options, const plan::Plan& plan) {
  RIDGE_TRY(take(api, plan.memory_arena ? api.EnableCpuMemArena(options) : api.DisableCpuMemArena(options)));
  return take(api, plan.memory_pattern ? api.EnableMemPattern(options) : api.DisableMemPattern(options));
}

// Weights go to a file beside the graph: readers of the graph do not need them, and protobuf ends at 2 GB.
Status set_optimised_model(const OrtApi& api, OrtSessionOptions* options, const std::string& path) {
  RIDGE_TRY(take(api, api.SetOptimizedModelFilePath(options, path.c_str())));
  RIDGE_TRY(
      take(api, api.SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_ERROR)));  // warns of every written graph
  std::string weights = std::filesystem::path(path).filename().string() + ".weights";
  return take(api, api.AddSessionConfigEntry(options, kOrtSessionOptionsOptimizedModelExternalInitializersFileName,
                                             weights.c_str()));
}

Status set_entries(const OrtApi& api, OrtSessionOptions* options, const EngineOptions& engine) {
  for (const auto& [symbol, size] : engine.dimensions)
    RIDGE_TRY(take(api, api.AddFreeDimensionOverrideByName(options, symbol.c_str(), size)));
  if (!engine.shared.arena.empty())
    RIDGE_TRY(take(api, api.AddSessionConfigEntry(options, kOrtSessionOptionsConfigUseEnvAllocators, "1")));
  for (const auto& [key, value] : engine.session) {
    Status added = take(api, api.AddSessionConfigEntry(options, key.c_str(), value.c_str()));
    if (!added) return wrap(added.error(), "engine option " + key + "=" + value);
  }
  return {};
}

}  // namespace

Result<SessionOptionsHandle> session_options(const Library& library, const plan::Plan& plan,
                                             const EngineOptions& engine, const std::string& profile_prefix) {
  const OrtApi& api = *library.api;
  SessionOptionsHandle options(api);
  RIDGE_TRY(take(api, api.CreateSessionOptions(options.out())));
  RIDGE_TRY(set_threads(api, options.get(), plan, engine.shared));
  RIDGE_TRY(set_memory(api, options.get(), plan));
  RIDGE_TRY(take(api, api.SetSessionGraphOptimizationLevel(options.get(), to_onnxruntime(plan.graph_level))));
  if (plan.profile) RIDGE_TRY(take(api, api.EnableProfiling(options.get(), profile_prefix.c_str())));
  if (!plan.optimised_model.empty()) RIDGE_TRY(set_optimised_model(api, options.get(), plan.optimised_model));
  RIDGE_TRY(set_entries(api, options.get(), engine));
  return options;
}

}  // namespace ridge::engine::onnxruntime
