#include "precision/model_writer.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "base/replacement_file.h"
#include "model/external_files.h"
#include "model/structure.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

using Tensors = std::vector<onnx::TensorProto*>;

constexpr int64_t kLeastExternal = 1024;  // [bytes] smaller tensors stay in the file
constexpr int64_t kDataAlignment = 4096;  // ONNX: offsets that allow mapping are multiples of the page size

void collect(onnx::GraphProto& graph, Tensors& tensors);

void collect(onnx::AttributeProto& attribute, Tensors& tensors) {
  if (attribute.has_t()) tensors.push_back(attribute.mutable_t());
  for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) tensors.push_back(&tensor);
  if (attribute.has_g()) collect(*attribute.mutable_g(), tensors);
  for (onnx::GraphProto& graph : *attribute.mutable_graphs()) collect(graph, tensors);
}

void collect(onnx::GraphProto& graph, Tensors& tensors) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) tensors.push_back(&tensor);
  for (onnx::NodeProto& node : *graph.mutable_node())
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) collect(attribute, tensors);
}

Tensors tensors_of(onnx::ModelProto& model) {
  Tensors tensors;
  collect(*model.mutable_graph(), tensors);
  return tensors;
}

// Protobuf writes into the unfinished file.
class FileStream : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit FileStream(ReplacementFile& file) : file_(file) {}
  bool Write(const void* bytes, int size) override {
    status_ = file_.append({static_cast<const char*>(bytes), static_cast<size_t>(size)});
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  ReplacementFile& file_;
  Status status_;
};

Result<int64_t> write_structure(const onnx::ModelProto& model, ReplacementFile& file) {
  FileStream stream(file);
  bool written = false;
  {
    google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream, 1 << 20);
    written = model.SerializeToZeroCopyStream(&adaptor) && adaptor.Flush();
  }
  if (!stream.status()) return stream.status().error();
  if (!written) return Error{Code::kUnsupported, "the model without its weights exceeds protobuf's 2 GB"};
  return file.size();
}

Status append_padding(ReplacementFile& data) {
  const int64_t padding = (kDataAlignment - data.size() % kDataAlignment) % kDataAlignment;
  return data.append(std::string(static_cast<size_t>(padding), '\0'));
}

// Values outside raw_data (typed fields) are few in large models, and stay in the file.
Status move_out(onnx::TensorProto& tensor, const model::ExternalData& known, const std::string& location,
                ReplacementFile& data) {
  const int64_t bytes = stored_bytes(tensor);
  if (!is_external(tensor) && (bytes < kLeastExternal || tensor.raw_data().empty())) return {};
  RIDGE_TRY(append_padding(data));
  const int64_t offset = data.size();
  if (is_external(tensor)) {
    RIDGE_ASSIGN(const std::string_view values, external_values(tensor, known));
    RIDGE_TRY(data.append(values));
  } else {
    RIDGE_TRY(data.append(tensor.raw_data()));
    tensor.clear_raw_data();
  }
  model::point_to(tensor, location, offset, bytes);
  return {};
}

std::string data_file(const std::string& path) { return path + ".data"; }

Result<int64_t> write_with_data(onnx::ModelProto& model, const model::ExternalData& known, const std::string& path) {
  const std::string data_path = data_file(path);
  RIDGE_ASSIGN(ReplacementFile file, ReplacementFile::open(path));
  RIDGE_ASSIGN(ReplacementFile data, ReplacementFile::open(data_path));
  for (onnx::TensorProto* tensor : tensors_of(model))
    RIDGE_TRY(move_out(*tensor, known, std::filesystem::path(data_path).filename().string(), data));
  RIDGE_ASSIGN(const int64_t bytes, write_structure(model, file));
  const int64_t data_bytes = data.size();
  RIDGE_TRY(data.commit());
  RIDGE_TRY(file.commit());
  return bytes + data_bytes;
}

Result<int64_t> write_embedded(onnx::ModelProto& model, const model::ExternalData& known, const std::string& path) {
  for (onnx::TensorProto* tensor : tensors_of(model)) {
    if (!is_external(*tensor)) continue;
    RIDGE_ASSIGN(const std::string_view values, external_values(*tensor, known));
    tensor->clear_external_data();
    tensor->clear_data_location();
    tensor->set_raw_data(std::string(values));
  }
  RIDGE_ASSIGN(ReplacementFile file, ReplacementFile::open(path));
  RIDGE_ASSIGN(const int64_t bytes, write_structure(model, file));
  RIDGE_TRY(file.commit());
  std::error_code ignored;
  std::filesystem::remove(data_file(path), ignored);  // of a larger model at this path
  return bytes;
}

}  // namespace

std::string data_file_of(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(data_file(path), ignored) ? data_file(path) : "";
}

Result<int64_t> write_model(onnx::ModelProto& model, const model::ExternalData& data, const std::string& path,
                            int64_t most_embedded) {
  int64_t bytes = 0;
  for (const onnx::TensorProto* tensor : tensors_of(model)) bytes += stored_bytes(*tensor);
  return bytes > most_embedded ? write_with_data(model, data, path) : write_embedded(model, data, path);
}

Status check_model(onnx::ModelProto& model) {
  // Large tensors are empty during the check, as in model::read(), so that it reads no data.
  std::vector<std::pair<onnx::TensorProto*, onnx::TensorProto>> aside;
  for (onnx::TensorProto* tensor : tensors_of(model)) {
    if (!is_external(*tensor) && stored_bytes(*tensor) < kLeastExternal) continue;
    onnx::TensorProto stub;
    stub.set_name(tensor->name());
    stub.set_data_type(tensor->data_type());
    stub.add_dims(0);
    stub.Swap(tensor);
    aside.emplace_back(tensor, std::move(stub));
  }
  Status checked = model::check_schemas(model);
  for (auto& [tensor, values] : aside) tensor->Swap(&values);
  return checked;
}

}  // namespace ridge::precision
