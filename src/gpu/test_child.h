// For tests that play the cards of several scripts: in a child each.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "gpu/test_cards.h"

namespace ridge::gpu {

// Runs the test's body on the cards of a script; its failures are printed there.
inline void on_cards(const char* script, const std::function<void()>& body) {
  pid_t child = fork();
  if (child == 0) {
    play_cards(script);
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child on " << script << " failed";
}

}  // namespace ridge::gpu
