// The body of TensorFlow Serving's REST predict → native request.
// https://www.tensorflow.org/tfx/serving/api_rest, "Predict API".
//
// {"instances": rows} or {"inputs": tensors}; "signature_name" may be "serving_default". Types and names come from the
// model, shapes from the nesting of the lists; the service checks them. Pure but for reused memory; one thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "front/body.h"
#include "front/http/infer_request.h"
#include "serve/service.h"

namespace ridge::front::http {

class PredictDecoder {
 public:
  PredictDecoder();
  ~PredictDecoder();
  PredictDecoder(PredictDecoder&&) noexcept;

  Result<DecodedRequest> decode(const Body& body, const serve::ModelMetadata& model);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::front::http
