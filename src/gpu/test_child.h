// For tests with the GPUs of several scripts: one child process each.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "gpu/test_gpus.h"

namespace ridge::gpu {

// Runs the test's body in a child, since fakes read their script once per process; prints its failures there. The child is this
// program started again with this test alone: a fork would lack the threads of OpenCL, started by other tests. `name`
// distinguishes the bodies of one test.
inline void in_child(const std::string& name, const std::function<void()>& body) {
  constexpr const char* kName = "RIDGE_TEST_CHILD";
  if (const char* meant = getenv(kName)) {
    if (meant == name) body();
    return;
  }
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  const pid_t child = fork();
  if (child == 0) {
    setenv(kName, name.c_str(), 1);
    execl("/proc/self/exe", "child", filter.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child on " << name << " failed";
}

// The same on the GPUs of a script.
inline void on_gpus(const char* script, const std::function<void()>& body) {
  in_child(script, [&] {
    play_gpus(script);
    body();
  });
}

}  // namespace ridge::gpu
