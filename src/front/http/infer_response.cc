#include "front/http/infer_response.h"

#include "front/http/tensor_values.h"
#include "front/json_text.h"

namespace ridge::front::http {

bool is_binary(const AnswerFormat& format, size_t output) {
  return output < format.binary_outputs.size() ? format.binary_outputs[output] : format.binary;
}

namespace {

void append_shape(std::string& text, const Shape& shape) {
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    append_json_integer(text, shape[i]);
  }
  text += ']';
}

void append_blob(Response& response, serve::ResponseOutput& output) {
  response.text += ",\"parameters\":{\"binary_data_size\":";
  append_json_integer(response.text, uint64_t{output.data.size()});
  response.text += '}';
  response.blobs.push_back(output.data);
  response.owners.push_back(std::move(output.owner));
}

Status append_output(Response& response, serve::ResponseOutput& output, bool binary) {
  response.text += "{\"name\":";
  append_json_string(response.text, output.name);
  response.text += ",\"datatype\":\"";
  response.text += data_type_name(output.type);
  response.text += "\",\"shape\":";
  append_shape(response.text, output.shape);
  if (output.in_region) {
    response.text += '}';
    return {};
  }
  if (binary) {
    append_blob(response, output);
  } else {
    response.text += ",\"data\":";
    Status appended = append_values(response.text, output.type, output.data);
    if (!appended) return wrap(std::move(appended).error(), "output '" + output.name + "'");
  }
  response.text += '}';
  return {};
}

}  // namespace

void append_names(std::string& text, const serve::InferResponse& answer) {
  text += "\"model_name\":";
  append_json_string(text, answer.model);
  text += ",\"model_version\":\"";
  append_json_integer(text, answer.version);
  text += '"';
  if (!answer.id.empty()) {
    text += ",\"id\":";
    append_json_string(text, answer.id);
  }
}

Result<Response> encode_infer_response(serve::InferResponse answer, const AnswerFormat& format) {
  Response response;
  response.text.reserve(256);
  response.text += '{';
  append_names(response.text, answer);
  response.text += ",\"outputs\":[";
  size_t blob_bytes = 0;
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    if (i > 0) response.text += ',';
    bool binary = is_binary(format, i);
    if (binary) blob_bytes += answer.outputs[i].data.size();
    RIDGE_TRY(append_output(response, answer.outputs[i], binary));
  }
  response.text += "]}";
  if (blob_bytes > 0) {
    response.content_type = "application/octet-stream";
    response.has_inference_length = true;
    response.inference_length = response.text.size();
  }
  return response;
}

void apply_coding(Response& response, Coding coding) {
  if (coding == Coding::kIdentity) return;
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(response.text))};
  pieces.insert(pieces.end(), response.blobs.begin(), response.blobs.end());
  response.text = encode(coding, pieces);
  response.content_encoding = coding_name(coding);
  response.blobs.clear();
  response.owners.clear();
}

}  // namespace ridge::front::http
