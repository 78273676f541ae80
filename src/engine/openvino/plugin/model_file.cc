#include "engine/openvino/plugin/model_file.h"

#include <algorithm>
#include <system_error>

#include "engine/openvino/plugin/guarded.h"
#include "engine/openvino/plugin/tensor_type.h"

namespace ridge::engine::openvino::plugin {

namespace fs = std::filesystem;

Result<ModelFile> ModelFile::open(const std::string& path) {
  ModelFile file;
  file.path_ = path;
  std::error_code error;
  file.bytes_ = fs::file_size(path, error);
  if (!error) file.changed_ = fs::last_write_time(path, error);
  if (error)
    return Error{Code::kNotFound, "OpenVINO could not load " + path + ": " + error.message() +
                                      "\nCheck the path, and that its external data lies beside it."};
  return file;
}

std::string ModelFile::identity() const {
  return path_ + " " + std::to_string(bytes_) + " " + std::to_string(changed_.time_since_epoch().count()) + " ";
}

Result<std::shared_ptr<ov::Model>> ModelFile::read() const {
  std::error_code error;
  if (fs::file_size(path_, error) != bytes_ || fs::last_write_time(path_, error) != changed_)
    return Error{Code::kFailed, path_ + " was changed while it was in use; open it again"};
  Result<std::shared_ptr<ov::Model>> model =
      guarded("OpenVINO could not load " + path_,
              [&]() -> Result<std::shared_ptr<ov::Model>> { return core().read_model(path_); });
  if (model || model.error().code != Code::kFailed) return model;
  const bool unknown = model.error().message.find("No conversion rule") != std::string::npos;
  return Error{
      Code::kInvalid,
      model.error().message +
          (unknown ? "\nOpenVINO does not know these operators; the engine onnxruntime may run them."
           : path_.ends_with(".onnx")
               ? "\nThe file is damaged, or uses what OpenVINO does not know; the engine onnxruntime may run it."
               : "\nThe file is damaged, or newer than this OpenVINO.")};
}

std::string name_of(const std::unordered_set<std::string>& names, std::string friendly) {
  if (names.contains(friendly)) return friendly;
  friendly = friendly.substr(0, friendly.rfind("/sink_port_"));  // the ONNX reader's names of results
  if (names.contains(friendly) || names.empty()) return friendly;
  return *std::min_element(names.begin(), names.end());
}

std::map<std::string, Shape> fixed_shapes(const ov::Model& model, const std::map<std::string, Shape>& wanted) {
  std::map<std::string, Shape> fixed;
  for (const auto& input : model.inputs()) {
    for (const std::string& name : input.get_names())
      if (auto found = wanted.find(name); found != wanted.end() && element_count(found->second)) fixed.insert(*found);
  }
  return fixed.size() == model.inputs().size() ? fixed : std::map<std::string, Shape>();
}

Status fix_shapes(ov::Model& model, const std::map<std::string, Shape>& fixed) {
  if (fixed.empty()) return {};
  Status fixed_now = guarded("the model does not accept the plan's shapes", [&]() -> Status {
    std::map<std::string, ov::PartialShape> shapes;
    for (const auto& [name, shape] : fixed) shapes[name] = std::vector<ov::Dimension>(shape.begin(), shape.end());
    model.reshape(shapes);
    return {};
  });
  if (!fixed_now) return Error{Code::kInvalid, fixed_now.error().message};
  return {};
}

}  // namespace ridge::engine::openvino::plugin
