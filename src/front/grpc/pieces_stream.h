// PiecesStream: a message's pieces as protobuf reads them, without copying. One thread; the pieces must outlive it.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <limits>
#include <span>

#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

class PiecesStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit PiecesStream(std::span<const std::span<const std::byte>> pieces) : pieces_(pieces) {}

  bool Next(const void** data, int* size) override {
    while (next_ < pieces_.size() && offset_ == pieces_[next_].size()) {
      ++next_;
      offset_ = 0;
    }
    if (next_ == pieces_.size()) return false;
    const size_t rest = std::min<size_t>(pieces_[next_].size() - offset_, std::numeric_limits<int>::max());
    *data = pieces_[next_].data() + offset_;
    *size = static_cast<int>(rest);
    offset_ += rest;
    read_ += static_cast<int64_t>(rest);
    return true;
  }
  // Applies to the last Next() only, as protobuf promises.
  void BackUp(int count) override {
    offset_ -= static_cast<size_t>(count);
    read_ -= count;
  }
  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0) {
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return true;
  }
  int64_t ByteCount() const override { return read_; }

 private:
  std::span<const std::span<const std::byte>> pieces_;
  size_t next_ = 0, offset_ = 0;
  int64_t read_ = 0;
};

}  // namespace ridge::front::grpc
