// gRPC's server reflection: what tools such as grpcurl ask to know the services and their messages. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

// A ServerReflectionRequest → the ServerReflectionResponse; what is not found is an answer, too. Versions v1 and
// v1alpha are the same on the wire. kInvalid: not such a message.
Result<std::string> answer_reflection(const MessageBytes& question);

}  // namespace ridge::front::grpc
