#include "front/http/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <new>

namespace ridge::front::http {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib.h, inflateInit2: +16 = gzip only
constexpr int kZlibWindow = 15;
constexpr size_t kStep = 256 * 1024;  // [bytes] decoded or coded at a time

int window_bits(Coding coding) { return coding == Coding::kGzip ? kGzipWindow : kZlibWindow; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Cuts off and returns `rest` up to `separator`, trimmed.
std::string_view next_part(std::string_view& rest, char separator) {
  size_t end = rest.find(separator);
  std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return trimmed(part);
}

// The weight of one member of Accept-Encoding, "gzip;q=0.5" → 0.5; `member` becomes the coding's name.
double take_weight(std::string_view& member) {
  std::string_view rest = member;
  member = next_part(rest, ';');
  while (!rest.empty()) {
    std::string_view parameter = next_part(rest, ';');
    std::string_view key = next_part(parameter, '=');
    parameter = trimmed(parameter);
    double weight = 0;
    if (!equals_ignoring_case(key, "q")) continue;
    auto [end, failure] = std::from_chars(parameter.data(), parameter.data() + parameter.size(), weight);
    return failure == std::errc() ? weight : 0;
  }
  return 1;
}

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

std::optional<Coding> coding_from_field(std::string_view field) {
  field = trimmed(field);
  if (field.empty() || equals_ignoring_case(field, "identity")) return Coding::kIdentity;
  if (equals_ignoring_case(field, "gzip") || equals_ignoring_case(field, "x-gzip")) return Coding::kGzip;
  if (equals_ignoring_case(field, "deflate")) return Coding::kDeflate;
  return std::nullopt;
}

Coding preferred_coding(std::string_view accept) {
  double gzip = -1, deflate = -1, any = 0;
  while (!accept.empty()) {
    std::string_view name = next_part(accept, ',');
    double weight = take_weight(name);
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip"))
      gzip = weight;
    else if (equals_ignoring_case(name, "deflate"))
      deflate = weight;
    else if (name == "*")
      any = weight;
  }
  if (gzip < 0) gzip = any;
  if (deflate < 0) deflate = any;
  if (gzip <= 0 && deflate <= 0) return Coding::kIdentity;
  return gzip >= deflate ? Coding::kGzip : Coding::kDeflate;
}

Status decode(Coding coding, std::span<const std::byte> coded, uint64_t limit, Body& into) {
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
    if (decoded > limit)
      return Error{Code::kExhausted, "the decoded body is longer than the " + std::to_string(limit) +
                                         " bytes that are accepted; raise --http-max-input-size"};
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

Result<std::shared_ptr<const Body>> unpacked(std::shared_ptr<const Body> body, std::string_view field, uint64_t limit,
                                             size_t align_at) {
  static const std::shared_ptr<const Body> kEmpty = [] {
    auto empty = std::make_shared<Body>();
    empty->start(0);
    return empty;
  }();
  if (!body) return kEmpty;
  std::optional<Coding> coding = coding_from_field(field);
  if (!coding)
    return Error{Code::kUnsupported,
                 "Content-Encoding '" + std::string(field) + "' is not supported; use gzip, deflate or none"};
  if (*coding == Coding::kIdentity) return body;
  auto plain = std::make_shared<Body>();
  plain->start(align_at);
  RIDGE_TRY(decode(*coding, body->bytes(), limit, *plain));
  return std::shared_ptr<const Body>(std::move(plain));
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

}  // namespace ridge::front::http
