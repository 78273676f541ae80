#include "front/http/generate_response.h"

#include <utility>

#include "front/http/infer_response.h"
#include "front/http/tensor_values.h"
#include "front/json_text.h"

namespace ridge::front::http {
namespace {

bool is_reserved(std::string_view name, const serve::InferResponse& answer) {
  return name == "model_name" || name == "model_version" || (name == "id" && !answer.id.empty());
}

Status append_elements_of(std::string& text, const serve::ResponseOutput& output) {
  const bool is_value = element_count(output.shape) == 1;
  Status appended = is_value ? append_nested(text, output.type, {}, output.data, false)
                             : append_values(text, output.type, output.data);
  return appended ? appended : wrap(std::move(appended).error(), "output '" + output.name + "'");
}

Status append_answer(std::string& text, const serve::InferResponse& answer) {
  text += '{';
  append_names(text, answer);
  for (const serve::ResponseOutput& output : answer.outputs) {
    if (is_reserved(output.name, answer))
      return invalid("output '" + output.name + "' has the name of another member of this answer; use …/infer");
    text += ',';
    append_json_string(text, output.name);
    text += ':';
    RIDGE_TRY(append_elements_of(text, output));
  }
  text += '}';
  return {};
}

}  // namespace

Result<Response> encode_generate_response(const serve::InferResponse& answer) {
  Response response;
  RIDGE_TRY(append_answer(response.text, answer));
  return response;
}

Result<Response> encode_generate_event(const serve::InferResponse& answer) {
  Response response;
  response.content_type = "text/event-stream; charset=utf-8";
  response.text = "data: ";
  RIDGE_TRY(append_answer(response.text, answer));
  response.text += "\n\n";
  return response;
}

}  // namespace ridge::front::http
