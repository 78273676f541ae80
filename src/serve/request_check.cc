#include "serve/request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "serve/classification.h"
#include "serve/region.h"

namespace ridge::serve {
namespace {

// The index of the settings with that name, tried first at `guess` because clients keep the model's order.
int find_tensor(const std::vector<TensorSettings>& tensors, const std::string& name, size_t guess) {
  if (guess < tensors.size() && tensors[guess].name == name) return static_cast<int>(guess);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name) return static_cast<int>(i);
  return -1;
}

std::string names_of(const std::vector<TensorSettings>& tensors) {
  std::string text;
  for (const TensorSettings& tensor : tensors) text += (text.empty() ? "'" : ", '") + tensor.name + "'";
  return text;
}

// Puts the inputs into the model's order, with a kInvalid one for each omitted optional input.
Status order_inputs(const ModelSettings& settings, std::vector<RequestInput>& inputs) {
  std::vector<RequestInput> ordered;
  bool in_order = inputs.size() == settings.inputs.size();
  for (size_t i = 0; in_order && i < inputs.size(); ++i) in_order = inputs[i].name == settings.inputs[i].name;
  if (in_order) return {};
  ordered.resize(settings.inputs.size());
  std::vector<bool> seen(settings.inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    int index = find_tensor(settings.inputs, inputs[i].name, i);
    if (index < 0)
      return invalid(fmt::format("unexpected inference input '{}' for model '{}', which has {}", inputs[i].name,
                                 settings.name, names_of(settings.inputs)));
    auto at = static_cast<size_t>(index);
    if (seen[at])
      return invalid(fmt::format("input '{}' is given twice for model '{}'", inputs[i].name, settings.name));
    seen[at] = true;
    ordered[at] = std::move(inputs[i]);
  }
  for (size_t i = 0; i < seen.size(); ++i)
    if (!seen[i] && !settings.inputs[i].optional)
      return invalid(fmt::format("expected {} inputs but got {} inputs for model '{}': input '{}' is missing",
                                 settings.inputs.size(), inputs.size(), settings.name, settings.inputs[i].name));
  inputs = std::move(ordered);
  return {};
}

Shape full_dims(const ModelSettings& settings, const TensorSettings& tensor) {
  Shape dims = tensor.dims;
  if (settings.batching()) dims.insert(dims.begin(), -1);
  return dims;
}

bool shape_fits(const ModelSettings& settings, const TensorSettings& tensor, const Shape& shape) {
  size_t lead = settings.batching() ? 1 : 0;
  if (shape.size() != tensor.dims.size() + lead) return false;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; })) return false;
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    if (tensor.dims[i] >= 0 && tensor.dims[i] != shape[i + lead]) return false;
  return true;
}

Status check_size(const RequestInput& input, const std::string& model) {
  std::optional<int64_t> count = element_count(input.shape);
  if (!count)
    return invalid(fmt::format("shape {} of input '{}' for model '{}' has more elements than 64 bits can count",
                               shape_text(input.shape), input.name, model));
  if (input.type == DataType::kBytes) {  // copied from its region, if any
    Status block = check_bytes_block(input.data, *count);
    if (block) return {};
    return wrap(std::move(block).error(),
                fmt::format("input '{}' with shape {} for model '{}'", input.name, shape_text(input.shape), model));
  }
  std::optional<size_t> bytes = byte_size(input.type, input.shape);
  const size_t given = size_of(input);
  if (bytes && *bytes == given) return {};
  return invalid(fmt::format("unexpected byte size for input '{}' of model '{}': {} {} needs {} bytes, got {}",
                             input.name, model, data_type_name(input.type), shape_text(input.shape),
                             bytes ? std::to_string(*bytes) : std::string("more than 2^63"), given));
}

// One present input: type, shape, batch size (equal to `rows` unless that is 0 = unknown), bytes.
Status check_input(const ModelSettings& settings, const TensorSettings& tensor, const RequestInput& input,
                   int64_t& rows) {
  if (input.type != tensor.type)
    return invalid(fmt::format("inference input '{}' data-type is '{}', but model '{}' expects '{}'", input.name,
                               data_type_name(input.type), settings.name, data_type_name(tensor.type)));
  if (!shape_fits(settings, tensor, input.shape))
    return invalid(fmt::format("unexpected shape for input '{}' for model '{}'. Expected {}, got {}", input.name,
                               settings.name, shape_text(full_dims(settings, tensor)), shape_text(input.shape)));
  if (settings.batching()) {
    int64_t batch = input.shape[0];
    if (batch < 1 || batch > settings.max_batch_size)
      return invalid(fmt::format("inference request batch-size must be between 1 and {} for '{}', input '{}' has {}",
                                 settings.max_batch_size, settings.name, input.name, batch));
    if (rows != 0 && rows != batch)
      return invalid(fmt::format("input '{}' batch size does not match other inputs for '{}': {} and {}", input.name,
                                 settings.name, batch, rows));
    rows = batch;
  }
  return check_size(input, settings.name);
}

// A row of one value: [n] is [n, 1], in the same order.
void add_last_dimension(const ModelSettings& settings, const TensorSettings& tensor, Shape& shape) {
  const bool scalar = tensor.dims == Shape{1} && tensor.reshape && tensor.reshape->empty();
  if (settings.batching() && scalar && shape.size() == 1) shape.push_back(1);
}

Status check_inputs(const ModelSettings& settings, Job& job) {
  auto& inputs = job.request.inputs;
  RIDGE_TRY(order_inputs(settings, inputs));
  int64_t rows = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool left_out = settings.inputs[i].optional && inputs[i].name.empty();
    add_last_dimension(settings, settings.inputs[i], inputs[i].shape);
    if (!left_out) RIDGE_TRY(check_input(settings, settings.inputs[i], inputs[i], rows));
    if (left_out) inputs[i].type = DataType::kInvalid;
  }
  job.rows = std::max<int64_t>(rows, 1);
  return {};
}

// A region too small for an output of known size.
Status check_room(const ModelSettings& settings, const TensorSettings& tensor, const RequestedOutput& output,
                  int64_t rows) {
  if (!output.part) return {};
  if (output.classification > 0)
    return invalid(fmt::format("output '{}' can't set both 'shared_memory_region' and 'classification'", output.name));
  if (!tensor.fixed_shape) return {};
  Shape shape = *tensor.fixed_shape;
  if (settings.batching()) shape.insert(shape.begin(), rows);
  std::optional<size_t> bytes = byte_size(tensor.type, shape);
  if (!bytes || *bytes <= output.part->byte_size) return {};
  return too_little_room(tensor.name, *bytes, *output.part);
}

Status check_outputs(const ModelSettings& settings, Job& job) {
  auto& requested = job.request.outputs;
  job.wanted.reserve(requested.size());
  for (RequestedOutput& output : requested) {
    int index = find_tensor(settings.outputs, output.name, job.wanted.size());
    if (index < 0)
      return invalid(fmt::format("unexpected inference output '{}' for model '{}', which has {}", output.name,
                                 settings.name, names_of(settings.outputs)));
    for (const WantedOutput& other : job.wanted)
      if (other.index == index)
        return invalid(fmt::format("output '{}' is asked for twice of model '{}'", output.name, settings.name));
    DataType type = settings.outputs[static_cast<size_t>(index)].type;
    if (output.classification < 0)
      return invalid(fmt::format("classification of output '{}' must be a positive number of classes", output.name));
    if (output.classification > 0 && !can_classify(type))
      return invalid(fmt::format("output '{}' of model '{}' has type {}, which cannot be classified", output.name,
                                 settings.name, data_type_name(type)));
    RIDGE_TRY(check_room(settings, settings.outputs[static_cast<size_t>(index)], output, job.rows));
    job.wanted.push_back({index, output.classification, std::move(output.part)});
  }
  return {};
}

}  // namespace

Result<JobPtr> check_request(const ModelSettings& settings, InferRequest&& request) {
  auto job = std::make_unique<Job>();
  job->request = std::move(request);
  RIDGE_TRY(check_inputs(settings, *job));
  RIDGE_TRY(check_outputs(settings, *job));
  return job;
}

}  // namespace ridge::serve
