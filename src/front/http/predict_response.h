// Native inference answer → the answer of TensorFlow Serving's REST predict, in the form of its request. Pure.
#pragma once

#include "base/result.h"
#include "front/http/infer_request.h"
#include "front/http/message.h"
#include "serve/service.h"

namespace ridge::front::http {

// {"predictions": rows} or {"outputs": tensors}: the only output without its name, several by their names. Outputs
// whose name ends in "_bytes" are {"b64": base64}. Errors: an output without a JSON form; rows of different numbers.
Result<Response> encode_predict_response(const serve::InferResponse& answer, PredictForm form);

}  // namespace ridge::front::http
