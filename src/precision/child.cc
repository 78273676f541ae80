#include "precision/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>

extern char** environ;

namespace ridge::precision {
namespace {

constexpr size_t kKept = size_t{64} << 10;
constexpr int kLookMs = 20;  // between two looks at clock and interruption

// A pipe whose ends close themselves, and are not inherited but where that is asked for.
struct Pipe {
  int read = -1, write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_write();
    if (read >= 0) close(read);
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

Error system_error(const std::string& doing, int number) {
  return {Code::kFailed, fmt::format("{}: {}", doing, std::strerror(number))};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& own) {
  std::vector<std::string> result = own;
  std::set<std::string> names;
  for (const std::string& entry : own) names.insert(entry.substr(0, entry.find('=')));
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (const std::string text = *entry; !names.contains(text.substr(0, text.find('=')))) result.push_back(text);
  return result;
}

// Starts it in a process group of its own, with default signals.
Result<pid_t> start(const ChildOptions& options, const Pipe& pipe) {
  std::vector<std::string> arguments = options.arguments, environment = environment_with(options.environment);
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.write, STDOUT_FILENO);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int failure = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure == 0) return child;
  Error error = system_error("start '" + options.arguments[0] + "'", failure);
  if (failure == ENOENT) error.code = Code::kNotFound;
  return error;
}

// Why the child may run no longer; ok while it may.
Status may_go_on(const ChildOptions& options, TimePoint end) {
  if (options.interrupted && options.interrupted())
    return Error{Code::kCancelled, fmt::format("'{}' was interrupted", options.arguments[0])};
  if (Clock::now() < end) return {};
  return Error{Code::kTimeout, fmt::format("'{}' was not done after {:.3g} s and was killed", options.arguments[0],
                                           to_seconds(options.limit))};
}

// Reads until the child has closed its output.
Status read_all(int descriptor, const ChildOptions& options, TimePoint end, std::string& output) {
  std::array<char, 4096> chunk;
  while (true) {
    RIDGE_TRY(may_go_on(options, end));
    pollfd look{descriptor, POLLIN, 0};
    if (poll(&look, 1, kLookMs) <= 0) continue;
    const ssize_t got = read(descriptor, chunk.data(), chunk.size());
    if (got == 0) return {};
    if (got < 0 && errno != EINTR) return system_error("read what '" + options.arguments[0] + "' writes", errno);
    if (got > 0) output.append(chunk.data(), static_cast<size_t>(got));
    if (output.size() > 2 * kKept) output.erase(0, output.size() - kKept);
  }
}

// A child that has closed its output may still run.
Status wait_until_done(pid_t child, const ChildOptions& options, TimePoint end, int& status) {
  while (true) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) return {};
    if (done < 0 && errno != EINTR) return system_error("wait for '" + options.arguments[0] + "'", errno);
    RIDGE_TRY(may_go_on(options, end));
    poll(nullptr, 0, kLookMs / 10);
  }
}

void end_group(pid_t child) {
  kill(-child, SIGKILL);
  int ignored = 0;
  while (waitpid(child, &ignored, 0) < 0 && errno == EINTR) {
  }
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t start = text.rfind('\n', end);
  const size_t first = start == std::string::npos ? 0 : start + 1;
  return text.substr(first, std::min<size_t>(end + 1 - first, 200));
}

Status judge_status(int status, const ChildOptions& options, const std::string& output) {
  const std::string& name = options.arguments[0];
  if (WIFSIGNALED(status))
    return Error{Code::kFailed,
                 fmt::format("'{}' was ended by signal {} ({})", name, WTERMSIG(status), strsignal(WTERMSIG(status)))};
  if (WEXITSTATUS(status) == 0) return {};
  const std::string said = last_line(output);
  return Error{Code::kFailed, fmt::format("'{}' exited with status {}{}", name, WEXITSTATUS(status),
                                          said.empty() ? "" : ", its last line: " + said)};
}

}  // namespace

Result<std::string> output_of(const ChildOptions& options) {
  const TimePoint end = Clock::now() + options.limit;
  Pipe pipe;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe for '" + options.arguments[0] + "'", errno);
  pipe.read = ends[0];
  pipe.write = ends[1];
  RIDGE_ASSIGN(const pid_t child, start(options, pipe));
  pipe.close_write();
  std::string output;
  int status = 0;
  Status done = read_all(pipe.read, options, end, output);
  if (done) done = wait_until_done(child, options, end, status);
  if (!done) {
    end_group(child);
    return std::move(done).error();
  }
  RIDGE_TRY(judge_status(status, options, output));
  return output.size() > kKept ? output.substr(output.size() - kKept) : output;
}

}  // namespace ridge::precision
