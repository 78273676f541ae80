#include "zoo/writer.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/replacement_file.h"
#include "base/tensor.h"
#include "model/external_files.h"
#include "model/onnx_types.h"
#include "zoo/random.h"

namespace ridge::zoo {
namespace {

// Protobuf's own limit is 2^31 - 1 bytes for a message; the rest of the model needs little.
constexpr int64_t kLargestEmbedded = 2'000'000'000;
constexpr int64_t kWeightAlignment =
    4096;  // ONNX: external data offsets that allow mapping are multiples of the page size
constexpr size_t kPieceElements = 1 << 20;

int64_t size_of(const Shape& shape) { return element_count(shape).value(); }

// ------------------------------------------------------------------------------------------------ parts as protobuf

void set_attribute(onnx::AttributeProto& proto, const std::string& name, const AttributeValue& value) {
  proto.set_name(name);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&value)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (int64_t element : *numbers) proto.add_ints(element);
  } else {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (float element : std::get<std::vector<float>>(value)) proto.add_floats(element);
  }
}

void set_port(onnx::ValueInfoProto& proto, const Port& port) {
  proto.set_name(port.name);
  auto& tensor = *proto.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(model::to_onnx_type(port.type));
  auto& shape = *tensor.mutable_shape();
  for (const Dimension& dimension : port.shape) {
    if (const auto* size = std::get_if<int64_t>(&dimension)) {
      shape.add_dim()->set_dim_value(*size);
    } else {
      shape.add_dim()->set_dim_param(std::get<std::string>(dimension));
    }
  }
}

void set_constant(onnx::TensorProto& proto, const Constant& constant) {
  proto.set_name(constant.name);
  for (int64_t size : constant.shape) proto.add_dims(size);
  std::visit(
      [&](const auto& values) {
        using Element = typename std::decay_t<decltype(values)>::value_type;
        proto.set_data_type(std::is_same_v<Element, float> ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
        proto.set_raw_data(values.data(), values.size() * sizeof(Element));
      },
      constant.values);
}

// The graph without the weights.
onnx::GraphProto skeleton(const Blueprint& blueprint) {
  onnx::GraphProto graph;
  graph.set_name(blueprint.name);
  for (const Port& port : blueprint.inputs) set_port(*graph.add_input(), port);
  for (const Port& port : blueprint.outputs) set_port(*graph.add_output(), port);
  for (const Constant& constant : blueprint.constants) set_constant(*graph.add_initializer(), constant);
  for (const Operation& operation : blueprint.operations) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_name(operation.name);
    node.set_op_type(operation.op);
    for (const std::string& input : operation.inputs) node.add_input(input);
    for (const std::string& output : operation.outputs) node.add_output(output);
    for (const auto& [name, value] : operation.attributes) set_attribute(*node.add_attribute(), name, value);
  }
  return graph;
}

// The IR version of an opset: onnx/helper.py, VERSION_TABLE.
int64_t ir_version_for(int64_t opset) {
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  return opset <= 23 ? 11 : 12;
}

onnx::ModelProto frame(const Blueprint& blueprint) {
  onnx::ModelProto model;
  model.set_ir_version(ir_version_for(blueprint.opset));
  model.set_producer_name("ridge");
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(blueprint.opset);
  return model;
}

onnx::TensorProto weight_header(const Weight& weight) {
  onnx::TensorProto proto;
  proto.set_name(weight.name);
  for (int64_t size : weight.shape) proto.add_dims(size);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  return proto;
}

// ------------------------------------------------------------------------------------- the wire format, by hand
// A message is the concatenation of its fields in any order (protobuf, Encoding), so the weights can follow the rest of
// the graph as they are made, without ever being one message in memory.

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

// The head of a length-delimited field.
std::string field(int number, uint64_t length) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(length);
}

// The bytes before a weight's raw bytes inside the graph.
std::string embedded_head(const Weight& weight) {
  const auto bytes = static_cast<uint64_t>(size_of(weight.shape)) * sizeof(float);
  std::string tensor = weight_header(weight).SerializeAsString() + field(onnx::TensorProto::kRawDataFieldNumber, bytes);
  return field(onnx::GraphProto::kInitializerFieldNumber, tensor.size() + bytes) + tensor;
}

Status append_values(ReplacementFile& file, const Weight& weight, uint64_t key, std::vector<float>& piece) {
  const auto count = static_cast<uint64_t>(size_of(weight.shape));
  for (uint64_t first = 0; first < count; first += kPieceElements) {
    piece.resize(std::min<uint64_t>(kPieceElements, count - first));
    fill_uniform(piece, key, first, weight.mean, weight.deviation);
    RIDGE_TRY(file.append({reinterpret_cast<const char*>(piece.data()), piece.size() * sizeof(float)}));
  }
  return {};
}

Status append_model(ReplacementFile& file, const Blueprint& blueprint, const std::string& graph, uint64_t more_bytes) {
  RIDGE_TRY(file.append(frame(blueprint).SerializeAsString()));
  RIDGE_TRY(file.append(field(onnx::ModelProto::kGraphFieldNumber, graph.size() + more_bytes)));
  return file.append(graph);
}

Status write_embedded(const Blueprint& blueprint, uint64_t seed, const std::string& path) {
  uint64_t weights_size = 0;
  for (const Weight& weight : blueprint.weights)
    weights_size += embedded_head(weight).size() + static_cast<uint64_t>(size_of(weight.shape)) * sizeof(float);
  RIDGE_ASSIGN(ReplacementFile file, ReplacementFile::open(path));
  RIDGE_TRY(append_model(file, blueprint, skeleton(blueprint).SerializeAsString(), weights_size));
  std::vector<float> piece;
  for (size_t i = 0; i < blueprint.weights.size(); ++i) {
    RIDGE_TRY(file.append(embedded_head(blueprint.weights[i])));
    RIDGE_TRY(append_values(file, blueprint.weights[i], stream_key(seed, i), piece));
  }
  return file.commit();
}

Status write_external(const Blueprint& blueprint, uint64_t seed, const std::string& path) {
  const std::string data_path = path + ".data";
  const std::string location = std::filesystem::path(data_path).filename().string();
  onnx::GraphProto graph = skeleton(blueprint);
  RIDGE_ASSIGN(ReplacementFile file, ReplacementFile::open(path));
  RIDGE_ASSIGN(ReplacementFile data, ReplacementFile::open(data_path));
  std::vector<float> piece;
  for (size_t i = 0; i < blueprint.weights.size(); ++i) {
    const Weight& weight = blueprint.weights[i];
    const int64_t padding = (kWeightAlignment - data.size() % kWeightAlignment) % kWeightAlignment;
    RIDGE_TRY(data.append(std::string(static_cast<size_t>(padding), '\0')));
    onnx::TensorProto& proto = *graph.add_initializer() = weight_header(weight);
    model::point_to(proto, location, data.size(), size_of(weight.shape) * static_cast<int64_t>(sizeof(float)));
    RIDGE_TRY(append_values(data, weight, stream_key(seed, i), piece));
  }
  RIDGE_TRY(append_model(file, blueprint, graph.SerializeAsString(), 0));
  RIDGE_TRY(data.commit());
  return file.commit();
}

}  // namespace

int64_t weight_bytes(const Blueprint& blueprint) {
  int64_t bytes = 0;
  for (const Weight& weight : blueprint.weights) bytes += size_of(weight.shape) * static_cast<int64_t>(sizeof(float));
  for (const Constant& constant : blueprint.constants)
    bytes += std::visit([](const auto& values) { return static_cast<int64_t>(values.size() * sizeof(values[0])); },
                        constant.values);
  return bytes;
}

bool needs_external_data(const Blueprint& blueprint) { return weight_bytes(blueprint) > kLargestEmbedded; }

Status write(const Blueprint& blueprint, uint64_t seed, const std::string& path) {
  return needs_external_data(blueprint) ? write_external(blueprint, seed, path) : write_embedded(blueprint, seed, path);
}

}  // namespace ridge::zoo
