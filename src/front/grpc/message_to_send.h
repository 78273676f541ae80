// Messages on their way into gRPC. Included only by this folder's own sources, as completion_loop.h.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "front/grpc/infer_message.h"

namespace ridge::front::grpc {

::grpc::ByteBuffer message_of(const std::string& text);
// Tensors are not copied: the message holds their owners until it was sent.
::grpc::ByteBuffer message_of(AnswerParts parts);

}  // namespace ridge::front::grpc
