#include "front/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace ridge::front {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib.h, inflateInit2: +16 = gzip only
constexpr int kZlibWindow = 15;
constexpr size_t kStep = 256 * 1024;  // [bytes] decoded or coded at a time

int window_bits(Coding coding) { return coding == Coding::kGzip ? kGzipWindow : kZlibWindow; }

struct Inflater {
  z_stream stream{};
  explicit Inflater(Coding coding) {
    if (inflateInit2(&stream, window_bits(coding)) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
};

struct Deflater {
  z_stream stream{};
  explicit Deflater(Coding coding) {
    // Fastest level: tensors compress poorly, and every client of the thread pays for the time.
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits(coding), 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream); }
};

// zlib counts in 32 bits: passes it the next part of `rest` after it has consumed the last one.
void feed(z_stream& stream, std::span<const std::byte>& rest) {
  if (stream.avail_in > 0 || rest.empty()) return;
  size_t count = std::min<size_t>(rest.size(), std::numeric_limits<int>::max());
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(count);
  rest = rest.subspan(count);
}

Error corrupt(Coding coding, const char* detail) {
  return {Code::kInvalid, "the body is not valid " + std::string(coding_name(coding)) + ": " + detail};
}

}  // namespace

std::string_view coding_name(Coding coding) {
  return coding == Coding::kGzip ? "gzip" : coding == Coding::kDeflate ? "deflate" : "identity";
}

Status decode(Coding coding, std::span<const std::byte> coded, const SizeLimit& limit, Body& into) {
  Inflater inflater(coding);
  z_stream& stream = inflater.stream;
  uint64_t decoded = 0;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    feed(stream, coded);
    std::span<std::byte> room = into.room(kStep);
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    state = inflate(&stream, Z_NO_FLUSH);
    size_t made = room.size() - stream.avail_out;
    into.commit(made);
    decoded += made;
    if (decoded > limit.bytes)
      return Error{Code::kExhausted, "the decoded body is longer than the " + std::to_string(limit.bytes) +
                                         " bytes that are accepted" + limit.remedy()};
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state == Z_BUF_ERROR && stream.avail_in == 0 && coded.empty()) return corrupt(coding, "it is cut off");
    if (state == Z_BUF_ERROR) continue;
    if (state != Z_OK && state != Z_STREAM_END) return corrupt(coding, stream.msg != nullptr ? stream.msg : "bad data");
    // A gzip body may have several members (RFC 1952, 2.2).
    if (state == Z_STREAM_END && coding == Coding::kGzip && (stream.avail_in > 0 || !coded.empty())) {
      if (inflateReset(&stream) != Z_OK) return corrupt(coding, "bad data");
      state = Z_OK;
    }
  }
  if (stream.avail_in > 0 || !coded.empty()) return corrupt(coding, "bytes follow its end");
  return {};
}

std::string encode(Coding coding, std::span<const std::span<const std::byte>> pieces) {
  Deflater deflater(coding);
  z_stream& stream = deflater.stream;
  std::string coded;
  size_t used = 0;
  auto run = [&](int flush, std::span<const std::byte> piece) {
    do {
      feed(stream, piece);
      if (coded.size() - used < 1024) coded.resize(std::max<size_t>(4096, coded.size() * 2));
      size_t room = std::min(coded.size() - used, kStep);
      stream.next_out = reinterpret_cast<Bytef*>(coded.data() + used);
      stream.avail_out = static_cast<uInt>(room);
      int state = deflate(&stream, flush);
      used += room - stream.avail_out;
      if (state == Z_STREAM_END) return;
    } while (flush == Z_FINISH || stream.avail_in > 0 || !piece.empty());
  };
  for (std::span<const std::byte> piece : pieces) run(Z_NO_FLUSH, piece);
  run(Z_FINISH, {});
  coded.resize(used);
  return coded;
}

}  // namespace ridge::front
