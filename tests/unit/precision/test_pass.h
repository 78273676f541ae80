// For this folder's tests: small models as files, and the passes' results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/temporary_folder.h"
#include "model/reader.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace ridge::precision {

// A folder with a model in it, removed with this object.
class PassFiles {
 public:
  // `body`: as for graph_bytes(): "(float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}> { y = Add (x, w) }".
  explicit PassFiles(const std::string& body, int opset = 17);
  PassFiles(const PassFiles&) = delete;
  PassFiles& operator=(const PassFiles&) = delete;
  ~PassFiles();

  std::string in() const { return folder() + "/in.onnx"; }
  std::string out() const { return folder() + "/out.onnx"; }
  const std::string& folder() const { return folder_.path(); }

  // Reads a pass's output; fails the test if ONNX's checker or model::read() refuses it.
  const onnx::GraphProto& result();
  const onnx::ModelProto& result_model();

  // The result's producer of a tensor. Fails the test without one.
  const onnx::NodeProto& producer(const std::string& tensor);
  const onnx::TensorProto& constant(const std::string& tensor);
  // The input of the operator, traced back through a DequantizeLinear, e.g. quantised_behind("c", 0) of a Conv named c.
  const onnx::NodeProto& node(const std::string& name);
  int count(const std::string& op);

 private:
  TemporaryFolder folder_ = *TemporaryFolder::make();
  std::unique_ptr<onnx::ModelProto> model_;
};

// The model at `path`; fails the test if it is none.
model::WholeModel whole(const std::string& path);

std::vector<float> floats_of(const onnx::TensorProto& tensor);
std::vector<int> integers_of(const onnx::TensorProto& tensor);  // INT8, UINT8 or INT32

}  // namespace ridge::precision
