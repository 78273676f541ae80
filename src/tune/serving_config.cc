#include "tune/serving_config.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

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

bool is_card_option(const std::string& key) { return key.starts_with("cuda.") || key.starts_with("tensorrt."); }

// As Triton's backend takes them: accelerators of the instances on cards. TensorRT is one also without parameters.
void add_accelerators(const ServingConfig& config, inference::ModelConfig& message) {
  if (!plan::is_nvidia(config.device)) return;
  const bool tensorrt = config.device.kind == plan::DeviceKind::kTensorRt;
  for (const std::string name : {"tensorrt", "cuda"}) {
    inference::ModelOptimizationPolicy::ExecutionAccelerators::Accelerator accelerator;
    accelerator.set_name(name);
    for (const auto& [key, value] : config.card_options)
      if (key.starts_with(name + ".")) (*accelerator.mutable_parameters())[key.substr(name.size() + 1)] = value;
    if (accelerator.parameters().empty() && !(tensorrt && name == "tensorrt")) continue;
    *message.mutable_optimization()->mutable_execution_accelerators()->add_gpu_execution_accelerator() = accelerator;
  }
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
  for (const auto& [key, value] : to_plan(best, base).options)
    if (!is_card_option(key)) parameters.emplace_back(key, value);
  return parameters;
}

// Threads that OpenVINO is told of: those of the processor; its GPUs refuse the property.
int openvino_threads(const ServingFacts& facts) {
  return facts.device.kind == plan::DeviceKind::kCpu ? facts.best.threads : 0;
}

// "GPU.1", as OpenVINO names it; its backend takes it as a parameter, not as an instance group.
std::string intel_gpu(const ServingFacts& facts) {
  return facts.device.kind == plan::DeviceKind::kGpu ? fmt::format("GPU.{}", facts.device.index) : "";
}

Parameters openvino_parameters(const ServingFacts& facts) {
  Parameters parameters;
  if (const std::string gpu = intel_gpu(facts); !gpu.empty()) parameters.emplace_back("TARGET_DEVICE", gpu);
  if (const int threads = openvino_threads(facts); threads > 0)
    parameters.emplace_back("INFERENCE_NUM_THREADS", std::to_string(threads));
  if (facts.precision == Precision::kBf16) parameters.emplace_back("HINT_BF16", "YES");
  // The plan that was measured, whole: the plugin opens INT8 and FP16 in another way than FP32.
  if (facts.precision != Precision::kFp32)
    parameters.emplace_back("ridge_precision", std::string(precision_name(facts.precision)));
  for (const auto& [key, value] : facts.engine_options) parameters.emplace_back("ridge_option_" + key, value);
  return parameters;
}

// Batches that the engine will see most: single rows, what the queue prefers, and the largest.
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

// Where merging is not worth a wait, but more rows than one were tuned, what waits anyway is still merged up to that batch: it
// costs nobody time, and the tuned throughput is that batch's.
std::optional<DynamicBatching> batching_of(const Candidate& best, const BatchingAdvice& advice) {
  if (advice.helps) return DynamicBatching{advice.preferred, std::llround(1e3 * advice.queue_delay_ms)};
  if (best.batch > 1) return DynamicBatching{{best.batch}, 0};
  return std::nullopt;
}

}  // namespace

ServingConfig serving_config(const ServingFacts& facts) {
  ServingConfig config;
  const Candidate& best = facts.best;
  config.name = facts.name;
  config.instances = best.instances;
  config.device = facts.device;
  for (const auto* options : {&facts.engine_options, &best.options})
    for (const auto& [key, value] : *options)
      if (is_card_option(key)) config.card_options[key] = value;
  config.inputs = facts.batches ? without_batch(facts.signature.inputs) : facts.signature.inputs;
  config.outputs = facts.batches ? without_batch(facts.signature.outputs) : facts.signature.outputs;
  const BatchingAdvice& advice = facts.batching;
  if (facts.batches) config.max_batch_size = std::max(advice.max_batch, std::min(facts.verified_batch, kUsualBatch));
  if (facts.batches) config.batching = batching_of(best, advice);
  config.backend = facts.engine;
  config.parameters = facts.engine == "openvino" ? openvino_parameters(facts) : onnxruntime_parameters(facts);
  config.warmup = facts.warmup;
  if (!config.warmup.empty()) config.warmup_batches = warmup_batches(config);
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
  if (plan::is_nvidia(config.device)) {
    group.set_kind(inference::ModelInstanceGroup::KIND_GPU);
    group.add_gpus(config.device.index);
    add_accelerators(config, message);
  }
  if (config.batching) {
    inference::ModelDynamicBatching& batching = *message.mutable_dynamic_batching();
    for (int64_t size : config.batching->preferred_batch_sizes)
      batching.add_preferred_batch_size(static_cast<int32_t>(size));
    batching.set_max_queue_delay_microseconds(static_cast<uint64_t>(config.batching->max_queue_delay_us));
  }
  for (const auto& [key, value] : config.parameters) (*message.mutable_parameters())[key].set_string_value(value);
  for (int64_t batch : config.warmup_batches) fill(*message.add_model_warmup(), batch, config.warmup);
  google::protobuf::TextFormat::Printer printer;
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

std::string ovms_text(const ServingFacts& facts) {
  if (facts.engine != "openvino") return "";
  Json plugin = {{"NUM_STREAMS", std::to_string(facts.best.instances)}};
  if (const int threads = openvino_threads(facts); threads > 0)
    plugin["INFERENCE_NUM_THREADS"] = std::to_string(threads * facts.best.instances);
  if (facts.precision == Precision::kBf16) plugin["INFERENCE_PRECISION_HINT"] = "bf16";
  for (const auto& [key, value] : facts.engine_options) plugin[key] = value;
  Json config = {{"name", facts.name}, {"base_path", "."}, {"nireq", facts.best.instances}, {"plugin_config", plugin}};
  if (const std::string gpu = intel_gpu(facts); !gpu.empty()) config["target_device"] = gpu;
  Json model;
  model["config"] = config;
  Json all;
  all["model_config_list"] = Json::array();
  all["model_config_list"].push_back(std::move(model));
  return dump_json(all, true) + "\n";
}

}  // namespace ridge::tune
