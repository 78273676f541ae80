#include "engine/run_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ridge::engine {
namespace {

// Runs until it is terminated.
class EndlessSession final : public Session {
 public:
  explicit EndlessSession(std::atomic<bool>& ended) : ended_(ended) {}
  const Signature& signature() const override { return signature_; }
  const Info& info() const override { return info_; }
  Result<std::vector<NodeTime>> take_profile(int) override { return std::vector<NodeTime>(); }
  void terminate() override {
    ended_ = true;
    ended_.notify_all();
  }
  Status run(std::span<const TensorView>, std::span<const int>, std::span<Output>, RunTimes*) override {
    ended_.wait(false);
    return Error{Code::kCancelled, "the run was broken off"};
  }

 private:
  std::atomic<bool>& ended_;
  Signature signature_;
  Info info_;
};

TEST(RunLimit, BreaksOffARunThatDoesNotEndAndSaysSo) {
  std::atomic<bool> ended = false;
  const auto session = with_run_limit(std::make_unique<EndlessSession>(ended), std::chrono::milliseconds(1));
  const Status ran = session->run({}, {}, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Code::kTimeout);
  EXPECT_NE(ran.error().message.find("--seconds"), std::string::npos);
}

TEST(RunLimit, LeavesOtherErrorsAsTheyAre) {
  std::atomic<bool> ended = true;
  const auto session = with_run_limit(std::make_unique<EndlessSession>(ended), std::chrono::hours(1));
  EXPECT_EQ(session->run({}, {}, {}).error().code, Code::kCancelled);
}

}  // namespace
}  // namespace ridge::engine
