// MessageReader: gRPC's messages out of a stream's bytes, each behind flag and length (PROTOCOL-HTTP2.md). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "front/body.h"
#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

class MessageReader {
 public:
  // Takes bytes up to the end of a message at most: how many. The first raw tensor of a long ModelInferRequest is
  // aligned if the first of its bytes that are fed say where it lies. Memory follows what has come; throws
  // std::bad_alloc, also when the pool's budget is spent. kExhausted: the message is longer than the limit; kFailed:
  // its flag is neither 0 nor 1. Nothing more may be fed then.
  Result<size_t> feed(std::span<const std::byte> bytes, BodyPool& bodies, uint64_t longest);
  // The message that is complete.
  std::optional<MessageBytes> take();
  // A message has begun.
  bool partial() const { return prefix_size_ > 0; }

 private:
  static constexpr size_t kPrefix = 5;  // [bytes] before a message

  std::array<uint8_t, kPrefix> prefix_{};
  size_t prefix_size_ = 0;
  uint64_t length_ = 0;  // [bytes] of the message, as the prefix says
  std::shared_ptr<Body> body_;
};

// The prefix of a message of that size [bytes], less than 4 GiB.
std::string message_prefix(size_t size, bool packed);

}  // namespace ridge::front::grpc
