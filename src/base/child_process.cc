#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

extern char** environ;

namespace ridge {
namespace {

constexpr size_t kMostOutput = size_t{16} << 20;
constexpr int kCheckMs = 20;  // between two checks of the limits
constexpr auto kTimeToDie =
    std::chrono::milliseconds(500);  // after SIGKILL; only an operation in the kernel takes longer
constexpr int kReasonGiven = 100;    // exit status of a function that returned an error
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

Error system_error(const std::string& doing, int number = errno) {
  return {number == ENOENT                       ? Code::kNotFound
          : number == EAGAIN || number == ENOMEM ? Code::kExhausted
                                                 : Code::kFailed,
          fmt::format("{}: {}", doing, std::strerror(number))};
}

// Closes its ends; a started program does not inherit them.
struct Pipe {
  int read = -1, write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  Status open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error("start a child process: pipe");
    read = ends[0];
    write = ends[1];
    return {};
  }
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

void point_at_null(std::initializer_list<int> descriptors) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int descriptor : descriptors)
    if (null >= 0) dup2(null, descriptor);
}

// Field of /proc/PID/status in bytes, e.g. "VmHWM:"; absent: the process has ended.
std::optional<uint64_t> memory_of(pid_t process, const char* field) {
  FILE* file = std::fopen(fmt::format("/proc/{}/status", process).c_str(), "re");
  if (!file) return std::nullopt;
  std::optional<uint64_t> bytes;
  for (char line[256]; !bytes && std::fgets(line, sizeof line, file);)
    if (std::strncmp(line, field, std::strlen(field)) == 0)
      bytes = std::strtoull(line + std::strlen(field), nullptr, 10) << 10;
  std::fclose(file);
  return bytes;
}

// Watches one child until its end or a limit.
class Watch {
 public:
  Watch(pid_t child, const ChildLimits& limits, TimePoint deadline)
      : child_(child), limits_(limits), deadline_(deadline) {}

  ChildRun run(int input) {
    if (read_output(input) && wait_for_end())
      set_end();
    else
      kill_all();
    return std::move(run_);
  }

 private:
  bool may_go_on() {
    run_.peak_memory_bytes = std::max(run_.peak_memory_bytes, memory_of(child_, "VmHWM:").value_or(0));
    if (limits_.interrupted && limits_.interrupted())
      run_.end = ChildEnd::kInterrupted;
    else if (limits_.memory_bytes > 0 && run_.peak_memory_bytes > limits_.memory_bytes)
      run_.end = ChildEnd::kMemory;
    else if (SteadyClock::now() >= deadline_)
      run_.end = ChildEnd::kTimeout;
    else
      return true;
    return false;
  }

  // Until the child and its descendants have closed their end (true), or a limit is reached.
  bool read_output(int input) {
    std::array<char, 65536> block;
    TimePoint next_check{};
    while (true) {
      if (const TimePoint now = SteadyClock::now(); now >= next_check) {
        if (!may_go_on()) return false;
        next_check = now + std::chrono::milliseconds(kCheckMs);
      }
      pollfd ready{input, POLLIN, 0};
      if (poll(&ready, 1, kCheckMs) <= 0) continue;
      const ssize_t got = read(input, block.data(), block.size());
      if (got == 0 || (got < 0 && errno != EINTR)) break;
      if (got > 0) run_.output.append(block.data(), static_cast<size_t>(got));
      if (run_.output.size() > 2 * kMostOutput) run_.output.erase(0, run_.output.size() - kMostOutput);
    }
    if (run_.output.size() > kMostOutput) run_.output.erase(0, run_.output.size() - kMostOutput);
    return true;
  }

  bool ended() {
    const pid_t done = wait4(child_, &status_, WNOHANG, &usage_);
    return done == child_ || (done < 0 && errno != EINTR);
  }

  // A child with closed output may still run.
  bool wait_for_end() {
    while (!ended()) {
      if (!may_go_on()) return false;
      poll(nullptr, 0, kCheckMs / 10);
    }
    return true;
  }

  void set_end() {
    if (WIFSIGNALED(status_)) {
      run_.end = ChildEnd::kSignal;
      run_.signal = WTERMSIG(status_);
    } else {
      run_.exit_status = WEXITSTATUS(status_);
    }
    // The kernel's figure for the child includes this process's size at the fork.
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    if (usage_.ru_maxrss > own.ru_maxrss) run_.peak_memory_bytes = static_cast<uint64_t>(usage_.ru_maxrss) << 10;
  }

  void kill_all() {
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);
    for (const TimePoint until = SteadyClock::now() + kTimeToDie; !ended() && SteadyClock::now() < until;)
      poll(nullptr, 0, kCheckMs / 10);
  }

  const pid_t child_;
  const ChildLimits& limits_;
  const TimePoint deadline_;
  ChildRun run_;
  int status_ = 0;
  rusage usage_{};
};

std::string find_on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin:/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
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

// The error of execve that the child reports, or 0 once the new program runs.
int exec_error(int input) {
  int number = 0;
  ssize_t got = 0;
  do got = read(input, &number, sizeof number);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof number) ? number : 0;
}

// Its standard output goes to `output`.
Result<pid_t> start(const ChildProgram& program, const ForkOptions& options, int output) {
  const std::string& name = program.arguments.front();
  const std::string file = find_on_path(name);
  if (file.empty()) return Error{Code::kNotFound, name + " is not on PATH"};
  // Allocates everything for the child here: after fork it may not, since other threads may hold the lock.
  std::vector<std::string> arguments = program.arguments, environment = environment_with(program.environment);
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(environment);
  Pipe failure;
  RIDGE_TRY(failure.open());
  RIDGE_ASSIGN(const pid_t child, fork_child(options, [&] {
                 dup2(output, STDOUT_FILENO);
                 if (program.take_errors) dup2(output, STDERR_FILENO);
                 execve(file.c_str(), argv.data(), envp.data());
                 const int problem = errno;
                 return write(failure.write, &problem, sizeof problem) > 0 ? 127 : 126;
               }));
  Pipe::close_end(failure.write);
  if (const int problem = exec_error(failure.read)) {
    waitpid(child, nullptr, 0);
    return system_error("start '" + name + "'", problem);
  }
  return child;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t before = text.rfind('\n', end);
  const size_t first = before == std::string::npos ? 0 : before + 1;
  return text.substr(first, std::min<size_t>(end + 1 - first, 300));
}

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Result<pid_t> fork_child(const ForkOptions& options, const std::function<int()>& body) {
  // Blocks signals until the child's dispositions are set.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  const int problem = errno;
  if (child == 0) {
    if (!options.in_foreground) {
      setsid();
      point_at_null({STDIN_FILENO, STDOUT_FILENO});
      for (int number : kEndingSignals) signal(number, options.ignores_signals ? SIG_IGN : SIG_DFL);
    }
    if (options.in_foreground) signal(SIGPIPE, SIG_DFL);  // a program expects it so, whatever this one does
    if (options.ends_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    _exit(body());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return system_error("start a child process: fork", problem);
  return child;
}

Result<pid_t> start_program(const std::vector<std::string>& arguments) {
  return start({.arguments = arguments}, {.in_foreground = true, .ends_with_parent = false}, STDOUT_FILENO);
}

Result<ChildRun> run_program(const ChildProgram& program, const ChildLimits& limits) {
  const TimePoint deadline = SteadyClock::now() + limits.time;
  Pipe output;
  RIDGE_TRY(output.open());
  RIDGE_ASSIGN(const pid_t child, start(program, {}, program.output_to_errors ? STDERR_FILENO : output.write));
  Pipe::close_end(output.write);
  return Watch(child, limits, deadline).run(output.read);
}

Result<ChildRun> run_function(const ChildLimits& limits, const std::function<int(int output)>& body) {
  const TimePoint deadline = SteadyClock::now() + limits.time;
  Pipe output;
  RIDGE_TRY(output.open());
  RIDGE_ASSIGN(const pid_t child, fork_child({}, [&] {
                 Pipe::close_end(output.read);
                 return body(output.write);
               }));
  Pipe::close_end(output.write);
  return Watch(child, limits, deadline).run(output.read);
}

Result<std::string> output_of(const std::string& what, const ChildLimits& limits, Result<ChildRun> run) {
  if (!run) return std::move(run).error();
  switch (run->end) {
    case ChildEnd::kTimeout:
      return Error{Code::kTimeout, fmt::format("{} did not end within {:.3g} s", what, to_seconds(limits.time))};
    case ChildEnd::kMemory:
      return Error{Code::kExhausted, fmt::format("{} needed more than {:.3g} GB of memory", what,
                                                 static_cast<double>(limits.memory_bytes) / 1e9)};
    case ChildEnd::kInterrupted: return Error{Code::kCancelled, fmt::format("{} was interrupted", what)};
    case ChildEnd::kSignal:
      return Error{Code::kFailed,
                   fmt::format("{} was ended by signal {} ({})", what, run->signal, strsignal(run->signal))};
    case ChildEnd::kExited: break;
  }
  if (run->exit_status == 0) return std::move(run->output);
  const std::string said = last_line(run->output);
  return Error{Code::kFailed, fmt::format("{} exited with status {}{}", what, run->exit_status,
                                          said.empty() ? "" : ", its last line: " + said)};
}

Result<std::string> output_of_program(const ChildProgram& program, const ChildLimits& limits) {
  return output_of("'" + program.arguments.front() + "'", limits, run_program(program, limits));
}

Result<std::string> result_of_function(const std::string& what, const ChildLimits& limits,
                                       const std::function<Result<std::string>()>& work) {
  Result<ChildRun> run = run_function(limits, [&](int output) {
    const Result<std::string> result = work();
    if (!write_all(output, result ? *result : result.error().message)) return 1;
    return result ? 0 : kReasonGiven;
  });
  if (run && run->end == ChildEnd::kExited && run->exit_status == kReasonGiven)
    return Error{Code::kFailed, std::move(run->output)};
  return output_of(what, limits, std::move(run));
}

}  // namespace ridge
