// ChunkReader: bytes of a chunked HTTP body (RFC 9112, 7.1) → its content. Extensions and trailers are checked,
// dropped.
//
// Sans I/O; takes its input in any pieces and leaves none of it behind. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ridge {

class ChunkReader {
 public:
  struct Piece {
    size_t consumed = 0;       // bytes of the input
    std::string_view content;  // of them; may be empty
  };

  // A chunk's size line, and all trailers together, have at most `line_limit` bytes.
  explicit ChunkReader(size_t line_limit) : line_limit_(line_limit) {}

  // Takes the input up to the end of the next piece of content; all of it, unless there is such a piece, the body is
  // done or has a problem.
  Piece feed(std::string_view input);

  bool done() const { return state_ == State::kDone; }
  const char* problem() const { return problem_; }  // null: none so far

 private:
  enum class State : uint8_t {
    kSizeBegin,
    kSize,
    kExtension,
    kSizeLf,
    kContent,
    kContentCr,
    kContentLf,
    kTrailerBegin,
    kTrailerName,
    kTrailerValue,
    kTrailerLf,
    kEndLf,
    kDone,
  };

  std::string_view take_content(std::string_view input);
  void take(char c);
  void take_size(char c);
  void take_trailer(char c);
  void expect(char c, char expected, State next, const char* otherwise);
  void fail(const char* problem) { problem_ = problem; }

  size_t line_limit_;
  State state_ = State::kSizeBegin;
  size_t line_bytes_ = 0;
  uint64_t chunk_left_ = 0;  // [bytes]
  const char* problem_ = nullptr;
};

}  // namespace ridge
