#include "front/http/infer_request.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "front/http/tensor_values.h"
#include "front/infer_rules.h"
#include "front/request_json.h"

namespace ridge::front::http {
namespace {

namespace dom = simdjson::dom;

// Values are strings, numbers or booleans, which the reader of a parameter interprets. Unknown ones are ignored.
Result<dom::object> read_parameters(const dom::element& value) {
  if (!value.is_object()) return wrong_type("'parameters'", "an object", value);
  dom::object parameters = value.get_object().value_unsafe();
  for (dom::key_value_pair member : parameters)
    if (member.value.is_array() || member.value.is_object())
      return wrong_type("parameter " + in_quotes(member.key), "a string, number or boolean", member.value);
  return parameters;
}

Result<serve::SequenceId> read_sequence_id(const dom::element& value) {
  if (value.is_string()) return serve::SequenceId(std::string(value.get_string().value_unsafe()));
  if (value.is_uint64()) return serve::SequenceId(value.get_uint64().value_unsafe());
  return wrong_type("parameter 'sequence_id'", "an unsigned integer or a string", value);
}

// Those of a whole request.
Status read_request_parameters(const dom::object& parameters, DecodedRequest& decoded) {
  std::optional<dom::element> binary, priority, timeout, sequence, start, end;
  RIDGE_TRY(
      pick(parameters, std::array{MemberTarget{"binary_data_output", &binary}, MemberTarget{"priority", &priority},
                                  MemberTarget{"timeout", &timeout}, MemberTarget{"sequence_id", &sequence},
                                  MemberTarget{"sequence_start", &start}, MemberTarget{"sequence_end", &end}}));
  if (sequence) {
    RIDGE_ASSIGN(decoded.request.sequence.id, read_sequence_id(*sequence));
  }
  if (start) {
    RIDGE_ASSIGN(decoded.request.sequence.start, read_bool(*start, "parameter 'sequence_start'"));
  }
  if (end) {
    RIDGE_ASSIGN(decoded.request.sequence.end, read_bool(*end, "parameter 'sequence_end'"));
  }
  if (binary) {
    RIDGE_ASSIGN(decoded.format.binary, read_bool(*binary, "parameter 'binary_data_output'"));
  }
  if (priority) {
    if (priority->is_uint64())
      decoded.request.priority = priority->get_uint64().value_unsafe();
    else
      RIDGE_TRY(read_unsigned(*priority, "parameter 'priority'"));
  }
  if (timeout) {
    RIDGE_ASSIGN(int64_t microseconds, read_unsigned(*timeout, "parameter 'timeout' [microseconds]"));
    set_timeout(decoded.request, microseconds);
  }
  return {};
}

Result<Shape> read_shape(const dom::element& value) {
  if (!value.is_array()) return wrong_type("'shape'", "a list of integers", value);
  Shape shape;
  dom::array dims = value.get_array().value_unsafe();  // by value: a range-for would not keep simdjson's temporary
  for (dom::element dim : dims) {
    RIDGE_ASSIGN(int64_t number, read_unsigned(dim, "each dimension of 'shape'"));
    shape.push_back(number);
  }
  return shape;
}

// The state of one decoding.
struct Reading {
  std::span<const std::byte> blobs;  // the rest of the binary part
  size_t json_size = 0;
  bool points_into_body = false;
  std::vector<std::shared_ptr<const void>> owners;  // of packed tensors
};

Status take_blob(Reading& reading, int64_t size, serve::RequestInput& input) {
  if (static_cast<uint64_t>(size) > reading.blobs.size())
    return invalid("binary_data_size is " + std::to_string(size) + ", only " + std::to_string(reading.blobs.size()) +
                   " bytes of binary data are left in the body");
  input.data = reading.blobs.first(static_cast<size_t>(size));
  reading.blobs = reading.blobs.subspan(static_cast<size_t>(size));
  reading.points_into_body = true;
  return {};
}

// The three parameters that name a part of a region, of a tensor.
struct ViewMembers {
  std::optional<dom::element> region, offset, byte_size;
};

Result<std::optional<serve::SharedMemoryView>> read_part(const ViewMembers& asked) {
  std::optional<std::string> region;
  std::optional<uint64_t> offset, byte_size;
  if (asked.region) {
    RIDGE_ASSIGN(region, read_string(*asked.region, "'shared_memory_region'"));
  }
  if (asked.byte_size) {
    RIDGE_ASSIGN(int64_t size, read_unsigned(*asked.byte_size, "'shared_memory_byte_size'"));
    byte_size = static_cast<uint64_t>(size);
  }
  if (asked.offset) {
    RIDGE_ASSIGN(int64_t begin, read_unsigned(*asked.offset, "'shared_memory_offset'"));
    offset = static_cast<uint64_t>(begin);
  }
  return region_part(std::move(region), offset, byte_size);
}

Status read_input_data(Reading& reading, const std::optional<dom::element>& data,
                       const std::optional<dom::element>& parameters, serve::RequestInput& input) {
  std::optional<dom::element> blob_size;
  if (parameters) {
    ViewMembers asked;
    RIDGE_ASSIGN(dom::object object, read_parameters(*parameters));
    RIDGE_TRY(pick(object, std::array{MemberTarget{"binary_data_size", &blob_size},
                                      MemberTarget{"shared_memory_region", &asked.region},
                                      MemberTarget{"shared_memory_offset", &asked.offset},
                                      MemberTarget{"shared_memory_byte_size", &asked.byte_size}}));
    RIDGE_ASSIGN(input.part, read_part(asked));
  }
  const int given = int{data.has_value()} + int{blob_size.has_value()} + int{input.part.has_value()};
  if (given != 1)
    return invalid(std::string(given == 0 ? "has none" : "has more than one") +
                   " of 'data', 'binary_data_size' and 'shared_memory_region'; give one");
  if (input.part) return {};
  if (blob_size) {
    RIDGE_ASSIGN(int64_t size, read_unsigned(*blob_size, "'binary_data_size'"));
    return take_blob(reading, size, input);
  }
  RIDGE_ASSIGN(PackedTensor packed, pack_values(*data, input.type, input.shape, reading.json_size));
  input.data = packed.data;
  reading.owners.push_back(std::move(packed.owner));
  return {};
}

Status read_input(Reading& reading, const dom::object& object, serve::RequestInput& input) {
  std::optional<dom::element> name, shape, datatype, parameters, data;
  RIDGE_TRY(pick(object, std::array{MemberTarget{"name", &name}, MemberTarget{"shape", &shape},
                                    MemberTarget{"datatype", &datatype}, MemberTarget{"parameters", &parameters},
                                    MemberTarget{"data", &data}}));
  if (!name) return invalid("'name' is missing");
  RIDGE_ASSIGN(input.name, read_string(*name, "'name'"));
  if (!shape) return invalid("'shape' is missing");
  if (!datatype) return invalid("'datatype' is missing");
  RIDGE_ASSIGN(input.shape, read_shape(*shape));
  RIDGE_ASSIGN(std::string_view type, read_string(*datatype, "'datatype'"));
  RIDGE_ASSIGN(input.type, read_data_type(type));
  return read_input_data(reading, data, parameters, input);
}

Status read_inputs(Reading& reading, const dom::element& list, std::vector<serve::RequestInput>& inputs) {
  if (!list.is_array()) return wrong_type("'inputs'", "a list", list);
  dom::array elements = list.get_array().value_unsafe();
  inputs.reserve(std::min<size_t>(elements.size(), 64));
  for (dom::element element : elements) {
    if (!element.is_object()) return wrong_type("each member of 'inputs'", "an object", element);
    serve::RequestInput& input = inputs.emplace_back();
    Status read = read_input(reading, element.get_object().value_unsafe(), input);
    if (read) continue;
    std::string which = input.name.empty() ? "number " + std::to_string(inputs.size()) : in_quotes(input.name);
    return wrap(read.error(), "input " + which);
  }
  return {};
}

struct OutputRequest {
  serve::RequestedOutput output;
  std::optional<bool> binary;
};

Status read_output(const dom::object& object, OutputRequest& asked) {
  std::optional<dom::element> name, parameters, binary, classification;
  RIDGE_TRY(pick(object, std::array{MemberTarget{"name", &name}, MemberTarget{"parameters", &parameters}}));
  if (!name) return invalid("'name' is missing");
  RIDGE_ASSIGN(asked.output.name, read_string(*name, "'name'"));
  if (!parameters) return {};
  RIDGE_ASSIGN(dom::object values, read_parameters(*parameters));
  ViewMembers part;
  RIDGE_TRY(pick(
      values,
      std::array{MemberTarget{"binary_data", &binary}, MemberTarget{"classification", &classification},
                 MemberTarget{"shared_memory_region", &part.region}, MemberTarget{"shared_memory_offset", &part.offset},
                 MemberTarget{"shared_memory_byte_size", &part.byte_size}}));
  RIDGE_ASSIGN(asked.output.part, read_part(part));
  if (binary) {
    RIDGE_ASSIGN(asked.binary, read_bool(*binary, "'binary_data'"));
  }
  if (classification) {
    RIDGE_ASSIGN(asked.output.classification, read_unsigned(*classification, "'classification'"));
  }
  if (asked.output.part && asked.binary.value_or(false))
    return invalid("can't set both 'shared_memory_region' and 'binary_data'");
  return {};
}

Status read_outputs(const dom::element& list, DecodedRequest& decoded) {
  if (!list.is_array()) return wrong_type("'outputs'", "a list", list);
  size_t number = 0;
  dom::array elements = list.get_array().value_unsafe();
  for (dom::element element : elements) {
    ++number;
    if (!element.is_object()) return wrong_type("each member of 'outputs'", "an object", element);
    OutputRequest asked;
    if (Status read = read_output(element.get_object().value_unsafe(), asked); !read) {
      std::string which = asked.output.name.empty() ? "number " + std::to_string(number) : in_quotes(asked.output.name);
      return wrap(read.error(), "output " + which);
    }
    decoded.request.outputs.push_back(std::move(asked.output));
    decoded.format.binary_outputs.push_back(asked.binary.value_or(decoded.format.binary));
  }
  return {};
}

Status read_request(Reading& reading, const dom::object& object, DecodedRequest& decoded) {
  std::optional<dom::element> id, parameters, inputs, outputs;
  RIDGE_TRY(pick(object, std::array{MemberTarget{"id", &id}, MemberTarget{"parameters", &parameters},
                                    MemberTarget{"inputs", &inputs}, MemberTarget{"outputs", &outputs}}));
  if (id) {
    RIDGE_ASSIGN(decoded.request.id, read_string(*id, "'id'"));
  }
  if (parameters) {
    RIDGE_ASSIGN(dom::object given, read_parameters(*parameters));
    RIDGE_TRY(read_request_parameters(given, decoded));
  }
  if (!inputs) return invalid("'inputs' is missing");
  RIDGE_TRY(read_inputs(reading, *inputs, decoded.request.inputs));
  if (outputs) RIDGE_TRY(read_outputs(*outputs, decoded));
  return {};
}

}  // namespace

struct InferDecoder::Impl {
  JsonParser parser;
};

InferDecoder::InferDecoder() : impl_(std::make_unique<Impl>()) {}
InferDecoder::~InferDecoder() = default;
InferDecoder::InferDecoder(InferDecoder&&) noexcept = default;

Result<DecodedRequest> InferDecoder::decode(std::shared_ptr<const Body> body, std::optional<size_t> header_length) {
  std::string_view json = body->text().substr(0, header_length.value_or(body->size()));
  Reading reading{.blobs = body->bytes().subspan(json.size()), .json_size = json.size(), .owners = {}};
  auto read = [&]() -> Result<DecodedRequest> {
    RIDGE_ASSIGN(dom::object object, impl_->parser.parse(json));
    DecodedRequest decoded;
    RIDGE_TRY(read_request(reading, object, decoded));
    return decoded;
  };
  Result<DecodedRequest> decoded = read();
  if (!decoded) return decoded;
  if (!reading.blobs.empty())
    return invalid(std::to_string(reading.blobs.size()) + " bytes remain in the body after the last input's data");
  if (reading.points_into_body) reading.owners.push_back(std::move(body));
  if (reading.owners.size() == 1)
    decoded->request.body = std::move(reading.owners[0]);
  else
    decoded->request.body = std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(reading.owners));
  return decoded;
}

Result<size_t> parse_header_length(std::string_view field, size_t body_size) {
  size_t length = 0;
  auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), length);
  if (failure != std::errc() || end != field.data() + field.size())
    return invalid("Inference-Header-Content-Length should be a number of bytes, found " + in_quotes(field));
  if (length > body_size)
    return invalid("Inference-Header-Content-Length is " + std::to_string(length) + ", the body has only " +
                   std::to_string(body_size) + " bytes");
  return length;
}

}  // namespace ridge::front::http
