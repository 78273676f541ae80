#include "base/log.h"

#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <mutex>

namespace ridge::log {
namespace {

std::atomic<Level> current_level = Level::kInfo;
std::atomic<void (*)()> before_line = nullptr;
std::atomic<void (*)(Level, std::string_view)> own_writer = nullptr;

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
    case Level::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

constexpr std::chrono::milliseconds kPatience{100};  // with a reader that kept up until now

// Standard error, which may be a pipe whose reader has stopped: a line that it does not take is dropped and counted, so that no thread
// waits for the log. Standard error itself stays as it is (O_NONBLOCK would belong to all programs that share it).
class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (dropped_ > 0) {
      const std::string text = fmt::format("{} of the log dropped: what reads it had stopped",
                                           dropped_ == 1 ? "1 line" : fmt::format("{} lines", dropped_));
      if (!put(line_of({message.logger_name, spdlog::level::warn, text}))) return void(++dropped_);
      dropped_ = 0;
    }
    if (!put(line_of(message))) ++dropped_;
  }
  void flush_() override {}

 private:
  std::string line_of(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    return fmt::to_string(line);
  }

  // False: it was not taken as a whole.
  bool put(std::string line) {
    if (cut_) line.insert(0, 1, '\n');
    for (std::string_view rest = line; !rest.empty();) {
      // A pipe that is ready takes so many bytes at once (pipe(7)).
      const size_t part = std::min<size_t>(rest.size(), PIPE_BUF);
      const ssize_t taken = is_ready() ? ::write(STDERR_FILENO, rest.data(), part) : (errno = EAGAIN, -1);
      if (taken < 0 && errno == EINTR) continue;
      if (taken < 0 && errno != EAGAIN) return true;  // closed: there is no log
      if (taken < 0) {
        cut_ = cut_ || rest.size() < line.size();
        return false;
      }
      rest.remove_prefix(static_cast<size_t>(taken));
    }
    cut_ = false;
    return true;
  }

  bool is_ready() const {
    pollfd standard_error{STDERR_FILENO, POLLOUT, 0};
    return poll(&standard_error, 1, dropped_ > 0 ? 0 : static_cast<int>(kPatience.count())) != 0;
  }

  uint64_t dropped_ = 0;  // lines since the last one that was taken
  bool cut_ = false;      // the last one stands there without its end
};

// Leaked on purpose: threads of engines may still log while the process exits.
spdlog::logger& sink() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("ridge", std::make_shared<StandardError>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
    return made;
  }();
  return *logger;
}

// Names and engines' texts must neither begin a line of the log that looks like one of ours nor speak to the terminal.
std::string escaped(std::string_view message, bool lines) {
  std::string text;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7F) || (lines && c == '\n'))
      text += c;
    else if (c == '\n')
      text += "\\n";
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return text;
}

}  // namespace

void set_level(Level level) { current_level = level; }
Level level() { return current_level; }

void set_writer(void (*writer)(Level level, std::string_view message)) { own_writer = writer; }
void set_before_line(void (*ready)()) { before_line = ready; }

void write(Level level, std::string_view message) {
  if (level < current_level.load() || level == Level::kOff) return;
  if (auto* writer = own_writer.load()) return writer(level, escaped(message, true));
  if (void (*ready)() = before_line.load()) ready();
  sink().log(to_spdlog(level), escaped(message, false));
}

}  // namespace ridge::log
