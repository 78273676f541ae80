#include <algorithm>
#include <chrono>

#include "front/error_text.h"
#include "front/http/message.h"
#include "front/json_text.h"

namespace ridge::front::http {
namespace {

int http_status(Code code) {
  switch (code) {
    case Code::kInvalid: return 400;
    case Code::kNotFound: return 404;
    case Code::kUnsupported: return 501;
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kExhausted: return 503;
    case Code::kUnauthenticated: return 401;
    case Code::kForbidden: return 403;
    case Code::kFailed: return 500;
  }
  return 500;
}

constexpr size_t kLongestMessage = 4096;  // [bytes]

}  // namespace

Response error_response(int status, std::string_view message) {
  Response response;
  response.status = status;
  response.text = "{\"error\":";
  response.error = error_text(message, kLongestMessage);
  append_json_string(response.text, response.error);
  response.text += '}';
  return response;
}

Response error_response(const Error& error) {
  Response response = error_response(http_status(error.code), error.message);
  if (error.code == Code::kUnauthenticated) response.authenticate = "Bearer realm=\"ridge\"";
  return response;
}

// Whole seconds, as the field has; one where nothing is predicted.
Response inference_error_response(const Error& error) {
  Response response = error_response(error);
  if (error.code == Code::kUnavailable)
    response.retry_after_s = std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(error.retry_after).count());
  return response;
}

Response body_error_response(const Error& error) {
  if (error.code == Code::kUnsupported) return error_response(415, error.message);
  if (error.code == Code::kExhausted) return error_response(413, error.message);
  return error_response(error);
}

}  // namespace ridge::front::http
