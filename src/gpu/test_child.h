// For tests that play the cards of several scripts: in a child each.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "gpu/test_cards.h"

namespace ridge::gpu {

// Runs a test's body in a child: stand-ins read their script once per process. Its failures are printed there.
inline void in_child(const std::string& about, const std::function<void()>& body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child on " << about << " failed";
}

// The same on the cards of a script.
inline void on_cards(const char* script, const std::function<void()>& body) {
  in_child(script, [&] {
    play_cards(script);
    body();
  });
}

}  // namespace ridge::gpu
