#include "front/grpc/infer_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <utility>
#include <variant>

#include "base/rounding.h"
#include "front/grpc/model_version.h"
#include "front/grpc/pieces_stream.h"
#include "front/grpc/typed_contents.h"
#include "front/infer_rules.h"

namespace ridge::front::grpc {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Far above what models have: an empty tensor takes two bytes of a message, and a hundred here.
constexpr size_t kMostTensors = 64 * 1024;

constexpr int kInputField = 5, kRawField = 7;  // of ModelInferRequest

Error broken_request() { return invalid("the message is not a valid ModelInferRequest"); }

uint32_t bytes_left(const CodedInputStream& in) { return static_cast<uint32_t>(std::max(0, in.BytesUntilLimit())); }

bool read_size(CodedInputStream& in, uint32_t& size) { return in.ReadVarint32(&size) && size <= bytes_left(in); }

bool is_block(uint32_t tag) { return WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED; }

Result<std::string> read_text(CodedInputStream& in) {
  uint32_t size = 0;
  std::string text;
  if (!read_size(in, size) || !in.ReadString(&text, static_cast<int>(size))) return broken_request();
  return text;
}

// Adds the next block's bytes to `spans`, as they lie in memory.
Status read_spans(CodedInputStream& in, Pieces& spans) {
  uint32_t size = 0;
  if (!read_size(in, size)) return broken_request();
  while (size > 0) {
    const void* data = nullptr;
    int there = 0;
    if (!in.GetDirectBufferPointer(&data, &there)) return broken_request();
    const uint32_t part = std::min(size, static_cast<uint32_t>(there));
    spans.emplace_back(static_cast<const std::byte*>(data), part);
    in.Skip(static_cast<int>(part));
    size -= part;
  }
  return {};
}

// Up to the content of the first of the message's blocks that is wanted(number, size [bytes]); false: there is none, or
// the message ends before.
template <typename Wanted>
bool find_block(CodedInputStream& in, Wanted wanted) {
  while (const uint32_t tag = in.ReadTag()) {
    uint32_t size = 0;
    if (!is_block(tag)) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    if (!in.ReadVarint32(&size)) return false;
    if (wanted(WireFormatLite::GetTagFieldNumber(tag), size)) return true;
    if (!in.Skip(static_cast<int>(size))) return false;
  }
  return false;
}

// Calls field(number, tag) for each field of the block that begins here; true: it has read it.
template <typename Field>
Status read_block(CodedInputStream& in, Field field) {
  uint32_t size = 0;
  if (!read_size(in, size)) return broken_request();
  const CodedInputStream::Limit outer = in.PushLimit(static_cast<int>(size));
  while (const uint32_t tag = in.ReadTag()) {
    Result<bool> read = field(WireFormatLite::GetTagFieldNumber(tag), tag);
    if (!read) return std::move(read).error();
    if (!*read && !WireFormatLite::SkipField(&in, tag)) return broken_request();
  }
  if (!in.ConsumedEntireMessage()) return broken_request();
  in.PopLimit(outer);
  return {};
}

// InferParameter; monostate: nothing, or a kind that is not known here.
using ParameterValue = std::variant<std::monostate, bool, int64_t, std::string, double, uint64_t>;
struct Parameter {
  std::string key;
  ParameterValue value;
};

Result<bool> read_value(CodedInputStream& in, int number, uint32_t tag, ParameterValue& value) {
  const auto wire = WireFormatLite::GetTagWireType(tag);
  uint64_t bits = 0;
  if (number == 3 && is_block(tag)) {
    RIDGE_ASSIGN(value, read_text(in));
    return true;
  }
  if (number == 4 && wire == WireFormatLite::WIRETYPE_FIXED64) {
    if (!in.ReadLittleEndian64(&bits)) return broken_request();
    value = std::bit_cast<double>(bits);
    return true;
  }
  if ((number != 1 && number != 2 && number != 5) || wire != WireFormatLite::WIRETYPE_VARINT) return false;
  if (!in.ReadVarint64(&bits)) return broken_request();
  if (number == 1) value = bits != 0;
  if (number == 2) value = static_cast<int64_t>(bits);
  if (number == 5) value = bits;
  return true;
}

// An entry of map<string, InferParameter>.
Result<Parameter> read_parameter(CodedInputStream& in) {
  Parameter parameter;
  auto read_part_of_value = [&](int number, uint32_t tag) { return read_value(in, number, tag, parameter.value); };
  RIDGE_TRY(read_block(in, [&](int number, uint32_t tag) -> Result<bool> {
    if (!is_block(tag) || number > 2) return false;
    if (number == 1) {
      RIDGE_ASSIGN(parameter.key, read_text(in));
      return true;
    }
    Status read = read_block(in, read_part_of_value);
    return read ? Result<bool>(true) : std::move(read).error();
  }));
  return parameter;
}

Result<uint64_t> unsigned_value(const Parameter& parameter) {
  if (const uint64_t* value = std::get_if<uint64_t>(&parameter.value)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&parameter.value); value != nullptr && *value >= 0)
    return static_cast<uint64_t>(*value);
  return invalid("parameter '" + parameter.key + "' should be an unsigned integer, in int64_param or uint64_param");
}

Result<bool> bool_value(const Parameter& parameter) {
  if (const bool* value = std::get_if<bool>(&parameter.value)) return *value;
  return invalid("parameter '" + parameter.key + "' should be true or false, in bool_param");
}

// Clients put numbers beyond int64_t into int64_param, too, as negative ones.
Result<serve::SequenceId> sequence_id_value(const Parameter& parameter) {
  if (const auto* text = std::get_if<std::string>(&parameter.value)) return serve::SequenceId(*text);
  if (const auto* value = std::get_if<uint64_t>(&parameter.value)) return serve::SequenceId(*value);
  if (const auto* value = std::get_if<int64_t>(&parameter.value))
    return serve::SequenceId(static_cast<uint64_t>(*value));
  return invalid(
      "parameter 'sequence_id' should be a number or a string, in int64_param, uint64_param or string_param");
}

// The parameters of a tensor that mean something.
struct TensorParameters {
  std::optional<std::string> region;
  std::optional<uint64_t> offset, byte_size, classification;

  Status take(const Parameter& parameter) {
    if (parameter.key == "shared_memory_region") {
      const std::string* name = std::get_if<std::string>(&parameter.value);
      if (name == nullptr) return invalid("parameter 'shared_memory_region' should be a string, in string_param");
      region = *name;
    } else if (parameter.key == "shared_memory_offset") {
      RIDGE_ASSIGN(offset, unsigned_value(parameter));
    } else if (parameter.key == "shared_memory_byte_size") {
      RIDGE_ASSIGN(byte_size, unsigned_value(parameter));
    } else if (parameter.key == "classification") {
      RIDGE_ASSIGN(classification, unsigned_value(parameter));
    }
    return {};
  }
};

// One tensor's raw bytes, or where they are in the block of gathered ones.
struct RawTensor {
  Pieces pieces;
  size_t size() const {
    size_t bytes = 0;
    for (std::span<const std::byte> piece : pieces) bytes += piece.size();
    return bytes;
  }
};

// The state of one decoding.
struct InferReading {
  CodedInputStream& in;
  serve::InferRequest request = {};
  std::vector<Pieces> contents = {};  // typed, of each input; empty: none
  std::vector<RawTensor> raw = {};
  bool has_typed = false;
};

std::string tensor_text(const char* kind, const std::string& name, size_t number) {
  return std::string(kind) + (name.empty() ? " number " + std::to_string(number) : " '" + name + "'");
}

// shape: int64s, packed or not.
Result<bool> read_dimensions(CodedInputStream& in, uint32_t tag, Shape& shape) {
  uint64_t dimension = 0;
  if (!is_block(tag)) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_VARINT) return false;
    if (!in.ReadVarint64(&dimension)) return broken_request();
    shape.push_back(static_cast<int64_t>(dimension));
    return true;
  }
  uint32_t size = 0;
  if (!read_size(in, size)) return broken_request();
  const CodedInputStream::Limit outer = in.PushLimit(static_cast<int>(size));
  while (in.BytesUntilLimit() > 0) {
    if (!in.ReadVarint64(&dimension)) return broken_request();
    shape.push_back(static_cast<int64_t>(dimension));
  }
  in.PopLimit(outer);
  return true;
}

// Fields of InferInputTensor; its contents stay where they are, because type and shape may come behind them.
Status read_input_fields(CodedInputStream& in, serve::RequestInput& input, std::string& type,
                         TensorParameters& parameters, Pieces& contents, bool& has_contents) {
  return read_block(in, [&](int number, uint32_t tag) -> Result<bool> {
    if (number == 3) return read_dimensions(in, tag, input.shape);
    if (!is_block(tag)) return false;
    if (number == 1) {
      RIDGE_ASSIGN(input.name, read_text(in));
    } else if (number == 2) {
      RIDGE_ASSIGN(type, read_text(in));
    } else if (number == 4) {
      RIDGE_ASSIGN(Parameter parameter, read_parameter(in));
      RIDGE_TRY(parameters.take(parameter));
    } else if (number == 5) {
      has_contents = true;
      RIDGE_TRY(read_spans(in, contents));
    } else {
      return false;
    }
    return true;
  });
}

Status read_input(InferReading& reading) {
  if (reading.request.inputs.size() == kMostTensors) return invalid("too many inputs");
  serve::RequestInput& input = reading.request.inputs.emplace_back();
  Pieces& contents = reading.contents.emplace_back();
  auto read = [&]() -> Status {
    std::string type;
    TensorParameters parameters;
    bool has_contents = false;
    RIDGE_TRY(read_input_fields(reading.in, input, type, parameters, contents, has_contents));
    if (input.name.empty()) return invalid("'name' is missing");
    RIDGE_ASSIGN(input.type, read_data_type(type));
    for (int64_t dimension : input.shape)
      if (dimension < 0) return invalid("the shape " + shape_text(input.shape) + " has a negative dimension");
    RIDGE_ASSIGN(input.part, region_part(std::move(parameters.region), parameters.offset, parameters.byte_size));
    if (input.part && !contents.empty()) return invalid("has both contents and a shared memory region; give one");
    reading.has_typed |= has_contents && !contents.empty();
    return {};
  };
  Status status = read();
  if (status) return status;
  return wrap(std::move(status).error(), tensor_text("input", input.name, reading.request.inputs.size()));
}

// Fields of InferRequestedOutputTensor.
Status read_output_fields(CodedInputStream& in, std::string& name, TensorParameters& parameters) {
  return read_block(in, [&](int number, uint32_t tag) -> Result<bool> {
    if (!is_block(tag) || number > 2) return false;
    if (number == 1) {
      RIDGE_ASSIGN(name, read_text(in));
      return true;
    }
    RIDGE_ASSIGN(Parameter parameter, read_parameter(in));
    RIDGE_TRY(parameters.take(parameter));
    return true;
  });
}

Status read_output(InferReading& reading) {
  if (reading.request.outputs.size() == kMostTensors) return invalid("too many outputs");
  serve::RequestedOutput& output = reading.request.outputs.emplace_back();
  auto read = [&]() -> Status {
    TensorParameters parameters;
    RIDGE_TRY(read_output_fields(reading.in, output.name, parameters));
    if (output.name.empty()) return invalid("'name' is missing");
    RIDGE_ASSIGN(output.part, region_part(std::move(parameters.region), parameters.offset, parameters.byte_size));
    if (!parameters.classification) return {};
    if (*parameters.classification == 0 || *parameters.classification > std::numeric_limits<int32_t>::max())
      return invalid("'classification' should be the number of classes, 1 or more");
    output.classification = static_cast<int64_t>(*parameters.classification);
    return {};
  };
  Status status = read();
  if (status) return status;
  return wrap(std::move(status).error(), tensor_text("output", output.name, reading.request.outputs.size()));
}

Status read_request_parameter(InferReading& reading) {
  RIDGE_ASSIGN(Parameter parameter, read_parameter(reading.in));
  if (parameter.key == "priority") {
    RIDGE_ASSIGN(reading.request.priority, unsigned_value(parameter));
  } else if (parameter.key == "timeout") {
    RIDGE_ASSIGN(uint64_t microseconds, unsigned_value(parameter));
    set_timeout(reading.request, static_cast<int64_t>(std::min<uint64_t>(microseconds, INT64_MAX)));
  } else if (parameter.key == "sequence_id") {
    RIDGE_ASSIGN(reading.request.sequence.id, sequence_id_value(parameter));
  } else if (parameter.key == "sequence_start") {
    RIDGE_ASSIGN(reading.request.sequence.start, bool_value(parameter));
  } else if (parameter.key == "sequence_end") {
    RIDGE_ASSIGN(reading.request.sequence.end, bool_value(parameter));
  }
  return {};
}

Result<bool> read_field(InferReading& reading, int number) {
  CodedInputStream& in = reading.in;
  switch (number) {
    case 1: {
      RIDGE_ASSIGN(reading.request.model, read_text(in));
      return true;
    }
    case 2: {
      RIDGE_ASSIGN(std::string version, read_text(in));
      RIDGE_ASSIGN(reading.request.version, read_model_version(version));
      return true;
    }
    case 3: {
      RIDGE_ASSIGN(reading.request.id, read_text(in));
      return true;
    }
    case 4: RIDGE_TRY(read_request_parameter(reading)); return true;
    case kInputField: RIDGE_TRY(read_input(reading)); return true;
    case 6: RIDGE_TRY(read_output(reading)); return true;
    case kRawField:
      if (reading.raw.size() == kMostTensors) return invalid("too many raw_input_contents");
      RIDGE_TRY(read_spans(in, reading.raw.emplace_back().pieces));
      return true;
    default: return false;
  }
}

Status read_message(InferReading& reading, size_t size) {
  CodedInputStream& in = reading.in;
  in.SetTotalBytesLimit(std::numeric_limits<int>::max());
  in.PushLimit(static_cast<int>(size));
  while (const uint32_t tag = in.ReadTag()) {
    Result<bool> read = false;
    if (is_block(tag)) read = read_field(reading, WireFormatLite::GetTagFieldNumber(tag));
    if (!read) return std::move(read).error();
    if (!*read && !WireFormatLite::SkipField(&in, tag)) return broken_request();
  }
  return in.ConsumedEntireMessage() ? Status() : broken_request();
}

void align(Body& body) {
  static constexpr std::byte kZeros[Body::kAlignment] = {};
  body.append(std::span(kZeros).first(round_up(body.size(), Body::kAlignment) - body.size()));
}

// The tensors of inputs that are packed or gathered into one block, whose address is known when all are there.
class TensorBlock {
 public:
  explicit TensorBlock(BodyPool& bodies) : body_(bodies.take()) { body_->start(0); }

  // The next tensor is what was appended to it since.
  Body& begin() {
    align(*body_);
    begin_ = body_->size();
    return *body_;
  }
  void end(serve::RequestInput& input) { tensors_.push_back({&input, begin_, body_->size() - begin_}); }
  std::shared_ptr<const void> finish() {
    for (const Tensor& tensor : tensors_) tensor.input->data = body_->bytes().subspan(tensor.offset, tensor.size);
    return std::move(body_);
  }

 private:
  struct Tensor {
    serve::RequestInput* input;
    size_t offset, size;
  };
  std::shared_ptr<Body> body_;
  std::vector<Tensor> tensors_;
  size_t begin_ = 0;
};

Status place_typed(InferReading& reading, BodyPool& bodies) {
  TensorBlock block(bodies);
  for (size_t i = 0; i < reading.request.inputs.size(); ++i) {
    serve::RequestInput& input = reading.request.inputs[i];
    if (input.part) continue;
    Status appended = append_contents(reading.contents[i], input.type, input.shape, block.begin());
    if (!appended) return wrap(std::move(appended).error(), tensor_text("input", input.name, i + 1));
    block.end(input);
  }
  reading.request.body = block.finish();
  return {};
}

// `owner` keeps the message.
Status place_raw(InferReading& reading, BodyPool& bodies, std::shared_ptr<const void> owner) {
  std::vector<serve::RequestInput*> inputs;
  for (serve::RequestInput& input : reading.request.inputs)
    if (!input.part) inputs.push_back(&input);
  if (reading.raw.size() != inputs.size())
    return invalid("raw_input_contents has " + std::to_string(reading.raw.size()) + " entries for " +
                   std::to_string(inputs.size()) + " inputs outside shared memory");
  bool in_place = true;
  for (const RawTensor& raw : reading.raw) in_place &= raw.pieces.size() <= 1;
  if (in_place) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!reading.raw[i].pieces.empty()) inputs[i]->data = reading.raw[i].pieces[0];
    reading.request.body = std::move(owner);
    return {};
  }
  TensorBlock block(bodies);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Body& body = block.begin();
    for (std::span<const std::byte> piece : reading.raw[i].pieces) body.append(piece);
    block.end(*inputs[i]);
  }
  reading.request.body = block.finish();
  return {};
}

}  // namespace

bool has_long_contents(const MessageBytes& message, size_t above) {
  if (message.size <= above) return false;
  PiecesStream stream(message.pieces);
  CodedInputStream in(&stream);
  in.SetTotalBytesLimit(std::numeric_limits<int>::max());
  return find_block(in, [&](int number, uint32_t size) { return number == kInputField && size > above; });
}

size_t first_raw_tensor(std::span<const std::byte> start) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(start.data()), static_cast<int>(start.size()));
  const bool found = find_block(in, [](int number, uint32_t) { return number == kRawField; });
  return found ? static_cast<size_t>(in.CurrentPosition()) : 0;
}

Result<serve::InferRequest> decode_infer_request(MessageBytes message, BodyPool& bodies, std::string& id) {
  PiecesStream stream(message.pieces);
  CodedInputStream in(&stream);
  InferReading reading{in};
  const Status read = read_message(reading, message.size);
  id = reading.request.id;
  RIDGE_TRY(read);
  if (reading.request.model.empty()) return invalid("model_name is missing");
  if (reading.has_typed && !reading.raw.empty())
    return invalid("the request has both typed contents and raw_input_contents; give one of the two");
  if (reading.raw.empty())
    RIDGE_TRY(place_typed(reading, bodies));
  else
    RIDGE_TRY(place_raw(reading, bodies, std::move(message.owner)));
  return std::move(reading.request);
}

OutputRegions output_regions(const serve::InferRequest& request) {
  OutputRegions regions;
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (!request.outputs[i].part) continue;
    regions.resize(request.outputs.size());
    regions[i] = request.outputs[i].part;
  }
  return regions;
}

}  // namespace ridge::front::grpc
