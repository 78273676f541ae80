// A copy of a model for a pass: checked, its functions expanded, every node named, all weights available; and the
// output file. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "model/reader.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace ridge::precision {

// One read of a tensor.
struct Use {
  int node = 0;  // index in the graph
  int slot = 0;  // index of the node's input
};

// Producer and readers of each tensor of the main graph. Valid until a node or an initialiser is added or removed.
struct Wiring {
  std::unordered_map<std::string, int> producer;
  std::unordered_map<std::string, std::vector<Use>> uses;
  std::unordered_map<std::string, int> constants;  // index among the initialisers
  std::set<std::string> outputs;                   // of the model
  std::set<std::string> body_reads;                // names that bodies of loops and branches mention

  int uses_of(const std::string& tensor) const;  // 0 if unread; bodies and outputs do not count
  bool is_constant(const std::string& tensor) const { return constants.count(tensor) > 0; }
  // Visible outside by its name, so it keeps its name and type.
  bool is_fixed(const std::string& tensor) const { return outputs.count(tensor) + body_reads.count(tensor) > 0; }
};

class PassModel {
 public:
  // Raises it to `least_opset` at least. Error: a model that cannot be raised.
  static Result<PassModel> open(const model::WholeModel& whole, int64_t least_opset = 0);

  PassModel(PassModel&& other) noexcept;
  ~PassModel();

  onnx::ModelProto& proto() { return *proto_; }
  onnx::GraphProto& graph();
  onnx::NodeProto& node(int index);
  const onnx::TensorProto* constant(const std::string& tensor) const;  // null if it is none
  const Wiring& wiring() const { return wiring_; }
  void rewire();  // after nodes or initialisers changed
  Status sort();  // moves added nodes to where they can run, and rewires

  // kInvalid and nullopt if inference found nothing.
  DataType type_of(const std::string& tensor) const;
  std::optional<Shape> shape_of(const std::string& tensor) const;
  bool has(const std::string& tensor) const;

  int64_t opset() const;  // of ai.onnx
  void import(const std::string& domain, int64_t version);
  std::string unused_name(const std::string& wanted);  // of a tensor or node; reserved from then on

  // The resulting names: as requested, or with a number appended.
  std::string add_tensor(const std::string& wanted, DataType type, const Shape& shape);  // a new activation
  std::string add_constant(const std::string& wanted, int32_t type, const Shape& shape, std::string bytes);
  onnx::NodeProto& add_node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                            const std::string& output);
  void remove_nodes(const std::set<int>& indices);
  void remove_constants(const std::set<std::string>& names);

  // [elements] FP32 values of an initialiser. Error: not FP32, or missing.
  Result<std::vector<float>> values(const onnx::TensorProto& tensor) const;

  // Drops unread initialisers and descriptions of removed tensors, sorts the nodes, runs ONNX's checker and writes.
  // Returns the bytes written. Consumes the model.
  Result<int64_t> write(const std::string& out_file);
  // The same without the checker: it requires a rank of every output, engines do not.
  Result<int64_t> write_unchecked(const std::string& out_file);

 private:
  struct Info {
    DataType type = DataType::kInvalid;
    std::optional<Shape> shape;
  };

  PassModel();
  void name_nodes(const model::Graph& described);
  void note_tensors(const model::Graph& described);
  void remove_unused();
  Status complete();  // write() without checking and writing

  std::unique_ptr<onnx::ModelProto> proto_;
  std::shared_ptr<const model::ExternalData> external_data_;
  Wiring wiring_;
  std::unordered_map<std::string, Info> info_;
  std::set<std::string> names_;
};

}  // namespace ridge::precision
