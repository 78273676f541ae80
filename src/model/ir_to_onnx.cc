#include "model/ir_to_onnx.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "base/file.h"
#include "model/external_files.h"
#include "model/ir_file.h"
#include "model/ir_operators.h"
#include "model/ir_writer.h"
#include "model/onnx_types.h"
#include "model/small_tensor.h"

namespace ridge::model {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kOnnxVersion = 11;  // of the structure: the first with opset 23

// Parts of the file with the weights. One thread.
class Weights {
 public:
  explicit Weights(fs::path path) : path_(std::move(path)) {}

  std::string name() const { return path_.filename().string(); }

  Result<std::string> read(int64_t offset, int64_t size) {
    if (!file_.is_open() && open_regular_file(path_.string())) file_.open(path_, std::ios::binary);
    std::string bytes(static_cast<size_t>(size), '\0');
    file_.clear();
    if (!file_.is_open() || !file_.seekg(offset) || !file_.read(bytes.data(), size))
      return Error{
          Code::kNotFound,
          fmt::format("its weights {} are missing or cut off; put the whole file beside the model", path_.string())};
    return bytes;
  }

 private:
  const fs::path path_;
  std::ifstream file_;
};

// One thread.
class IrConverter {
 public:
  IrConverter(const IrModel& ir, Weights& weights, onnx::GraphProto& graph)
      : ir_(ir), weights_(weights), graph_(graph) {}

  Status convert() {
    IrWriter writer(ir_, values_, graph_);
    for (const IrLayer& layer : ir_.layers) {
      writer.begin(layer);
      if (layer.type == "Const" && !layer.outputs.empty()) RIDGE_TRY(add_constant(layer, writer));
    }
    for (const IrLayer& layer : ir_.layers) {
      writer.begin(layer);
      if (layer.type == "Parameter" && !layer.outputs.empty())
        add_value(layer.outputs.front(), *graph_.add_input());
      else if (layer.type == "Result")
        RIDGE_TRY(add_result(layer, writer));
      else if (layer.type != "Const" && !write_layer(writer))
        add_unknown(layer, writer);
    }
    return {};
  }

 private:
  const IrTensor& tensor(int index) const { return ir_.tensors[static_cast<size_t>(index)]; }

  Status add_constant(const IrLayer& layer, IrWriter& writer) {
    const int32_t type = ir_element_type(writer.text("element_type"));
    const std::optional<std::vector<int64_t>> shape = ir_integers(writer.text("shape"));
    const std::optional<int64_t> offset = writer.integer("offset"), size = writer.integer("size");
    const std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
    if (!count || !offset || !size || *offset < 0 || *size < 0)
      return invalid(fmt::format("layer '{}' (Const) has no sound shape, offset and size", layer.name));
    const std::optional<int64_t> bytes = onnx_byte_size(type, *count);
    if (!bytes) {  // strings, and types that ONNX does not have
      add_unknown(layer, writer);
      return {};
    }
    if (*bytes != *size)
      return invalid(
          fmt::format("layer '{}' (Const) has {} bytes, its shape and type need {}", layer.name, *size, *bytes));
    onnx::TensorProto& constant = *graph_.add_initializer();
    constant.set_name(writer.out());
    constant.set_data_type(type);
    for (const int64_t dimension : *shape) constant.add_dims(dimension);
    if (*count > kSmallTensorElements) {
      point_to(constant, weights_.name(), *offset, *size);
      return {};
    }
    RIDGE_ASSIGN(*constant.mutable_raw_data(), weights_.read(*offset, *size));
    keep_values(layer.outputs.front(), constant);
    return {};
  }

  void keep_values(int index, const onnx::TensorProto& constant) {
    if (!is_integer_type(constant.data_type())) return;
    const std::optional<SmallTensor> small = small_tensor_from(constant);
    if (!small || !small->known()) return;
    std::vector<int64_t>& values = values_[index];
    for (const auto& element : small->elements) values.push_back(static_cast<int64_t>(*element));
  }

  void add_value(int index, onnx::ValueInfoProto& value) const {
    const IrTensor& source = tensor(index);
    value.set_name(source.name);
    onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(source.onnx_type);
    if (!source.shape) return;
    type.mutable_shape();
    for (const int64_t size : *source.shape) {
      auto& dimension = *type.mutable_shape()->add_dim();
      if (size >= 0) dimension.set_dim_value(size);
    }
  }

  void declare(int index) { add_value(index, *graph_.add_value_info()); }

  Status add_result(const IrLayer& layer, IrWriter& writer) {
    if (layer.inputs.empty() || layer.inputs.front() < 0)
      return invalid(fmt::format("layer '{}' (Result) is not connected", layer.name));
    const int source = layer.inputs.front();
    const IrLayer* maker = writer.maker(0);
    const bool computed = maker != nullptr && maker->type != "Parameter" && maker->type != "Const";
    onnx::ValueInfoProto& output = *graph_.add_output();
    add_value(source, output);
    if (computed && given_.insert(source).second) return {};
    output.set_name(writer.step("Identity", {writer.in(0)}));
    return {};
  }

  void add_unknown(const IrLayer& layer, IrWriter& writer) {
    if (layer.outputs.empty()) return;  // what only stores a state
    for (const int index : layer.outputs) declare(index);
    writer.node(layer.type.c_str(), writer.ins(), writer.outs()).set_domain(std::string(kIr));
  }

  const IrModel& ir_;
  Weights& weights_;
  onnx::GraphProto& graph_;
  std::map<int, std::vector<int64_t>> values_;
  std::set<int> given_;  // tensors that are outputs already
};

Status convert(std::string_view xml, const fs::path& weights_file, onnx::ModelProto& model) {
  RIDGE_ASSIGN(const IrModel ir, parse_ir(xml));
  Weights weights(weights_file);
  model.set_ir_version(kOnnxVersion);
  model.set_producer_name(ir.producer);
  for (const auto& [domain, version] : {std::pair<std::string_view, int64_t>("", kIrOpset), {kIr, 1}}) {
    onnx::OperatorSetIdProto& import = *model.add_opset_import();
    import.set_domain(std::string(domain));
    import.set_version(version);
  }
  model.mutable_graph()->set_name(ir.name.empty() ? "model" : ir.name);
  return IrConverter(ir, weights, *model.mutable_graph()).convert();
}

}  // namespace

Status load_ir(const std::string& path, onnx::ModelProto& model, Digest& digest) {
  RIDGE_ASSIGN(const std::string xml, read_file(path));
  digest.add(xml);
  digest.end_content();
  return convert(xml, fs::path(path).replace_extension(".bin"), model);
}

Status ir_from_bytes(std::string_view xml, const std::string& folder, onnx::ModelProto& model) {
  return convert(xml, fs::path(folder) / "model.bin", model);
}

}  // namespace ridge::model
