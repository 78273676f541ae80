#include "power/watch.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/child_process.h"

namespace ridge::power {
namespace {

bool ignored(int number) {
  struct sigaction now = {};
  sigaction(number, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

// Except signals that nohup or a shell makes this process ignore: blocked, they would arrive anyway.
sigset_t awaited() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    if (!ignored(number)) sigaddset(&signals, number);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

bool from_the_terminal(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

}  // namespace

void hold_signals() {
  sigset_t signals = awaited();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

Result<int> watch(const std::vector<std::string>& command, const std::function<void()>& now_and_then) {
  pid_t child = -1;
  if (!command.empty()) {
    signal(SIGCHLD, SIG_DFL);  // if it is ignored, children leave no exit status
    RIDGE_ASSIGN(child, start_program(command));
  }
  const sigset_t signals = awaited();
  for (;;) {
    siginfo_t info{};
    constexpr timespec kSecond{.tv_sec = 1, .tv_nsec = 0};
    int number = sigtimedwait(&signals, &info, &kSecond);
    int status = 0;
    if (child > 0 && waitpid(child, &status, WNOHANG) == child) return status_of(status);
    const bool asks = number == SIGINT || number == SIGTERM || number == SIGHUP;
    if (asks && child < 0) return 0;
    if (asks && !from_the_terminal(info)) kill(child, number);
    if (now_and_then) now_and_then();
  }
}

}  // namespace ridge::power
