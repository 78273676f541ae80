// LineOutput: lines for a reader that may have stopped, as a pipe's. No caller waits for it: lines that it does not
// take, or that cannot be written, are dropped, and counted in a line when it takes lines again. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ridge {

class LineOutput {
 public:
  // The line, with its end, that says how many are missing.
  using Notice = std::function<std::string(uint64_t lines)>;

  // The descriptor belongs to the caller. It stays as it is: O_NONBLOCK would belong to all programs that share it.
  LineOutput(int descriptor, Notice notice) : descriptor_(descriptor), notice_(std::move(notice)) {}

  // Whole lines, each with its end.
  void write(std::string_view lines);
  // Lines that the caller had to drop.
  void count_dropped(uint64_t lines) { dropped_ += lines; }
  // The errno of a write that failed, until one succeeds; 0: none, or only the reader had stopped.
  int error() const { return error_; }
  // Further output goes to this descriptor.
  void set_descriptor(int descriptor) {
    descriptor_ = descriptor;
    cut_ = false;
  }

 private:
  uint64_t put(std::string_view lines);
  bool is_ready() const;

  int descriptor_;
  Notice notice_;
  uint64_t dropped_ = 0;  // lines since the last one that was taken
  bool cut_ = false;      // the last one stands there without its end
  int error_ = 0;
};

}  // namespace ridge
