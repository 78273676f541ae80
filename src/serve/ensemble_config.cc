#include "serve/ensemble_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model_config.pb.h"
#include "serve/config_json.h"
#include "serve/repository.h"

namespace ridge::serve {
namespace {

using inference::ModelConfig;

constexpr const char* kEnsemblePlatform = "ensemble";
constexpr int kMostSteps = 1024;  // more is a typing error

Error not_in_ensemble(std::string_view what, std::string_view instead) {
  return {Code::kUnsupported, fmt::format("{} of an ensemble is not supported by ridge; {}", what, instead)};
}

EnsembleStepMaps::Map sorted_map(const google::protobuf::Map<std::string, std::string>& map) {
  EnsembleStepMaps::Map pairs(map.begin(), map.end());
  std::sort(pairs.begin(), pairs.end());  // protobuf's order is none
  return pairs;
}

template <typename Tensors>
std::vector<std::string> tensor_names(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& tensor : tensors) names.push_back(tensor.name());
  return names;
}

Result<EnsemblePlan> ensemble_plan_of(const ModelConfig& config) {
  std::vector<EnsembleStepMaps> steps;
  for (const auto& step : config.ensemble_scheduling().step()) {
    const int64_t version = step.model_version() == -1 ? 0 : step.model_version();
    steps.push_back({step.model_name(), version, sorted_map(step.input_map()), sorted_map(step.output_map())});
  }
  return plan_ensemble(tensor_names(config.input()), tensor_names(config.output()), steps);
}

template <typename Tensor>
Status check_ensemble_tensor(const Tensor& tensor, const char* kind) {
  const std::string which = fmt::format("{} '{}' of an ensemble", kind, tensor.name());
  if (tensor.data_type() == inference::TYPE_INVALID) return invalid(which + " needs a data_type");
  if (tensor.dims().empty()) return invalid(which + " needs dims");
  for (const int64_t dim : tensor.dims())
    if (dim == 0 || dim < -1)
      return invalid(fmt::format("{} has a dimension of {}; it is at least 1, or -1 if it may vary", which, dim));
  if (tensor.has_reshape()) return not_in_ensemble(fmt::format("reshape of {} '{}'", kind, tensor.name()), "remove it");
  return {};
}

template <typename Tensor>
TensorSettings settings_of_tensor(const Tensor& tensor) {
  TensorSettings settings;
  settings.name = tensor.name();
  settings.type = static_cast<DataType>(static_cast<int>(tensor.data_type()));
  settings.dims.assign(tensor.dims().begin(), tensor.dims().end());
  return settings;
}

Status check_ensemble_features(const ModelConfig& config) {
  if (config.instance_group_size() > 0)
    return not_in_ensemble("instance_group", "it has no instances; write it into the models of its steps");
  if (config.has_optimization()) return not_in_ensemble("optimization", "write it into the models of its steps");
  if (config.model_warmup_size() > 0) return not_in_ensemble("model_warmup", "write it into the models of its steps");
  return {};
}

}  // namespace

bool is_ensemble(const ModelConfig& config) {
  return config.platform() == kEnsemblePlatform || config.has_ensemble_scheduling();
}

std::vector<std::string> models_of_steps(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const auto& step : config.ensemble_scheduling().step())
    if (std::find(names.begin(), names.end(), step.model_name()) == names.end()) names.push_back(step.model_name());
  return names;
}

Status check_ensemble(const ModelConfig& config) {
  if (!config.platform().empty() && config.platform() != kEnsemblePlatform)
    return invalid(
        fmt::format("ensemble_scheduling needs platform \"{}\", found \"{}\"", kEnsemblePlatform, config.platform()));
  if (!config.backend().empty())
    return invalid(fmt::format("an ensemble has no backend, found \"{}\"; remove it", config.backend()));
  if (!config.has_ensemble_scheduling())
    return invalid(fmt::format("platform \"{}\" needs ensemble_scheduling with its steps", kEnsemblePlatform));
  if (config.max_batch_size() < 0) return invalid("max_batch_size must not be negative");
  RIDGE_TRY(check_ensemble_features(config));
  if (config.ensemble_scheduling().step_size() > kMostSteps)
    return invalid(
        fmt::format("{} steps are more than the limit of {}", config.ensemble_scheduling().step_size(), kMostSteps));
  if (config.input().empty() || config.output().empty())
    return invalid(fmt::format("an ensemble needs input and output in its configuration; there is no {}",
                               config.input().empty() ? "input" : "output"));
  for (const auto& input : config.input()) RIDGE_TRY(check_ensemble_tensor(input, "input"));
  for (const auto& output : config.output()) RIDGE_TRY(check_ensemble_tensor(output, "output"));
  Result<EnsemblePlan> plan = ensemble_plan_of(config);
  if (!plan) return plan.error();
  return {};
}

Result<LoadedEnsemble> read_ensemble(const ModelConfig& config, const std::string& name, int64_t version,
                                     const std::string& directory) {
  ModelConfig completed = config;
  completed.set_name(name);
  completed.set_platform(kEnsemblePlatform);
  if (!completed.has_version_policy()) completed.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  LoadedEnsemble loaded;
  RIDGE_ASSIGN(loaded.plan, ensemble_plan_of(completed));
  loaded.config = std::make_shared<const Json>(config_to_json(completed));
  ModelSettings& settings = loaded.settings;
  settings.name = name;
  settings.version = version;
  settings.platform = kEnsemblePlatform;
  settings.max_batch_size = completed.max_batch_size();
  settings.response_cache = completed.response_cache().enable();
  for (const auto& input : completed.input()) {
    TensorSettings& tensor = settings.inputs.emplace_back(settings_of_tensor(input));
    tensor.optional = input.optional();
  }
  for (const auto& output : completed.output()) {
    TensorSettings& tensor = settings.outputs.emplace_back(settings_of_tensor(output));
    const bool open = std::any_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t dim) { return dim < 0; });
    if (!open && tensor.type != DataType::kBytes) tensor.fixed_shape = tensor.dims;
    if (output.label_filename().empty()) continue;
    RIDGE_ASSIGN(tensor.labels, read_labels(directory, output.label_filename()));
  }
  settings.metric_tags.assign(completed.metric_tags().begin(), completed.metric_tags().end());
  std::sort(settings.metric_tags.begin(), settings.metric_tags.end());
  return loaded;
}

}  // namespace ridge::serve
