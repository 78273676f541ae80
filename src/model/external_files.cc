#include "model/external_files.h"

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <set>
#include <utility>

namespace ridge::model {
namespace {

void collect(const onnx::TensorProto& tensor, std::set<std::string>& files) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data())
    if (entry.key() == "location") files.insert(entry.value());
}

void collect(const onnx::GraphProto& graph, std::set<std::string>& files);

void collect(const onnx::NodeProto& node, std::set<std::string>& files) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) collect(attribute.t(), files);
    for (const onnx::TensorProto& tensor : attribute.tensors()) collect(tensor, files);
    if (attribute.has_g()) collect(attribute.g(), files);
    for (const onnx::GraphProto& graph : attribute.graphs()) collect(graph, files);
  }
}

void collect(const onnx::GraphProto& graph, std::set<std::string>& files) {
  for (const onnx::TensorProto& tensor : graph.initializer()) collect(tensor, files);
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
    collect(tensor.values(), files);
    collect(tensor.indices(), files);
  }
  for (const onnx::NodeProto& node : graph.node()) collect(node, files);
}

}  // namespace

std::vector<std::string> external_files(const onnx::ModelProto& model) {
  std::set<std::string> files;
  collect(model.graph(), files);
  for (const onnx::FunctionProto& function : model.functions())
    for (const onnx::NodeProto& node : function.node()) collect(node, files);
  return {files.begin(), files.end()};
}

bool escapes(const std::string& location) {
  const std::filesystem::path path(location);
  return path.empty() || path.is_absolute() || location.find('\0') != std::string::npos ||
         *path.lexically_normal().begin() == "..";
}

void point_to(onnx::TensorProto& tensor, const std::string& location, int64_t offset, int64_t length) {
  tensor.clear_external_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {
      {"location", location}, {"offset", std::to_string(offset)}, {"length", std::to_string(length)}};
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

}  // namespace ridge::model
