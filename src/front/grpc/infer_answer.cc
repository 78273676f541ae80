// Writing ModelInferResponse: infer_message.h.
#include <limits>
#include <string_view>
#include <utility>

#include "front/grpc/infer_message.h"
#include "text/unicode.h"

namespace ridge::front::grpc {
namespace {

// Below it copying costs less than a slice of its own: two allocations and a reference count.
constexpr size_t kCopiedTensor = 4096;  // [bytes]
constexpr size_t kLongestMessage = std::numeric_limits<int32_t>::max();

void append_varint(std::string& text, uint64_t value) {
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  text += static_cast<char>(value);
}

// Begins a string, a message or a list of packed numbers.
void append_block_head(std::string& text, int field, uint64_t size) {
  append_varint(text, static_cast<uint64_t>(field) << 3 | 2);
  append_varint(text, size);
}

void append_block(std::string& text, int field, std::string_view block) {
  append_block_head(text, field, block.size());
  text += block;
}

// Not at all where it is empty, as protobuf does.
void append_text(std::string& text, int field, std::string_view value) {
  if (value.empty()) return;
  if (text::is_utf8(value))
    append_block(text, field, value);
  else
    append_block(text, field, text::to_utf8(value));
}

void append_number(std::string& text, int field, uint64_t value) {
  append_varint(text, static_cast<uint64_t>(field) << 3);
  append_varint(text, value);
}

// An entry of map<string, InferParameter> as field 4 of an output.
void append_parameter(std::string& output, std::string_view key, std::string_view value) {
  std::string entry;
  append_block(entry, 1, key);
  append_block(entry, 2, value);
  append_block(output, 4, entry);
}

std::string string_parameter(std::string_view value) {
  std::string parameter;
  append_block(parameter, 3, text::is_utf8(value) ? std::string(value) : text::to_utf8(value));
  return parameter;
}

std::string number_parameter(uint64_t value) {
  std::string parameter;
  append_number(parameter, 2, value);
  return parameter;
}

// InferOutputTensor without its contents. `scratch` is memory that is used again.
void append_output(std::string& text, const serve::ResponseOutput& output, const serve::SharedMemoryView* region,
                   std::string& scratch) {
  scratch.clear();
  append_text(scratch, 1, output.name);
  append_text(scratch, 2, data_type_name(output.type));
  if (!output.shape.empty()) {
    std::string shape;
    for (int64_t dimension : output.shape) append_varint(shape, static_cast<uint64_t>(dimension));
    append_block(scratch, 3, shape);
  }
  if (region != nullptr) {
    append_parameter(scratch, "shared_memory_region", string_parameter(region->region));
    append_parameter(scratch, "shared_memory_byte_size", number_parameter(region->byte_size));
    if (region->offset > 0) append_parameter(scratch, "shared_memory_offset", number_parameter(region->offset));
  }
  append_block(text, 5, scratch);
}

void append_head(std::string& text, const serve::InferResponse& answer, const OutputRegions& regions) {
  append_text(text, 1, answer.model);
  append_text(text, 2, std::to_string(answer.version));
  append_text(text, 3, answer.id);
  std::string scratch;
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    const serve::ResponseOutput& output = answer.outputs[i];
    const bool in_region = output.in_region && i < regions.size() && regions[i];
    append_output(text, output, in_region ? &*regions[i] : nullptr, scratch);
  }
}

}  // namespace

size_t size_of(const AnswerParts& parts) {
  size_t bytes = 0;
  for (const http::SentPart& part : parts) bytes += part.size();
  return bytes;
}

Result<AnswerParts> encode_infer_response(serve::InferResponse answer, const OutputRegions& regions, AnswerKind kind) {
  AnswerParts parts(1);
  parts.back().text.reserve(256);
  append_head(parts.back().text, answer, regions);
  for (serve::ResponseOutput& output : answer.outputs) {
    http::SentPart& part = parts.back();
    append_block_head(part.text, 6, output.data.size());
    if (output.data.size() < kCopiedTensor) {
      part.text.append(reinterpret_cast<const char*>(output.data.data()), output.data.size());
    } else {
      part.bytes = output.data;
      part.owner = std::move(output.owner);
      parts.emplace_back();
    }
  }
  const size_t size = size_of(parts);
  if (size > kLongestMessage - 16)
    return Error{Code::kExhausted, "the answer has " + std::to_string(size) +
                                       " bytes, gRPC carries 2 GiB; use shared memory or HTTP for such outputs"};
  if (kind == AnswerKind::kStream) {
    std::string head;
    append_block_head(head, 2, size);
    parts.front().text.insert(0, head);
  }
  return parts;
}

std::string encode_stream_error(std::string_view message, std::string_view id) {
  std::string text, answer;
  append_text(text, 1, message);
  append_text(answer, 3, id);
  append_block(text, 2, answer);
  return text;
}

}  // namespace ridge::front::grpc
