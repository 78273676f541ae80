// A model file that OpenVINO compiles, checked to be unchanged when compiled again for other shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <openvino/core/model.hpp>
#include <string>
#include <unordered_set>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge::engine::openvino::plugin {

class ModelFile {
 public:
  // kNotFound, kInvalid: unreadable; the message has the remedy.
  static Result<ModelFile> open(const std::string& path);

  // The model again; an error if the file was changed since open().
  Result<std::shared_ptr<ov::Model>> read() const;
  const std::string& path() const { return path_; }
  std::string identity() const;  // differs when the file is another one or was changed

 private:
  std::string path_;
  uintmax_t bytes_ = 0;
  std::filesystem::file_time_type changed_;
};

// A tensor may have several names, one of them the model's for this input or output: the operator has the same name.
std::string name_of(const std::unordered_set<std::string>& names, std::string friendly);

// Input name → shape for every input of `model`, from the plan's; empty if one is missing or dynamic.
std::map<std::string, Shape> fixed_shapes(const ov::Model& model, const std::map<std::string, Shape>& wanted);

// Gives the model these shapes, whose -1 are left open; nothing to do if there are none. kInvalid: the model does not
// accept them.
Status fix_shapes(ov::Model& model, const std::map<std::string, Shape>& fixed);

}  // namespace ridge::engine::openvino::plugin
