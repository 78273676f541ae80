// Compressed messages, which are unpacked within a limit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "front/body.h"
#include "front/content_coding.h"
#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

inline constexpr std::string_view kAcceptedCodings = "identity,deflate,gzip";
// Reads a call's grpc-encoding; empty: identity. Absent: an encoding that is not accepted.
std::optional<Coding> coding_named(std::string_view name);
// Coding of answers: the first that a client accepts, by its grpc-accept-encoding; kIdentity: none.
Coding coding_for(std::string_view accepted);

// kExhausted: longer than the limit. kInvalid: corrupt. May throw std::bad_alloc.
Result<MessageBytes> unpacked(const MessageBytes& message, Coding coding, const SizeLimit& limit, BodyPool& bodies);

}  // namespace ridge::front::grpc
