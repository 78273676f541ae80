#include "model/binding.h"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <set>

namespace ridge::model {
namespace {

using Dim = onnx::TensorShapeProto_Dimension;
using Symbols = std::map<std::string, int64_t>;

constexpr int64_t kLargestSize = int64_t{1} << 40;  // of one dimension; larger values are typing errors

Result<Shape> parse_sizes(const std::string& text, const std::string& option) {
  Shape sizes;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int64_t size = 0;
    const auto [next, failure] = std::from_chars(at, end, size);
    if (failure != std::errc() || size < 0 || size > kLargestSize)
      return invalid("'" + option + "': expected NAME=1x3x224x224 or SYMBOL=128");
    sizes.push_back(size);
    if (next == end) return sizes;
    if (*next != 'x') return invalid("'" + option + "': expected sizes separated by 'x', found '" + *next + "'");
    at = next + 1;
  }
}

// The inputs that a caller feeds: those without an initialiser.
std::vector<onnx::ValueInfoProto*> fed_inputs(onnx::GraphProto& graph) {
  std::set<std::string> initialised;
  for (const auto& tensor : graph.initializer()) initialised.insert(tensor.name());
  std::vector<onnx::ValueInfoProto*> inputs;
  for (auto& input : *graph.mutable_input())
    if (initialised.count(input.name()) == 0) inputs.push_back(&input);
  return inputs;
}

std::string dim_text(const Dim& dim) {
  return dim.has_dim_value() ? std::to_string(dim.dim_value()) : "'" + dim.dim_param() + "'";
}

bool is_open(const Dim& dim) { return !dim.has_dim_value() || dim.dim_value() < 0; }

class Binder {
 public:
  explicit Binder(onnx::ModelProto& model) : graph_(*model.mutable_graph()), inputs_(fed_inputs(graph_)) {}

  Status apply(const Binding& binding) {
    for (const auto& [name, shape] : binding.shapes) RIDGE_TRY(bind_shape(name, shape));
    for (const auto& [name, size] : binding.symbols) RIDGE_TRY(bind_name(name, size));
    if (binding.batch) RIDGE_TRY(bind_batch(*binding.batch, binding.insist_on_batch));
    replace_in(graph_);
    return {};
  }

 private:
  Status bind_symbol(const std::string& symbol, int64_t size) {
    auto [known, fresh] = symbols_.emplace(symbol, size);
    if (!fresh && known->second != size)
      return invalid("the symbol '" + symbol + "' cannot be both " + std::to_string(known->second) + " and " +
                     std::to_string(size));
    return {};
  }

  Status bind_dim(const std::string& input, int index, Dim& dim, int64_t size) {
    if (!is_open(dim)) {
      if (dim.dim_value() == size) return {};
      return invalid("input '" + input + "': dimension " + std::to_string(index) + " is " + dim_text(dim) +
                     " in the file, it cannot be " + std::to_string(size));
    }
    if (!dim.dim_param().empty()) RIDGE_TRY(bind_symbol(dim.dim_param(), size));
    dim.set_dim_value(size);
    return {};
  }

  Status bind_shape(const std::string& name, const Shape& shape) {
    for (onnx::ValueInfoProto* input : inputs_) {
      if (input->name() != name) continue;
      if (!input->type().has_tensor_type())
        return invalid("input '" + name + "' is not a tensor, it has no shape to set");
      const bool ranked = input->type().tensor_type().has_shape();
      auto& dims = *input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
      while (!ranked && dims.size() < static_cast<int>(shape.size())) dims.Add();
      if (dims.size() != static_cast<int>(shape.size()))
        return invalid("input '" + name + "' has " + std::to_string(dims.size()) + " dimensions in the file, " +
                       shape_text(shape) + " has " + std::to_string(shape.size()));
      for (int i = 0; i < dims.size(); ++i) RIDGE_TRY(bind_dim(name, i, dims[i], shape[static_cast<size_t>(i)]));
      return {};
    }
    return invalid("the model has no input '" + name + "'; it has " + input_names());
  }

  // A symbol, or an input of one dimension.
  Status bind_name(const std::string& name, int64_t size) {
    if (open_symbols().count(name) > 0 || symbols_.count(name) > 0) return bind_symbol(name, size);
    for (const onnx::ValueInfoProto* input : inputs_)
      if (input->name() == name) return bind_shape(name, {size});
    std::string known;
    for (const std::string& symbol : open_symbols()) known += (known.empty() ? "" : ", ") + symbol;
    return invalid("the model has no symbol or input '" + name +
                   "'; its symbols are: " + (known.empty() ? "none" : known) + "; its inputs: " + input_names());
  }

  Status bind_batch(int64_t batch, bool insist) {
    bool bound = false;
    std::string fixed;
    for (onnx::ValueInfoProto* input : inputs_) {
      if (!input->type().has_tensor_type() || input->type().tensor_type().shape().dim_size() == 0) continue;
      Dim& first = *input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0);
      auto known = symbols_.find(first.dim_param());
      if (is_open(first) && known == symbols_.end()) {
        RIDGE_TRY(bind_dim(input->name(), 0, first, batch));
        bound = true;
      } else if ((is_open(first) ? known->second : first.dim_value()) == batch) {
        bound = true;
      } else if (fixed.empty()) {
        fixed = "input '" + input->name() + "' has " + dim_text(first);
      }
    }
    if (bound || fixed.empty() || !insist) return {};
    return invalid("the batch cannot be " + std::to_string(batch) + ": " + fixed +
                   " as its first dimension in the file");
  }

  std::set<std::string> open_symbols() const {
    std::set<std::string> symbols;
    for (const onnx::ValueInfoProto* input : inputs_)
      for (const Dim& dim : input->type().tensor_type().shape().dim())
        if (dim.has_dim_param() && !dim.dim_param().empty()) symbols.insert(dim.dim_param());
    return symbols;
  }

  std::string input_names() const {
    std::string names;
    for (const onnx::ValueInfoProto* input : inputs_) names += (names.empty() ? "" : ", ") + input->name();
    return names.empty() ? "none" : names;
  }

  void replace_in(onnx::ValueInfoProto& value) const {
    if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
    for (Dim& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
      if (auto bound = symbols_.find(dim.dim_param()); dim.has_dim_param() && bound != symbols_.end())
        dim.set_dim_value(bound->second);
  }

  void replace_in(onnx::GraphProto& graph) const {
    for (auto& value : *graph.mutable_input()) replace_in(value);
    for (auto& value : *graph.mutable_output()) replace_in(value);
    for (auto& value : *graph.mutable_value_info()) replace_in(value);
    for (onnx::NodeProto& node : *graph.mutable_node())
      for (onnx::AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.has_g()) replace_in(*attribute.mutable_g());
  }

  onnx::GraphProto& graph_;
  std::vector<onnx::ValueInfoProto*> inputs_;
  Symbols symbols_;
};

}  // namespace

Status parse_shape_option(const std::string& text, Binding& binding) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    return invalid("'" + text + "': expected NAME=1x3x224x224 or SYMBOL=128");
  const std::string name = text.substr(0, equals);
  RIDGE_ASSIGN(Shape sizes, parse_sizes(text.substr(equals + 1), text));
  if (sizes.size() == 1) {
    binding.symbols[name] = sizes.front();
  } else {
    binding.shapes[name] = std::move(sizes);
  }
  return {};
}

Status bind(onnx::ModelProto& model, const Binding& binding) {
  return binding.empty() ? Status() : Binder(model).apply(binding);
}

}  // namespace ridge::model
