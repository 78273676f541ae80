#include "model/ir_file.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "base/letter_case.h"
#include "base/proc_text.h"

namespace ridge::model {
namespace {

constexpr int64_t kOldestVersion = 10;  // the first with operator sets

struct TypeName {
  std::string_view name;
  int32_t onnx_type;
};
constexpr std::array<TypeName, 26> kTypeNames = {{
    {"f32", onnx::TensorProto::FLOAT},
    {"fp32", onnx::TensorProto::FLOAT},
    {"f16", onnx::TensorProto::FLOAT16},
    {"fp16", onnx::TensorProto::FLOAT16},
    {"bf16", onnx::TensorProto::BFLOAT16},
    {"f64", onnx::TensorProto::DOUBLE},
    {"fp64", onnx::TensorProto::DOUBLE},
    {"i64", onnx::TensorProto::INT64},
    {"i32", onnx::TensorProto::INT32},
    {"i16", onnx::TensorProto::INT16},
    {"i8", onnx::TensorProto::INT8},
    {"i4", onnx::TensorProto::INT4},
    {"u64", onnx::TensorProto::UINT64},
    {"u32", onnx::TensorProto::UINT32},
    {"u16", onnx::TensorProto::UINT16},
    {"u8", onnx::TensorProto::UINT8},
    {"u4", onnx::TensorProto::UINT4},
    {"boolean", onnx::TensorProto::BOOL},
    {"bool", onnx::TensorProto::BOOL},
    {"string", onnx::TensorProto::STRING},
    {"f8e4m3", onnx::TensorProto::FLOAT8E4M3FN},
    {"f8e5m2", onnx::TensorProto::FLOAT8E5M2},
    {"f8e8m0", onnx::TensorProto::FLOAT8E8M0},
    {"f4e2m1", onnx::TensorProto::FLOAT4E2M1},
    {"i2", onnx::TensorProto::INT2},
    {"u2", onnx::TensorProto::UINT2},
}};

// One thread.
class IrParser {
 public:
  Result<IrModel> parse(const pugi::xml_node& net) {
    RIDGE_TRY(check_version(net));
    model_.name = net.attribute("name").value();
    model_.producer = net.child("rt_info").child("Runtime_version").attribute("value").value();
    model_.producer =
        model_.producer.empty() ? "OpenVINO" : "OpenVINO " + model_.producer.substr(0, model_.producer.find('-'));
    for (const pugi::xml_node& layer : net.child("layers").children("layer")) RIDGE_TRY(add(layer));
    if (model_.layers.empty()) return invalid("it has no layers");
    for (const pugi::xml_node& edge : net.child("edges").children("edge")) RIDGE_TRY(connect(edge));
    return std::move(model_);
  }

 private:
  static Status check_version(const pugi::xml_node& net) {
    const std::optional<int64_t> version = to_number(net.attribute("version").value());
    if (version && *version >= kOldestVersion) return {};
    return Error{
        Code::kUnsupported,
        fmt::format("IR of version '{}' is not read, only {} and later; convert the model again with a newer OpenVINO",
                    net.attribute("version").value(), kOldestVersion)};
  }

  Status add(const pugi::xml_node& xml) {
    IrLayer layer;
    layer.name = xml.attribute("name").value();
    layer.type = xml.attribute("type").value();
    layer.version = xml.attribute("version").value();
    const std::string id = xml.attribute("id").value();
    if (layer.name.empty()) layer.name = layer.type + "_" + id;
    if (!layer_names_.insert(layer.name).second) layer.name += "#" + id;
    for (const pugi::xml_attribute& attribute : xml.child("data").attributes())
      layer.attributes[attribute.name()] = attribute.value();
    const size_t index = model_.layers.size();
    for (const pugi::xml_node& port : xml.child("input").children("port")) {
      if (!inputs_
               .emplace(std::pair(id, std::string(port.attribute("id").value())), std::pair(index, layer.inputs.size()))
               .second)
        return invalid(fmt::format("layer '{}' has an input port twice", layer.name));
      layer.inputs.push_back(-1);
    }
    for (const pugi::xml_node& port : xml.child("output").children("port")) {
      RIDGE_ASSIGN(IrTensor tensor, tensor_of(port, layer));
      if (!outputs_
               .emplace(std::pair(id, std::string(port.attribute("id").value())),
                        static_cast<int>(model_.tensors.size()))
               .second)
        return invalid(fmt::format("layer '{}' has an output port twice", layer.name));
      layer.outputs.push_back(static_cast<int>(model_.tensors.size()));
      model_.tensors.push_back(std::move(tensor));
    }
    model_.layers.push_back(std::move(layer));
    return {};
  }

  Result<IrTensor> tensor_of(const pugi::xml_node& port, const IrLayer& layer) {
    IrTensor tensor;
    tensor.name = name_of(port, layer);
    tensor.onnx_type = ir_element_type(port.attribute("precision").value());
    const auto shape = layer.attributes.find("shape");
    if (shape != layer.attributes.end() && trim(shape->second) == "...") return tensor;
    tensor.shape.emplace();
    for (const pugi::xml_node& dim : port.children("dim")) {
      const std::optional<int64_t> size = to_number(dim.child_value());
      if (!size || *size < -1)
        return invalid(fmt::format("layer '{}' has the size '{}'", layer.name, dim.child_value()));
      tensor.shape->push_back(*size);
    }
    return tensor;
  }

  // Of the port's names ("a,b", a comma in a name is escaped) the layer's own, else the first in the alphabet; as the engine's session
  // names inputs and outputs.
  std::string name_of(const pugi::xml_node& port, const IrLayer& layer) {
    std::set<std::string> names;
    std::string name;
    const std::string_view text = port.attribute("names").value();
    for (size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] == '\\' && i + 1 < text.size()) {
        name += text[++i];
      } else if (i == text.size() || text[i] == ',') {
        if (!name.empty()) names.insert(std::exchange(name, ""));
      } else {
        name += text[i];
      }
    }
    name = names.empty() || names.contains(layer.name) ? layer.name : *names.begin();
    if (tensor_names_.insert(name).second) return name;
    return numbered(fmt::format("{}:{}", name, port.attribute("id").value()));
  }

  // The stem if it is free, else with a number that goes on from the stem's last: many tensors of one name take no longer than others.
  std::string numbered(const std::string& stem) {
    std::string name = stem;
    while (!tensor_names_.insert(name).second)
      name = fmt::format("{}:{}", stem, ++numbers_.try_emplace(stem, 1).first->second);
    return name;
  }

  Status connect(const pugi::xml_node& edge) {
    const auto from = outputs_.find({edge.attribute("from-layer").value(), edge.attribute("from-port").value()});
    const auto to = inputs_.find({edge.attribute("to-layer").value(), edge.attribute("to-port").value()});
    if (from == outputs_.end() || to == inputs_.end())
      return invalid(fmt::format("an edge leads from layer {} to layer {} between ports that do not exist",
                                 edge.attribute("from-layer").value(), edge.attribute("to-layer").value()));
    model_.layers[to->second.first].inputs[to->second.second] = from->second;
    return {};
  }

  using Port = std::pair<std::string, std::string>;  // ids of layer and port
  IrModel model_;
  std::set<std::string> layer_names_, tensor_names_;
  std::map<std::string, int> numbers_;                // by stem: the last that was tried
  std::map<Port, std::pair<size_t, size_t>> inputs_;  // layer and place among its inputs
  std::map<Port, int> outputs_;                       // tensor
};

}  // namespace

bool looks_like_ir(std::string_view bytes) {
  return bytes.starts_with("<?xml") || bytes.starts_with("<net") || bytes.starts_with("\xEF\xBB\xBF<?xml");
}

Result<IrModel> parse_ir(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) return invalid(fmt::format("it is not sound XML: {} at byte {}", parsed.description(), parsed.offset));
  const pugi::xml_node net = document.child("net");
  if (!net) return invalid("it is XML, but not OpenVINO's IR: it has no <net>");
  return IrParser().parse(net);
}

std::optional<std::vector<int64_t>> ir_integers(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!trim(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::optional<int64_t> number = to_number(text.substr(0, comma));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

int32_t ir_element_type(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const TypeName& row : kTypeNames)
    if (row.name == lower) return row.onnx_type;
  return 0;
}

}  // namespace ridge::model
