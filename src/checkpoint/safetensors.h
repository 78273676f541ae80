// The weights of a checkpoint: safetensors files, mapped and checked. Their form: 8 bytes length of the header (little-endian), the header (JSON), data.
// Source: https://github.com/huggingface/safetensors, README "Format", and the checks of its own reader (no holes, no overlaps, no rest).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "checkpoint/mapped_file.h"

namespace ridge::checkpoint {

// By name. The data may begin at any address: it is aligned only if the file says so.
using Tensors = std::map<std::string, TensorView, std::less<>>;

// The tensors of one file's contents. kInvalid: it is no such file, or its parts do not fit each other; kUnsupported: a type that is not known.
Result<Tensors> read_safetensors(std::span<const std::byte> file);

// All tensors of a folder: of the files that model.safetensors.index.json names, or of model.safetensors, or of its only *.safetensors. Immutable.
class Weights {
 public:
  // Errors name the file.
  static Result<Weights> open(const std::string& folder);
  const Tensors& tensors() const { return tensors_; }
  // kNotFound: there is no tensor of that name. kInvalid: it has another shape. kUnsupported: its type is not F32, F16 or BF16.
  Result<TensorView> find(std::string_view name, const Shape& shape) const;
  // Once what is needed of them has been converted (MappedFile).
  void release_pages() const {
    for (const MappedFile& file : files_) file.release_pages();
  }

 private:
  std::string folder_;
  std::vector<MappedFile> files_;
  Tensors tensors_;
};

}  // namespace ridge::checkpoint
