// One of OpenVINO's infer requests with its tensors' memory. Tensors over the caller's memory are kept from one run to
// the next and set again only when address or shape changed.
//
// A kept tensor only describes, and may outlive its memory: it is never dereferenced between runs, and an output that a
// run does not need is moved to the request's own memory first. One thread at a time. Throws OpenVINO's exceptions.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"

namespace ridge::engine::openvino::plugin {

class Request {
 public:
  explicit Request(ov::CompiledModel& model);

  void place_input(size_t index, const TensorView& tensor);
  // In the caller's memory if `output` has some, else in memory that take() hands over.
  void place_output(size_t index, const Output& output);
  void place_nowhere(size_t index);  // this output is not requested
  const std::byte* first_input() const { return inputs_.empty() ? nullptr : inputs_.front().data; }
  // Does not use infer(): with one thread per stream it loses errors and returns as if successful (seen in 2026.4.1).
  void run() {
    request_.start_async();
    request_.wait();
  }
  // Makes run() throw soon; from any thread.
  void cancel() { request_.cancel(); }
  // Fills in `output` if the engine allocated it; an error if the caller's memory has another shape.
  Status take(size_t index, const TensorSpec& spec, Output& output);
  std::vector<ov::ProfilingInfo> profile() const { return request_.get_profiling_info(); }

 private:
  enum class Memory { kOwn, kCallers, kGivenAway };
  struct BoundTensor {
    Memory memory = Memory::kOwn;
    const std::byte* data = nullptr;
    Shape shape;
    bool set = false;
  };
  ov::Tensor fresh_output(size_t index) const;

  ov::CompiledModel model_;
  ov::InferRequest request_;
  std::vector<BoundTensor> inputs_, outputs_;
};

}  // namespace ridge::engine::openvino::plugin
