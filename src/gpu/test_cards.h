// For tests that run on the stand-ins for NVIDIA's driver, compiler and matrix products (tests/support): in a child, because a
// stand-in reads its script once per process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace ridge::gpu {

inline std::string test_support(const std::string& file) { return std::string(RIDGE_TEST_SUPPORT) + "/" + file; }

// Runs the test's body on the cards of the script tests/support/cuda/<script>.txt; its failures are printed there.
inline void on_cards(const char* script, const std::function<void()>& body) {
  pid_t child = fork();
  if (child == 0) {
    setenv("RIDGE_CUDA", test_support("libcuda.so.1").c_str(), 1);
    setenv("RIDGE_NVRTC", test_support("libnvrtc.so.1").c_str(), 1);
    setenv("RIDGE_CUBLASLT", test_support("libcublasLt.so.1").c_str(), 1);
    setenv("RIDGE_FAKE_CUDA", (std::string(RIDGE_SOURCE_DIR) + "/tests/support/cuda/" + script + ".txt").c_str(), 1);
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child on " << script << " failed";
}

}  // namespace ridge::gpu
