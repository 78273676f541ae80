#include "serve/reaper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <nlohmann/json.hpp>
#include <string>

namespace ridge::serve {
namespace {

// A version whose requests are answered as soon as `answered` is.
class Waiting final : public Servable {
 public:
  explicit Waiting(std::latch& answered) : Servable({.encoder = EncoderPtr()}), answered_(answered) {}
  const ModelSettings& settings() const override { return settings_; }
  const Json& config() const override { return config_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  ModelStatistics statistics() const override { return {}; }
  void abort() override {}
  void close() override {}
  void join() override { answered_.wait(); }

 private:
  std::latch& answered_;
  const ModelSettings settings_{};
  const Json config_;
  const std::string fingerprint_;
};

TEST(Reaper, EndsAVersionWhileAnotherStillAnswers) {
  std::latch first(1), second(0), second_ended(1);
  std::atomic<int> ended = 0;
  Reaper reaper([&](const Servable&) {
    if (++ended == 1) second_ended.count_down();
  });
  VersionPtr answers = reaper.keep(std::make_shared<Waiting>(first));
  VersionPtr idle = reaper.keep(std::make_shared<Waiting>(second));
  answers.reset();
  idle.reset();
  second_ended.wait();
  EXPECT_EQ(ended, 1);
  first.count_down();
  reaper.wait();
  EXPECT_EQ(ended, 2);
}

TEST(Reaper, WhatWasGivenUpIsNotRetired) {
  std::latch answered(0);
  Reaper reaper([](const Servable&) {});
  const VersionPtr given_up = reaper.keep(std::make_shared<Waiting>(answered));
  const VersionPtr replaced = reaper.keep(std::make_shared<Waiting>(answered));
  reaper.serve({given_up, replaced});
  reaper.give_up(*given_up);
  const std::vector<std::shared_ptr<Servable>> retired = reaper.retired("", {});
  ASSERT_EQ(retired.size(), 1U);
  EXPECT_EQ(retired[0].get(), replaced.get());
}

TEST(Reaper, ItsEndWaitsForAllVersions) {
  std::latch none(0);
  std::atomic<int> ended = 0;
  {
    Reaper reaper([&](const Servable&) { ++ended; });
    for (int i = 0; i < 20; ++i) reaper.keep(std::make_shared<Waiting>(none));
  }
  EXPECT_EQ(ended, 20);
}

}  // namespace
}  // namespace ridge::serve
