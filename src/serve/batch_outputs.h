// BatchOutputs gives the engine memory for a batch's outputs and cuts the results into one answer per request.
//
// Nothing is copied: the tensors of fixed shape lie in one block per batch, the others in what the engine allocated,
// and every answer points into them and shares their ownership. Only classes are new text, and what a client wants in a
// region of its own is written there. One thread.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "serve/job.h"
#include "serve/model_settings.h"

namespace ridge::serve {

class BatchOutputs {
 public:
  explicit BatchOutputs(const ModelSettings& settings)
      : settings_(settings),
        states_(settings.sequences ? std::span<const StateSettings>(settings.sequences->states)
                                   : std::span<const StateSettings>()),
        slot_of_(settings.outputs.size() + states_.size()) {}

  // Finds what the jobs want together and makes room for it. May throw std::bad_alloc.
  void prepare(std::span<const JobPtr> jobs, int64_t rows);
  // For engine::Session::run.
  std::span<const int> wanted() const { return wanted_; }
  std::span<engine::Output> outputs() { return outputs_; }
  // After a run: the answers, in the order of the jobs. kFailed if the model gave something that cannot be divided
  // among the requests. A job whose own memory went away or has not enough room gets that as its failure, and an answer
  // that counts for nothing. The states of the others' sequences are replaced when all has gone well. Moves the
  // requests' ids. May throw std::bad_alloc.
  Result<std::vector<InferResponse>> divide(std::span<const JobPtr> jobs, int64_t rows);

 private:
  const TensorSettings& tensor(int index) const;
  std::vector<Tensor> states_of(const Job& job, int64_t row) const;
  void choose_wanted(std::span<const JobPtr> jobs);
  Status check(int64_t rows) const;
  void find_row_offsets(int64_t rows);
  void add_outputs(Job& job, int64_t first_row, InferResponse& answer) const;
  std::span<const std::byte> rows_of(size_t slot, int64_t first_row, int64_t rows) const;
  ResponseOutput part(int index, int64_t classification, int64_t first_row, int64_t rows) const;
  Shape client_shape(const TensorSettings& tensor, const Shape& shape, int64_t rows) const;

  const ModelSettings& settings_;
  const std::span<const StateSettings> states_;
  std::vector<int> slot_of_;             // of each configured output, then of each state: its place in wanted_, or -1
  std::vector<int> configured_;          // parallel to wanted_: index as of slot_of_
  std::vector<int> wanted_;              // indices into the model's signature
  std::vector<engine::Output> outputs_;  // parallel to wanted_
  std::vector<std::vector<size_t>>
      row_offsets_;  // parallel to wanted_; for BYTES: where each row starts, and the end [bytes]
};

}  // namespace ridge::serve
