// Any bytes are either a request of TensorFlow Serving's REST predict or an error.
// The first byte chooses the model. Each input of a decoded request is whole, and its answer is valid JSON or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "front/fake_service.h"
#include "front/http/predict_request.h"
#include "front/http/predict_response.h"

using namespace ridge;
using namespace ridge::front;
using namespace ridge::front::http;

namespace {

serve::ModelMetadata model_of(uint8_t choice) {
  constexpr auto kLast = static_cast<uint8_t>(DataType::kBf16);
  serve::ModelMetadata model;
  model.inputs = {{"x", static_cast<DataType>(1 + choice % kLast), {-1, choice % 2 == 0 ? 2 : -1}}};
  if (choice >= 128) model.inputs.push_back({"y_bytes", DataType::kBytes, {-1, 1}});
  if (choice % 64 >= 32) model.max_batch_size = 8;
  return model;
}

void check_input(const serve::RequestInput& input) {
  const bool whole = input.type == DataType::kBytes
                         ? check_bytes_block(input.data, element_count(input.shape).value_or(-1)).ok()
                         : byte_size(input.type, input.shape) == input.data.size();
  if (!whole) std::abort();
}

serve::InferResponse answer_to(const serve::InferRequest& request) {
  serve::InferResponse answer = FakeService::echo(request);
  for (size_t i = 0; i < answer.outputs.size(); ++i) answer.outputs[i].name = request.inputs[i].name;
  return answer;
}

// False: the bytes are no such request.
bool is_whole(const Result<DecodedRequest>& decoded) {
  if (!decoded && decoded.error().message.empty()) std::abort();
  if (decoded)
    for (const serve::RequestInput& input : decoded->request.inputs) check_input(input);
  return decoded.ok();
}

void check_json(const Result<Response>& response) {
  if (response && !nlohmann::json::accept(response->text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static PredictDecoder predict;
  const serve::ModelMetadata model = model_of(data[0]);
  Body body;
  body.start(size - 1);
  body.append(std::as_bytes(std::span(data + 1, size - 1)));
  if (auto decoded = predict.decode(body, model); is_whole(decoded) && !decoded->request.inputs.empty())
    check_json(encode_predict_response(answer_to(decoded->request), decoded->format.predict));
  return 0;
}
