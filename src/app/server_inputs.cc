#include "app/server_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/nearest.h"
#include "base/npy.h"
#include "measure/inputs.h"
#include "model/inputs.h"
#include "model/reader.h"
#include "precision/sample_files.h"

namespace ridge::app {
namespace {

constexpr size_t kMostRequests = 256;
constexpr size_t kMostBytes = 256 << 20;  // of one input's tensors: beside them there are the requests, for a while

bool has_open_batch(const TensorSpec& input) { return !input.shape.empty() && input.shape.front() < 0; }

std::vector<std::string> names_of(const client::ServedModel& model) {
  std::vector<std::string> names;
  for (const TensorSpec& input : model.inputs) names.push_back(input.name);
  return names;
}

Error no_such_input(const client::ServedModel& model, const std::string& name) {
  const std::vector<std::string> names = names_of(model);
  return invalid(fmt::format("the model {} has no input '{}'{}; its inputs are {}", model.name, name,
                             did_you_mean(name, names), fmt::join(names, ", ")));
}

// The shapes of --shape by input. A symbol names an input with one dimension: servers know no dimension names.
Result<std::map<std::string, Shape>> given_shapes(const client::ServedModel& model,
                                                  const std::vector<std::string>& options) {
  model::Binding binding;
  for (const std::string& option : options) RIDGE_TRY(model::parse_shape_option(option, binding));
  for (const auto& [name, size] : binding.symbols) binding.shapes[name] = {size};
  for (const auto& [name, shape] : binding.shapes) {
    const TensorSpec* input = find_spec(model.inputs, name);
    if (input == nullptr) return no_such_input(model, name);
    bool fits = shape.size() == input->shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = input->shape[i] < 0 || input->shape[i] == shape[i];
    if (!fits)
      return invalid(fmt::format("--shape {}: the server takes {} for this input, not {}", name,
                                 shape_text(input->shape), shape_text(shape)));
  }
  return binding.shapes;
}

Status check_batch(const client::ServedModel& model, int64_t batch) {
  for (const TensorSpec& input : model.inputs)
    if (has_open_batch(input) || (!input.shape.empty() && input.shape.front() == batch)) return {};
  return invalid(fmt::format("--batch {}: the server takes {} for input '{}', without an open first dimension", batch,
                             shape_text(model.inputs.front().shape), model.inputs.front().name));
}

// The shape of one request; dimensions that stay open are -1.
Shape shape_of(const TensorSpec& input, const std::map<std::string, Shape>& given, int64_t batch) {
  if (const auto found = given.find(input.name); found != given.end()) return found->second;
  Shape shape = input.shape;
  if (has_open_batch(input)) shape.front() = batch;
  return shape;
}

Status check_closed(const client::ServedModel& model, const TensorSpec& input, const Shape& shape) {
  if (std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; })) return {};
  return invalid(fmt::format("input '{}' of {} has the open shape {}: give --shape {}={}, or data by --input",
                             input.name, model.name, shape_text(input.shape), input.name,
                             fmt::join(model::example_of(shape), "x")));
}

// Rows [first, first + count) one behind the other along the first dimension (base/tensor.h).
Result<Tensor> join(std::vector<Tensor>& rows, size_t first, size_t count, const std::string& name) {
  if (count == 1) return std::move(rows[first]);
  size_t bytes = 0;
  for (size_t i = first; i < first + count; ++i) {
    if (rows[i].shape != rows[first].shape)
      return invalid(fmt::format("--batch {}: rows of input '{}' differ in shape: {} and {}", count, name,
                                 shape_text(rows[first].shape), shape_text(rows[i].shape)));
    bytes += rows[i].data.size();
  }
  Tensor joined{rows[first].type, rows[first].shape, Buffer(bytes)};
  joined.shape.front() *= static_cast<int64_t>(count);
  size_t at = 0;
  for (size_t i = first; i < first + count; ++i) {
    std::memcpy(joined.data.data() + at, rows[i].data.data(), rows[i].data.size());
    at += rows[i].data.size();
  }
  return joined;
}

class InputBuilder {
 public:
  InputBuilder(const client::ServedModel& model, const InputRequest& request) : model_(model), request_(request) {
    batch_ = request.batch.value_or(1);
    rows_ = std::all_of(model.inputs.begin(), model.inputs.end(), has_open_batch) ? static_cast<size_t>(batch_) : 1;
  }

  Result<ServerInputs> build(const model::Graph* graph) {
    if (model_.inputs.empty()) return Error{Code::kUnsupported, "the model " + model_.name + " has no inputs"};
    if (request_.batch) RIDGE_TRY(check_batch(model_, batch_));
    RIDGE_ASSIGN(given_, given_shapes(model_, request_.shapes));
    built_.columns.resize(model_.inputs.size());
    sources_.resize(model_.inputs.size());
    for (const std::string& file : request_.files) RIDGE_TRY(read(file));
    RIDGE_TRY(fill_random(graph));
    describe();
    return std::move(built_);
  }

 private:
  precision::SampleInput sample_input(const TensorSpec& spec) const {
    return {spec, shape_of(spec, given_, rows_ > 1 ? 1 : batch_)};
  }

  // NAME=FILE.npy, or a path that has data for all inputs.
  Status read(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, std::min(equals, text.size()));
    for (size_t i = 0; i < model_.inputs.size(); ++i)
      if (equals != text.npos && model_.inputs[i].name == name) return read_one(i, text.substr(equals + 1));
    if (equals != text.npos && !std::filesystem::exists(text)) return no_such_input(model_, name);
    return read_all(text);
  }

  Status read_one(size_t index, const std::string& path) {
    RIDGE_ASSIGN(const std::string bytes, read_file(path));
    RIDGE_ASSIGN(Tensor array, read_npy(std::as_bytes(std::span(bytes)), path));
    RIDGE_ASSIGN(std::vector<Tensor> rows,
                 precision::split_rows(std::move(array), sample_input(model_.inputs[index]), path));
    return take(index, std::move(rows), path);
  }

  Status read_all(const std::string& path) {
    std::vector<precision::SampleInput> inputs;
    for (const TensorSpec& spec : model_.inputs) inputs.push_back(sample_input(spec));
    RIDGE_ASSIGN(precision::SampleFiles files,
                 precision::read_sample_files(path, inputs, {}, kMostRequests * rows_, request_.seed));
    built_.notes.insert(built_.notes.end(), files.notes.begin(), files.notes.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<Tensor> rows;
      for (precision::Sample& sample : files.samples) rows.push_back(std::move(sample[i]));
      RIDGE_TRY(take(i, std::move(rows), files.what));
    }
    return {};
  }

  Status take(size_t index, std::vector<Tensor> rows, const std::string& source) {
    const std::string& name = model_.inputs[index].name;
    if (rows.size() < rows_)
      return invalid(fmt::format("--batch {}: {} has {} rows for input '{}'", batch_, source, rows.size(), name));
    const size_t bytes = std::max<size_t>(rows.front().data.size() * rows_, 1);
    const size_t count = std::clamp<size_t>(kMostBytes / bytes, 1, std::min(rows.size() / rows_, kMostRequests));
    if (count * rows_ < rows.size())
      built_.notes.push_back(fmt::format("{} of {} rows of {} are used.", count * rows_, rows.size(), source));
    built_.columns[index].clear();
    for (size_t i = 0; i < count; ++i) {
      RIDGE_ASSIGN(Tensor tensor, join(rows, i * rows_, rows_, name));
      built_.columns[index].push_back(std::move(tensor));
    }
    sources_[index] = source;
    built_.requests = built_.requests == 1 ? count : std::min(built_.requests, count);
    return {};
  }

  // Inputs without a file.
  Status fill_random(const model::Graph* graph) {
    engine::Signature signature;
    for (size_t i = 0; i < model_.inputs.size(); ++i) {
      if (!built_.columns[i].empty()) continue;
      TensorSpec spec = model_.inputs[i];
      spec.shape = shape_of(spec, given_, batch_);
      RIDGE_TRY(check_closed(model_, model_.inputs[i], spec.shape));
      signature.inputs.push_back(std::move(spec));
    }
    RIDGE_ASSIGN(std::vector<Tensor> tensors, measure::make_inputs(signature, {}, graph, request_.seed));
    for (size_t i = 0, next = 0; i < model_.inputs.size(); ++i) {
      if (!built_.columns[i].empty()) continue;
      built_.columns[i].push_back(std::move(tensors[next++]));
      sources_[i] = fmt::format("random, seed {}", request_.seed);
    }
    return {};
  }

  void describe() {
    for (size_t i = 0; i < model_.inputs.size(); ++i) {
      const Tensor& first = built_.columns[i].front();
      built_.described.push_back(
          {model_.inputs[i].name, std::string(data_type_name(first.type)), first.shape, sources_[i]});
    }
    const Shape& shape = built_.columns.front().front().shape;
    built_.batch = shape.empty() ? 1 : std::max<int64_t>(shape.front(), 1);
  }

  const client::ServedModel& model_;
  const InputRequest& request_;
  int64_t batch_ = 1;
  size_t rows_ = 1;  // that are joined for one request
  std::map<std::string, Shape> given_;
  std::vector<std::string> sources_;
  ServerInputs built_;
};

}  // namespace

Result<ServerInputs> server_inputs(const client::ServedModel& model, const InputRequest& request,
                                   const model::Graph* graph) {
  return InputBuilder(model, request).build(graph);
}

}  // namespace ridge::app
