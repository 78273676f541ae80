#include "model/reader.h"

#include <onnx/onnx_pb.h>

#include <filesystem>

#include "base/digest.h"
#include "base/file.h"
#include "model/binding.h"
#include "model/external_files.h"
#include "model/graph_from_onnx.h"
#include "model/guarded.h"
#include "model/inference.h"
#include "model/ir.h"
#include "model/model_file.h"
#include "model/node_order.h"
#include "model/structure.h"
#include "model/tensor_data.h"

namespace ridge::model {
namespace {

// Per input: the symbol of each open dimension ("?" without a name), "" for a fixed size.
std::map<std::string, std::vector<std::string>> open_dimensions(const onnx::GraphProto& graph) {
  std::map<std::string, std::vector<std::string>> open;
  for (const onnx::ValueInfoProto& input : graph.input())
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const bool sized = dim.has_dim_value() && dim.dim_value() >= 0;
      open[input.name()].push_back(sized ? "" : dim.dim_param().empty() ? "?" : dim.dim_param());
    }
  return open;
}

std::map<std::string, Shape> input_shapes_of(const onnx::GraphProto& graph) {
  std::map<std::string, Shape> shapes;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!input.type().tensor_type().has_shape()) continue;
    Shape& shape = shapes[input.name()];
    for (const auto& dim : input.type().tensor_type().shape().dim())
      shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }
  return shapes;
}

std::filesystem::path folder_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

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

}  // namespace

struct UnboundModel::ParsedModel {
  std::string doing;       // opens every message
  onnx::ModelProto model;  // sound, without large values
  std::map<std::string, std::vector<std::string>> open;
  std::shared_ptr<const IrSource> ir;  // null: ONNX
  std::string digest;                  // "": of `files`
  std::vector<std::string> external_files;
  std::vector<std::string> files;  // paths of the model and of these
  Descriptor file;                 // the model's, of ONNX: its digest is that of the bytes that were read

  void list_files(const std::string& path) {
    external_files = model::external_files(model);
    files = {path};
    for (const std::string& file : external_files) files.push_back((folder_of(path) / file).string());
  }
  Status finish(const std::string& folder) {
    RIDGE_TRY(make_sound(model, folder));
    open = open_dimensions(model.graph());
    return {};
  }
};

Result<UnboundModel> UnboundModel::read(const std::string& path) {
  auto parsed = std::make_shared<ParsedModel>();
  parsed->doing = "read model " + path;
  return guarded(parsed->doing, [&]() -> Result<UnboundModel> {
    RIDGE_TRY(load(path, parsed->model, &parsed->file));
    parsed->list_files(path);
    RIDGE_TRY(parsed->finish(folder_of(path).string()));
    return UnboundModel(parsed);
  });
}

Result<UnboundModel> UnboundModel::from_ir(const std::string& path, std::shared_ptr<const IrSource> source) {
  auto parsed = std::make_shared<ParsedModel>();
  parsed->doing = "read model " + path;
  return guarded(parsed->doing, [&]() -> Result<UnboundModel> {
    RIDGE_ASSIGN(const IrModel ir, source->at({}, DataSizes::kUnknown));
    write_as_onnx(ir, parsed->model);
    parsed->open = open_dimensions(parsed->model.graph());
    parsed->ir = std::move(source);
    const std::filesystem::path weights = std::filesystem::path(path).replace_extension(".bin");
    parsed->files = {path};
    if (std::error_code error; std::filesystem::exists(weights, error)) {
      parsed->external_files = {weights.filename().string()};
      parsed->files.push_back(weights.string());
    }
    return UnboundModel(parsed);
  });
}

Result<WholeModel> UnboundModel::read_whole(const std::string& path) {
  auto parsed = std::make_shared<ParsedModel>();
  parsed->doing = "read model " + path;
  return guarded(parsed->doing, [&]() -> Result<WholeModel> {
    RIDGE_TRY(load(path, parsed->model, &parsed->file));
    parsed->list_files(path);
    auto proto = std::make_shared<const onnx::ModelProto>(parsed->model);
    RIDGE_TRY(parsed->finish(folder_of(path).string()));  // also checks that the external data lies beside the model
    auto data = std::make_shared<ExternalData>();
    for (const std::string& file : parsed->external_files) {
      RIDGE_ASSIGN((*data)[file], read_file((folder_of(path) / file).string(), kAnySize));
    }
    RIDGE_ASSIGN(parsed->digest, digest_files(parsed->files, &parsed->file));
    return WholeModel{path, UnboundModel(parsed), std::move(proto), std::move(data)};
  });
}

Result<UnboundModel> UnboundModel::read_bytes(std::string_view bytes, const std::string& folder) {
  auto parsed = std::make_shared<ParsedModel>();
  parsed->doing = "read model";
  return guarded(parsed->doing, [&]() -> Result<UnboundModel> {
    RIDGE_TRY(parse(bytes, parsed->model));
    RIDGE_TRY(parsed->finish(folder));
    return UnboundModel(parsed);
  });
}

Result<Graph> UnboundModel::bind(const Binding& binding) const {
  return guarded(parsed_->doing, [&]() -> Result<Graph> {
    onnx::ModelProto model = parsed_->model;
    RIDGE_TRY(model::bind(model, binding));
    const DataSizes sizes = binding.data_sizes_at_most ? DataSizes::kAtMost : DataSizes::kUnknown;
    GraphValues values;
    if (parsed_->ir != nullptr) {
      const auto shapes = binding.empty() ? std::map<std::string, Shape>() : input_shapes_of(model.graph());
      RIDGE_ASSIGN(const IrModel ir, parsed_->ir->at(shapes, sizes));
      values = write_as_onnx(ir, model);
    } else {
      values = infer(model, sizes);
    }
    Graph graph = graph_from_onnx(model, values);
    for (GraphInput& input : graph.input_specs)
      if (auto open = parsed_->open.find(input.spec.name); open != parsed_->open.end()) input.symbols = open->second;
    return graph;
  });
}

Result<std::string> UnboundModel::digest() const {
  if (!parsed_->digest.empty()) return parsed_->digest;
  if (parsed_->files.empty()) return Error{Code::kUnsupported, parsed_->doing + ": it was read from no file"};
  Result<std::string> digest = digest_files(parsed_->files, parsed_->file ? &parsed_->file : nullptr);
  return digest ? std::move(digest) : wrap(digest.error(), parsed_->doing);
}

const onnx::ModelProto& UnboundModel::proto() const { return parsed_->model; }

bool UnboundModel::is_ir() const { return parsed_->ir != nullptr; }

bool UnboundModel::has_subgraphs() const {
  auto has_graph = [](const onnx::AttributeProto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  };
  return std::ranges::any_of(parsed_->model.graph().node(), [&](const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(), has_graph);
  });
}

const std::vector<std::string>& UnboundModel::external_files() const { return parsed_->external_files; }

Result<Graph> read(const std::string& path, const Binding& binding) {
  RIDGE_ASSIGN(const UnboundModel model, UnboundModel::read(path));
  return model.bind(binding);
}

Result<Graph> read_bytes(std::string_view bytes, const std::string& folder, const Binding& binding) {
  RIDGE_ASSIGN(const UnboundModel model, UnboundModel::read_bytes(bytes, folder));
  return model.bind(binding);
}

}  // namespace ridge::model
