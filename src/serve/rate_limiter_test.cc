#include "serve/rate_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using Limits = std::vector<ResourceLimit>;
using Instances = std::vector<std::unique_ptr<RateLimiter::Instance>>;

RateLimit needs(const std::string& name, uint32_t count, std::optional<int> device = std::nullopt,
                uint32_t priority = 1) {
  return {{{name, device, count}}, priority};
}

Instances add(const std::shared_ptr<RateLimiter>& limiter, const std::vector<RateLimit>& limits) {
  auto added = limiter->add(limits);
  if (!added) ADD_FAILURE() << added.error().message;
  return added ? std::move(*added) : Instances();
}

// Starts acquire() on a thread, which ends with the resources.
std::jthread acquiring(RateLimiter::Instance& instance) {
  return std::jthread([&instance] { instance.acquire(); });
}

void await_waiting(const RateLimiter& limiter, size_t count) {
  while (limiter.waiting() != count) std::this_thread::yield();
}

TEST(RateLimiter, ReadsResourcesOfTheCommandLine) {
  const ResourceLimit all = *parse_resource_limit("R1:10"), one = *parse_resource_limit("R2:5:1");
  EXPECT_EQ(all.name, "R1");
  EXPECT_EQ(all.count, 10u);
  EXPECT_FALSE(all.device);
  EXPECT_EQ(one.device, std::optional(1));
  for (const char* text : {"", "R1", ":3", "R1:", "R1:x", "R1:-1", "R1:1:x", "R1:1:-1", "R1:1:2:3", "R1:1:"})
    EXPECT_FALSE(parse_resource_limit(text)) << text;
}

TEST(RateLimiter, AnInstanceWaitsUntilTheResourcesAreFree) {
  auto limiter = std::make_shared<RateLimiter>(Limits{{"R", 3, std::nullopt}});
  const Instances instances = add(limiter, {needs("R", 2), needs("R", 1), needs("R", 1)});
  instances[0]->acquire();
  instances[1]->acquire();  // 2 + 1
  std::jthread third = acquiring(*instances[2]);
  await_waiting(*limiter, 1);
  instances[1]->release();
  third.join();
  instances[1]->release();  // without effect
  EXPECT_EQ(limiter->waiting(), 0u);
}

TEST(RateLimiter, WithoutLimitsThereIsWhatTheMostDemandingInstanceNeeds) {
  auto limiter = std::make_shared<RateLimiter>(Limits());
  const Instances instances = add(limiter, {needs("R", 1, 0), needs("R", 1, 0), needs("R", 2, 0)});
  instances[0]->acquire();
  instances[1]->acquire();
  std::jthread large = acquiring(*instances[2]);
  await_waiting(*limiter, 1);
  instances[0]->release();
  EXPECT_EQ(limiter->waiting(), 1u);
  instances[1]->release();
  large.join();
}

TEST(RateLimiter, ResourcesOfADeviceAreCountedPerDevice) {
  auto limiter = std::make_shared<RateLimiter>(Limits());
  const Instances instances = add(limiter, {needs("R", 1, 0), needs("R", 1, 1)});
  instances[0]->acquire();
  instances[1]->acquire();
}

TEST(RateLimiter, WhatWouldNeverRunIsRefused) {
  auto limiter = std::make_shared<RateLimiter>(Limits{{"R", 2, std::nullopt}, {"R", 5, 1}, {"G", 7, 3}});
  const auto refusal = [&](const RateLimit& limit) {
    auto added = limiter->add(std::span(&limit, 1));
    return added ? "" : added.error().message;
  };
  EXPECT_NE(refusal(needs("R", 3, 0)).find("3 of resource 'R' (of device 0)"), std::string::npos);
  EXPECT_EQ(refusal(needs("R", 5, 1)), "");
  EXPECT_NE(refusal(needs("other", 1, 0)), "");
  EXPECT_EQ(refusal(needs("G", 7)), "") << "the device does not count for a global resource";
  const Instances global = add(limiter, {needs("G", 1)});
  EXPECT_NE(refusal(needs("G", 1, 3)).find("global"), std::string::npos);
}

TEST(RateLimiter, AnInstanceThatWaitsForMuchIsNotPassedByThoseThatNeedTheSame) {
  auto limiter = std::make_shared<RateLimiter>(Limits{{"R", 2, std::nullopt}, {"Q", 1, std::nullopt}});
  const Instances instances = add(limiter, {needs("R", 1), needs("R", 2), needs("R", 1), needs("Q", 1)});
  instances[0]->acquire();
  std::jthread large = acquiring(*instances[1]);
  await_waiting(*limiter, 1);
  std::jthread small = acquiring(*instances[2]);
  await_waiting(*limiter, 2);
  instances[3]->acquire();  // needs nothing that is awaited
  instances[0]->release();
  large.join();
  EXPECT_EQ(limiter->waiting(), 1u);
  instances[1]->release();
  small.join();
}

TEST(RateLimiter, PriorityTwoGetsHalfTheChances) {
  auto limiter = std::make_shared<RateLimiter>(Limits());
  const Instances instances = add(limiter, {needs("R", 1, 0, 1), needs("R", 1, 0, 2)});
  instances[1]->acquire();  // runs alone for a while, which is not held against it, nor for the other
  instances[1]->release();
  std::atomic<int> turns[2] = {0, 0};
  std::atomic<bool> stop = false;
  std::vector<std::jthread> workers;
  for (size_t i = 0; i < 2; ++i)
    workers.emplace_back([&, i] {
      while (!stop) {
        instances[i]->acquire();
        while (!stop && limiter->waiting() == 0) std::this_thread::yield();  // the other one waits
        if (++turns[i] + turns[1 - i] >= 300) stop = true;
        instances[i]->release(!stop);
      }
      instances[i]->give_back();
    });
  workers.clear();
  EXPECT_NEAR(turns[0], 200, 3);
  EXPECT_NEAR(turns[1], 100, 3);
}

TEST(RateLimiter, AStoppedInstanceDoesNotWait) {
  auto limiter = std::make_shared<RateLimiter>(Limits());
  const Instances instances = add(limiter, {needs("R", 1), needs("R", 1)});
  instances[0]->acquire();
  std::jthread waits = acquiring(*instances[1]);
  await_waiting(*limiter, 1);
  instances[1]->stop();
  waits.join();
  instances[1]->give_back();
  EXPECT_EQ(limiter->waiting(), 0u);
}

// Two models that share a resource, whose runs wait at gates.
class RateLimitedServer : public testing::Test {
 protected:
  void add_model(const std::string& name, const std::string& limiter) const {
    folder_.write(name + "/1/model.onnx", "");
    folder_.write(
        name + "/config.pbtxt",
        "max_batch_size: 4 dynamic_batching { } parameters { key: \"ridge_warmup\" value { string_value: \"off\" } } "
        "instance_group { kind: KIND_CPU rate_limiter { " +
            limiter + " } }");
  }
  std::unique_ptr<Server> start_server(bool limit, Limits limits = {}) {
    ServerOptions options;
    options.repositories = {folder_.path()};
    options.clock = &clock_;
    options.rate_limit = limit;
    options.resource_limits = std::move(limits);
    options.open = [this](const plan::Plan& plan) -> Result<std::unique_ptr<engine::Session>> {
      Gate& gate = plan.model.find("/b/") == std::string::npos ? a_ : b_;
      return std::unique_ptr<engine::Session>(
          std::make_unique<TestSession>(pair_signature(), [&gate](auto inputs, auto wanted, auto outputs) {
            gate.pass();
            return TestSession::echo(inputs, wanted, outputs);
          }));
    };
    return *start(std::move(options));
  }

  TestFolder folder_;
  FakeClock clock_;
  Gate a_, b_;
};

TEST_F(RateLimitedServer, AModelWaitsForTheResourceOfAnotherAndItsBatchGrowsMeanwhile) {
  add_model("a", "resources { name: \"R\" global: true count: 1 }");
  add_model("b", "resources { name: \"R\" global: true count: 1 } priority: 2");
  auto server = start_server(true);
  b_.open();
  auto first = infer(*server, pair_request("a", {1, 2}));
  a_.await(1);
  auto second = infer(*server, pair_request("b", {3, 4})), third = infer(*server, pair_request("b", {5, 6}));
  EXPECT_EQ(server->statistics("b", 1)->front().pending, 2u) << "they wait in the queue";
  a_.open();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_TRUE(third.get());
  EXPECT_EQ(server->statistics("b", 1)->front().execution_count, 1u);
}

TEST_F(RateLimitedServer, WithoutTheOptionNothingWaits) {
  add_model("a", "resources { name: \"R\" global: true count: 1 }");
  add_model("b", "resources { name: \"R\" global: true count: 1 }");
  auto server = start_server(false);
  auto first = infer(*server, pair_request("a", {1, 2})), second = infer(*server, pair_request("b", {1, 2}));
  a_.await(1);
  b_.await(1);
  a_.open();
  b_.open();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST_F(RateLimitedServer, ARequestWhoseClientLeavesWhileItWaitsIsDropped) {
  add_model("a", "resources { name: \"R\" count: 2 }");
  add_model("b", "resources { name: \"R\" count: 1 }");
  auto server = start_server(true);
  auto first = infer(*server, pair_request("a", {1, 2}));
  a_.await(1);
  std::stop_source client;
  InferRequest request = pair_request("b", {1, 2});
  request.cancelled = client.get_token();
  auto second = infer(*server, std::move(request));
  client.request_stop();
  server->drop_cancelled();
  EXPECT_EQ(second.get().error().code, Code::kCancelled);
  a_.open();
  EXPECT_TRUE(first.get());
  b_.open();
  EXPECT_TRUE(infer(*server, pair_request("b", {1, 2})).get());
}

TEST_F(RateLimitedServer, AModelThatNeedsMoreThanThereIsFailsToLoad) {
  add_model("a", "resources { name: \"R\" count: 2 }");
  add_model("b", "resources { name: \"R\" count: 1 }");
  auto server = start_server(true, {{"R", 1, std::nullopt}});
  EXPECT_FALSE(server->model_ready("a", 0));
  EXPECT_TRUE(server->model_ready("b", 0));
  const std::string reason = server->index(false).front().reason;
  EXPECT_NE(reason.find("2 of resource 'R'"), std::string::npos) << reason;
}

TEST_F(RateLimitedServer, AbortEndsTheWaitForResources) {
  add_model("a", "resources { name: \"R\" count: 1 }");
  add_model("b", "resources { name: \"R\" count: 1 }");
  auto server = start_server(true);
  auto first = infer(*server, pair_request("a", {1, 2}));
  a_.await(1);
  auto second = infer(*server, pair_request("b", {1, 2}));
  server->begin_drain();
  server->abort();
  EXPECT_EQ(second.get().error().code, Code::kUnavailable);
  a_.open();
  EXPECT_TRUE(first.get());
}

}  // namespace
}  // namespace ridge::serve
