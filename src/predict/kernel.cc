#include "predict/kernel.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "measure/operands.h"

namespace ridge::predict {
namespace {

constexpr std::string_view kWeight = " weight";

std::string text_of(const cost::Operand& operand) {
  if (!operand.present) return "";
  std::string text(data_type_name(operand.type));
  text += operand.shape ? shape_text(*operand.shape) : "?";
  return operand.weight ? text + std::string(kWeight) : text;
}

Error malformed(const std::string& text) {
  return {Code::kInvalid, "'" + text + "' is no operand; expected a type and a shape such as FP32[1,64,56,56] weight"};
}

Result<Shape> shape_from(std::string_view text, const std::string& whole) {
  Shape shape;
  while (!text.empty()) {
    int64_t size = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (failure != std::errc()) return malformed(whole);
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return malformed(whole);
    text.remove_prefix(1);
  }
  return shape;
}

Result<cost::Operand> operand_from(const std::string& whole) {
  cost::Operand operand;
  operand.present = !whole.empty();
  if (!operand.present) return operand;
  std::string_view text = whole;
  operand.weight = text.ends_with(kWeight);
  if (operand.weight) text.remove_suffix(kWeight.size());
  const size_t end = text.find_first_of("[?");
  if (end == std::string_view::npos) return malformed(whole);
  operand.type = data_type_from_name(text.substr(0, end));
  text.remove_prefix(end);
  if (text == "?") return operand;
  if (text.back() != ']') return malformed(whole);
  RIDGE_ASSIGN(operand.shape, shape_from(text.substr(1, text.size() - 2), whole));
  return operand;
}

Result<std::vector<cost::Operand>> operands_from(const Json& json, const char* key) {
  std::vector<cost::Operand> list;
  auto found = json.find(key);
  if (found == json.end() || !found->is_array())
    return Error{Code::kInvalid, std::string("a kernel without its list '") + key + "'"};
  for (const Json& entry : *found) {
    if (!entry.is_string()) return malformed(dump_json(entry));
    RIDGE_ASSIGN(cost::Operand operand, operand_from(entry.get<std::string>()));
    list.push_back(std::move(operand));
  }
  return list;
}

Json attributes_json(const std::map<std::string, model::Attribute>& attributes) {
  Json json = Json::object();
  for (const auto& [name, attribute] : attributes)
    std::visit(
        [&, key = name](const auto& value) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::shared_ptr<const model::Graph>>)
            json[key] = value;
        },
        attribute);
  return json;
}

bool all(const Json& array, bool (Json::*test)() const noexcept) {
  return std::all_of(array.begin(), array.end(), [&](const Json& entry) { return (entry.*test)(); });
}

// Skips attributes of kinds that kernels do not have.
std::map<std::string, model::Attribute> attributes_from(const Json& json) {
  std::map<std::string, model::Attribute> attributes;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) attributes[name] = value.get<int64_t>();
    if (value.is_number_float()) attributes[name] = value.get<double>();
    if (value.is_string()) attributes[name] = value.get<std::string>();
    if (!value.is_array()) continue;
    if (all(value, &Json::is_number_integer))
      attributes[name] = value.get<std::vector<int64_t>>();
    else if (all(value, &Json::is_number))
      attributes[name] = value.get<std::vector<double>>();
    else if (all(value, &Json::is_string))
      attributes[name] = value.get<std::vector<std::string>>();
  }
  return attributes;
}

}  // namespace

std::vector<Kernel> kernels_of(const model::Graph& graph) {
  std::vector<Kernel> kernels;
  kernels.reserve(graph.nodes.size());
  for (const model::Node& node : graph.nodes)
    kernels.push_back({node.name, node.op, node.domain, node.attributes, measure::operands(graph, node.inputs, {}),
                       measure::operands(graph, node.outputs, {})});
  return kernels;
}

double operand_elements(const cost::Operand& operand) {
  if (!operand.present || !operand.shape) return 0;
  return static_cast<double>(element_count(*operand.shape).value_or(0));
}

double operand_bytes(const cost::Operand& operand) {
  return operand_elements(operand) * static_cast<double>(data_type_size(operand.type));
}

Json to_json(const Kernel& kernel) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const cost::Operand& operand : kernel.inputs) inputs.push_back(text_of(operand));
  for (const cost::Operand& operand : kernel.outputs) outputs.push_back(text_of(operand));
  Json json{{"op", kernel.op}};
  if (!kernel.domain.empty()) json["domain"] = kernel.domain;
  if (Json attributes = attributes_json(kernel.attributes); !attributes.empty()) json["attributes"] = attributes;
  json["inputs"] = std::move(inputs);
  json["outputs"] = std::move(outputs);
  return json;
}

Status read_json(const Json& json, Kernel& kernel) {
  if (!json.is_object()) return invalid("a kernel that is no JSON object: " + dump_json(json));
  RIDGE_ASSIGN(kernel.op, json_member<std::string>(json, "op"));
  RIDGE_ASSIGN(kernel.domain, json_member_or<std::string>(json, "domain", ""));
  if (auto found = json.find("attributes"); found != json.end() && found->is_object())
    kernel.attributes = attributes_from(*found);
  RIDGE_ASSIGN(kernel.inputs, operands_from(json, "inputs"));
  RIDGE_ASSIGN(kernel.outputs, operands_from(json, "outputs"));
  return {};
}

}  // namespace ridge::predict
