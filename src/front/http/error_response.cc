#include "front/http/json_text.h"
#include "front/http/message.h"

namespace ridge::front::http {

Response error_response(int status, std::string_view message) {
  Response response;
  response.status = status;
  response.text = "{\"error\":";
  append_json_string(response.text, message.empty() ? std::string_view("unknown error") : message);
  response.text += '}';
  return response;
}

}  // namespace ridge::front::http
