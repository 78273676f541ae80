#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "model_config.pb.h"
#include "serve/config_complete.h"
#include "serve/engine_parameters.h"
#include "serve/ensemble_config.h"
#include "serve/instance_groups.h"
#include "serve/sequence_config.h"

namespace ridge::serve {
namespace {

using inference::ModelConfig;
using inference::ModelDynamicBatching;

// More than any machine can use; a typing error.
constexpr uint64_t kMaxPriorityLevels = 1024;

Error unsupported(std::string_view what, std::string_view instead) {
  return {Code::kUnsupported, fmt::format("{} is not supported by ridge; {}", what, instead)};
}

// "\"a\" or \"b\"": the values that a user may name.
std::string backends() {
  std::vector<std::string> names;
  for (const engine::Engine& engine : engine::known())
    if (!engine.for_tests) names.push_back(fmt::format("\"{}\"", engine.name));
  return fmt::format("{}", fmt::join(names, " or "));
}

Status check_name(const ModelConfig& config, const std::string& directory_name) {
  if (!config.name().empty() && config.name() != directory_name)
    return invalid(
        fmt::format("the configuration's name '{}' differs from the model's directory '{}'; remove it or make "
                    "them equal",
                    config.name(), directory_name));
  return {};
}

Status check_engine(const ModelConfig& config) {
  const engine::Engine& engine = engine_of(config);
  if (engine.name.empty())
    return unsupported(fmt::format("backend '{}'", config.backend()),
                       fmt::format("use backend: {} with an ONNX model", backends()));
  if (config.backend().empty() && !config.platform().empty() && config.platform() != engine.platform)
    return unsupported(fmt::format("platform '{}'", config.platform()),
                       fmt::format("use platform: \"{}\" with an ONNX model", engine.platform));
  return {};
}

Status check_features(const ModelConfig& config) {
  RIDGE_TRY(check_sequence_batching(config));
  if (config.model_transaction_policy().decoupled()) return unsupported("a decoupled model", "set decoupled: false");
  if (config.response_cache().enable() && config.dynamic_batching().preserve_ordering())
    return unsupported("response_cache with preserve_ordering",
                       "an answer of the cache would overtake others; remove one of them");
  if (config.batch_input_size() > 0 || config.batch_output_size() > 0)
    return unsupported("batch_input or batch_output", "remove it");
  if (config.has_model_repository_agents()) return unsupported("model_repository_agents", "remove it");
  for (const auto& input : config.input()) {
    if (input.allow_ragged_batch())
      return unsupported(fmt::format("allow_ragged_batch of input '{}'", input.name()), "remove it");
    if (input.is_shape_tensor())
      return unsupported(fmt::format("is_shape_tensor of input '{}'", input.name()), "remove it");
  }
  for (const auto& output : config.output())
    if (output.is_shape_tensor())
      return unsupported(fmt::format("is_shape_tensor of output '{}'", output.name()), "remove it");
  return {};
}

// KIND_GPU means NVIDIA's GPUs; Intel's are a parameter, as in Triton's backend.
Status check_gpus(const ModelConfig& config) {
  const engine::Engine& engine = engine_of(config);
  for (const auto& group : config.instance_group())
    if (!engine::runs_on(engine, plan::DeviceKind::kCuda) && group.kind() == inference::ModelInstanceGroup::KIND_GPU)
      return unsupported(fmt::format("an instance group of KIND_GPU with backend {}", engine.name),
                         "use kind: KIND_CPU, and for Intel's GPU the parameter TARGET_DEVICE with the value GPU");
  return {};
}

Status check_batching(const ModelConfig& config) {
  if (config.max_batch_size() < 0) return invalid("max_batch_size must not be negative");
  const ModelDynamicBatching& batching = config.dynamic_batching();
  for (int32_t size : batching.preferred_batch_size())
    if (size < 1 || (size > config.max_batch_size() && config.max_batch_size() > 0))
      return invalid(fmt::format("dynamic batching preferred size must be between 1 and max_batch_size {}, found {}",
                                 config.max_batch_size(), size));
  uint64_t levels = batching.priority_levels();
  if (levels > kMaxPriorityLevels)
    return invalid(fmt::format("{} priority_levels are more than the limit of {}", levels, kMaxPriorityLevels));
  if (levels > 0 && (batching.default_priority_level() < 1 || batching.default_priority_level() > levels))
    return invalid(fmt::format("default_priority_level must be between 1 and priority_levels {}, found {}", levels,
                               batching.default_priority_level()));
  for (const auto& [level, policy] : batching.priority_queue_policy())
    if (level < 1 || level > levels)
      return invalid(
          fmt::format("priority_queue_policy names level {}, but there are {} priority_levels", level, levels));
  return {};
}

}  // namespace

Status check_config(const ModelConfig& config, const std::string& directory_name) {
  RIDGE_TRY(check_name(config, directory_name));
  RIDGE_TRY(check_features(config));
  if (is_ensemble(config)) return check_ensemble(config);
  RIDGE_TRY(check_engine(config));
  RIDGE_TRY(check_instance_groups(config));
  RIDGE_TRY(check_gpus(config));
  return check_batching(config);
}

}  // namespace ridge::serve
