#include "base/child_process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace ridge {
namespace {

constexpr std::chrono::minutes kLong(2);
constexpr std::chrono::milliseconds kShort(100);

ChildProgram shell(const std::string& script) { return {.arguments = {"sh", "-c", script}}; }

Code code_of(const Result<std::string>& result) { return result ? Code::kInvalid : result.error().code; }

// Memory that a body allocates and touches.
void take_memory(size_t bytes) {
  volatile char* block = static_cast<char*>(malloc(bytes));
  for (size_t at = 0; at < bytes; at += 4096) block[at] = 1;
}

TEST(ChildProcess, GivesAProgramsOutput) {
  EXPECT_EQ(*output_of_program(shell("echo yes; echo no >&2"), {.time = kLong}), "yes\n");
  ChildProgram both = shell("echo yes; echo no >&2");
  both.take_errors = true;
  EXPECT_EQ(*output_of_program(both, {.time = kLong}), "yes\nno\n");
}

TEST(ChildProcess, OutputMayGoToStandardError) {
  ChildProgram program = shell("echo yes");
  program.output_to_errors = true;
  EXPECT_EQ(*output_of_program(program, {.time = kLong}), "");
}

TEST(ChildProcess, ForegroundProgramKeepsTheSession) {
  const Result<pid_t> child =
      start_program({"sh", "-c", fmt::format("test $(cut -d ' ' -f 6 /proc/$$/stat) = {}", getsid(0))});
  ASSERT_TRUE(child);
  int status = 0;
  ASSERT_EQ(waitpid(*child, &status, 0), *child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(start_program({"no-such-program-here"}).error().code, Code::kNotFound);
}

TEST(ChildProcess, EnvironmentIsStrongerThanTheParents) {
  ASSERT_EQ(setenv("RIDGE_CHILD_TEST", "parent", 1), 0);
  ChildProgram program = shell("echo $RIDGE_CHILD_TEST");
  EXPECT_EQ(*output_of_program(program, {.time = kLong}), "parent\n");
  program.environment = {"RIDGE_CHILD_TEST=own"};
  EXPECT_EQ(*output_of_program(program, {.time = kLong}), "own\n");
}

TEST(ChildProcess, StatusSignalAndLastLineAreReported) {
  Result<ChildRun> failed = run_program(shell("echo first; echo last; exit 7"), {.time = kLong});
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->exit_status, 7);
  const Result<std::string> text = output_of("it", {}, std::move(failed));
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("last"), std::string::npos);
  EXPECT_EQ(text.error().message.find("first"), std::string::npos);
  Result<ChildRun> crashed = run_program(shell("kill -SEGV $$"), {.time = kLong});
  ASSERT_TRUE(crashed.ok());
  EXPECT_EQ(crashed->end, ChildEnd::kSignal);
  EXPECT_EQ(crashed->signal, SIGSEGV);
}

TEST(ChildProcess, ProgramsThatAreNotThereAreErrors) {
  EXPECT_EQ(code_of(output_of_program({.arguments = {"no-such-program-here"}}, {.time = kLong})), Code::kNotFound);
  EXPECT_EQ(code_of(output_of_program({.arguments = {"/no/such/program"}}, {.time = kLong})), Code::kNotFound);
  EXPECT_EQ(code_of(output_of_program({.arguments = {"/etc/passwd"}}, {.time = kLong})), Code::kFailed);
}

TEST(ChildProcess, TimeEndsTheChildAndWhatItStarted) {
  Result<ChildRun> run = run_program(shell("sleep 600 & echo $!; wait"), {.time = kShort});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->end, ChildEnd::kTimeout);
  const pid_t grandchild = std::atoi(run->output.c_str());
  ASSERT_GT(grandchild, 0);
  // It is gone, or a zombie until init has reaped it.
  while (kill(grandchild, 0) == 0) {
    FILE* file = fopen(("/proc/" + std::to_string(grandchild) + "/stat").c_str(), "r");
    char state = 'Z';
    if (file && fscanf(file, "%*d %*s %c", &state) != 1) state = 'Z';
    if (file) fclose(file);
    if (state == 'Z') return;
    sched_yield();
  }
}

TEST(ChildProcess, TimeAlsoEndsAChildThatHasClosedItsOutput) {
  Result<ChildRun> run = run_program(shell("exec >&-; exec sleep 600"), {.time = kShort});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->end, ChildEnd::kTimeout);
}

TEST(ChildProcess, InterruptionEndsTheChild) {
  Result<ChildRun> run = run_program(shell("sleep 600"), {.time = kLong, .interrupted = [] { return true; }});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->end, ChildEnd::kInterrupted);
}

TEST(ChildProcess, MemoryIsLimitedAndReported) {
  constexpr uint64_t kTaken = 256 << 20;
  const auto greedy = [](int output) {
    take_memory(kTaken);
    return write_all(output, "done") ? 0 : 1;
  };
  Result<ChildRun> free = run_function({.time = kLong}, greedy);
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->output, "done");
  EXPECT_GE(free->peak_memory_bytes, kTaken);
  EXPECT_LT(free->peak_memory_bytes, 8 * kTaken);
  Result<ChildRun> bound = run_function({.time = kLong, .memory_bytes = kTaken / 2}, [](int) {
    take_memory(kTaken);
    for (;;) pause();
    return 0;
  });
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->end, ChildEnd::kMemory);
  EXPECT_EQ(code_of(output_of("it", {}, std::move(bound))), Code::kExhausted);
}

TEST(ChildProcess, KeepsTheEndOfALongOutput) {
  Result<std::string> text =
      output_of_program(shell("head -c 40000000 /dev/zero | tr '\\0' 'x'; echo end"), {.time = kLong});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->size(), size_t{16} << 20);
  EXPECT_TRUE(text->ends_with("xend\n"));
}

TEST(ChildProcess, FunctionsBringTheirResultOrTheirError) {
  EXPECT_EQ(*result_of_function("it", {.time = kLong}, [] { return Result<std::string>("hello"); }), "hello");
  const Result<std::string> refused =
      result_of_function("it", {.time = kLong}, [] { return Result<std::string>(Error{Code::kNotFound, "no GPU"}); });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no GPU");
  const Result<std::string> crashed = result_of_function("it", {.time = kLong}, []() -> Result<std::string> {
    raise(SIGKILL);
    return std::string();
  });
  EXPECT_EQ(code_of(crashed), Code::kFailed);
  const Result<std::string> hung = result_of_function("it", {.time = kShort}, []() -> Result<std::string> {
    for (;;) pause();
  });
  EXPECT_EQ(code_of(hung), Code::kTimeout);
}

TEST(ChildProcess, ProgramsMayBeStartedByManyThreads) {
  std::atomic<int> good = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      const Result<std::string> text = output_of_program(shell("echo " + std::to_string(i)), {.time = kLong});
      if (text && *text == std::to_string(i) + "\n") ++good;
    });
  threads.clear();
  EXPECT_EQ(good, 8);
}

TEST(ChildProcess, ForkedChildHasASessionOfItsOwnAndMayIgnoreSignals) {
  Result<pid_t> child = fork_child({.ignores_signals = true}, [] {
    raise(SIGTERM);
    raise(SIGINT);
    return getsid(0) == getpid() ? 42 : 1;
  });
  ASSERT_TRUE(child.ok());
  int status = 0;
  ASSERT_EQ(waitpid(*child, &status, 0), *child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace ridge
