// For tests with the GPUs of several scripts: one child process each.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "base/child_process.h"
#include "gpu/test_gpus.h"

namespace ridge::gpu {

// Runs the test's body in a child, for fakes read their script once per process; its failures are printed here. The
// child is this program begun again with this test alone: one that goes on from here would lack the threads of OpenCL,
// which other tests started. `name` tells the bodies of one test apart.
inline void in_child(const std::string& name, const std::function<void()>& body) {
  constexpr const char* kName = "RIDGE_TEST_CHILD";
  if (const char* meant = getenv(kName)) {
    if (meant == name) body();
    return;
  }
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  Result<ChildRun> run = run_program({{"/proc/self/exe", filter}, {std::string(kName) + "=" + name}, true},
                                     {.time = std::chrono::minutes(5)});
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_TRUE(run->end == ChildEnd::kExited && run->exit_status == 0) << "the child on " << name << ":\n"
                                                                      << run->output;
}

// The same on the GPUs of a script.
inline void on_gpus(const char* script, const std::function<void()>& body) {
  in_child(script, [&] {
    play_gpus(script);
    body();
  });
}

}  // namespace ridge::gpu
