#include "tune/serving_config.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model_config.pb.h"

namespace ridge::tune {
namespace {

constexpr int64_t kUsualBatch = 8;  // rows that clients commonly send at once

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

using Parameters = std::vector<std::pair<std::string, std::string>>;

Parameters onnxruntime_parameters(const ServingFacts& facts) {
  const Candidate& best = facts.best;
  Parameters parameters;
  if (best.threads > 0) parameters.emplace_back("intra_op_thread_count", std::to_string(best.threads));
  if (best.inter_op_threads > 1) {
    parameters.emplace_back("inter_op_thread_count", std::to_string(best.inter_op_threads));
    parameters.emplace_back("execution_mode", "1");
  }
  if (best.spin != plan::Spin::kDefault)
    parameters.emplace_back("session.intra_op.allow_spinning", best.spin == plan::Spin::kOn ? "1" : "0");
  plan::Plan base;
  base.options = facts.engine_options;
  for (const auto& [key, value] : to_plan(best, base).options) parameters.emplace_back(key, value);
  return parameters;
}

Parameters openvino_parameters(const ServingFacts& facts) {
  Parameters parameters;
  if (facts.best.threads > 0) parameters.emplace_back("INFERENCE_NUM_THREADS", std::to_string(facts.best.threads));
  if (facts.precision == Precision::kBf16) parameters.emplace_back("HINT_BF16", "YES");
  for (const auto& [key, value] : facts.engine_options) parameters.emplace_back("ridge_option_" + key, value);
  return parameters;
}

}  // namespace

ServingConfig serving_config(const ServingFacts& facts) {
  ServingConfig config;
  const Candidate& best = facts.best;
  config.name = facts.name;
  config.instances = best.instances;
  config.inputs = facts.batches ? without_batch(facts.signature.inputs) : facts.signature.inputs;
  config.outputs = facts.batches ? without_batch(facts.signature.outputs) : facts.signature.outputs;
  const BatchingAdvice& advice = facts.batching;
  if (facts.batches) config.max_batch_size = std::max(advice.max_batch, std::min(facts.verified_batch, kUsualBatch));
  if (facts.batches && advice.helps)
    config.batching = DynamicBatching{advice.preferred, std::llround(1e3 * advice.queue_delay_ms)};
  config.backend = facts.engine;
  config.parameters = facts.engine == "openvino" ? openvino_parameters(facts) : onnxruntime_parameters(facts);
  return config;
}

std::string config_text(const ServingConfig& config) {
  inference::ModelConfig message;
  message.set_name(config.name);
  message.set_backend(config.backend);
  // The OpenVINO backend looks for model.xml unless it is told.
  if (config.backend == "openvino") message.set_default_model_filename("model.onnx");
  message.set_max_batch_size(static_cast<int32_t>(config.max_batch_size));
  for (const TensorSpec& input : config.inputs) describe_tensor(*message.add_input(), input);
  for (const TensorSpec& output : config.outputs) describe_tensor(*message.add_output(), output);
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

std::string ovms_text(const ServingFacts& facts) {
  if (facts.engine != "openvino") return "";
  Json plugin = {{"NUM_STREAMS", std::to_string(facts.best.instances)}};
  if (facts.best.threads > 0)
    plugin["INFERENCE_NUM_THREADS"] = std::to_string(facts.best.threads * facts.best.instances);
  if (facts.precision == Precision::kBf16) plugin["INFERENCE_PRECISION_HINT"] = "bf16";
  for (const auto& [key, value] : facts.engine_options) plugin[key] = value;
  Json config = {{"name", facts.name}, {"base_path", "."}, {"nireq", facts.best.instances}, {"plugin_config", plugin}};
  Json model;
  model["config"] = config;
  Json all;
  all["model_config_list"] = Json::array();
  all["model_config_list"].push_back(std::move(model));
  return dump_json(all, true) + "\n";
}

}  // namespace ridge::tune
