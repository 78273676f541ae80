// BatchInputs makes the engine's input tensors out of the inputs of a batch's requests.
//
// An input of a request that runs alone is read in place, unless its memory is not aligned for the element type, or is
// shared with a client whose changes could lead the engine astray (region.h), or is a GPU's. All others are laid behind
// one another in one buffer, which is kept for the next batch. One thread.
#pragma once

#include <vector>

#include "base/tensor.h"
#include "serve/job.h"
#include "serve/model_settings.h"
#include "serve/sequence_inputs.h"

namespace ridge::serve {

class BatchInputs {
 public:
  explicit BatchInputs(const ModelSettings& settings)
      : settings_(settings), views_(settings.model_inputs), sequences_(settings) {}

  // One view per input of the model's signature; kInvalid for those that are left out. The jobs are mergeable, in the
  // order of their first rows, and within `rows` rows; rows of none are zeros. Valid until the next call, and while the
  // jobs live. A job whose region cannot be read gets zeros, and the error as its failure. May throw std::bad_alloc.
  std::span<const TensorView> assemble(std::span<const JobPtr> jobs, int64_t rows);

 private:
  void set_shape(TensorView& view, const TensorSettings& tensor, const Shape& shape, int64_t rows) const;
  static bool in_place(std::span<const JobPtr> jobs, size_t input, int64_t rows);
  void reserve(std::span<const JobPtr> jobs, int64_t rows);
  std::span<const std::byte> gather(std::span<const JobPtr> jobs, size_t input);

  const ModelSettings& settings_;
  std::vector<TensorView> views_;
  SequenceInputs sequences_;
  Buffer buffer_;
  size_t used_ = 0;
};

}  // namespace ridge::serve
