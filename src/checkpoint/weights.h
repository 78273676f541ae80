// The weights of a checkpoint, mapped and checked, by the names that a decoder of the Hugging Face kind gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/stored_type.h"

namespace ridge::checkpoint {

// True if the name is that of a GGUF file.
bool is_gguf(std::string_view path);

// Immutable.
class Weights {
 public:
  // Opens a GGUF file or a folder: the files that its model.safetensors.index.json names, or model.safetensors, or its
  // only *.safetensors. Errors name the file.
  static Result<Weights> open(const std::string& path);
  // kNotFound: no such tensor. kInvalid: it has another shape. kUnsupported: its values are not floating-point.
  Result<Weight> find(std::string_view name, const Shape& shape) const;
  // Once what is needed of them has been converted (MappedFile).
  void release_pages() const {
    for (const MappedFile& file : files_) file.release_pages();
  }

 private:
  Status add_gguf(const std::string& path);
  Status add_folder(const std::string& folder);

  std::string path_;
  std::vector<MappedFile> files_;
  NamedWeights weights_;
};

}  // namespace ridge::checkpoint
