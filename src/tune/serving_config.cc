#include "tune/serving_config.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/engines.h"
#include "model_config.pb.h"

namespace ridge::tune {
namespace {

constexpr const char* kModelFile = "model.onnx";  // of every version of an entry
constexpr int64_t kUsualBatch = 8;                // rows that clients commonly send at once

inference::DataType config_type(DataType type) {
  std::string name = type == DataType::kBytes ? "STRING" : std::string(data_type_name(type));
  inference::DataType result = inference::TYPE_INVALID;
  inference::DataType_Parse("TYPE_" + name, &result);
  return result;
}

std::vector<TensorSpec> without_batch(std::vector<TensorSpec> specs) {
  for (TensorSpec& spec : specs)
    if (!spec.shape.empty()) spec.shape.erase(spec.shape.begin());
  return specs;
}

// A tensor of rank 0 has dims [1] for the client and is reshaped for the model: config.pbtxt knows no empty dims.
template <typename Message>
void describe_tensor(Message& message, const TensorSpec& spec) {
  message.set_name(spec.name);
  message.set_data_type(config_type(spec.type));
  for (int64_t dimension : spec.shape) message.add_dims(dimension);
  if (!spec.shape.empty()) return;
  message.add_dims(1);
  message.mutable_reshape();
}

// The plan of one instance set, as it was measured, without what instance groups say.
plan::Plan plan_of(const ServingFacts& facts) {
  plan::Plan base;
  base.engine = facts.engine;
  base.options = facts.engine_options;
  base.device = plan::device_name(facts.device);
  base.precision = facts.precision;
  return to_plan(facts.best, base);
}

// The engine's most frequent batches: single rows, the queue's preferred ones, and the largest.
std::vector<int64_t> warmup_batches(const ServingConfig& config) {
  std::set<int64_t> sizes = {1, std::max<int64_t>(1, config.max_batch_size)};
  if (config.batching)
    sizes.insert(config.batching->preferred_batch_sizes.begin(), config.batching->preferred_batch_sizes.end());
  return {sizes.begin(), sizes.end()};
}

void fill(inference::ModelWarmup& message, int64_t batch, const std::vector<WarmupInput>& inputs) {
  message.set_name(fmt::format("tuned shapes, batch size {}", batch));
  message.set_batch_size(static_cast<uint32_t>(batch));
  for (const WarmupInput& input : inputs) {
    inference::ModelWarmup::Input& tensor = (*message.mutable_inputs())[input.name];
    tensor.set_data_type(config_type(input.type));
    for (int64_t dimension : input.dims) tensor.add_dims(dimension);
    if (input.dims.empty()) tensor.add_dims(1);
    tensor.set_input_data_file(input.file);
  }
}

// If merging is not worth a wait, but more than one row was tuned, waiting rows are still merged up to that batch: it
// costs no time, and the tuned throughput is that batch's.
std::optional<DynamicBatching> batching_of(const Candidate& best, const BatchingAdvice& advice) {
  if (advice.helps) return DynamicBatching{advice.preferred, std::llround(1e3 * advice.queue_delay_ms)};
  if (best.batch > 1) return DynamicBatching{{best.batch}, 0};
  return std::nullopt;
}

void add_parameters(const engine::Parameters& parameters, inference::ModelConfig& message) {
  for (const auto& [key, value] : parameters) (*message.mutable_parameters())[key].set_string_value(value);
}

std::string printed(const inference::ModelConfig& message) {
  std::string text;
  google::protobuf::TextFormat::Printer().PrintToString(message, &text);
  return text;
}

}  // namespace

ServingConfig serving_config(const ServingFacts& facts) {
  ServingConfig config;
  const Candidate& best = facts.best;
  config.name = facts.name;
  config.instances = best.instances;
  config.device = facts.device;
  config.inputs = facts.batches ? without_batch(facts.signature.inputs) : facts.signature.inputs;
  config.outputs = facts.batches ? without_batch(facts.signature.outputs) : facts.signature.outputs;
  const BatchingAdvice& advice = facts.batching;
  if (facts.batches) config.max_batch_size = std::max(advice.max_batch, std::min(facts.verified_batch, kUsualBatch));
  if (facts.batches) config.batching = batching_of(best, advice);
  config.backend = facts.engine;
  const engine::Engine& engine = engine::named(facts.engine);
  if (engine.parameters != nullptr) config.parameters = engine.parameters(plan_of(facts));
  if (engine.accelerators != nullptr) config.accelerators = engine.accelerators(plan_of(facts));
  config.warmup = facts.warmup;
  if (!config.warmup.empty()) config.warmup_batches = warmup_batches(config);
  return config;
}

std::string config_text(const ServingConfig& config) {
  inference::ModelConfig message;
  message.set_name(config.name);
  message.set_backend(config.backend);
  if (engine::named(config.backend).default_file != kModelFile) message.set_default_model_filename(kModelFile);
  message.set_max_batch_size(static_cast<int32_t>(config.max_batch_size));
  for (const TensorSpec& input : config.inputs) describe_tensor(*message.add_input(), input);
  for (const TensorSpec& output : config.outputs) describe_tensor(*message.add_output(), output);
  inference::ModelInstanceGroup& group = *message.add_instance_group();
  group.set_count(config.instances);
  group.set_kind(inference::ModelInstanceGroup::KIND_CPU);
  if (plan::is_nvidia(config.device)) {
    group.set_kind(inference::ModelInstanceGroup::KIND_GPU);
    group.add_gpus(config.device.index);
    for (const auto& [name, parameters] : config.accelerators) {
      auto& one = *message.mutable_optimization()->mutable_execution_accelerators()->add_gpu_execution_accelerator();
      one.set_name(name);
      one.mutable_parameters()->insert(parameters.begin(), parameters.end());
    }
  }
  if (config.batching) {
    inference::ModelDynamicBatching& batching = *message.mutable_dynamic_batching();
    for (int64_t size : config.batching->preferred_batch_sizes)
      batching.add_preferred_batch_size(static_cast<int32_t>(size));
    batching.set_max_queue_delay_microseconds(static_cast<uint64_t>(config.batching->max_queue_delay_us));
  }
  add_parameters(config.parameters, message);
  for (int64_t batch : config.warmup_batches) fill(*message.add_model_warmup(), batch, config.warmup);
  return printed(message);
}

std::string config_text(const std::string& name, const std::string& backend, const engine::Parameters& parameters) {
  inference::ModelConfig message;
  message.set_name(name);
  message.set_backend(backend);
  add_parameters(parameters, message);
  return printed(message);
}

std::string ovms_text(const ServingFacts& facts) {
  const engine::Engine& engine = engine::named(facts.engine);
  return engine.model_server_text != nullptr ? engine.model_server_text(facts.name, plan_of(facts)) : "";
}

}  // namespace ridge::tune
