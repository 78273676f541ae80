#include "front/grpc/message_coding.h"

#include <array>

namespace ridge::front::grpc {
namespace {

// The first two bytes; zeros where there are none.
std::array<uint32_t, 2> first_bytes(const MessageBytes& message) {
  std::array<uint32_t, 2> bytes{};
  size_t count = 0;
  for (std::span<const std::byte> piece : message.pieces)
    for (size_t i = 0; i < piece.size() && count < bytes.size(); ++i) bytes[count++] = static_cast<uint32_t>(piece[i]);
  return bytes;
}

MessageBytes whole(std::shared_ptr<Body> body) {
  MessageBytes message{{body->bytes()}, body->size(), nullptr};
  message.owner = std::move(body);
  return message;
}

}  // namespace

std::optional<Coding> coding_of(const MessageBytes& message) {
  const auto [first, second] = first_bytes(message);
  if (first == 0x1f && second == 0x8b) return Coding::kGzip;                       // RFC 1952, 2.3.1
  if (first == 0x78 && (first * 256 + second) % 31 == 0) return Coding::kDeflate;  // RFC 1950, 2.2
  return std::nullopt;
}

Result<MessageBytes> unpacked(const MessageBytes& message, Coding coding, const SizeLimit& limit, BodyPool& bodies) {
  std::span<const std::byte> packed;
  std::shared_ptr<Body> gathered;
  if (message.pieces.size() == 1) packed = message.pieces[0];
  if (message.pieces.size() > 1) {
    gathered = bodies.take();
    gathered->start(0);
    for (std::span<const std::byte> piece : message.pieces) gathered->append(piece);
    packed = gathered->bytes();
  }
  std::shared_ptr<Body> plain = bodies.take();
  plain->start(0);
  RIDGE_TRY(decode(coding, packed, limit, *plain));
  return whole(std::move(plain));
}

}  // namespace ridge::front::grpc
