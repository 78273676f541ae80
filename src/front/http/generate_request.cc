#include "front/http/generate_request.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "front/http/request_parameters.h"
#include "front/http/tensor_values.h"
#include "front/request_json.h"

namespace ridge::front::http {
namespace {

namespace dom = simdjson::dom;

// As Triton: the innermost open dimension takes what the fixed ones leave of the values, other open ones are 1.
Result<Shape> filled_shape(Shape shape, int64_t count) {
  int64_t rest = count;
  for (int64_t dimension : shape)
    if (dimension > 0) rest /= dimension;
  const std::string open = shape_text(shape);
  for (auto dimension = shape.rbegin(); dimension != shape.rend(); ++dimension)
    if (*dimension < 0) *dimension = std::exchange(rest, 1);
  if (element_count(shape) == count) return shape;
  return invalid(std::to_string(count) + " values do not fill the model's shape " + open +
                 "; their number is a multiple of its fixed dimensions");
}

// Triton takes values and flat lists only. Lists in lists say the shape themselves, except for a batch of one.
Result<Shape> shape_for(const dom::element& value, const Shape& of_model, bool batches) {
  RIDGE_ASSIGN(Shape shape, common_shape({&value, 1}));
  if (shape.size() < 2) return filled_shape(of_model, shape.empty() ? 1 : shape[0]);
  if (batches && shape.size() + 1 == of_model.size()) shape.insert(shape.begin(), 1);
  return shape;
}

// The state of one decoding.
struct GenerateReading {
  const serve::ModelMetadata& model;
  size_t json_size = 0;
  DecodedRequest decoded = {};
  RequestParameters parameters = {};
  std::vector<std::shared_ptr<const void>> owners = {};  // of packed tensors
};

Status read_tensor(GenerateReading& reading, const TensorSpec& spec, const dom::element& value) {
  std::vector<serve::RequestInput>& inputs = reading.decoded.request.inputs;
  if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name == spec.name; }))
    return invalid("given twice");
  serve::RequestInput& input = inputs.emplace_back();
  input.name = spec.name;
  input.type = spec.type;
  RIDGE_ASSIGN(input.shape, shape_for(value, spec.shape, reading.model.max_batch_size > 0));
  RIDGE_ASSIGN(PackedTensor packed, pack_rows({&value, 1}, input.type, input.shape, reading.json_size));
  input.data = packed.data;
  reading.owners.push_back(std::move(packed.owner));
  return {};
}

// `own`: members that are neither inputs nor parameters.
Status read_members(GenerateReading& reading, const dom::object& object, std::span<const MemberTarget> own) {
  const std::vector<TensorSpec>& specs = reading.model.inputs;
  for (dom::key_value_pair member : object) {
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& each) { return each.name == member.key; });
    if (spec != specs.end()) {
      if (Status read = read_tensor(reading, *spec, member.value); !read)
        return wrap(std::move(read).error(), "input " + in_quotes(spec->name));
      continue;
    }
    RIDGE_ASSIGN(const bool is_own, pick_member(member, own));
    if (!is_own) RIDGE_TRY(reading.parameters.take(member));
  }
  return {};
}

Status read_generate(GenerateReading& reading, const dom::object& object) {
  std::optional<dom::element> id, parameters;
  RIDGE_TRY(
      read_members(reading, object, std::array{MemberTarget{"id", &id}, MemberTarget{"parameters", &parameters}}));
  if (id) {
    RIDGE_ASSIGN(reading.decoded.request.id, read_string(*id, "'id'"));
  }
  if (parameters) {
    if (!parameters->is_object()) return wrong_type("'parameters'", "an object", *parameters);
    RIDGE_TRY(read_members(reading, parameters->get_object().value_unsafe(), {}));
  }
  RIDGE_TRY(reading.parameters.read_into(reading.decoded));
  reading.decoded.format = {};  // whatever binary_data_output says: the answer is JSON
  return {};
}

}  // namespace

struct GenerateDecoder::Impl {
  JsonParser parser;
};

GenerateDecoder::GenerateDecoder() : impl_(std::make_unique<Impl>()) {}
GenerateDecoder::~GenerateDecoder() = default;
GenerateDecoder::GenerateDecoder(GenerateDecoder&&) noexcept = default;

Result<DecodedRequest> GenerateDecoder::decode(const Body& body, const serve::ModelMetadata& model) {
  RIDGE_ASSIGN(dom::object object, impl_->parser.parse(body.text()));
  GenerateReading reading{.model = model, .json_size = body.size()};
  RIDGE_TRY(read_generate(reading, object));
  reading.decoded.request.body = std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(reading.owners));
  return std::move(reading.decoded);
}

}  // namespace ridge::front::http
