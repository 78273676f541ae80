#include "front/http/predict_response.h"

#include <cstring>
#include <utility>

#include "front/http/tensor_values.h"
#include "front/json_text.h"

namespace ridge::front::http {
namespace {

bool is_binary_text(const serve::ResponseOutput& output) { return output.name.ends_with("_bytes"); }

Status append_tensor(std::string& text, const serve::ResponseOutput& output, std::span<const int64_t> shape,
                     std::span<const std::byte> data) {
  Status appended = append_nested(text, output.type, shape, data, is_binary_text(output));
  return appended ? appended : wrap(std::move(appended).error(), "output '" + output.name + "'");
}

// The length [bytes] of the first `count` elements of a block of BYTES.
Result<size_t> length_of_texts(std::span<const std::byte> block, int64_t count) {
  size_t at = 0;
  for (; count > 0; --count) {
    uint32_t length = 0;
    if (block.size() - at < sizeof length) return Error{Code::kFailed, "the model's BYTES block is cut off"};
    std::memcpy(&length, block.data() + at, sizeof length);
    at += sizeof length;
    if (block.size() - at < length) return Error{Code::kFailed, "the model's BYTES block is cut off"};
    at += length;
  }
  return at;
}

// An output that is written row by row.
struct RowsOfOutput {
  const serve::ResponseOutput& output;
  std::span<const int64_t> shape = std::span(output.shape).subspan(1);  // of a row
  std::span<const std::byte> rest = output.data;

  Result<std::span<const std::byte>> next() {
    size_t size = 0;
    if (output.type == DataType::kBytes) {
      RIDGE_ASSIGN(size, length_of_texts(rest, element_count(shape).value_or(0)));
    } else {
      size = byte_size(output.type, shape).value_or(0);
    }
    return std::exchange(rest, rest.subspan(size)).first(size);
  }
};

Status append_row(std::string& text, std::vector<RowsOfOutput>& outputs) {
  text += '{';
  for (RowsOfOutput& rows : outputs) {
    if (text.back() != '{') text += ',';
    append_json_string(text, rows.output.name);
    text += ':';
    RIDGE_ASSIGN(std::span<const std::byte> row, rows.next());
    RIDGE_TRY(append_tensor(text, rows.output, rows.shape, row));
  }
  text += '}';
  return {};
}

Status check_rows(const serve::InferResponse& answer) {
  const serve::ResponseOutput& first = answer.outputs[0];
  for (const serve::ResponseOutput& output : answer.outputs)
    if (output.shape.empty() || output.shape[0] != first.shape[0])
      return invalid("outputs '" + first.name + "' and '" + output.name +
                     "' have no rows in common: their shapes are " + shape_text(first.shape) + " and " +
                     shape_text(output.shape) + "; ask with 'inputs' instead of 'instances'");
  return {};
}

Status append_rows(std::string& text, const serve::InferResponse& answer) {
  RIDGE_TRY(check_rows(answer));
  std::vector<RowsOfOutput> outputs;
  for (const serve::ResponseOutput& output : answer.outputs) outputs.push_back({output});
  text += '[';
  for (int64_t row = 0; row < answer.outputs[0].shape[0]; ++row) {
    if (row > 0) text += ',';
    if (Status appended = append_row(text, outputs); !appended)
      return wrap(std::move(appended).error(), "row " + std::to_string(row));
  }
  text += ']';
  return {};
}

Status append_columns(std::string& text, const serve::InferResponse& answer) {
  text += '{';
  for (const serve::ResponseOutput& output : answer.outputs) {
    if (&output != answer.outputs.data()) text += ',';
    append_json_string(text, output.name);
    text += ':';
    RIDGE_TRY(append_tensor(text, output, output.shape, output.data));
  }
  text += '}';
  return {};
}

}  // namespace

Result<Response> encode_predict_response(const serve::InferResponse& answer, PredictForm form) {
  const bool rows = form == PredictForm::kRows;
  Response response;
  response.text = rows ? "{\"predictions\":" : "{\"outputs\":";
  if (answer.outputs.size() == 1) {
    const serve::ResponseOutput& only = answer.outputs[0];
    if (rows) RIDGE_TRY(check_rows(answer));
    RIDGE_TRY(append_tensor(response.text, only, only.shape, only.data));
  } else {
    RIDGE_TRY(rows ? append_rows(response.text, answer) : append_columns(response.text, answer));
  }
  response.text += '}';
  return response;
}

}  // namespace ridge::front::http
