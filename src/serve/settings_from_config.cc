#include "serve/settings_from_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "model_config.pb.h"
#include "serve/instance_groups.h"
#include "serve/repository.h"
#include "serve/sequence_config.h"

namespace ridge::serve {
namespace {

using inference::ModelConfig;
using inference::ModelDynamicBatching;

constexpr const char* kQueueDelay = "ridge_queue_delay";

template <typename Dims>
Shape to_shape(const Dims& dims) {
  return Shape(dims.begin(), dims.end());
}

int index_of(const std::vector<TensorSpec>& specs, const std::string& name) {
  for (size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == name) return static_cast<int>(i);
  return -1;
}

template <typename Tensor>
TensorSettings tensor_of(const Tensor& tensor, const std::vector<TensorSpec>& specs) {
  TensorSettings settings;
  settings.name = tensor.name();
  settings.type = static_cast<DataType>(static_cast<int>(tensor.data_type()));
  settings.dims = to_shape(tensor.dims());
  if (tensor.has_reshape()) settings.reshape = to_shape(tensor.reshape().shape());
  settings.signature_index = index_of(specs, tensor.name());
  return settings;
}

// The shape without batch dimension for which the engine may get memory: nothing open, no unknown rank.
std::optional<Shape> fixed_shape(const TensorSpec& spec, bool batching) {
  if (spec.shape.empty() || spec.type == DataType::kBytes) return std::nullopt;
  Shape shape(spec.shape.begin() + (batching ? 1 : 0), spec.shape.end());
  if (std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; })) return std::nullopt;
  return shape;
}

QueuePolicy queue_policy_of(const inference::ModelQueuePolicy& policy) {
  QueuePolicy result;
  result.max_size = policy.max_queue_size();
  result.default_timeout = from_microseconds(policy.default_timeout_microseconds());
  result.allow_timeout_override = policy.allow_timeout_override();
  result.delay_expired = policy.timeout_action() == inference::ModelQueuePolicy::DELAY;
  return result;
}

QueueSettings queue_settings_of(const ModelConfig& config, size_t queue_limit) {
  QueueSettings settings;
  settings.size_limit = queue_limit;
  const ModelDynamicBatching& batching = config.dynamic_batching();
  if (config.max_batch_size() > 0 && config.has_dynamic_batching()) {
    settings.batch.merge = true;
    settings.batch.max_rows = config.max_batch_size();
    settings.batch.preferred.assign(batching.preferred_batch_size().begin(), batching.preferred_batch_size().end());
    settings.batch.max_delay = from_microseconds(batching.max_queue_delay_microseconds());
    settings.batch.adaptive = config.parameters().contains(kQueueDelay);  // its one value is "auto"
  }
  if (config.has_sequence_batching()) settings.batch = sequence_batch_limits(config);
  size_t levels = std::max<size_t>(1, batching.priority_levels());
  settings.levels.assign(levels, queue_policy_of(batching.default_queue_policy()));
  for (const auto& [level, policy] : batching.priority_queue_policy())
    settings.levels[static_cast<size_t>(level - 1)] = queue_policy_of(policy);
  if (batching.default_priority_level() > 0)
    settings.default_level = static_cast<size_t>(batching.default_priority_level() - 1);
  return settings;
}

Result<WarmupSample> warmup_of(const inference::ModelWarmup& warmup, const std::string& directory, bool batching) {
  WarmupSample sample;
  sample.name = warmup.name();
  sample.batch = batching ? std::max<int64_t>(1, warmup.batch_size()) : 0;
  sample.count = static_cast<int>(std::clamp<uint32_t>(warmup.count(), 1, 10'000));
  for (const auto& [name, input] : warmup.inputs()) {
    WarmupTensor tensor;
    tensor.name = name;
    tensor.type = static_cast<DataType>(static_cast<int>(input.data_type()));
    tensor.dims = to_shape(input.dims());
    if (input.has_random_data() && input.random_data()) tensor.data = WarmupTensor::Data::kRandom;
    if (input.has_input_data_file()) {
      tensor.data = WarmupTensor::Data::kFile;
      RIDGE_TRY(check_relative_path(input.input_data_file()));
      tensor.file = (std::filesystem::path(directory) / "warmup" / input.input_data_file()).string();
    }
    sample.inputs.push_back(std::move(tensor));
  }
  return sample;
}

Status add_outputs(const ModelConfig& config, const engine::Signature& signature, const std::string& directory,
                   ModelSettings& settings) {
  for (const auto& output : config.output()) {
    TensorSettings tensor = tensor_of(output, signature.outputs);
    tensor.fixed_shape =
        fixed_shape(signature.outputs[static_cast<size_t>(tensor.signature_index)], settings.batching());
    if (!output.label_filename().empty()) {
      RIDGE_ASSIGN(tensor.labels, read_labels(directory, output.label_filename()));
    }
    settings.outputs.push_back(std::move(tensor));
  }
  return {};
}

void add_inputs(const ModelConfig& config, const engine::Signature& signature, ModelSettings& settings) {
  settings.model_inputs = signature.inputs.size();
  settings.fixed_input_shapes = true;
  for (const auto& input : config.input()) {
    TensorSettings tensor = tensor_of(input, signature.inputs);
    if (tensor.signature_index < 0) {  // then it has a default value in the model
      tensor.signature_index =
          static_cast<int>(signature.inputs.size()) + index_of(signature.optional_inputs, input.name());
      settings.model_inputs = signature.inputs.size() + signature.optional_inputs.size();
    }
    tensor.optional = input.optional();
    bool open = std::any_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t dim) { return dim < 0; });
    if (open || tensor.optional) settings.fixed_input_shapes = false;
    settings.inputs.push_back(std::move(tensor));
  }
}

// For ridge's own parameters that are "on" or "off", and on by default.
bool is_on(const ModelConfig& config, const char* parameter) {
  auto found = config.parameters().find(parameter);
  return found == config.parameters().end() || found->second.string_value() != "off";
}

// Instances on one GPU share it: two concurrent halves of a batch take as long as the whole.
bool all_on_cpus(const ModelConfig& completed) {
  const auto& groups = completed.instance_group();
  return std::none_of(groups.begin(), groups.end(),
                      [](const auto& group) { return group.kind() == inference::ModelInstanceGroup::KIND_GPU; });
}

}  // namespace

Nanoseconds from_microseconds(uint64_t us) {
  constexpr uint64_t kYear = 365ULL * 24 * 3600 * 1'000'000;
  return std::chrono::microseconds(static_cast<int64_t>(std::min(us, kYear)));
}

VersionPolicy version_policy_of(const ModelConfig& config) {
  VersionPolicy policy;
  if (config.version_policy().has_all()) policy.kind = VersionPolicy::Kind::kAll;
  if (config.version_policy().has_latest())
    policy.latest = std::max<int64_t>(1, config.version_policy().latest().num_versions());
  if (config.version_policy().has_specific()) {
    policy.kind = VersionPolicy::Kind::kSpecific;
    for (int64_t version : config.version_policy().specific().versions()) policy.specific.push_back(version);
  }
  return policy;
}

std::string model_filename_of(const ModelConfig& config) {
  return config.default_model_filename().empty() ? "model.onnx" : config.default_model_filename();
}

int instances_of(const ModelConfig& config) { return std::max(1, static_cast<int>(devices_of(config).size())); }

Result<ModelSettings> settings_of(const ModelConfig& completed, const engine::Signature& signature, int64_t version,
                                  const std::string& directory, size_t queue_limit) {
  ModelSettings settings;
  settings.name = completed.name();
  settings.version = version;
  settings.platform = completed.platform().empty() ? completed.backend() : completed.platform();
  settings.max_batch_size = completed.max_batch_size();
  add_inputs(completed, signature, settings);
  RIDGE_TRY(add_outputs(completed, signature, directory, settings));
  settings.queue = queue_settings_of(completed, queue_limit);
  if (completed.has_sequence_batching()) {
    RIDGE_ASSIGN(settings.sequences, sequence_settings_of(completed, signature, settings.outputs, directory));
    if (has_open_state(*settings.sequences)) settings.queue.batch.merge = false;
  }
  if (completed.parameters().contains(kQueueDelay) && !(completed.has_dynamic_batching() && settings.queue.batch.merge))
    return invalid(
        "parameter 'ridge_queue_delay' needs dynamic_batching and a max_batch_size above 0; add them, or remove it");
  settings.queue.spread = is_on(completed, "ridge_spread") && all_on_cpus(completed);
  settings.response_cache = completed.response_cache().enable();
  settings.preserve_ordering = completed.dynamic_batching().preserve_ordering();
  settings.instances = instances_of(completed);
  if (const auto traffic = completed.parameters().find("ridge_traffic"); traffic != completed.parameters().end()) {
    RIDGE_ASSIGN(settings.traffic, parse_traffic(traffic->second.string_value()));
  }
  settings.warmup_batches = is_on(completed, "ridge_warmup");
  for (const auto& warmup : completed.model_warmup()) {
    RIDGE_ASSIGN(WarmupSample sample, warmup_of(warmup, directory, settings.batching()));
    settings.warmup_samples.push_back(std::move(sample));
  }
  settings.metric_tags.assign(completed.metric_tags().begin(), completed.metric_tags().end());
  std::sort(settings.metric_tags.begin(), settings.metric_tags.end());
  return settings;
}

}  // namespace ridge::serve
