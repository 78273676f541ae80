// Compressed messages. gRPC's core would unpack them whole before it looks at any limit, so it is told not to; they arrive as they
// were sent and are unpacked here, within a limit. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "front/body.h"
#include "front/content_coding.h"
#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

// By the first bytes: no message of the protocol begins like packed ones, whose first byte is an invalid tag, or an unknown field.
std::optional<Coding> coding_of(const MessageBytes& message);

// kExhausted: longer than the limit. kInvalid: corrupt. May throw std::bad_alloc.
Result<MessageBytes> unpacked(const MessageBytes& message, Coding coding, const SizeLimit& limit, BodyPool& bodies);

}  // namespace ridge::front::grpc
