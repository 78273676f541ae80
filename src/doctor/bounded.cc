#include "doctor/bounded.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/proc_text.h"

namespace ridge::doctor {
namespace {

constexpr size_t kMostOutput = 16 << 20;
constexpr auto kTimeToDie = std::chrono::milliseconds(500);

// The child's side: a session of its own, so that what it starts can be killed with it; ends when the parent does. What
// a vendor's library prints must not get between the parent's results.
[[noreturn]] void be_child(const std::function<int(int)>& body, int output) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  _exit(body(output));
}

// Reads until the child closes its end (true) or the time is over (false).
bool read_until(TimePoint deadline, int input, std::string& output) {
  char block[65536];
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{input, POLLIN, 0};
    int polled = poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (polled < 0 && errno != EINTR) return true;
    if (polled <= 0) continue;
    ssize_t got = read(input, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(block, std::min(static_cast<size_t>(got), kMostOutput - output.size()));
  }
}

// Waits until the child is gone or `deadline`; a child that the kernel holds (state D) is left behind.
bool reap(pid_t child, TimePoint deadline, int& status) {
  for (;;) {
    pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) return done == child;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin:/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int answer(int descriptor, const Result<std::string>& result) {
  if (!write_all(descriptor, result ? *result : result.error().message)) return 1;
  return result ? 0 : kReasonGiven;
}

Result<ChildRun> run_child(Nanoseconds limit, const std::function<int(int output)>& body) {
  int channel[2];
  if (pipe2(channel, O_CLOEXEC) != 0)
    return Error{Code::kExhausted, std::string("start a child process: pipe: ") + std::strerror(errno)};
  const TimePoint deadline = Clock::now() + limit;
  pid_t child = fork();
  if (child < 0) {
    Error error{Code::kExhausted, std::string("start a child process: fork: ") + std::strerror(errno)};
    close(channel[0]);
    close(channel[1]);
    return error;
  }
  if (child == 0) {
    close(channel[0]);
    be_child(body, channel[1]);
  }
  close(channel[1]);
  ChildRun run;
  int status = 0;
  bool ended = read_until(deadline, channel[0], run.output);
  run.timed_out = !ended || !reap(child, deadline, status);
  if (run.timed_out) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    reap(child, Clock::now() + kTimeToDie, status);
  }
  close(channel[0]);
  if (!run.timed_out && WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  if (!run.timed_out && WIFEXITED(status)) run.exit_status = WEXITSTATUS(status);
  return run;
}

Result<std::string> text_of_child(const std::string& what, Nanoseconds limit,
                                  const std::function<int(int output)>& body) {
  RIDGE_ASSIGN(ChildRun run, run_child(limit, body));
  if (run.timed_out)
    return Error{Code::kTimeout, fmt::format("{} did not end within {:.3g} s", what, to_seconds(limit))};
  if (run.signal != 0)
    return Error{Code::kFailed, fmt::format("{} was ended by signal {} ({})", what, run.signal, strsignal(run.signal))};
  if (run.exit_status == kReasonGiven) return Error{Code::kFailed, run.output};
  if (run.exit_status != 0)
    return Error{Code::kFailed,
                 fmt::format("{} ended with status {}: {}", what, run.exit_status, trim(run.output).substr(0, 300))};
  return run.output;
}

Result<std::string> run_tool(const std::vector<std::string>& command, Nanoseconds limit) {
  std::string file = find_on_path(command.front());
  if (file.empty()) return Error{Code::kNotFound, command.front() + " is not on PATH"};
  return text_of_child(command.front(), limit, [&](int output) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(file.c_str(), arguments.data());
    return 127;
  });
}

}  // namespace ridge::doctor
