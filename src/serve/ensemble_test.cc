// Ensembles in a server whose engines are functions.
#include "serve/ensemble.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "base/fake_clock.h"
#include "serve/test_region.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

const std::string kUnwarmed = "parameters { key: \"ridge_warmup\" value { string_value: \"off\" } } ";
const std::string kPair =
    "platform: \"ensemble\" max_batch_size: 4 input { name: \"x\" data_type: TYPE_FP32 dims: 2 } "
    "output { name: \"y\" data_type: TYPE_FP32 dims: 2 } ";

TestSession::Run each(std::function<float(float)> f) {
  return [f](std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs) {
    std::vector<float> values = floats_of(inputs[0].data);
    for (float& value : values) value = f(value);
    give(outputs[0], DataType::kFp32, inputs[0].shape, bytes_of(values));
    return Status();
  };
}

TestSession::Run sum_of_two() {
  return [](std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs) {
    std::vector<float> values = floats_of(inputs[0].data);
    const std::vector<float> more = floats_of(inputs[1].data);
    for (size_t i = 0; i < values.size(); ++i) values[i] += more[i];
    give(outputs[0], DataType::kFp32, inputs[0].shape, bytes_of(values));
    return Status();
  };
}

const engine::Signature kTwoInputs = {{{"a", DataType::kFp32, {-1, 2}}, {"b", DataType::kFp32, {-1, 2}}},
                                      {{"y", DataType::kFp32, {-1, 2}}}};

// One of ensemble_scheduling: `inputs` and the output "y" of the model, as tensors of the ensemble.
std::string step(const std::string& model, const std::map<std::string, std::string>& inputs,
                 const std::string& output) {
  std::string text = "step { model_name: \"" + model + "\" model_version: -1 ";
  for (const auto& [of_model, tensor] : inputs)
    text += "input_map { key: \"" + of_model + "\" value: \"" + tensor + "\" } ";
  return text + "output_map { key: \"y\" value: \"" + output + "\" } } ";
}

bool has_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class EnsembleTest : public testing::Test {
 protected:
  // Of a model x → y, or as `signature` has it.
  void add(const std::string& name, TestSession::Run run, const std::string& config = "max_batch_size: 4 ",
           const engine::Signature& signature = pair_signature()) {
    models_[name] = {signature, std::move(run)};
    folder_.write(name + "/1/model.onnx", "");
    folder_.write(name + "/config.pbtxt", config + kUnwarmed);
  }
  void add_ensemble(const std::string& name, const std::string& steps, const std::string& head = kPair) const {
    std::filesystem::create_directories(folder_.path() + "/" + name + "/1");
    folder_.write(name + "/config.pbtxt", head + "ensemble_scheduling { " + steps + "}");
  }
  // (x + 1) * 10
  void add_chain(const std::string& name = "e") {
    add("plus", each([](float x) { return x + 1; }));
    add("times", each([](float x) { return x * 10; }));
    add_ensemble(name, step("plus", {{"x", "x"}}, "mid") + step("times", {{"x", "mid"}}, "y"));
  }
  std::unique_ptr<Server> start_server(ControlMode control = ControlMode::kNone,
                                       const std::vector<std::string>& models = {}) {
    ServerOptions options;
    options.repositories = {folder_.path()};
    options.control = control;
    options.startup_models = models;
    options.clock = &clock_;
    options.open = [this](const plan::Plan& plan) -> Result<std::unique_ptr<engine::Session>> {
      const auto& [signature, run] =
          models_.at(std::filesystem::path(plan.model).parent_path().parent_path().filename().string());
      return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(signature, run));
    };
    return *start(std::move(options));
  }
  static std::string state_of(const Server& server, const std::string& model) {
    for (const IndexEntry& entry : server.index(false))
      if (entry.name == model) return std::string(model_state_name(entry.state)) + " " + entry.reason;
    return "absent";
  }
  static ModelStatistics statistics_of(const Server& server, const std::string& model) {
    return server.statistics(model, 1)->front();
  }
  static std::vector<float> values_of(const Result<InferResponse>& answer) {
    if (!answer) ADD_FAILURE() << answer.error().message;
    return answer ? floats_of(answer->outputs[0].data) : std::vector<float>();
  }

  TestFolder folder_;
  FakeClock clock_;
  std::map<std::string, std::pair<engine::Signature, TestSession::Run>> models_;
};

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
  EXPECT_FALSE(server->ready());
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
  ServerOptions options;
  options.repositories = {folder_.path()};
  options.clock = &clock_;
  options.response_cache_bytes = 1 << 20;
  options.open = [this](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(pair_signature(), models_.at("plus").second));
  };
  auto server = *start(std::move(options));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(values_of(infer(*server, pair_request("e", {1, 2})).get()), (std::vector<float>{1001, 1002}));
  EXPECT_EQ(statistics_of(*server, "plus").cache_hit.count, 1000u);
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
