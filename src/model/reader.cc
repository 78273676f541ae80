#include "model/reader.h"

#include <onnx/onnx_pb.h>

#include <exception>
#include <filesystem>

#include "base/digest.h"
#include "model/binding.h"
#include "model/external_files.h"
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

// The part of reading that needs no binding, from ONNX's structure on.
Status make_sound(onnx::ModelProto& model, const std::string& folder) {
  normalise(model);
  RIDGE_ASSIGN(const std::vector<DroppedTensor> dropped, check_and_drop_data(model, folder));
  RIDGE_TRY(check_versions(model));
  RIDGE_TRY(order_nodes(model));
  RIDGE_TRY(check_schemas(model));
  restore_shapes(dropped);
  return inline_functions(model);
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
auto guarded(const std::string& doing, Function&& function) -> decltype(function()) {
  try {
    auto result = function();
    if (result) return result;
    return wrap(std::move(result).error(), doing);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, doing + ": not enough memory"};
  } catch (const std::exception& e) {
    return Error{Code::kInvalid, doing + ": " + e.what()};
  }
}

}  // namespace

struct UnboundModel::Parsed {
  std::string doing;       // opens every message
  onnx::ModelProto model;  // sound, without large values
  std::map<std::string, std::vector<std::string>> open;
  Digest digest;                            // of the bytes that were read
  std::vector<std::string> external_files;  // paths
};

Result<UnboundModel> UnboundModel::read(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  auto parsed = std::make_shared<Parsed>();
  parsed->doing = "read model " + path;
  return guarded(parsed->doing, [&]() -> Result<UnboundModel> {
    RIDGE_TRY(load(path, parsed->model, parsed->digest));
    for (const std::string& file : external_files(parsed->model))
      parsed->external_files.push_back((folder / file).string());
    RIDGE_TRY(make_sound(parsed->model, folder.string()));
    parsed->open = open_dimensions(parsed->model.graph());
    return UnboundModel(parsed);
  });
}

Result<UnboundModel> UnboundModel::read_bytes(std::string_view bytes, const std::string& folder) {
  auto parsed = std::make_shared<Parsed>();
  parsed->doing = "read model";
  return guarded(parsed->doing, [&]() -> Result<UnboundModel> {
    RIDGE_TRY(parse(bytes, parsed->model));
    parsed->digest.add(bytes);
    parsed->digest.end_content();
    RIDGE_TRY(make_sound(parsed->model, folder));
    parsed->open = open_dimensions(parsed->model.graph());
    return UnboundModel(parsed);
  });
}

Result<Graph> UnboundModel::bind(const Binding& binding) const {
  return guarded(parsed_->doing, [&]() -> Result<Graph> {
    onnx::ModelProto model = parsed_->model;
    RIDGE_TRY(model::bind(model, binding));
    const GraphValues values = infer(model, binding.data_sizes_at_most ? DataSizes::kAtMost : DataSizes::kUnknown);
    Graph graph = graph_from_onnx(model, values);
    for (GraphInput& input : graph.input_specs)
      if (auto open = parsed_->open.find(input.spec.name); open != parsed_->open.end()) input.symbols = open->second;
    return graph;
  });
}

Result<std::string> UnboundModel::digest() const {
  Digest digest = parsed_->digest;
  if (Status added = add_files(parsed_->external_files, digest); !added) return wrap(added.error(), parsed_->doing);
  return digest.text();
}

Result<Graph> read(const std::string& path, const Binding& binding) {
  RIDGE_ASSIGN(const UnboundModel model, UnboundModel::read(path));
  return model.bind(binding);
}

Result<Graph> read_bytes(std::string_view bytes, const std::string& folder, const Binding& binding) {
  RIDGE_ASSIGN(const UnboundModel model, UnboundModel::read_bytes(bytes, folder));
  return model.bind(binding);
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
