// The body of an inference request → native request (Open Inference Protocol, with the binary tensor extension).
//
// Pure except for memory reused between calls. Tensors in the binary part are not copied: the request points into the
// body. Tensors in the JSON part are packed as in base/tensor.h. The service checks against the model (names, types,
// shapes); errors in the text itself are refused here, naming the tensor. A decoder is for one thread; it keeps its
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "front/body.h"
#include "serve/service.h"

namespace ridge::front::http {

enum class PredictForm : uint8_t { kRows, kColumns };  // "instances" or "inputs"

// The client's requested form of the answer.
struct AnswerFormat {
  bool binary = false;                       // of outputs that `outputs` does not name
  std::vector<bool> binary_outputs;          // parallel to InferRequest::outputs
  PredictForm predict = PredictForm::kRows;  // of TensorFlow Serving's answers
};

struct DecodedRequest {
  serve::InferRequest request;  // without model, version and arrival
  AnswerFormat format;
};

class InferDecoder {
 public:
  InferDecoder();
  ~InferDecoder();
  InferDecoder(InferDecoder&&) noexcept;

  // `header_length`: the length of the JSON part, nullopt = all of the body.
  Result<DecodedRequest> decode(std::shared_ptr<const Body> body, std::optional<size_t> header_length);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The value of an Inference-Header-Content-Length field for a body of that size.
Result<size_t> parse_header_length(std::string_view field, size_t body_size);

// A body that is the one input of the model and nothing else ("raw binary request").
Result<DecodedRequest> decode_raw(std::shared_ptr<const Body> body, const serve::ModelMetadata& model);

}  // namespace ridge::front::http
