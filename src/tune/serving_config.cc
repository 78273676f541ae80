#include "tune/serving_config.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>

#include "model_config.pb.h"

namespace ridge::tune {
namespace {

constexpr int64_t kUsualBatch = 8;  // rows that clients commonly send at once
constexpr double kDelayShare =
    0.1;  // of a run: waiting longer for company costs more than the fuller batch gains at low load

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

int64_t queue_delay_us(const ServingFacts& facts) {
  double delay_ms = kDelayShare * facts.run_ms;
  if (facts.p99_goal_ms) delay_ms = std::clamp(*facts.p99_goal_ms - facts.run_p99_ms, 0.0, delay_ms);
  return std::llround(delay_ms * 1e3);
}

// A tensor of rank 0 has dims [1] for the client and is reshaped for the model: config.pbtxt knows no empty dims.
template <typename Message>
void fill(Message& message, const TensorSpec& spec) {
  message.set_name(spec.name);
  message.set_data_type(config_type(spec.type));
  for (int64_t dimension : spec.shape) message.add_dims(dimension);
  if (!spec.shape.empty()) return;
  message.add_dims(1);
  message.mutable_reshape();
}

}  // namespace

ServingConfig serving_config(const ServingFacts& facts) {
  ServingConfig config;
  const Candidate& best = facts.best;
  config.name = facts.name;
  config.instances = best.instances;
  config.inputs = facts.batches ? without_batch(facts.signature.inputs) : facts.signature.inputs;
  config.outputs = facts.batches ? without_batch(facts.signature.outputs) : facts.signature.outputs;
  if (facts.batches) config.max_batch_size = std::max(best.batch, std::min(facts.verified_batch, kUsualBatch));
  if (facts.batches && best.batch > 1) config.batching = DynamicBatching{{best.batch}, queue_delay_us(facts)};
  if (best.threads > 0) config.parameters.emplace_back("intra_op_thread_count", std::to_string(best.threads));
  if (best.inter_op_threads > 1) {
    config.parameters.emplace_back("inter_op_thread_count", std::to_string(best.inter_op_threads));
    config.parameters.emplace_back("execution_mode", "1");
  }
  if (best.spin != plan::Spin::kDefault)
    config.parameters.emplace_back("session.intra_op.allow_spinning", best.spin == plan::Spin::kOn ? "1" : "0");
  plan::Plan base;
  base.options = facts.engine_options;
  for (const auto& [key, value] : to_plan(best, base).options) config.parameters.emplace_back(key, value);
  return config;
}

std::string config_text(const ServingConfig& config) {
  inference::ModelConfig message;
  message.set_name(config.name);
  message.set_backend("onnxruntime");
  message.set_max_batch_size(static_cast<int32_t>(config.max_batch_size));
  for (const TensorSpec& input : config.inputs) fill(*message.add_input(), input);
  for (const TensorSpec& output : config.outputs) fill(*message.add_output(), output);
  inference::ModelInstanceGroup& group = *message.add_instance_group();
  group.set_count(config.instances);
  group.set_kind(inference::ModelInstanceGroup::KIND_CPU);
  if (config.batching) {
    inference::ModelDynamicBatching& batching = *message.mutable_dynamic_batching();
    for (int64_t size : config.batching->preferred_batch_sizes)
      batching.add_preferred_batch_size(static_cast<int32_t>(size));
    batching.set_max_queue_delay_microseconds(static_cast<uint64_t>(config.batching->max_queue_delay_us));
  }
  for (const auto& [key, value] : config.parameters) (*message.mutable_parameters())[key].set_string_value(value);
  google::protobuf::TextFormat::Printer printer;
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace ridge::tune
