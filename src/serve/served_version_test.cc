#include "serve/served_version.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fake_clock.h"
#include "base/mutex.h"
#include "serve/round.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

class ServedVersionTest : public testing::Test {
 protected:
  ServedVersionTest() {
    settings_.name = "m";
    settings_.version = 1;
    settings_.max_batch_size = 4;
    settings_.model_inputs = 1;
    settings_.inputs = {{"x", DataType::kFp32, {2}, {}, false, 0, {}, {}}};
    settings_.outputs = {{"y", DataType::kFp32, {2}, {}, false, 0, {}, Shape{2}}};
    settings_.fixed_input_shapes = true;
    settings_.queue.batch = {true, 4, {}, 0ns};
    settings_.queue.levels = {{}};
  }
  // Starts a version with `instances` sessions that do `run`.
  std::shared_ptr<ServedVersion> start(TestSession::Run run = TestSession::echo, int instances = 1) {
    LoadedModel model;
    settings_.instances = instances;
    model.settings = settings_;
    model.config = std::make_shared<const Json>();
    model.bounded_runs = bounded_runs_;
    for (int i = 0; i < instances; ++i) model.sessions.push_back(std::make_unique<TestSession>(pair_signature(), run));
    auto version = std::make_shared<ServedVersion>(std::move(model), timer_, clock_, nullptr, RunLimit{}, cache_);
    version->start();
    return version;
  }
  // Its runs wait at the gate.
  std::shared_ptr<ServedVersion> start_gated(const std::shared_ptr<Gate>& gate, int instances = 1) {
    return start(
        [gate](auto inputs, auto wanted, auto outputs) {
          gate->pass();
          return TestSession::echo(inputs, wanted, outputs);
        },
        instances);
  }
  static std::future<Result<InferResponse>> ask(ServedVersion& version, std::vector<float> values,
                                                std::optional<Nanoseconds> timeout = {}) {
    InferRequest request = pair_request("m", std::move(values));
    request.timeout = timeout;
    return send(version, std::move(request));
  }
  static std::future<Result<InferResponse>> send(ServedVersion& version, InferRequest request) {
    auto promise = std::make_shared<std::promise<Result<InferResponse>>>();
    auto answer = promise->get_future();
    version.infer(std::move(request),
                  [promise](Result<InferResponse> response) { promise->set_value(std::move(response)); });
    return answer;
  }

  FakeClock clock_;
  const TimePoint begin_ = clock_.now();
  DeadlineTimer timer_{clock_};
  std::shared_ptr<ResponseCache> cache_ = std::make_shared<ResponseCache>(1 << 20);
  ModelSettings settings_;
  bool bounded_runs_ = false;
};

// The threads on which requests that were brought in rounds of two ran, after a first one that was measured.
std::vector<std::thread::id> threads_of_rounds(ServedVersion& version, FakeClock& clock,
                                               std::vector<std::thread::id>& ran) {
  Round round;
  std::vector<std::future<Result<InferResponse>>> answers;
  auto bring = [&] {
    InferRequest request = pair_request("m", {1, 2});
    request.round = &round;
    auto promise = std::make_shared<std::promise<Result<InferResponse>>>();
    answers.push_back(promise->get_future());
    version.infer(std::move(request),
                  [promise](Result<InferResponse> answer) { promise->set_value(std::move(answer)); });
  };
  bring();
  round.end();
  EXPECT_TRUE(answers[0].get());
  clock.await(TimePoint::max(), 2);  // the worker sleeps, as the timer does
  ran.clear();
  bring();
  bring();
  EXPECT_TRUE(ran.empty()) << "they wait for the end of the round";
  round.end();
  for (size_t i = 1; i < answers.size(); ++i) EXPECT_TRUE(answers[i].get());
  return ran;
}

TEST_F(ServedVersionTest, ShortRunsAreDoneByTheThreadThatBroughtTheRequests) {
  std::vector<std::thread::id> ran;
  auto note = [&ran](auto inputs, auto wanted, auto outputs) {
    ran.push_back(std::this_thread::get_id());
    return TestSession::echo(inputs, wanted, outputs);
  };
  bounded_runs_ = true;
  auto bounded = start(note);
  EXPECT_EQ(threads_of_rounds(*bounded, clock_, ran), std::vector{std::this_thread::get_id()}) << "one batch";
  EXPECT_EQ(bounded->statistics().execution_count, 2u);
  bounded.reset();
  bounded_runs_ = false;
  auto open = start(note);
  const std::vector<std::thread::id> threads = threads_of_rounds(*open, clock_, ran);
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_NE(threads[0], std::this_thread::get_id()) << "how long a run takes may depend on its values";
}

TEST_F(ServedVersionTest, RequestsThatWaitTogetherRunTogether) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  auto first = ask(*version, {1, 2});
  gate->await(1);
  std::vector<std::future<Result<InferResponse>>> others;
  for (int i = 0; i < 3; ++i) others.push_back(ask(*version, {static_cast<float>(i), 0}));
  EXPECT_EQ(version->statistics().pending, 3u);
  gate->open();
  ASSERT_TRUE(first.get());
  for (int i = 0; i < 3; ++i) {
    auto answer = others[static_cast<size_t>(i)].get();
    ASSERT_TRUE(answer);
    EXPECT_EQ(floats_of(answer->outputs[0].data), (std::vector<float>{static_cast<float>(i), 0}));
  }
  ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.execution_count, 2u);
  EXPECT_EQ(statistics.inference_count, 4u);
  EXPECT_EQ(statistics.success.count, 4u);
  EXPECT_EQ(statistics.pending, 0u);
}

TEST_F(ServedVersionTest, WritesTheStagesOfARequestThatAsksForThem) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  InferRequest request = pair_request("m", {1, 2});
  const auto stages = std::make_shared<StageTimes>();
  request.stages = stages;
  const TimePoint now = clock_.now();
  auto answer = send(*version, std::move(request));
  gate->await(1);
  clock_.advance(3ms);
  gate->open();
  ASSERT_TRUE(answer.get());
  EXPECT_EQ(stages->queued, now);
  EXPECT_EQ(stages->inputs_ready, now);
  EXPECT_EQ(stages->computed, now + 3ms);
  EXPECT_EQ(stages->outputs_ready, now + 3ms);
  EXPECT_EQ(stages->version, 1);
  EXPECT_EQ(stages->batch_rows, 1);
  EXPECT_EQ(stages->batch_requests, 1);
}

TEST_F(ServedVersionTest, ARequestThatIsCancelledInTheQueueIsNotRun) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  std::stop_source client, other_client;
  auto ask_for = [&](const std::stop_source& asking) {
    InferRequest request = pair_request("m", {1, 2});
    request.cancelled = asking.get_token();
    return send(*version, std::move(request));
  };
  auto running = ask_for(client);
  gate->await(1);
  auto waiting = ask_for(client), other = ask_for(other_client);
  client.request_stop();
  version->drop_cancelled();
  EXPECT_EQ(waiting.get().error().code, Code::kCancelled);
  EXPECT_EQ(version->statistics().pending, 1u);
  gate->open();
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(other.get());
  const ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.cancelled, 1u);
  EXPECT_EQ(statistics.fail.count, 1u);
  EXPECT_EQ(statistics.inference_count, 2u);
}

TEST_F(ServedVersionTest, AClientThatLeftWhileItsRequestWaitedCostsNoRun) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  auto running = ask(*version, {1, 2});
  gate->await(1);
  std::stop_source client;
  InferRequest request = pair_request("m", {1, 2});
  request.cancelled = client.get_token();
  auto waiting = send(*version, std::move(request));
  client.request_stop();  // and no call of drop_cancelled()
  gate->open();
  EXPECT_TRUE(running.get());
  EXPECT_EQ(waiting.get().error().code, Code::kCancelled);
  EXPECT_EQ(version->statistics().execution_count, 1u);
  EXPECT_EQ(version->statistics().cancelled, 1u);
}

TEST_F(ServedVersionTest, AClientsDeadlineIsKeptInTheQueueThoughAllWorkersAreBusy) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  auto running = ask(*version, {1, 2});
  gate->await(1);
  InferRequest request = pair_request("m", {1, 2});
  request.deadline = begin_ + 5ms;
  auto waiting = send(*version, std::move(request));
  clock_.await(begin_ + 5ms);
  clock_.advance(5ms);
  EXPECT_EQ(waiting.get().error().code, Code::kTimeout);
  EXPECT_EQ(version->statistics().cancelled, 1u);
  gate->open();
  EXPECT_TRUE(running.get());
}

TEST_F(ServedVersionTest, AnEngineFailureAnswersEveryRequestOfItsBatchOnly) {
  std::atomic<int> runs{0};
  auto version = start([&runs](auto inputs, auto wanted, auto outputs) {
    if (++runs == 1) return Status(Error{Code::kFailed, "broken"});
    return TestSession::echo(inputs, wanted, outputs);
  });
  auto failed = ask(*version, {1, 2}).get();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kFailed);
  EXPECT_TRUE(ask(*version, {1, 2}).get());
  ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.fail.count, 1u);
  EXPECT_EQ(statistics.backend_failed, 1u);
  EXPECT_EQ(statistics.success.count, 1u);
}

TEST_F(ServedVersionTest, ARequestThatMakesItsBatchFailFailsAlone) {
  auto gate = std::make_shared<Gate>();
  auto version = start([gate](auto inputs, auto wanted, auto outputs) {
    gate->pass();
    for (const float value : floats_of(inputs[0].data))
      if (value == 99) return Status(Error{Code::kFailed, "99 is out of range"});
    return TestSession::echo(inputs, wanted, outputs);
  });
  auto first = ask(*version, {1, 2});
  gate->await(1);
  std::vector<std::future<Result<InferResponse>>> others;
  for (const float value : {3, 99, 5}) others.push_back(ask(*version, {value, 0}));
  gate->open();
  ASSERT_TRUE(first.get());
  EXPECT_EQ(floats_of(others[0].get()->outputs[0].data), (std::vector<float>{3, 0}));
  EXPECT_EQ(others[1].get().error().code, Code::kFailed);
  EXPECT_EQ(floats_of(others[2].get()->outputs[0].data), (std::vector<float>{5, 0}));
  const ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.success.count, 3u);
  EXPECT_EQ(statistics.backend_failed, 1u);
  EXPECT_EQ(statistics.inference_count, 3u);
}

TEST_F(ServedVersionTest, AnInvalidRequestIsAnsweredAtOnceAndNotCounted) {
  auto version = start();
  auto refused = ask(*version, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ASSERT_EQ(refused.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(refused.get().error().code, Code::kInvalid);
  EXPECT_EQ(version->statistics().fail.count, 0u);
}

TEST_F(ServedVersionTest, AFullQueueRefusesAtOnce) {
  settings_.queue.levels[0].max_size = 1;
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  auto running = ask(*version, {1, 2});
  gate->await(1);
  auto waiting = ask(*version, {1, 2});
  auto refused = ask(*version, {1, 2});
  ASSERT_EQ(refused.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(refused.get().error().code, Code::kUnavailable);
  gate->open();
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(version->statistics().rejected, 1u);
  EXPECT_EQ(version->statistics().queue_full, 1u);
}

TEST_F(ServedVersionTest, ADeadlineThatWillNotBeMetIsRefusedAtOnce) {
  auto gate = std::make_shared<Gate>();
  auto version = start([&](auto inputs, auto wanted, auto outputs) {
    clock_.sleep_for(10ms);
    if (floats_of(inputs[0].data)[0] == 2) gate->pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  auto measured = ask(*version, {1, 0});
  clock_.await(begin_ + 10ms);
  clock_.advance(10ms);
  ASSERT_TRUE(measured.get());
  clock_.await(TimePoint::max(), 2);  // worker and timer sleep again
  auto running = ask(*version, {2, 0});
  clock_.await(begin_ + 20ms);
  InferRequest request = pair_request("m", {1, 2});
  request.deadline = clock_.now() + 15ms;
  auto refused = send(*version, std::move(request));
  ASSERT_EQ(refused.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(refused.get().error().code, Code::kUnavailable);
  EXPECT_EQ(version->statistics().rejected, 1u);
  EXPECT_EQ(version->statistics().predicted_late, 1u);
  clock_.advance(10ms);
  gate->open();
  EXPECT_TRUE(running.get());
}

TEST_F(ServedVersionTest, AnEqualRequestIsAnsweredFromTheCacheUntilTheVersionIsGone) {
  settings_.response_cache = true;
  auto version = start();
  const auto first = ask(*version, {1, 2}).get();
  InferRequest request = pair_request("m", {1, 2}, "again");
  auto second = send(*version, std::move(request));
  ASSERT_EQ(second.wait_for(0s), std::future_status::ready);
  const auto answer = second.get();
  ASSERT_TRUE(first);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, "again");
  EXPECT_EQ(answer->model, "m");
  EXPECT_EQ(answer->version, 1);
  EXPECT_EQ(answer->outputs[0].name, "y");
  EXPECT_EQ(answer->outputs[0].shape, (Shape{1, 2}));
  EXPECT_EQ(floats_of(answer->outputs[0].data), (std::vector<float>{1, 2}));
  ASSERT_TRUE(ask(*version, {3, 4}).get());
  const ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.cache_hit.count, 1u);
  EXPECT_EQ(statistics.cache_miss.count, 2u);
  EXPECT_EQ(statistics.success.count, 3u);
  EXPECT_EQ(statistics.queue.count, 3u);
  EXPECT_EQ(statistics.execution_count, 2u);
  EXPECT_EQ(statistics.inference_count, 2u);
  auto reloaded = start();
  ASSERT_TRUE(ask(*reloaded, {1, 2}).get());
  EXPECT_EQ(reloaded->statistics().cache_hit.count, 0u);
  version.reset();
  reloaded.reset();
  EXPECT_EQ(cache_->bytes(), 0u);
}

TEST_F(ServedVersionTest, WithoutTheConfigurationsWordNothingIsCachedNorAreFailures) {
  auto version = start();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ask(*version, {1, 2}).get());
  }
  EXPECT_EQ(version->statistics().execution_count, 2u);
  EXPECT_EQ(version->statistics().cache_miss.count, 0u);
  settings_.response_cache = true;
  auto failing = start([](auto, auto, auto) { return Status(Error{Code::kFailed, "broken"}); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(ask(*failing, {1, 2}).get());
  }
  EXPECT_EQ(failing->statistics().cache_miss.count, 2u);
  EXPECT_EQ(cache_->bytes(), 0u);
}

TEST_F(ServedVersionTest, ATimeoutInTheQueueIsEnforcedWhenItPassesThoughAllWorkersAreBusy) {
  settings_.queue.levels[0].allow_timeout_override = true;
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  auto running = ask(*version, {1, 2});
  gate->await(1);
  auto impatient = ask(*version, {1, 2}, 20ms);
  auto patient = ask(*version, {1, 2});
  clock_.await(begin_ + 20ms);
  clock_.advance(20ms);
  auto answer = impatient.get();  // the worker is still held
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_NE(answer.error().message.find("timeout expired"), std::string::npos);
  gate->open();
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(patient.get());
  EXPECT_EQ(version->statistics().rejected, 1u);
  EXPECT_EQ(version->statistics().queue_timeout, 1u);
}

TEST_F(ServedVersionTest, TheTimeOfARequestIsSplitIntoQueueAndStages) {
  auto version = start([this](auto inputs, auto wanted, auto outputs) {
    clock_.sleep_for(3ms);
    return TestSession::echo(inputs, wanted, outputs);
  });
  auto first = ask(*version, {1, 2});
  clock_.await(begin_ + 3ms);  // the engine runs
  clock_.advance(1ms);
  auto second = ask(*version, {1, 2});
  clock_.advance(2ms);
  EXPECT_TRUE(first.get());
  clock_.await(begin_ + 6ms);
  clock_.advance(3ms);
  EXPECT_TRUE(second.get());
  const ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.queue.ns, 2'000'000u) << "the second waited for the first";
  EXPECT_EQ(statistics.compute_infer.ns, 6'000'000u);
  EXPECT_EQ(statistics.compute_input.ns + statistics.compute_output.ns, 0u);
  EXPECT_EQ(statistics.success.ns, 8'000'000u);
  EXPECT_EQ(statistics.latency.sum_s, 0.008);
}

TEST_F(ServedVersionTest, AnswersKeepTheirOrderWhereTheConfigurationAsksForIt) {
  settings_.preserve_ordering = true;
  settings_.queue.batch.merge = false;
  auto gate = std::make_shared<Gate>();
  auto version = start(
      [gate](auto inputs, auto wanted, auto outputs) {
        if (floats_of(inputs[0].data)[0] == 0) gate->pass();  // the first request is slow
        return TestSession::echo(inputs, wanted, outputs);
      },
      2);
  Mutex mutex;
  std::vector<float> order;
  std::promise<void> all;
  for (int i = 0; i < 20; ++i) {
    version->infer(pair_request("m", {static_cast<float>(i), 0}), [&](Result<InferResponse> answer) {
      MutexLock lock(mutex);
      order.push_back(answer ? floats_of(answer->outputs[0].data)[0] : -1);
      if (order.size() == 20) all.set_value();
    });
    if (i == 0) gate->await(1);
  }
  gate->open();
  all.get_future().wait();
  MutexLock lock(mutex);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(ServedVersionTest, InstancesRunAtTheSameTime) {
  settings_.queue.batch.merge = false;
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate, 2);
  auto a = ask(*version, {1, 2});
  auto b = ask(*version, {3, 4});
  gate->await(2);  // both are inside
  gate->open();
  EXPECT_TRUE(a.get());
  EXPECT_TRUE(b.get());
}

TEST_F(ServedVersionTest, TheBodyIsReleasedWhenItsRequestIsAnswered) {
  auto version = start();
  InferRequest request = pair_request("m", {1, 2});
  std::weak_ptr<const void> body = request.body;
  std::promise<void> answered;
  version->infer(std::move(request), [&](Result<InferResponse>) { answered.set_value(); });
  answered.get_future().wait();
  version->close();
  version->join();
  EXPECT_TRUE(body.expired());
}

TEST_F(ServedVersionTest, ManyClientsGetTheirOwnAnswers) {
  auto version = start(TestSession::echo, 2);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> clients;
    for (int c = 0; c < 4; ++c)
      clients.emplace_back([&, c] {
        for (int i = 0; i < 500; ++i) {
          std::vector<float> values(static_cast<size_t>(2 * (1 + i % 3)), static_cast<float>(c * 1000 + i));
          auto answer = ask(*version, values).get();
          if (!answer || floats_of(answer->outputs[0].data) != values) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  ModelStatistics statistics = version->statistics();
  EXPECT_EQ(statistics.success.count, 2000u);
  uint64_t rows = 0;
  for (const BatchStatistic& batch : statistics.batches) rows += batch.batch_size * batch.compute_infer.count;
  EXPECT_EQ(rows, statistics.inference_count);
}

class SequenceVersionTest : public ServedVersionTest {
 protected:
  SequenceVersionTest() {
    settings_.sequences.emplace();
    settings_.sequences->max_idle = 50ms;
  }
  static std::future<Result<InferResponse>> ask(ServedVersion& version, SequencePart part,
                                                std::stop_token cancelled = {}) {
    InferRequest request = pair_request("m", {1, 2});
    request.sequence = std::move(part);
    request.cancelled = std::move(cancelled);
    return send(version, std::move(request));
  }
};

TEST_F(SequenceVersionTest, RunsTheInstancesOfSequencesBesideEachOther) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate, 2);
  auto a = ask(*version, {uint64_t{1}, true}), b = ask(*version, {uint64_t{2}, true});
  gate->await(2);
  gate->open();
  EXPECT_TRUE(a.get());
  EXPECT_TRUE(b.get());
}

TEST_F(SequenceVersionTest, ClosedItAnswersAllThatWait) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  std::vector<std::future<Result<InferResponse>>> answers;
  answers.push_back(ask(*version, {uint64_t{1}, true}));
  gate->await(1);
  for (int i = 0; i < 2; ++i) answers.push_back(ask(*version, {uint64_t{1}}));
  answers.push_back(ask(*version, {uint64_t{2}, true}));
  EXPECT_EQ(version->statistics().pending, 3u);
  version->close();
  EXPECT_EQ(ask(*version, {uint64_t{1}}).get().error().code, Code::kUnavailable);
  gate->open();
  version->join();
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
}

TEST_F(SequenceVersionTest, AClientThatLeavesEndsItsSequence) {
  auto gate = std::make_shared<Gate>();
  auto version = start_gated(gate);
  std::stop_source leaves;
  auto first = ask(*version, {uint64_t{1}, true});
  gate->await(1);
  auto left = ask(*version, {uint64_t{1}}, leaves.get_token()), behind = ask(*version, {uint64_t{1}});
  leaves.request_stop();
  version->drop_cancelled();
  EXPECT_EQ(left.get().error().code, Code::kCancelled);
  EXPECT_EQ(behind.get().error().code, Code::kInvalid);
  gate->open();
  EXPECT_TRUE(first.get());
  EXPECT_EQ(ask(*version, {uint64_t{1}}).get().error().code, Code::kInvalid);
  EXPECT_TRUE(ask(*version, {uint64_t{1}, true}).get());
  EXPECT_EQ(version->statistics().cancelled, 1u);
}

TEST_F(SequenceVersionTest, AnIdleSequenceIsEndedByTheTimer) {
  auto version = start();
  EXPECT_TRUE(ask(*version, {uint64_t{1}, true}).get());
  auto next = ask(*version, {uint64_t{2}, true});  // there is one slot
  clock_.advance(50ms);
  EXPECT_TRUE(next.get());
  EXPECT_EQ(ask(*version, {uint64_t{1}}).get().error().code, Code::kInvalid);
}

TEST_F(SequenceVersionTest, SequencesOfThePreviousVersionGoOnThereUntilTheyEnd) {
  settings_.sequences->max_idle = 1h;
  auto old = start(), fresh = std::shared_ptr<ServedVersion>();
  EXPECT_TRUE(ask(*old, {uint64_t{1}, true}).get());
  settings_.version = 2;
  fresh = start();
  std::weak_ptr<ServedVersion> watched = old;
  fresh->follow(std::move(old));
  EXPECT_EQ(ask(*fresh, {uint64_t{1}}).get()->version, 1);
  EXPECT_EQ(ask(*fresh, {uint64_t{2}, true}).get()->version, 2);
  fresh->expire(clock_.now());
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(ask(*fresh, {uint64_t{1}, false, true}).get()->version, 1);
  fresh->expire(clock_.now());
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(ask(*fresh, {uint64_t{1}}).get().error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::serve
