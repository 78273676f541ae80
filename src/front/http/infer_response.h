// Native inference answer → HTTP response (Open Inference Protocol, with the binary tensor extension). Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "front/content_coding.h"
#include "front/http/infer_request.h"
#include "front/http/message.h"
#include "serve/service.h"

namespace ridge::front::http {

// True if that output is requested in binary form.
bool is_binary(const AnswerFormat& format, size_t output);

// "model_name": …, "model_version": …, and "id": … if there is one: members that each answer begins with.
void append_names(std::string& text, const serve::InferResponse& answer);

// Tensors in binary form are not copied: the response points at them and holds their owners. For one written to a
// region only name, type and shape are reported: clients take `parameters` for those of a blob. An error names the
// output that has no JSON form.
Result<Response> encode_infer_response(serve::InferResponse answer, const AnswerFormat& format);

// The same response with a coded body.
void apply_coding(Response& response, Coding coding);

}  // namespace ridge::front::http
