#include "front/http/predict_request.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "front/http/tensor_values.h"
#include "front/request_json.h"

namespace ridge::front::http {
namespace {

namespace dom = simdjson::dom;

// One input of the model and what the request holds for it: one tensor, or one value for each row.
struct GivenInput {
  const TensorSpec* spec = nullptr;
  std::vector<dom::element> values = {};
};
using GivenInputs = std::vector<GivenInput>;  // in the order of the model's

Result<GivenInput*> input_named(GivenInputs& inputs, std::string_view name) {
  auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const GivenInput& input) { return input.spec->name == name; });
  if (found != inputs.end()) return &*found;
  std::string known;
  for (const GivenInput& input : inputs) known += (known.empty() ? "" : ", ") + in_quotes(input.spec->name);
  return invalid("the model has no input " + in_quotes(name) + "; it has " + known);
}

// A value without a name belongs to the only input.
Result<GivenInput*> only_input(GivenInputs& inputs, const char* example) {
  if (inputs.size() == 1) return &inputs[0];
  return invalid("the model has " + std::to_string(inputs.size()) + " inputs; name them: " + example);
}

bool names_inputs(const dom::element& value) { return value.is_object() && !is_base64(value); }

// Each input of `object` gets the value of one more row; `rows` had theirs before.
Status read_named(const dom::object& object, size_t rows, GivenInputs& inputs) {
  for (dom::key_value_pair member : object) {
    RIDGE_ASSIGN(GivenInput * input, input_named(inputs, member.key));
    if (input->values.size() > rows) return invalid("input " + in_quotes(member.key) + " is given twice");
    if (input->values.size() < rows)
      return invalid("input " + in_quotes(member.key) + " is missing in an instance before; give it in all");
    input->values.push_back(member.value);
  }
  for (const GivenInput& input : inputs)
    if (!input.values.empty() && input.values.size() == rows)
      return invalid("input " + in_quotes(input.spec->name) + " is missing; give it in all instances");
  return {};
}

Status read_instances(const dom::element& instances, GivenInputs& inputs) {
  if (!instances.is_array()) return wrong_type("'instances'", "a list", instances);
  const dom::array list = instances.get_array().value_unsafe();
  if (list.begin() == list.end()) return invalid("'instances' is empty; give at least one");
  if (!names_inputs(*list.begin())) {
    RIDGE_ASSIGN(GivenInput * input, only_input(inputs, R"({"instances": [{"NAME": value, ...}, ...]})"));
    for (dom::element row : list) input->values.push_back(row);
    return {};
  }
  size_t row = 0;
  for (dom::element instance : list) {
    if (!names_inputs(instance)) return wrong_type("each of 'instances'", "an object as the first is", instance);
    if (Status read = read_named(instance.get_object().value_unsafe(), row, inputs); !read)
      return wrap(std::move(read).error(), "instance " + std::to_string(row));
    ++row;
  }
  return {};
}

Status read_columns(const dom::element& columns, GivenInputs& inputs) {
  if (names_inputs(columns)) return read_named(columns.get_object().value_unsafe(), 0, inputs);
  RIDGE_ASSIGN(GivenInput * input, only_input(inputs, R"({"inputs": {"NAME": tensor, ...}})"));
  input->values.push_back(columns);
  return {};
}

Result<PackedTensor> pack_input(const GivenInput& given, PredictForm form, size_t json_size, Shape& shape) {
  RIDGE_ASSIGN(const Shape of_one, common_shape(given.values));
  if (form == PredictForm::kRows) shape.push_back(static_cast<int64_t>(given.values.size()));
  shape.insert(shape.end(), of_one.begin(), of_one.end());
  return pack_rows(given.values, given.spec->type, shape, json_size);
}

Result<DecodedRequest> pack_inputs(const GivenInputs& inputs, PredictForm form, size_t json_size) {
  DecodedRequest decoded;
  decoded.format.predict = form;
  std::vector<std::shared_ptr<const void>> owners;
  for (const GivenInput& given : inputs) {
    if (given.values.empty()) continue;  // the service misses it
    serve::RequestInput& input = decoded.request.inputs.emplace_back();
    input.name = given.spec->name;
    input.type = given.spec->type;
    Result<PackedTensor> packed = pack_input(given, form, json_size, input.shape);
    if (!packed) return wrap(std::move(packed).error(), "input " + in_quotes(input.name));
    input.data = packed->data;
    owners.push_back(std::move(packed->owner));
  }
  decoded.request.body = std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(owners));
  return decoded;
}

Status check_signature(const std::optional<dom::element>& signature) {
  if (!signature) return {};
  RIDGE_ASSIGN(std::string_view name, read_string(*signature, "'signature_name'"));
  if (name.empty() || name == "serving_default") return {};
  return invalid("the model has no signature " + in_quotes(name) +
                 "; leave 'signature_name' out or give 'serving_default'");
}

}  // namespace

struct PredictDecoder::Impl {
  JsonParser parser;
};

PredictDecoder::PredictDecoder() : impl_(std::make_unique<Impl>()) {}
PredictDecoder::~PredictDecoder() = default;
PredictDecoder::PredictDecoder(PredictDecoder&&) noexcept = default;

Result<DecodedRequest> PredictDecoder::decode(const Body& body, const serve::ModelMetadata& model) {
  RIDGE_ASSIGN(dom::object object, impl_->parser.parse(body.text()));
  std::optional<dom::element> signature, instances, columns;
  RIDGE_TRY(pick(object, std::array{MemberTarget{"signature_name", &signature}, MemberTarget{"instances", &instances},
                                    MemberTarget{"inputs", &columns}}));
  RIDGE_TRY(check_signature(signature));
  if (instances.has_value() == columns.has_value())
    return invalid(std::string(instances ? "has both" : "has none") +
                   " of 'instances' (rows) and 'inputs' (columns); give one");
  GivenInputs inputs;
  for (const TensorSpec& spec : model.inputs) inputs.push_back({&spec});
  RIDGE_TRY(instances ? read_instances(*instances, inputs) : read_columns(*columns, inputs));
  return pack_inputs(inputs, instances ? PredictForm::kRows : PredictForm::kColumns, body.size());
}

}  // namespace ridge::front::http
