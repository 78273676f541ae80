// ModelInferRequest → native request, native answer → ModelInferResponse, both as bytes on the wire.
//
// Read by hand rather than through generated messages, which would copy every tensor and could take many times the
// memory of what was received. Raw tensors are not copied where each lies in one piece of the message; otherwise all of
// them are gathered into one block and the message is let go. Typed contents become packed tensors. The service checks
// against the model (names, types, shapes); errors in the message itself are refused here, naming the tensor. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "front/body.h"
#include "front/grpc/message_bytes.h"
#include "front/http/sent_part.h"
#include "serve/service.h"

namespace ridge::front::grpc {

// True if reading the message takes so long that it needs a thread of its own: long typed contents. `above` [bytes].
bool has_long_contents(const MessageBytes& message, size_t above);

// Where the first raw tensor lies in a message that begins with these bytes [bytes]; 0: they do not say.
size_t first_raw_tensor(std::span<const std::byte> start);

// A message of at most 2 GiB. Memory that it needs comes from `bodies`. May throw std::bad_alloc. kInvalid: what is
// wrong. `id` becomes the request's, also where the request is invalid behind it.
Result<serve::InferRequest> decode_infer_request(MessageBytes message, BodyPool& bodies, std::string& id);

// Parts of a request that its answer repeats: the regions of its outputs, in their order; empty without any.
using OutputRegions = std::vector<std::optional<serve::SharedMemoryView>>;
OutputRegions output_regions(const serve::InferRequest& request);

// A message to send: the text and the tensor of each part, one after the other.
using AnswerParts = std::vector<http::SentPart>;
size_t size_of(const AnswerParts& parts);  // [bytes]

enum class AnswerKind {
  kUnary,   // ModelInferResponse
  kStream,  // ModelStreamInferResponse that holds it
};
// Long tensors are not copied: a part points at them and holds their owner. kExhausted: longer than a message can be.
Result<AnswerParts> encode_infer_response(serve::InferResponse answer, const OutputRegions& regions, AnswerKind kind);

// A ModelStreamInferResponse for a request that failed.
std::string encode_stream_error(std::string_view message, std::string_view id);

}  // namespace ridge::front::grpc
