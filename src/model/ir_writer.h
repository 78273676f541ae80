// Writes the nodes of one layer of IR after another into ONNX's structure. Private to the reading of IR.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/ir_file.h"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace ridge::model {

// One thread.
class IrWriter {
 public:
  // `values`: of the small constants of integers, by tensor.
  IrWriter(const IrModel& model, const std::map<int, std::vector<int64_t>>& values, onnx::GraphProto& graph);

  void begin(const IrLayer& layer);
  const IrLayer& layer() const { return *layer_; }

  // Names of the layer's tensors; "": not connected.
  std::string in(size_t i) const { return i < layer_->inputs.size() ? name_of(layer_->inputs[i]) : ""; }
  std::vector<std::string> ins(size_t first = 0, size_t count = SIZE_MAX) const;
  std::string out(size_t i = 0) const { return i < layer_->outputs.size() ? name_of(layer_->outputs[i]) : ""; }
  std::vector<std::string> outs() const;
  bool is_read(size_t output) const;
  const IrTensor* tensor(size_t input) const;  // null: not connected
  std::optional<size_t> rank(size_t input) const;
  int64_t size(size_t input, size_t dimension) const;  // -1: not known
  // The layer that makes an input; null: none.
  const IrLayer* maker(size_t input) const {
    return input < layer_->inputs.size() ? maker_of(layer_->inputs[input]) : nullptr;
  }
  const IrLayer* maker_of(int tensor) const;
  std::string name_of(int tensor) const { return tensor < 0 ? "" : model_.tensors[static_cast<size_t>(tensor)].name; }

  // Values of a small constant; absent: it is none.
  std::optional<std::vector<int64_t>> values(size_t input) const;
  std::optional<int64_t> value(size_t input) const;  // of one element

  // Attributes of the layer.
  bool has(const char* key) const { return layer_->attributes.contains(key); }
  std::string text(const char* key) const;
  bool flag(const char* key) const { return text(key) == "true" || text(key) == "1"; }
  std::optional<int64_t> integer(const char* key) const;
  double number(const char* key, double otherwise) const;
  std::vector<int64_t> integers(const char* key) const;

  // The layer's own node.
  onnx::NodeProto& node(const char* op, const std::vector<std::string>& inputs);
  onnx::NodeProto& node(const char* op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs);
  // One before (or after) it; its result.
  std::string step(const char* op, const std::vector<std::string>& inputs, onnx::NodeProto** node = nullptr);
  std::string constant(const std::vector<int64_t>& values, bool scalar = false);
  std::string constant(float value);

 private:
  std::string fresh(const std::string& stem);

  const IrModel& model_;
  const std::map<int, std::vector<int64_t>>& values_;
  onnx::GraphProto& graph_;
  const IrLayer* layer_ = nullptr;
  std::map<int, const IrLayer*> makers_;
  std::set<int> read_;
  std::set<std::string> names_;
};

void set(onnx::NodeProto& node, const char* name, int64_t value);
void set(onnx::NodeProto& node, const char* name, double value);
void set(onnx::NodeProto& node, const char* name, const std::string& value);
void set(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values);

}  // namespace ridge::model
