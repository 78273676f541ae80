#include "front/grpc/message_coding.h"

namespace ridge::front::grpc {
namespace {

MessageBytes whole(std::shared_ptr<Body> body) {
  MessageBytes message{{body->bytes()}, body->size(), nullptr};
  message.owner = std::move(body);
  return message;
}

}  // namespace

std::optional<Coding> coding_named(std::string_view name) {
  if (name.empty() || name == "identity") return Coding::kIdentity;
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate})
    if (name == coding_name(coding)) return coding;
  return std::nullopt;
}

Coding coding_for(std::string_view accepted) {
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate})
    if (accepted.find(coding_name(coding)) != std::string_view::npos) return coding;
  return Coding::kIdentity;
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
