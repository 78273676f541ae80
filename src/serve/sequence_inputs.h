// SequenceInputs makes the inputs that the server itself sets for a model with sequence batching: the control tensors,
// which say what each row of a batch is, and the states that the sequences' last requests left. One thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "serve/job.h"
#include "serve/model_settings.h"

namespace ridge::serve {

class SequenceInputs {
 public:
  explicit SequenceInputs(const ModelSettings& settings) : settings_(settings) {}

  // Sets those of `views`, which are the model's inputs, for a batch of `rows` rows; nothing for a model without
  // sequences. Rows without a request are "not ready" and of zeros. Warm-ups begin one. Valid until the next call.
  void add(std::span<const JobPtr> jobs, int64_t rows, std::span<TensorView> views);

 private:
  void add_control(const SequenceControl& control, std::string& values, TensorView& view) const;
  void add_state(size_t state, std::string& values, TensorView& view) const;

  const ModelSettings& settings_;
  std::vector<const Job*> by_row_;
  std::vector<std::string> values_;  // of the controls, then of the states
};

}  // namespace ridge::serve
