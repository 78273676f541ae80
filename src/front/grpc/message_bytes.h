// A received message, as it lies in memory: in one piece or in several, of any size. A value.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace ridge::front::grpc {

using Pieces = std::vector<std::span<const std::byte>>;

struct MessageBytes {
  Pieces pieces;
  size_t size = 0;  // of all of them
  std::shared_ptr<const void> owner = {};
  bool packed = false;  // by the call's encoding
};

}  // namespace ridge::front::grpc
