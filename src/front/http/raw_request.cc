// Raw binary requests: Inference-Header-Content-Length: 0, and the body is the tensor.
#include <cstring>
#include <limits>

#include "front/http/infer_request.h"

namespace ridge::front::http {
namespace {

Error invalid_for(const serve::ModelMetadata& model, const std::string& message) {
  return {Code::kInvalid, "raw request (Inference-Header-Content-Length: 0) for '" + model.name + "': " + message};
}

// The shape of the input, its one variable dimension computed from the size of the body.
Result<Shape> raw_shape(const serve::ModelMetadata& model, const TensorSpec& input, size_t body_size) {
  Shape shape = input.shape;
  if (model.max_batch_size > 0 && !shape.empty()) shape[0] = 1;
  size_t variable = shape.size();
  int64_t known = static_cast<int64_t>(data_type_size(input.type));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) {
      if (__builtin_mul_overflow(known, shape[i], &known)) return invalid_for(model, "the model's shape overflows");
    } else if (variable == shape.size()) {
      variable = i;
    } else {
      return invalid_for(model, "input '" + input.name + "' has the shape " + shape_text(input.shape) +
                                    ", of which only one dimension may be variable");
    }
  }
  if (variable == shape.size()) return shape;
  if (known == 0 || body_size % static_cast<size_t>(known) != 0)
    return invalid_for(model, std::to_string(body_size) + " bytes are not a whole number of rows of " +
                                  std::to_string(known) + " bytes for input '" + input.name + "' " +
                                  shape_text(input.shape));
  shape[variable] = static_cast<int64_t>(body_size / static_cast<size_t>(known));
  return shape;
}

// A BYTES tensor of one element: the protocol's length, then the body.
Result<std::shared_ptr<Buffer>> with_length(const serve::ModelMetadata& model, const Body& body) {
  if (body.size() > std::numeric_limits<uint32_t>::max())
    return invalid_for(model, "a BYTES element is at most 4 GiB long");
  auto length = static_cast<uint32_t>(body.size());
  auto block = std::make_shared<Buffer>(sizeof length + body.size());
  std::memcpy(block->data(), &length, sizeof length);
  std::memcpy(block->data() + sizeof length, body.data(), body.size());
  return block;
}

}  // namespace

Result<DecodedRequest> decode_raw(std::shared_ptr<const Body> body, const serve::ModelMetadata& model) {
  if (model.inputs.size() != 1)
    return invalid_for(model, "the model has " + std::to_string(model.inputs.size()) + " inputs; it must have one");
  const TensorSpec& spec = model.inputs[0];
  DecodedRequest decoded;
  decoded.format.binary = true;
  serve::RequestInput& input = decoded.request.inputs.emplace_back();
  input.name = spec.name;
  input.type = spec.type;
  if (spec.type == DataType::kBytes) {
    input.shape = model.max_batch_size > 0 ? Shape{1, 1} : Shape{1};
    bool one_element = spec.shape.size() == input.shape.size() && (spec.shape.back() == 1 || spec.shape.back() == -1);
    if (!one_element) return invalid_for(model, "BYTES input '" + spec.name + "' must have the dims [1]");
    RIDGE_ASSIGN(std::shared_ptr<Buffer> block, with_length(model, *body));
    input.data = block->span();
    decoded.request.body = std::move(block);
    return decoded;
  }
  RIDGE_ASSIGN(input.shape, raw_shape(model, spec, body->size()));
  input.data = body->bytes();
  decoded.request.body = std::move(body);
  return decoded;
}

}  // namespace ridge::front::http
