#include "cli/interruption.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace ridge::cli {
namespace {

// Each in a process of its own: signals and their flag belong to the process.
TEST(InterruptionDeathTest, TheFirstSignalAndItsEchoOnlySetTheFlag) {
  EXPECT_EXIT(
      {
        listen_for_interruption();
        if (interrupted()) _exit(1);
        raise(SIGINT);
        raise(SIGINT);
        raise(SIGTERM);
        _exit(interrupted() ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptionDeathTest, ALaterSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        listen_for_interruption();
        raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        raise(SIGINT);
        _exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace ridge::cli
