#include "power/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/child_process.h"

namespace ridge::power {
namespace {

constexpr std::string_view kRelease = "release";

// The last whole line from the pipe before its other end was closed; "release" counts at once.
std::string last_line(int pipe) {
  std::string line, part;
  char block[4096];
  for (;;) {
    ssize_t got = read(pipe, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return line;
    part.append(block, static_cast<size_t>(got));
    for (size_t end = 0; (end = part.find('\n')) != std::string::npos; part.erase(0, end + 1))
      line = part.substr(0, end);
    if (line == kRelease) return line;
  }
}

int stand_guard(int pipe, const std::function<void(const std::string&)>& undo) {
  prctl(PR_SET_NAME, "ridge-guard");
  std::string order = last_line(pipe);
  if (!order.empty() && order != kRelease) undo(order);
  return 0;
}

}  // namespace

Result<Guard> Guard::start(const std::function<void(const std::string& order)>& undo) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{Code::kFailed, fmt::format("start the guard process: pipe: {}", std::strerror(errno))};
  Result<pid_t> child = fork_child({.ends_with_parent = false, .ignores_signals = true}, [&] {
    close(ends[1]);
    return stand_guard(ends[0], undo);
  });
  close(ends[0]);
  if (child) return Guard(*child, ends[1]);
  close(ends[1]);
  return wrap(child.error(), "start the guard process");
}

Guard::Guard(Guard&& other) noexcept : child_(std::exchange(other.child_, -1)), pipe_(std::exchange(other.pipe_, -1)) {}

Guard& Guard::operator=(Guard&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(pipe_, other.pipe_);
  return *this;
}

Guard::~Guard() { release(); }

Status Guard::send(std::string_view line) {
  std::string text = std::string(line) + "\n";
  // A missing guard must not end this process by SIGPIPE.
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  ssize_t written = pipe_ < 0 ? -1 : write(pipe_, text.data(), text.size());
  sigaction(SIGPIPE, &before, nullptr);
  if (written == static_cast<ssize_t>(text.size())) return {};
  return Error{Code::kUnavailable, "the guard process is gone: it was ended"};
}

Status Guard::tell(std::string_view order) { return send(order); }

bool Guard::alive() {
  if (child_ < 0) return false;
  if (waitpid(child_, nullptr, WNOHANG) == 0) return true;
  child_ = -1;
  return false;
}

void Guard::release() {
  if (pipe_ >= 0) {
    if (alive() && send(kRelease)) waitpid(child_, nullptr, 0);
    close(pipe_);
  }
  child_ = pipe_ = -1;
}

}  // namespace ridge::power
