#include "front/grpc/message_to_send.h"

#include <vector>

#include "front/grpc/handover.h"

namespace ridge::front::grpc {
namespace {

using Owner = std::shared_ptr<const void>;

::grpc::Slice slice_of(AnswerPart& part) {
  auto* owner = new Owner(std::move(part.owner));  // gRPC calls back to free it
  given_to_grpc(owner);
  return {const_cast<std::byte*>(part.tensor.data()), part.tensor.size(),
          [](void* held) {
            back_from_grpc(held);
            delete static_cast<Owner*>(held);
          },
          owner};
}

}  // namespace

::grpc::ByteBuffer message_of(const std::string& text) {
  const ::grpc::Slice slice(text);
  return {&slice, 1};
}

::grpc::ByteBuffer message_of(AnswerParts parts) {
  std::vector<::grpc::Slice> slices;
  slices.reserve(2 * parts.size());
  for (AnswerPart& part : parts) {
    if (!part.text.empty()) slices.emplace_back(part.text);
    if (!part.tensor.empty()) slices.push_back(slice_of(part));
  }
  return {slices.data(), slices.size()};
}

}  // namespace ridge::front::grpc
