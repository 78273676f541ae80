// Allocations of the step thread fail one after the other: each costs the requests that it was for, and nothing else.
#include <gtest/gtest.h>

#include "serve/failing_allocations.h"
#include "serve/test_language_model.h"

namespace ridge::serve {
namespace {

thread_local int64_t allocations_left = -1;  // of this thread, until one fails; −1: none does

class AllocationFailureTest : public LanguageServerTest {
 protected:
  AllocationFailureTest() {
    fails_now = [] { return allocations_left >= 0 && allocations_left-- == 0; };
  }
  ~AllocationFailureTest() override { fails_now = nullptr; }
};

TEST_F(AllocationFailureTest, OfTheStepThreadCostsTheRequestAlone) {
  add_model("m", {{"block_tokens", 4}}, parameter("ridge_sequences", "3") + parameter("ridge_cache_tokens", "160"));
  constexpr int64_t kAsBefore = -2;
  std::atomic<int64_t> next = kAsBefore;  // allocations_left from the next step on
  ServerOptions failing = options();
  failing.open_decoder = hooked({.before_step = [&]() -> Status {
    if (const int64_t wanted = next.exchange(kAsBefore); wanted != kAsBefore) allocations_left = wanted;
    return {};
  }});
  const auto server = started(failing);
  const std::string prompt = endless_prompt("Hello", 12);
  TextRequest wanted = text_request(prompt, 12);
  wanted.choices = 2;
  wanted.logprobs = 2;
  wanted.stop = {"never in it"};
  wanted.sampling.repetition_penalty = 1.0001;
  int ended = 0;
  for (int64_t allocation = 0; allocation < 2000; ++allocation) {
    const int before = failures;
    next = allocation;
    std::vector<Running> running;
    for (int i = 0; i < 3; ++i) running.push_back(begin(*server, wanted));
    for (Running& each : running) {
      const Status status = each.sink->wait();
      EXPECT_TRUE(status.ok() || status.error().code == Code::kUnavailable) << allocation;
      ended += status ? 0 : 1;
    }
    running.clear();
    const bool failed = failures > before;
    next = -1;
    (void)begin(*server, text_request(prompt, 1)).sink->wait().ok();  // after it none fails
    EXPECT_EQ(answer(*server, text_request(prompt, 12))->text(), expected_text(prompt, 12)) << allocation;
    const generate::Figures figures = text_model(*server)->figures().scheduler;
    EXPECT_EQ(figures.running + figures.waiting, 0) << allocation;
    EXPECT_EQ(figures.blocks_used, 0) << allocation;
    if (!failed && allocation > 300) break;  // they make no more
    if (HasFailure()) break;
  }
  EXPECT_GT(ended, 50);
  EXPECT_GT(failures, 100);
}

}  // namespace
}  // namespace ridge::serve
