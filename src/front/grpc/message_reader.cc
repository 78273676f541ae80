#include "front/grpc/message_reader.h"

#include <algorithm>
#include <utility>

#include "front/grpc/infer_message.h"

namespace ridge::front::grpc {

Result<size_t> MessageReader::feed(std::span<const std::byte> bytes, BodyPool& bodies, uint64_t longest) {
  size_t taken = 0;
  while (prefix_size_ < kPrefix && taken < bytes.size()) prefix_[prefix_size_++] = static_cast<uint8_t>(bytes[taken++]);
  if (prefix_size_ < kPrefix) return taken;
  if (!body_) {
    if (prefix_[0] > 1) return Error{Code::kFailed, "a message's compressed flag should be 0 or 1"};
    length_ = 0;
    for (size_t i = 1; i < kPrefix; ++i) length_ = length_ << 8 | prefix_[i];
    if (length_ > longest)
      return Error{Code::kExhausted, "the message has " + std::to_string(length_) + " bytes, this method takes " +
                                         std::to_string(longest)};
    const auto start = bytes.subspan(taken);
    if (start.empty() && length_ > 0) return taken;
    body_ = bodies.take();
    body_->start(start.size() < length_ ? first_raw_tensor(start) : 0);  // a message that came whole is short
  }
  const size_t count = std::min<size_t>(bytes.size() - taken, length_ - body_->size());
  body_->append(bytes.subspan(taken, count));
  return taken + count;
}

std::optional<MessageBytes> MessageReader::take() {
  if (!body_ || body_->size() < length_) return std::nullopt;
  prefix_size_ = 0;
  const std::shared_ptr<Body> body = std::exchange(body_, nullptr);
  return MessageBytes{.pieces = {body->bytes()}, .size = body->size(), .owner = body, .packed = prefix_[0] == 1};
}

std::string message_prefix(size_t size, bool packed) {
  std::string prefix(1, packed ? '\1' : '\0');
  for (int shift = 24; shift >= 0; shift -= 8) prefix += static_cast<char>(size >> shift);
  return prefix;
}

}  // namespace ridge::front::grpc
