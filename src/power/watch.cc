#include "power/watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

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

enum class Output { kKept, kToStderr };

// With no signal blocked, even if this process waits for some.
Result<pid_t> start(const std::vector<std::string>& command, Output output) {
  signal(SIGCHLD, SIG_DFL);  // if it is ignored, children leave no exit status
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output == Output::kToStderr) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = -1;
  int problem = posix_spawnp(&child, arguments.front(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (problem == 0) return child;
  return Error{Code::kNotFound, fmt::format("run {}: {}", command.front(), std::strerror(problem))};
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
    RIDGE_ASSIGN(child, start(command, Output::kKept));
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

Status run_once(const std::vector<std::string>& command) {
  RIDGE_ASSIGN(pid_t child, start(command, Output::kToStderr));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (status_of(status) == 0) return {};
  return Error{Code::kFailed, fmt::format("{} ended with status {}", fmt::join(command, " "), status_of(status))};
}

}  // namespace ridge::power
