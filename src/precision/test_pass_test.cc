#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "model/model_file.h"
#include "model/reader.h"
#include "model/test_models.h"
#include "precision/model_writer.h"
#include "precision/tensors.h"
#include "precision/test_pass.h"

namespace ridge::precision {

PassFiles::PassFiles(const std::string& body, int opset) : model_(std::make_unique<onnx::ModelProto>()) {
  EXPECT_TRUE(write_file_atomically(in(), model::graph_bytes(body, opset)).ok());
}

PassFiles::~PassFiles() = default;

const onnx::ModelProto& PassFiles::result_model() {
  if (model_->graph().node_size() > 0) return *model_;
  const Status loaded = model::load(out(), *model_);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  const Status checked = check_model(*model_);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
  const Result<model::Graph> graph = model::read(out());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *model_;
}

const onnx::GraphProto& PassFiles::result() { return result_model().graph(); }

const onnx::NodeProto& PassFiles::producer(const std::string& tensor) {
  for (const onnx::NodeProto& each : result().node())
    for (const std::string& output : each.output())
      if (output == tensor) return each;
  ADD_FAILURE() << "nothing makes " << tensor;
  static const onnx::NodeProto none;
  return none;
}

const onnx::TensorProto& PassFiles::constant(const std::string& tensor) {
  for (const onnx::TensorProto& each : result().initializer())
    if (each.name() == tensor) return each;
  ADD_FAILURE() << "no initialiser " << tensor;
  static const onnx::TensorProto none;
  return none;
}

const onnx::NodeProto& PassFiles::node(const std::string& name) {
  for (const onnx::NodeProto& each : result().node())
    if (each.name() == name) return each;
  ADD_FAILURE() << "no node " << name;
  static const onnx::NodeProto none;
  return none;
}

int PassFiles::count(const std::string& op) {
  int found = 0;
  for (const onnx::NodeProto& each : result().node())
    if (each.op_type() == op) ++found;
  return found;
}

model::WholeModel whole(const std::string& path) {
  Result<model::WholeModel> read = model::UnboundModel::read_whole(path);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return *read;
}

std::vector<float> floats_of(const onnx::TensorProto& tensor) {
  Result<std::vector<float>> values = float_values(tensor, {});
  EXPECT_TRUE(values.ok()) << tensor.name();
  return values ? std::move(*values) : std::vector<float>();
}

std::vector<int> integers_of(const onnx::TensorProto& tensor) {
  const std::string& raw = tensor.raw_data();
  std::vector<int> values;
  if (tensor.data_type() == onnx::TensorProto::INT32) {
    values.resize(raw.size() / sizeof(int32_t));
    std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  for (char c : raw)
    values.push_back(tensor.data_type() == onnx::TensorProto::INT8 ? static_cast<int>(static_cast<int8_t>(c))
                                                                   : static_cast<int>(static_cast<uint8_t>(c)));
  return values;
}

TEST(TestPass, ReadsWhatWasWritten) {
  PassFiles files("(float[2] x) => (float[2] y) { y = Relu (x) }");
  std::filesystem::copy_file(files.in(), files.out());
  EXPECT_EQ(files.producer("y").op_type(), "Relu");
}

}  // namespace ridge::precision
