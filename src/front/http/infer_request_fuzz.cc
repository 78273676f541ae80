// Any bytes are either an inference request or an error. The first byte chooses the end of the JSON part. The decoded
// request stays within its memory and is answered: as valid JSON, or as an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "front/fake_service.h"
#include "front/http/infer_request.h"
#include "front/http/infer_response.h"

using namespace ridge;
using namespace ridge::front;
using namespace ridge::front::http;

namespace {

std::shared_ptr<Body> body_of(const uint8_t* data, size_t size) {
  auto body = std::make_shared<Body>();
  body->start(size);
  body->append(std::as_bytes(std::span(data, size)));
  return body;
}

// The JSON part ends at its last brace, or at `choice`.
std::optional<size_t> header_length(const Body& body, uint8_t choice) {
  if (choice < 64) return std::nullopt;
  size_t brace = body.text().rfind('}');
  if (choice < 192 && brace != std::string_view::npos) return brace + 1;
  return body.size() * choice / 256;
}

void check_answer(const serve::InferRequest& request, const AnswerFormat& format) {
  auto response = encode_infer_response(FakeService::echo(request), format);
  if (!response) return;
  if (!nlohmann::json::accept(response->text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static InferDecoder decoder;
  auto body = body_of(data + 1, size - 1);
  auto decoded = decoder.decode(body, header_length(*body, data[0]));
  body.reset();
  if (!decoded) {
    if (decoded.error().message.empty()) std::abort();
    return 0;
  }
  size_t sum = 0;
  for (const serve::RequestInput& input : decoded->request.inputs) {
    for (std::byte byte : input.data) sum += static_cast<size_t>(byte);
    bool packed = byte_size(input.type, input.shape) == input.data.size();
    packed = packed || (input.type == DataType::kBytes &&
                        check_bytes_block(input.data, element_count(input.shape).value_or(-1)).ok());
    if (!packed) return 0;  // the service refuses it
  }
  if (sum == SIZE_MAX) std::abort();
  check_answer(decoded->request, decoded->format);
  return 0;
}
