#include "model/reader.h"

#include <onnx/onnx_pb.h>

#include <exception>
#include <filesystem>

#include "model/binding.h"
#include "model/graph_from_onnx.h"
#include "model/inference.h"
#include "model/model_file.h"
#include "model/node_order.h"
#include "model/structure.h"
#include "model/tensor_data.h"

namespace ridge::model {
namespace {

// Per input: the symbol of each dimension that the file leaves open ("?" without a name), "" where it has a size.
std::map<std::string, std::vector<std::string>> open_dimensions(const onnx::GraphProto& graph) {
  std::map<std::string, std::vector<std::string>> open;
  for (const onnx::ValueInfoProto& input : graph.input())
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const bool sized = dim.has_dim_value() && dim.dim_value() >= 0;
      open[input.name()].push_back(sized ? "" : dim.dim_param().empty() ? "?" : dim.dim_param());
    }
  return open;
}

// The main path of reading, from ONNX's structure on.
Result<Graph> graph_of(onnx::ModelProto& model, const std::string& folder, const Binding& binding) {
  normalise(model);
  RIDGE_ASSIGN(const std::vector<DroppedTensor> dropped, check_and_drop_data(model, folder));
  RIDGE_TRY(check_versions(model));
  RIDGE_TRY(order_nodes(model));
  RIDGE_TRY(check_schemas(model));
  restore_shapes(dropped);
  RIDGE_TRY(inline_functions(model));
  auto open = open_dimensions(model.graph());
  RIDGE_TRY(bind(model, binding));
  const GraphValues values = infer(model, binding.data_sizes_at_most ? DataSizes::kAtMost : DataSizes::kUnknown);
  Graph graph = graph_from_onnx(model, values);
  for (GraphInput& input : graph.input_specs) input.symbols = std::move(open[input.spec.name]);
  return graph;
}

// The small tensors that the file itself holds.
std::map<std::string, SmallTensor> stored_values(const onnx::GraphProto& graph) {
  std::map<std::string, SmallTensor> values;
  for (const onnx::TensorProto& tensor : graph.initializer())
    if (std::optional<SmallTensor> value = small_tensor_from(tensor)) values.emplace(tensor.name(), std::move(*value));
  return values;
}

// Nothing that ONNX's library throws goes further.
template <typename Function>
Result<Graph> guarded(const std::string& doing, Function&& function) {
  try {
    Result<Graph> graph = function();
    if (graph) return graph;
    return wrap(std::move(graph).error(), doing);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, doing + ": not enough memory"};
  } catch (const std::exception& e) {
    return Error{Code::kInvalid, doing + ": " + e.what()};
  }
}

}  // namespace

Result<Graph> read(const std::string& path, const Binding& binding) {
  return guarded("read model " + path, [&]() -> Result<Graph> {
    onnx::ModelProto model;
    RIDGE_TRY(load(path, model));
    return graph_of(model, std::filesystem::path(path).parent_path().string(), binding);
  });
}

Result<Graph> read_bytes(std::string_view bytes, const std::string& folder, const Binding& binding) {
  return guarded("read model", [&]() -> Result<Graph> {
    onnx::ModelProto model;
    RIDGE_TRY(parse(bytes, model));
    return graph_of(model, folder, binding);
  });
}

Result<Graph> read_optimised(const std::string& path) {
  return guarded("read optimised model " + path, [&]() -> Result<Graph> {
    onnx::ModelProto model;
    RIDGE_TRY(load(path, model));
    normalise(model);
    return graph_from_onnx(model, {{&model.graph(), stored_values(model.graph())}});
  });
}

}  // namespace ridge::model
