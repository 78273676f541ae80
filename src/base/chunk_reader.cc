#include "base/chunk_reader.h"

#include <algorithm>
#include <limits>

namespace ridge {
namespace {

constexpr const char* kNoLineEnd = "a line does not end in CR LF";
constexpr const char* kTooLong = "a chunk is longer than it says";

// The value of a hexadecimal digit, or -1.
int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Accepts a field's value or a chunk's extension: no control characters but the tab.
bool is_field_text(char c) { return static_cast<unsigned char>(c) >= 0x20 ? c != 0x7F : c == '\t'; }

// Accepts a field's name (RFC 9110, 5.6.2).
bool is_token_character(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kMarks.find(c) != kMarks.npos;
}

}  // namespace

ChunkReader::Piece ChunkReader::feed(std::string_view input) {
  Piece piece;
  while (piece.consumed < input.size() && !done() && problem_ == nullptr) {
    if (state_ == State::kContent) {
      piece.content = take_content(input.substr(piece.consumed));
      piece.consumed += piece.content.size();
      break;
    }
    if (++line_bytes_ > line_limit_)
      fail("a line is too long");
    else
      take(input[piece.consumed++]);
  }
  return piece;
}

std::string_view ChunkReader::take_content(std::string_view input) {
  const std::string_view content = input.substr(0, static_cast<size_t>(std::min<uint64_t>(input.size(), chunk_left_)));
  chunk_left_ -= content.size();
  if (chunk_left_ == 0) state_ = State::kContentCr;
  return content;
}

void ChunkReader::expect(char c, char expected, State next, const char* otherwise) {
  if (c != expected) return fail(otherwise);
  state_ = next;
}

void ChunkReader::take(char c) {
  switch (state_) {
    case State::kSizeBegin:
    case State::kSize:
    case State::kExtension: return take_size(c);
    case State::kSizeLf:
      line_bytes_ = 0;
      return expect(c, '\n', chunk_left_ > 0 ? State::kContent : State::kTrailerBegin, kNoLineEnd);
    case State::kContentCr: line_bytes_ = 0; return expect(c, '\r', State::kContentLf, kTooLong);
    case State::kContentLf: return expect(c, '\n', State::kSizeBegin, kTooLong);
    case State::kTrailerBegin:
    case State::kTrailerName:
    case State::kTrailerValue: return take_trailer(c);
    case State::kTrailerLf: return expect(c, '\n', State::kTrailerBegin, kNoLineEnd);
    case State::kEndLf: return expect(c, '\n', State::kDone, kNoLineEnd);
    case State::kContent:
    case State::kDone: return;
  }
}

void ChunkReader::take_size(char c) {
  const int digit = digit_value(c);
  if (state_ != State::kExtension && digit >= 0) {
    if (chunk_left_ > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) >> 4)
      return fail("a chunk's size is too large");
    chunk_left_ = chunk_left_ << 4 | static_cast<uint64_t>(digit);
    state_ = State::kSize;
  } else if (state_ == State::kSizeBegin) {
    fail("a chunk has no size");
  } else if (c == '\r') {
    state_ = State::kSizeLf;
  } else if (state_ == State::kSize && c != ';' && c != ' ' && c != '\t') {
    fail("a chunk's size is not a hexadecimal number");
  } else if (!is_field_text(c)) {
    fail(kNoLineEnd);
  } else {
    state_ = State::kExtension;
  }
}

void ChunkReader::take_trailer(char c) {
  if (state_ == State::kTrailerValue) {
    if (c == '\r')
      state_ = State::kTrailerLf;
    else if (!is_field_text(c))
      fail(kNoLineEnd);
  } else if (state_ == State::kTrailerBegin && c == '\r') {
    state_ = State::kEndLf;
  } else if (state_ == State::kTrailerName && c == ':') {
    state_ = State::kTrailerValue;
  } else if (is_token_character(c)) {
    state_ = State::kTrailerName;
  } else {
    fail("a trailer is not a field");
  }
}

}  // namespace ridge
