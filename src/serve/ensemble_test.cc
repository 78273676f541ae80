#include "serve/ensemble.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "serve/test_ensemble.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

TEST_F(EnsembleTest, CountsItselfAndItsStepsAsTritonDoes) {
  Gate first, second;
  for (auto [name, gate] : {std::pair("plus", &first), std::pair("times", &second)})
    add(name, [gate](auto inputs, auto wanted, auto outputs) {
      gate->pass();
      return TestSession::echo(inputs, wanted, outputs);
    });
  add("bad", [](auto, auto, auto) { return Status(Error{Code::kFailed, "no"}); });
  add_ensemble("e", step("plus", {{"x", "x"}}, "mid") + step("times", {{"x", "mid"}}, "y"));
  add_ensemble("broken", step("bad", {{"x", "x"}}, "y"));
  auto server = start_server();
  auto answer = infer(*server, pair_request("e", {1, 2, 3, 4}));
  for (Gate* gate : {&first, &second}) {
    gate->await(1);
    clock_.advance(3ms);
    gate->open();
  }
  EXPECT_TRUE(answer.get());
  EXPECT_FALSE(infer(*server, pair_request("broken", {1, 2})).get());
  const ModelStatistics e = statistics_of(*server, "e"), plus = statistics_of(*server, "plus");
  EXPECT_EQ(e.success.count, 1u);
  EXPECT_EQ(e.success.ns, 6'000'000u);
  EXPECT_EQ(e.queue.count, 1u);
  EXPECT_EQ(e.compute_infer.count, 1u);
  EXPECT_EQ(e.compute_infer.ns, 6'000'000u);
  EXPECT_EQ(e.inference_count, 2u);
  EXPECT_EQ(e.execution_count, 1u);
  ASSERT_EQ(e.batches.size(), 1u);
  EXPECT_EQ(e.batches[0].batch_size, 2u);
  EXPECT_EQ(e.latency.counts.back(), 1u);
  EXPECT_EQ(plus.success.count, 1u);
  EXPECT_EQ(plus.success.ns, 3'000'000u);
  EXPECT_EQ(plus.compute_infer.ns, 3'000'000u);
  const ModelStatistics broken = statistics_of(*server, "broken");
  EXPECT_EQ(broken.fail.count, 1u);
  EXPECT_EQ(broken.backend_failed, 1u);
  EXPECT_EQ(broken.success.count, 0u);
}

TEST_F(EnsembleTest, IsReadyOnlyWhileItsModelsAre) {
  add_chain();
  auto server = start_server(ControlMode::kExplicit, {"*"});
  EXPECT_TRUE(server->ready());
  ASSERT_TRUE(server->unload("times", false));
  EXPECT_TRUE(server->ready()) << "what was unloaded need not be served, nor what needs it";
  EXPECT_FALSE(server->model_ready("e", 0));
  EXPECT_TRUE(has_text(state_of(*server, "e"), "UNAVAILABLE")) << state_of(*server, "e");
  EXPECT_TRUE(has_text(state_of(*server, "e"), "'times'")) << state_of(*server, "e");
  auto refused = infer(*server, pair_request("e", {1, 2})).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(server->metadata("e", 0).error().code, Code::kUnavailable);
  EXPECT_EQ(server->statistics("", 0)->size(), 1u);
  ASSERT_TRUE(server->load("times", {}));
  EXPECT_TRUE(server->ready());
  EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{20, 30}));
}

TEST_F(EnsembleTest, AModelThatIsReloadedDifferentlyMakesItUnready) {
  add_chain();
  auto server = start_server(ControlMode::kExplicit, {"*"});
  add("times", each([](float x) { return x; }), "max_batch_size: 2 ");
  ASSERT_TRUE(server->load("times", {}));
  EXPECT_FALSE(server->model_ready("e", 0));
  EXPECT_TRUE(has_text(state_of(*server, "e"), "max_batch_size is 2")) << state_of(*server, "e");
}

TEST_F(EnsembleTest, ALoadThatDoesNotFitItsModelsIsRefusedAndTheOldOneStays) {
  add_chain();
  auto server = start_server(ControlMode::kExplicit, {"*"});
  add_ensemble("e", step("plus", {{"q", "x"}}, "y"));
  const Status loaded = server->load("e", {});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(has_text(loaded.error().message, "'x' is missing in the input_map")) << loaded.error().message;
  EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{20, 30}));
  EXPECT_FALSE(server->load("e", {.config_json = R"({"platform": "ensemble"})", .files = {}}));
}

TEST_F(EnsembleTest, ALoadBringsItsModelsAndAnUnloadTakesThoseThatCameWithIt) {
  add_chain();
  add_ensemble("other", step("plus", {{"x", "x"}}, "y"));
  auto server = start_server(ControlMode::kExplicit);
  ASSERT_TRUE(server->load("e", {}));
  EXPECT_TRUE(server->model_ready("plus", 1));
  ASSERT_TRUE(server->load("other", {}));
  ASSERT_TRUE(server->unload("e", true));
  EXPECT_TRUE(server->model_ready("plus", 1)) << "another ensemble needs it";
  EXPECT_FALSE(server->model_ready("times", 1));
  ASSERT_TRUE(server->load("plus", {}));  // by name: it stays
  ASSERT_TRUE(server->unload("other", true));
  EXPECT_TRUE(server->model_ready("plus", 1));
}

TEST_F(EnsembleTest, AModelThatCannotBeLoadedFailsTheEnsembleWithItsName) {
  add_chain();
  folder_.write("times/config.pbtxt", "backend: \"python\"");
  auto server = start_server(ControlMode::kExplicit);
  const Status loaded = server->load("e", {});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(has_text(loaded.error().message, "step 1 (model 'times')")) << loaded.error().message;
}

TEST_F(EnsembleTest, EnsemblesMayBeStepsOfEnsembles) {
  add_chain("inner");
  add_ensemble("a_first", step("inner", {{"x", "x"}}, "m") + step("inner", {{"x", "m"}}, "y"));
  auto server = start_server();
  EXPECT_TRUE(server->ready()) << "loaded after what it needs";
  EXPECT_EQ(values_of(infer(*server, pair_request("a_first", {1, 2})).get()), (std::vector<float>{210, 310}));
  EXPECT_EQ(statistics_of(*server, "inner").success.count, 2u);
}

TEST_F(EnsembleTest, AnEnsembleWithTooManyRunsIsRefused) {
  add("plus", each([](float x) { return x + 1; }));
  std::string below = "plus";
  for (const std::string name : {"a2", "b4", "c8", "d16", "e32", "f64", "g128", "h256", "i512", "j1024", "k2048"}) {
    add_ensemble(name, step(below, {{"x", "x"}}, "m") + step(below, {{"x", "m"}}, "y"));
    below = name;
  }
  auto server = start_server();
  EXPECT_EQ(values_of(infer(*server, pair_request("i512", {1, 2})).get()), (std::vector<float>{513, 514}));
  EXPECT_TRUE(has_text(state_of(*server, "j1024"), "a request would run more than 1000 models"))
      << state_of(*server, "j1024");
  EXPECT_FALSE(server->model_ready("k2048", 0));
}

TEST_F(EnsembleTest, AnEnsembleThatContainsItselfIsRefused) {
  add_chain();
  add_ensemble("p", step("q", {{"x", "x"}}, "y"));
  auto server = start_server(ControlMode::kExplicit, {"plus"});
  add_ensemble("q", step("plus", {{"x", "x"}}, "y"));
  ASSERT_TRUE(server->load("p", {}));
  add_ensemble("q", step("p", {{"x", "x"}}, "y"));
  const Status loaded = server->load("q", {});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(has_text(loaded.error().message, "'q' → 'p' → 'q'")) << loaded.error().message;
  EXPECT_TRUE(infer(*server, pair_request("p", {1, 2})).get());
  add_ensemble("self", step("self", {{"x", "x"}}, "y"));
  EXPECT_TRUE(has_text(server->load("self", {}).error().message, "'self' → 'self'"));
}

const std::string kCached = kPair + "response_cache { enable: true } ";

TEST_F(EnsembleTest, EnsemblesThatNameEachOtherAreRefusedByNameUntilOneOfThemIsMended) {
  add("plus", each([](float x) { return x + 1; }));
  add_ensemble("left", step("right", {{"x", "x"}}, "y"));
  add_ensemble("right", step("left", {{"x", "x"}}, "y"));
  auto server = start_server(ControlMode::kExplicit, {"*"});
  EXPECT_TRUE(has_text(state_of(*server, "left"), "'left' → 'right' → 'left'")) << state_of(*server, "left");
  EXPECT_TRUE(has_text(state_of(*server, "right"), "'right' → 'left' → 'right'")) << state_of(*server, "right");
  EXPECT_TRUE(server->model_ready("plus", 0));
  add_ensemble("right", step("plus", {{"x", "x"}}, "y"));
  ASSERT_TRUE(server->load("left", {}));
  EXPECT_TRUE(server->ready());
}

TEST_F(EnsembleTest, AnEqualRequestIsAnsweredFromItsCacheUntilAModelIsAnotherOne) {
  std::atomic<int> runs = 0;
  std::atomic<float> factor = 10;
  add("plus", each([](float x) { return x + 1; }));
  add("times", each([&](float x) { return ++runs, x * factor; }));
  add_ensemble("inner", step("times", {{"x", "x"}}, "y"));
  add_ensemble("e", step("plus", {{"x", "x"}}, "mid") + step("inner", {{"x", "mid"}}, "y"), kCached);
  auto server = start_server(ControlMode::kExplicit, {"*"}, 1 << 20);
  for (const char* id : {"a", "b"}) {
    const Result<InferResponse> answer = infer(*server, pair_request("e", {1, 2}, id)).get();
    EXPECT_EQ(values_of(answer), (std::vector<float>{20, 30}));
    EXPECT_EQ(answer->id, id);
  }
  EXPECT_EQ(runs, 2) << "one for each value of the first request";
  EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 3})).get()), (std::vector<float>{20, 40}));
  const ModelStatistics statistics = statistics_of(*server, "e");
  EXPECT_EQ(statistics.cache_hit.count, 1u);
  EXPECT_EQ(statistics.cache_miss.count, 2u);
  EXPECT_EQ(statistics.success.count, 3u);
  EXPECT_EQ(statistics.execution_count, 2u);
  factor = 100;
  folder_.write("times/config.pbtxt", "max_batch_size: 4 " + kUnwarmed + "# another");
  ASSERT_TRUE(server->load("times", {}));
  EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{200, 300}));
}

TEST_F(EnsembleTest, FailuresAreNotKeptInItsCache) {
  std::atomic<bool> fails = true;
  add("m", [&](auto inputs, auto wanted, auto outputs) {
    return fails ? Status(Error{Code::kFailed, "no"}) : TestSession::echo(inputs, wanted, outputs);
  });
  add_ensemble("e", step("m", {{"x", "x"}}, "y"), kCached);
  auto server = start_server(ControlMode::kNone, {}, 1 << 20);
  EXPECT_FALSE(infer(*server, pair_request("e", {1, 2})).get());
  fails = false;
  EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{1, 2}));
}

TEST_F(EnsembleTest, ACacheOverModelsWithSequencesIsRefusedByName) {
  add("m", TestSession::echo, "max_batch_size: 4 sequence_batching { } ");
  add_ensemble("e", step("m", {{"x", "x"}}, "y"), kCached);
  auto server = start_server(ControlMode::kNone, {}, 1 << 20);
  EXPECT_TRUE(has_text(state_of(*server, "e"), "model 'm' has sequence_batching")) << state_of(*server, "e");
}

TEST_F(EnsembleTest, ReloadsOfItsModelsUnderTrafficFailNoRequest) {
  add_chain();
  auto server = start_server(ControlMode::kExplicit, {"*"});
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0, answered = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 2; ++i)
    clients.emplace_back([&] {
      while (!stop) {
        auto answer = infer(*server, pair_request("e", {1, 2})).get();
        (answer ? answered : failed)++;
      }
    });
  for (int i = 0; i < 20; ++i) {
    folder_.write("times/config.pbtxt", "max_batch_size: 4 " + kUnwarmed + "# " + std::to_string(i));
    ASSERT_TRUE(server->load("times", {}));
  }
  while (answered == 0) std::this_thread::yield();
  stop = true;
  clients.clear();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace ridge::serve
