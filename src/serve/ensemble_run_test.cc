#include "serve/ensemble_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "serve/test_ensemble.h"
#include "serve/test_region.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

TEST_F(EnsembleTest, AnswersWithWhatItsStepsMakeOfARequest) {
  add_chain();
  auto server = start_server();
  EXPECT_TRUE(server->ready());
  EXPECT_TRUE(server->model_ready("e", 1));
  auto answer = infer(*server, pair_request("e", {1, 2, 3, 4}, "seven")).get();
  EXPECT_EQ(values_of(answer), (std::vector<float>{20, 30, 40, 50}));
  EXPECT_EQ(answer->model, "e");
  EXPECT_EQ(answer->version, 1);
  EXPECT_EQ(answer->id, "seven");
  EXPECT_EQ(answer->outputs[0].name, "y");
  EXPECT_EQ(answer->outputs[0].shape, (Shape{2, 2}));
  auto metadata = server->metadata("e", 0);
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata->platform, "ensemble");
  EXPECT_EQ(metadata->inputs[0].shape, (Shape{-1, 2}));
  EXPECT_FALSE(infer(*server, pair_request("e", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})).get()) << "more rows than allowed";
}

TEST_F(EnsembleTest, AStepReadsWhatTheOneBeforeWroteWhereItIs) {
  const std::byte* written = nullptr;
  const std::byte* read = nullptr;
  const TestSession::Run plain = each([](float x) { return x; });
  add("first", [&](auto inputs, auto wanted, auto outputs) {
    Status ran = plain(inputs, wanted, outputs);
    written = outputs[0].data.data();
    return ran;
  });
  add("second", [&](auto inputs, auto wanted, auto outputs) {
    read = inputs[0].data.data();
    return plain(inputs, wanted, outputs);
  });
  add_ensemble("e", step("first", {{"x", "x"}}, "mid") + step("second", {{"x", "mid"}}, "y"));
  auto server = start_server();
  EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{1, 2}));
  EXPECT_NE(written, nullptr);
  EXPECT_EQ(written, read);
}

TEST_F(EnsembleTest, BranchesRunAtTheSameTimeAndJoin) {
  Gate gate;
  for (const char* name : {"left", "right"})
    add(name, [&gate, run = each([](float x) { return x * 2; })](auto inputs, auto wanted, auto outputs) {
      gate.pass();
      return run(inputs, wanted, outputs);
    });
  add("join", sum_of_two(), "max_batch_size: 4 ", kTwoInputs);
  add_ensemble("e", step("join", {{"a", "l"}, {"b", "r"}}, "y") + step("left", {{"x", "x"}}, "l") +
                        step("right", {{"x", "x"}}, "r"));
  auto server = start_server();
  auto answer = infer(*server, pair_request("e", {1, 2}));
  gate.await(2);  // both, before either has ended
  gate.open();
  EXPECT_EQ(values_of(answer.get()), (std::vector<float>{4, 8}));
}

TEST_F(EnsembleTest, OnlyStepsThatTheWantedOutputsNeedAreRun) {
  add_chain();
  add_ensemble("two", step("plus", {{"x", "x"}}, "y") + step("times", {{"x", "x"}}, "z"),
               kPair + "output { name: \"z\" data_type: TYPE_FP32 dims: 2 } ");
  auto server = start_server();
  InferRequest request = pair_request("two", {1, 2});
  request.outputs.push_back({"z"});
  EXPECT_EQ(values_of(infer(*server, std::move(request)).get()), (std::vector<float>{10, 20}));
  EXPECT_EQ(statistics_of(*server, "plus").success.count, 0u);
  EXPECT_EQ(statistics_of(*server, "times").success.count, 1u);
}

TEST_F(EnsembleTest, AFailedStepEndsTheRequestOnceAndIsNamed) {
  add("good", each([](float x) { return x; }));
  add("bad", [](auto, auto, auto) { return Status(Error{Code::kFailed, "no such luck"}); });
  add("join", sum_of_two(), "max_batch_size: 4 ", kTwoInputs);
  add_ensemble("e", step("good", {{"x", "x"}}, "g") + step("bad", {{"x", "x"}}, "b") +
                        step("join", {{"a", "g"}, {"b", "b"}}, "y"));
  auto server = start_server();
  std::atomic<int> ends = 0;
  std::promise<Error> error;
  server->infer(pair_request("e", {1, 2}), [&](const Result<InferResponse>& answer) {
    if (++ends == 1) error.set_value(answer ? Error{} : answer.error());
  });
  const Error why = error.get_future().get();
  EXPECT_EQ(why.code, Code::kFailed);
  EXPECT_TRUE(has_text(why.message, "ensemble 'e', step 1 (model 'bad')")) << why.message;
  EXPECT_TRUE(has_text(why.message, "no such luck"));
  server->drain();
  EXPECT_EQ(ends, 1);
}

TEST_F(EnsembleTest, AFailureTakesTheOtherBranchesOutOfTheirQueues) {
  Gate gate;
  add("slow", [&gate](auto inputs, auto wanted, auto outputs) {
    gate.pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  add("bad", [](auto, auto, auto) { return Status(Error{Code::kFailed, "no"}); });
  add("join", sum_of_two(), "max_batch_size: 4 ", kTwoInputs);
  add_ensemble("e", step("slow", {{"x", "x"}}, "s") + step("bad", {{"x", "x"}}, "b") +
                        step("join", {{"a", "s"}, {"b", "b"}}, "y"));
  auto server = start_server();
  auto running = infer(*server, pair_request("slow", {1, 2}));
  gate.await(1);
  auto failed = infer(*server, pair_request("e", {1, 2}));  // its step waits behind that
  EXPECT_EQ(failed.get().error().code, Code::kFailed);
  EXPECT_EQ(statistics_of(*server, "slow").cancelled, 1u);
  gate.open();
  EXPECT_TRUE(running.get());
}

TEST_F(EnsembleTest, AStepIsNotBegunForAClientThatHasLeft) {
  Gate gate;
  std::atomic<int> runs = 0;
  add("first", [&gate](auto inputs, auto wanted, auto outputs) {
    gate.pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  add("second", [&runs](auto inputs, auto wanted, auto outputs) {
    ++runs;
    return TestSession::echo(inputs, wanted, outputs);
  });
  add_ensemble("e", step("first", {{"x", "x"}}, "mid") + step("second", {{"x", "mid"}}, "y"));
  auto server = start_server();
  std::stop_source client;
  InferRequest left = pair_request("e", {1, 2});
  left.cancelled = client.get_token();
  auto answer = infer(*server, std::move(left));
  gate.await(1);
  client.request_stop();
  gate.open();
  EXPECT_EQ(answer.get().error().code, Code::kCancelled);
  server->drain();
  EXPECT_EQ(runs, 0);
}

TEST_F(EnsembleTest, ADeadlineThatPassesInOneStepEndsTheRequestBeforeTheNext) {
  Gate gate;
  add("first", [&gate](auto inputs, auto wanted, auto outputs) {
    gate.pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  add("second", each([](float x) { return x; }));
  add_ensemble("e", step("first", {{"x", "x"}}, "mid") + step("second", {{"x", "mid"}}, "y"));
  auto server = start_server();
  InferRequest request = pair_request("e", {1, 2});
  request.deadline = clock_.now() + 5ms;
  auto pending = infer(*server, std::move(request));
  gate.await(1);
  clock_.advance(10ms);
  gate.open();
  auto answer = pending.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kTimeout);
  EXPECT_TRUE(has_text(answer.error().message, "step 1 (model 'second')")) << answer.error().message;
  EXPECT_EQ(statistics_of(*server, "second").success.count, 0u);
}

TEST_F(EnsembleTest, ASequenceOfTheRequestIsThatOfItsSteps) {
  add("plain", each([](float x) { return x; }));
  add("stateful", each([](float x) { return x + 5; }), "max_batch_size: 4 sequence_batching { } ");
  add_ensemble("e", step("plain", {{"x", "x"}}, "mid") + step("stateful", {{"x", "mid"}}, "y"));
  auto server = start_server();
  EXPECT_TRUE(server->metadata("e", 0)->sequences);
  InferRequest request = pair_request("e", {1, 2});
  auto without = infer(*server, std::move(request)).get();
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::kInvalid);
  for (const bool start : {true, false}) {
    InferRequest next = pair_request("e", {1, 2});
    next.sequence = {uint64_t{7}, start, !start};
    EXPECT_EQ(values_of(infer(*server, std::move(next)).get()), (std::vector<float>{6, 7}));
  }
}

TEST_F(EnsembleTest, TensorsMayBeInSharedMemory) {
  add_chain();
  add_ensemble("m", step("plus", {{"x", "x"}}, "mid") + step("times", {{"x", "mid"}}, "y"));
  auto server = start_server();
  const TestObject object(64);
  object.write({1, 2});
  ASSERT_TRUE(server->register_region(object.as("r")));
  InferRequest request = region_pair_request("r", 1);
  request.outputs.push_back({"y", 0, SharedMemoryView{"r", 32, 8}});
  auto answer = infer(*server, std::move(request)).get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->outputs[0].in_region);
  EXPECT_EQ(object.read(2, 32), (std::vector<float>{20, 30}));
  InferRequest small = region_pair_request("r", 1);
  small.outputs.push_back({"y", 0, SharedMemoryView{"r", 32, 4}});
  EXPECT_EQ(infer(*server, std::move(small)).get().error().code, Code::kInvalid);
}

TEST_F(EnsembleTest, ClassesHaveTheLabelsOfTheModelThatGivesThem) {
  add("scores", each([](float x) { return x; }),
      "max_batch_size: 4 input { name: \"x\" data_type: TYPE_FP32 dims: 2 } "
      "output { name: \"y\" data_type: TYPE_FP32 dims: 2 label_filename: \"labels.txt\" } ");
  folder_.write("scores/labels.txt", "cat\ndog\n");
  add_ensemble("inner", step("scores", {{"x", "x"}}, "y"));
  add_ensemble("e", step("inner", {{"x", "x"}}, "y"));
  auto server = start_server();
  InferRequest request = pair_request("e", {1, 4, 3, 2});
  request.outputs.push_back({"y", 1});
  auto answer = infer(*server, std::move(request)).get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->outputs[0].shape, (Shape{2, 1}));
  const auto bytes = answer->outputs[0].data;
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_TRUE(has_text(text, "4.000000:1:dog")) << text;
  EXPECT_TRUE(has_text(text, "3.000000:0:cat")) << text;
}

TEST_F(EnsembleTest, ModelsWithAndWithoutBatchesPassABatchOfOne) {
  add("whole", each([](float x) { return x * 3; }), "max_batch_size: 0 ",
      {{{"x", DataType::kFp32, {2}}}, {{"y", DataType::kFp32, {2}}}});
  add("plus", each([](float x) { return x + 1; }));
  add_ensemble("e",
               step("plus", {{"x", "x"}}, "m") + step("whole", {{"x", "m"}}, "w") + step("plus", {{"x", "w"}}, "y"));
  auto server = start_server();
  ASSERT_TRUE(server->model_ready("e", 0)) << state_of(*server, "e");
  auto answer = infer(*server, pair_request("e", {1, 2})).get();
  EXPECT_EQ(values_of(answer), (std::vector<float>{7, 10}));
  EXPECT_EQ(answer->outputs[0].shape, (Shape{1, 2}));
  EXPECT_EQ(infer(*server, pair_request("e", {1, 2, 3, 4})).get().error().code, Code::kInvalid);
}

TEST_F(EnsembleTest, DrainAnswersWhatWasAcceptedThroughAllSteps) {
  Gate gate;
  add("first", [&gate](auto inputs, auto wanted, auto outputs) {
    gate.pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  add_chain("inner");
  add_ensemble("e", step("first", {{"x", "x"}}, "mid") + step("inner", {{"x", "mid"}}, "y"));
  auto server = start_server();
  auto accepted = infer(*server, pair_request("e", {1, 2}));
  gate.await(1);
  std::jthread draining([&] { server->drain(); });
  while (!server->draining()) std::this_thread::yield();
  while (server->index(true).size() > 0) std::this_thread::yield();  // nothing is found in the table any more
  gate.open();
  EXPECT_EQ(values_of(accepted.get()), (std::vector<float>{20, 30}));
}

TEST_F(EnsembleTest, AfterAnAbortNoFurtherStepBegins) {
  Gate gate;
  std::atomic<int> runs = 0;
  add("first", [&gate](auto inputs, auto wanted, auto outputs) {
    gate.pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  add("second", [&runs](auto inputs, auto wanted, auto outputs) {
    ++runs;
    return TestSession::echo(inputs, wanted, outputs);
  });
  add_ensemble("e", step("first", {{"x", "x"}}, "mid") + step("second", {{"x", "mid"}}, "y"));
  auto server = start_server();
  auto accepted = infer(*server, pair_request("e", {1, 2}));
  gate.await(1);
  server->begin_drain();
  server->abort();
  gate.open();
  EXPECT_EQ(accepted.get().error().code, Code::kUnavailable);
  EXPECT_EQ(runs, 0);
}

TEST_F(EnsembleTest, ManyStepsThatEndAtOnceNeedNoDeepStack) {
  add("plus", each([](float x) { return x + 1; }), "max_batch_size: 4 response_cache { enable: true } ");
  std::string steps;
  for (int i = 0; i < 1000; ++i)
    steps +=
        step("plus", {{"x", i == 0 ? "x" : "t" + std::to_string(i)}}, i == 999 ? "y" : "t" + std::to_string(i + 1));
  add_ensemble("e", steps);
  auto server = start_server(ControlMode::kNone, {}, 1 << 20);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{1001, 1002}));
  EXPECT_EQ(statistics_of(*server, "plus").cache_hit.count, 1000u);
}

}  // namespace
}  // namespace ridge::serve
