#include "serve/config_complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model_config.pb.h"
#include "serve/engine_parameters.h"
#include "serve/instance_groups.h"
#include "serve/reshape.h"
#include "serve/sequence_config.h"

namespace ridge::serve {
namespace {

using inference::ModelConfig;

// The schema numbers the types like base/tensor.h.
static_assert(static_cast<int>(DataType::kBool) == inference::TYPE_BOOL);
static_assert(static_cast<int>(DataType::kInt64) == inference::TYPE_INT64);
static_assert(static_cast<int>(DataType::kFp64) == inference::TYPE_FP64);
static_assert(static_cast<int>(DataType::kBytes) == inference::TYPE_STRING);
static_assert(static_cast<int>(DataType::kBf16) == inference::TYPE_BF16);

constexpr int kDefaultMaxBatchSize = 4;  // Triton's --backend-config=default-max-batch-size

std::string names_of(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) text += (text.empty() ? "'" : ", '") + spec.name + "'";
  return text.empty() ? "none" : text;
}

void complete_identity(ModelConfig& config, const std::string& directory_name) {
  config.set_name(directory_name);
  const engine::Engine& engine = engine_of(config);
  if (config.backend().empty()) config.set_backend(std::string(engine.name));
  if (config.platform().empty()) config.set_platform(std::string(engine.platform));
  if (config.default_model_filename().empty()) config.set_default_model_filename("model.onnx");
  if (!config.has_version_policy()) config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  for (int i = 0; i < config.instance_group_size(); ++i) {
    auto& group = *config.mutable_instance_group(i);
    if (group.name().empty()) group.set_name(fmt::format("{}_{}", directory_name, i));
  }
}

bool has_open_batch(const std::vector<TensorSpec>& specs) {
  return std::all_of(specs.begin(), specs.end(),
                     [](const TensorSpec& spec) { return !spec.shape.empty() && spec.shape[0] == -1; });
}

// Tensors listed in the configuration are written as a batching model's: without the batch dimension.
template <typename Tensors>
bool listed_without_batch(const Tensors& tensors, const std::vector<TensorSpec>& specs) {
  for (const auto& tensor : tensors) {
    const TensorSpec* spec = find_spec(specs, tensor.name());
    size_t rank = static_cast<size_t>(tensor.has_reshape() ? tensor.reshape().shape_size() : tensor.dims_size());
    if (spec != nullptr && rank + 1 != spec->shape.size()) return false;
  }
  return true;
}

// All configurable tensors: required ones, and those with a default value.
std::vector<TensorSpec> all_inputs(const engine::Signature& signature) {
  std::vector<TensorSpec> specs = signature.inputs;
  specs.insert(specs.end(), signature.optional_inputs.begin(), signature.optional_inputs.end());
  return specs;
}

void complete_batching(ModelConfig& config, const engine::Signature& signature) {
  bool complete = config.input_size() > 0 && config.output_size() > 0;
  if (complete || config.max_batch_size() > 0 || signature.inputs.empty()) return;
  if (!has_open_batch(signature.inputs) || !has_open_batch(signature.outputs)) return;
  if (!listed_without_batch(config.input(), all_inputs(signature))) return;
  if (!listed_without_batch(config.output(), signature.outputs)) return;
  config.set_max_batch_size(kDefaultMaxBatchSize);
  if (!config.has_sequence_batching()) config.mutable_dynamic_batching();
}

// Type and dims of one tensor from the model, if the configuration leaves them open. A model's scalar is dims [1]
// reshaped to [].
template <typename Tensor>
void complete_tensor(Tensor& tensor, const TensorSpec& spec, bool batching) {
  if (tensor.data_type() == inference::TYPE_INVALID)
    tensor.set_data_type(static_cast<inference::DataType>(static_cast<int>(spec.type)));
  if (tensor.dims_size() > 0) return;
  for (size_t i = batching ? 1 : 0; i < spec.shape.size(); ++i) tensor.add_dims(spec.shape[i]);
  if (tensor.dims_size() > 0 || tensor.has_reshape()) return;
  tensor.add_dims(1);
  tensor.mutable_reshape();
}

template <typename Tensors>
void list_tensors(Tensors& tensors, const std::vector<TensorSpec>& specs) {
  if (!tensors.empty()) return;
  for (const TensorSpec& spec : specs) tensors.Add()->set_name(spec.name);
}

template <typename Tensors>
void complete_tensors(Tensors& tensors, const std::vector<TensorSpec>& specs, bool batching) {
  for (auto& tensor : tensors) {
    const TensorSpec* spec = find_spec(specs, tensor.name());
    if (spec != nullptr) complete_tensor(tensor, *spec, batching);
  }
}

std::string model_shape_text(const TensorSpec& spec) {
  return fmt::format("{} {}", data_type_name(spec.type), shape_text(spec.shape));
}

template <typename Tensor>
Status check_shape(const Tensor& tensor, const TensorSpec& spec, bool batching, const std::string& which) {
  Shape dims(tensor.dims().begin(), tensor.dims().end());
  if (dims.empty())
    return invalid(fmt::format("{} needs dims; a scalar is dims: [ 1 ] with reshape {{ shape: [ ] }}", which));
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 0 || dim < -1; }))
    return invalid(
        fmt::format("{} has dims {}; a dimension is at least 1, or -1 if it may vary", which, shape_text(dims)));
  Shape expected = dims;
  if (tensor.has_reshape()) {
    expected.assign(tensor.reshape().shape().begin(), tensor.reshape().shape().end());
    RIDGE_TRY(check_reshape(dims, expected));
  }
  if (batching) {
    if (spec.shape.empty() || spec.shape[0] != -1)
      return invalid(
          fmt::format("max_batch_size is above 0, but the model's {} is {}: its first dimension is not dynamic; set "
                      "max_batch_size: 0 and give all dims",
                      which, model_shape_text(spec)));
    expected.insert(expected.begin(), -1);
  }
  // A model states no rank, or a scalar, as []: then the configuration takes precedence.
  if (!batching && spec.shape.empty()) return {};
  if (matches(spec.shape, expected)) return {};
  return invalid(fmt::format("{} is configured as {}{}, but the model has {}", which, shape_text(expected),
                             batching ? " (batch dimension included)" : "", model_shape_text(spec)));
}

template <typename Tensors>
Status check_tensors(const Tensors& tensors, const std::vector<TensorSpec>& specs, bool batching, const char* kind) {
  std::set<std::string> seen;
  for (const auto& tensor : tensors) {
    std::string which = fmt::format("{} '{}'", kind, tensor.name());
    const TensorSpec* spec = find_spec(specs, tensor.name());
    if (spec == nullptr)
      return invalid(fmt::format("unexpected {}: the model does not have it, it has {}", which, names_of(specs)));
    if (!seen.insert(tensor.name()).second) return invalid(fmt::format("{} is configured twice", which));
    if (spec->type == DataType::kInvalid)
      return Error{Code::kUnsupported,
                   fmt::format("the model's {} has a type that cannot be sent over the wire", which)};
    if (static_cast<int>(tensor.data_type()) != static_cast<int>(spec->type))
      return invalid(fmt::format("{} is configured as {}, but the model has {}", which,
                                 inference::DataType_Name(tensor.data_type()), data_type_name(spec->type)));
    RIDGE_TRY(check_shape(tensor, *spec, batching, which));
  }
  return {};
}

Status check_optional_inputs(const ModelConfig& config, const engine::Signature& signature) {
  for (const auto& input : config.input())
    if (input.optional() && find_spec(signature.inputs, input.name()) != nullptr)
      return invalid(fmt::format("input '{}' cannot be optional: the model has no default for it", input.name()));
  return {};
}

Status check_all_inputs_listed(const ModelConfig& config, const engine::Signature& signature) {
  for (const TensorSpec& spec : signature.inputs) {
    auto listed = [&](const auto& tensor) { return tensor.name() == spec.name; };
    if (std::none_of(config.input().begin(), config.input().end(), listed))
      return invalid(fmt::format("input '{}' of the model is missing in the configuration", spec.name));
  }
  return {};
}

template <typename Dims>
void put_rows_first(Dims& dims) {
  dims.Add(-1);
  std::rotate(dims.begin(), dims.end() - 1, dims.end());
}

template <typename Tensors>
void put_rows_first_in_all(Tensors& tensors) {
  for (auto& tensor : tensors) {
    put_rows_first(*tensor.mutable_dims());
    if (tensor.has_reshape()) put_rows_first(*tensor.mutable_reshape()->mutable_shape());
  }
}

}  // namespace

ConfigPtr without_batching(const ModelConfig& completed) {
  auto config = std::make_shared<ModelConfig>(completed);
  config->set_max_batch_size(completed.has_sequence_batching() ? 1 : 0);
  config->mutable_parameters()->erase("ridge_queue_delay");
  if (config->has_dynamic_batching()) {
    config->mutable_dynamic_batching()->clear_preferred_batch_size();
    config->mutable_dynamic_batching()->clear_max_queue_delay_microseconds();
  }
  if (config->sequence_batching().has_oldest())
    config->mutable_sequence_batching()->mutable_oldest()->clear_preferred_batch_size();
  if (completed.has_sequence_batching()) return config;
  put_rows_first_in_all(*config->mutable_input());
  put_rows_first_in_all(*config->mutable_output());
  return config;
}

Result<ConfigPtr> complete_config(const ModelConfig& config, const std::string& directory_name,
                                  const engine::Signature& signature, bool may_batch) {
  auto completed = std::make_shared<ModelConfig>(*place_instances(config, {}));  // decided values stay
  complete_identity(*completed, directory_name);
  if (may_batch) complete_batching(*completed, signature);
  bool batching = completed->max_batch_size() > 0;
  const std::vector<TensorSpec> inputs = all_inputs(signature);
  const engine::Signature for_clients = without_sequence_tensors(*completed, signature);
  list_tensors(*completed->mutable_input(), for_clients.inputs);
  list_tensors(*completed->mutable_output(), for_clients.outputs);
  complete_tensors(*completed->mutable_input(), inputs, batching);
  complete_tensors(*completed->mutable_output(), signature.outputs, batching);
  RIDGE_TRY(check_tensors(completed->input(), inputs, batching, "input"));
  RIDGE_TRY(check_tensors(completed->output(), signature.outputs, batching, "output"));
  RIDGE_TRY(check_optional_inputs(*completed, signature));
  RIDGE_TRY(check_all_inputs_listed(*completed, for_clients));
  return ConfigPtr(std::move(completed));
}

}  // namespace ridge::serve
