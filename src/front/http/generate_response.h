// Native inference answer → the answer of Triton's generate. Pure.
#pragma once

#include "base/result.h"
#include "front/http/message.h"
#include "serve/service.h"

namespace ridge::front::http {

// {"model_name", "model_version", "id" if there is one, and each output by its name}: one element as a value, several as a flat list.
// Errors: an output without a JSON form, or with the name of another member.
Result<Response> encode_generate_response(const serve::InferResponse& answer);

// The same as the only event of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html
Result<Response> encode_generate_event(const serve::InferResponse& answer);

}  // namespace ridge::front::http
