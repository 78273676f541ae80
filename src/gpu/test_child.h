// For tests that play the cards of several scripts: in a child each.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "gpu/test_cards.h"

namespace ridge::gpu {

// Runs the test's body on the cards of a script; its failures are printed there. The child is this program begun anew with this test
// alone: one that goes on from here would lack the threads of OpenCL, which other tests started.
inline void on_cards(const char* script, const std::function<void()>& body) {
  constexpr const char* kScript = "RIDGE_TEST_CARDS";
  if (const char* played = getenv(kScript)) {
    if (played != std::string_view(script)) return;
    play_cards(script);
    return body();
  }
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  const pid_t child = fork();
  if (child == 0) {
    setenv(kScript, script, 1);
    execl("/proc/self/exe", "gpu_test", filter.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child on " << script << " failed";
}

}  // namespace ridge::gpu
