#include "cli/interruption.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/fake_clock.h"

namespace ridge::cli {
namespace {

// Each in its own process: signals and their flag belong to the process.
TEST(InterruptionDeathTest, TheFirstSignalAndItsEchoOnlySetTheFlag) {
  EXPECT_EXIT(
      {
        FakeClock clock;
        listen_for_interruption(clock);
        if (interrupted()) _exit(1);
        raise(SIGINT);
        raise(SIGINT);
        clock.advance(std::chrono::milliseconds(299));
        raise(SIGTERM);
        _exit(interrupted() ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptionDeathTest, ALaterSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        FakeClock clock;
        listen_for_interruption(clock);
        raise(SIGINT);
        clock.advance(std::chrono::milliseconds(300));
        raise(SIGINT);
        _exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace ridge::cli
