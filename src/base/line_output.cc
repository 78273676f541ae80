#include "base/line_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>

namespace ridge {
namespace {

constexpr std::chrono::milliseconds kPatience{100};  // with a reader that kept up until now

uint64_t lines_in(std::string_view text) { return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')); }

}  // namespace

void LineOutput::write(std::string_view lines) {
  if (dropped_ > 0) {
    if (put(notice_(dropped_)) > 0) {
      dropped_ += lines_in(lines);
      return;
    }
    dropped_ = 0;
  }
  if (!lines.empty()) dropped_ += put(lines);
}

// How many lines were not taken as a whole.
uint64_t LineOutput::put(std::string_view lines) {
  const bool ends_other = cut_;
  const std::string text = (ends_other ? "\n" : "") + std::string(lines);
  for (std::string_view rest = text; !rest.empty();) {
    // A pipe that is ready takes this many bytes at once (pipe(7)).
    const size_t part = std::min<size_t>(rest.size(), PIPE_BUF);
    const ssize_t taken = is_ready() ? ::write(descriptor_, rest.data(), part) : (errno = EAGAIN, -1);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) {
      if (errno != EAGAIN) error_ = errno;
      const bool nothing = rest.size() == text.size();
      if (!nothing) cut_ = text[text.size() - rest.size() - 1] != '\n';
      return lines_in(rest) - (nothing && ends_other ? 1 : 0);
    }
    rest.remove_prefix(static_cast<size_t>(taken));
  }
  cut_ = false;
  error_ = 0;
  return 0;
}

bool LineOutput::is_ready() const {
  pollfd output{descriptor_, POLLOUT, 0};
  return poll(&output, 1, dropped_ > 0 ? 0 : static_cast<int>(kPatience.count())) != 0;
}

}  // namespace ridge
