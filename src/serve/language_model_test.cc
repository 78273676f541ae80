#include "serve/language_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/fake_clock.h"
#include "serve/test_language_model.h"

namespace ridge::serve {
namespace {

using generate::Finish;
using std::chrono::milliseconds;

class LanguageModelTest : public LanguageServerTest {
 protected:
  static TextRequest endless_request(const std::string& prompt) {
    TextRequest request = text_request(prompt, 50'000);
    request.ignore_eos = true;
    return request;
  }
};

TEST_F(LanguageModelTest, AnswersWithTheModelsTokensAsText) {
  add_model("m");
  const auto server = started(options());
  EXPECT_TRUE(server->ready());
  const std::string prompt = endless_prompt("Hello", 40);
  const auto sink = answer(*server, text_request(prompt, 40));
  EXPECT_EQ(sink->text(), expected_text(prompt, 40));
  EXPECT_EQ(sink->last().finish, Finish::kLength);
  EXPECT_EQ(sink->begins(), 1);
  EXPECT_EQ(sink->usage().prompt_tokens, static_cast<int64_t>(prompt.size()));
  EXPECT_EQ(sink->usage().completion_tokens, 40);
  EXPECT_GT(sink->usage().first_token_seconds, 0);
  EXPECT_GE(sink->usage().total_seconds, sink->usage().first_token_seconds);
  EXPECT_EQ(sink->usage().limit_share(), 0) << "the limits are not known";
  EXPECT_FALSE(text_model(*server)->figures().bound_known);
}

// 64 · (new tokens) + past tokens [µs]; the prompt of 5 tokens, then 3 that follow it.
TEST_F(LanguageModelTest, SetsItsStepsBesideTheLimitsOfTheMachine) {
  add_model("m", {{"step_ms", 1}}, parameter("ridge_speculation", "false"));
  ServerOptions known = options();
  known.step_bound = [](const engine::DecoderPlan& plan, const engine::DecoderInfo&) -> StepBound {
    EXPECT_EQ(plan.engine, "fake");
    return [](std::span<const engine::StepSequence> sequences) {
      double us = 0;
      for (const engine::StepSequence& s : sequences)
        us += 64.0 * static_cast<double>(s.tokens.size()) + static_cast<double>(s.past);
      return 1e-6 * us;
    };
  };
  const auto server = started(known);
  TextRequest request = text_request("Hello", 4);
  request.ignore_eos = true;
  const auto sink = answer(*server, request);
  const double expected = 1e-6 * (64 * (5 + 1 + 1 + 1) + 5 + 6 + 7);
  EXPECT_NEAR(sink->usage().bound_seconds, expected, 1e-12);
  EXPECT_GE(sink->usage().step_seconds, 4e-3);
  EXPECT_NEAR(sink->usage().limit_share(), expected / sink->usage().step_seconds, 1e-12);
  const TextFigures figures = text_model(*server)->figures();
  EXPECT_TRUE(figures.bound_known);
  EXPECT_NEAR(figures.prefill_bound.sum_s, 1e-6 * 64 * 5, 1e-12);
  EXPECT_NEAR(figures.decode_bound.sum_s, expected - 1e-6 * 64 * 5, 1e-12);
  EXPECT_EQ(figures.prefill_step.counts.back(), 1U);
  EXPECT_EQ(figures.decode_step.counts.back(), 3U);
  EXPECT_EQ(figures.decode_bound.counts.back(), 3U);
  EXPECT_NEAR(figures.last_step_bound_s, 1e-6 * (64 + 7), 1e-12);
}

TEST_F(LanguageModelTest, ManyRequestsAtOnceAnswerAsEachAlone) {
  add_model("m", {{"block_tokens", 4}}, parameter("ridge_sequences", "7") + parameter("ridge_step_tokens", "33"));
  const auto server = started(options());
  constexpr int kRequests = 60;
  std::vector<std::string> prompts;
  std::vector<Running> running;
  for (int i = 0; i < kRequests; ++i)
    prompts.push_back(std::string(static_cast<size_t>(1 + i % 13), 'p') + "x" + std::to_string(i));
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = thread; i < kRequests; i += 4) {
        const auto sink = answer(*server, text_request(prompts[static_cast<size_t>(i)], 50));
        if (sink->text() != expected_text(prompts[static_cast<size_t>(i)], 50)) ++wrong;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  for (const std::string& prompt : prompts) running.push_back(begin(*server, text_request(prompt, 50)));
  for (size_t i = 0; i < running.size(); ++i) {
    EXPECT_TRUE(running[i].sink->wait().ok());
    EXPECT_EQ(running[i].sink->text(), expected_text(prompts[i], 50));
  }
  const TextFigures figures = text_model(*server)->figures();
  EXPECT_EQ(figures.scheduler.generated_tokens, static_cast<uint64_t>(figures.generation_tokens.sum_s));
  EXPECT_EQ(figures.ends.stopped + figures.ends.full, 2 * kRequests);
  EXPECT_EQ(figures.first_token.counts.back(), 2 * kRequests);
  EXPECT_EQ(figures.generation_tokens.counts.back(), 2 * kRequests);
  EXPECT_EQ(figures.scheduler.running, 0);
  EXPECT_GT(figures.prefill_step.counts.back(), 0U);
  EXPECT_GT(figures.decode_step.counts.back(), 0U);
}

TEST_F(LanguageModelTest, FormsAreKeptToWhileOthersGoOn) {
  add_model("m", {{"step_ms", 1}, {"context", 100'000}}, parameter("ridge_cache_tokens", "200000"));
  const auto server = started(options());
  Running free = begin(*server, endless_request("free"));
  const auto form = [](std::string_view schema) {
    return text::JsonGrammar::of(parse_json(schema, "test").value()).value();
  };
  for (const int choices : {1, 3}) {
    TextRequest request = text_request("a form", 200);
    request.form = form(R"({"enum":["one of these","another"]})");
    request.choices = choices;
    const auto sink = answer(*server, request);
    const std::string text = sink->text();
    EXPECT_TRUE(text == "\"one of these\"" || text == "\"another\"") << text;
    EXPECT_EQ(sink->last().finish, Finish::kStop);
  }
  free.ticket.reset();
  EXPECT_EQ(free.sink->wait().error().code, Code::kCancelled);
}

TEST_F(LanguageModelTest, ADestroyedTicketEndsItsAnswerAndFreesItsBlocks) {
  add_model("m", {{"step_ms", 2}, {"context", 100'000}}, parameter("ridge_cache_tokens", "200000"));
  const auto server = started(options());
  Running left = begin(*server, endless_request("left"));
  Running stays = begin(*server, text_request(endless_prompt("stays", 60), 60));
  left.sink->await_pieces(3);
  left.ticket.reset();
  EXPECT_EQ(left.sink->wait().error().code, Code::kCancelled);
  EXPECT_TRUE(stays.sink->wait().ok());
  EXPECT_EQ(stays.sink->text().size(), 60U);
  const TextFigures figures = text_model(*server)->figures();
  EXPECT_EQ(figures.ends.cancelled, 1U);
  EXPECT_EQ(server->statistics("m", 1)->front().cancelled, 1U);
  EXPECT_EQ(server->statistics("m", 1)->front().success.count, 1U);
}

TEST_F(LanguageModelTest, EndsAtAStopTextThatSpansTokens) {
  add_model("m");
  const auto server = started(options());
  const std::string prompt = endless_prompt("stop", 40);
  const std::string whole = expected_text(prompt, 40);
  TextRequest request = text_request(prompt, 40);
  request.stop = {whole.substr(10, 4), "never in it"};
  const size_t place = whole.find(request.stop[0]);
  const auto sink = answer(*server, request);
  EXPECT_EQ(sink->text(), whole.substr(0, place));
  EXPECT_EQ(sink->last().finish, Finish::kStop);
  EXPECT_EQ(sink->last().stop_reason, request.stop[0]);
  EXPECT_EQ(sink->usage().completion_tokens, static_cast<int64_t>(place + 4));
  request.include_stop = true;
  EXPECT_EQ(answer(*server, request)->text(), whole.substr(0, place + 4));
  EXPECT_EQ(text_model(*server)->figures().ends.stopped, 2U);
}

TEST_F(LanguageModelTest, TheTokenThatEndsAnAnswerIsNoPartOfItsText) {
  add_model("m", {{"vocabulary", kTestVocabulary}});
  const auto server = started(options());
  std::string prompt = "a";  // whose answer ends by itself
  while (expected_text(prompt, 60).size() == 60) prompt += "b";
  TextRequest request = text_request(prompt, 60);
  const auto sink = answer(*server, request);
  EXPECT_EQ(sink->text(), expected_text(prompt, 60));
  EXPECT_EQ(sink->last().finish, Finish::kStop);
  EXPECT_EQ(sink->last().token_ids.back(), kTestEnd);
  EXPECT_EQ(sink->usage().completion_tokens, static_cast<int64_t>(sink->text().size()) + 1);
  request.ignore_eos = true;
  EXPECT_EQ(answer(*server, request)->usage().completion_tokens, 60);
}

TEST_F(LanguageModelTest, ChoicesAreThoseOfTheFollowingSeedsAndShareThePrompt) {
  add_model("m", {{"block_tokens", 4}});
  const auto server = started(options());
  TextRequest request = text_request("a prompt of several blocks", 20);
  request.sampling.temperature = 8;
  request.has_seed = true;
  request.sampling.seed = 5;
  request.choices = 3;
  const auto together = answer(*server, request);
  request.choices = 1;
  for (size_t i = 0; i < 3; ++i) {
    request.sampling.seed = 5 + i;
    EXPECT_EQ(answer(*server, request)->text(), together->text(i)) << i;
  }
  EXPECT_NE(together->text(0), together->text(1));
  EXPECT_EQ(together->usage().prompt_tokens, static_cast<int64_t>(request.prompt.size()));
  EXPECT_GE(text_model(*server)->figures().scheduler.reused_tokens, 2U * 20);
}

TEST_F(LanguageModelTest, WithoutASeedAnswersDiffer) {
  add_model("m");
  const auto server = started(options());
  TextRequest request = text_request("seedless", 40);
  request.sampling.temperature = 20;
  request.ignore_eos = true;
  EXPECT_NE(answer(*server, request)->text(), answer(*server, request)->text());
}

TEST_F(LanguageModelTest, GivesChancesOfTokensAndOfThePrompt) {
  add_model("m");
  const auto server = started(options());
  TextRequest request = text_request("chances", 3);
  request.logprobs = 2;
  request.prompt_logprobs = true;
  request.ignore_eos = true;
  const auto sink = answer(*server, request);
  ASSERT_EQ(sink->tokens().size(), 3U);
  EXPECT_EQ(sink->tokens()[0].alternatives.size(), 2U);
  EXPECT_EQ(sink->tokens()[0].alternatives[0].token, sink->tokens()[0].token);
  EXPECT_LT(sink->tokens()[0].logprob, 0);
  ASSERT_EQ(sink->prompt().size(), 7U);
  EXPECT_EQ(sink->prompt()[0].text, "c");
  EXPECT_EQ(sink->prompt()[0].logprob, 0);
  EXPECT_LT(sink->prompt()[6].logprob, 0);
  ASSERT_EQ(sink->prompt()[6].alternatives.size(), 2U);
  EXPECT_GE(sink->prompt()[6].alternatives[0].logprob, sink->prompt()[6].logprob);
  request.most_tokens = 0;
  const auto scored = answer(*server, request);
  EXPECT_EQ(scored->text(), "");
  EXPECT_EQ(scored->prompt()[6].alternatives.size(), 2U);
}

// Versions differ by their vocabulary, and so by their answers.
TEST_F(LanguageModelTest, ReloadsUnderLoadTearNoAnswer) {
  constexpr int64_t kOther = 61;
  add_model("m");
  const auto server = started(options(ControlMode::kExplicit));
  ASSERT_TRUE(server->load("m", {}).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> first = 0, second = 0, wrong = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; !stop; ++i) {
        const std::string prompt = "T" + std::to_string(thread) + "-" + std::to_string(i % 20);
        const std::string text = answer(*server, text_request(prompt, 30))->text();
        if (text == expected_text(prompt, 30))
          ++first;
        else if (text == expected_text(prompt, 30, kOther))
          ++second;
        else
          ++wrong;
      }
    });
  for (int reload = 0; reload < 10 || first == 0 || second == 0; ++reload) {
    add_model("m", {{"vocabulary", reload % 2 == 0 ? kOther : kTestVocabulary}, {"weight_bytes", reload}});
    ASSERT_TRUE(server->load("m", {}).ok());
  }
  stop = true;
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
}

// One old version beside the new one: the third load ends the first version's stream when its time is over.
TEST_F(LanguageModelTest, AFurtherReloadEndsOldStreamsAndTheIndexNamesThem) {
  const auto add = [&](int load) {
    add_model("m", {{"step_ms", 1}, {"context", 100'000}, {"weight_bytes", load}},
              parameter("ridge_cache_tokens", "200000"));
  };
  ServerOptions short_drain = options(ControlMode::kExplicit);
  short_drain.drain_time = milliseconds(20);
  const auto server = started(short_drain);
  const auto unloading = [&] {
    return std::ranges::count(server->index(false), ModelState::kUnloading, &IndexEntry::state);
  };
  std::vector<Running> running;
  for (int load = 0; load < 3; ++load) {
    add(load);
    ASSERT_TRUE(server->load("m", {}).ok());
    EXPECT_EQ(unloading(), load == 0 ? 0 : 1);
    EXPECT_EQ(server->retired_text_models().size(), load == 0 ? 0U : 1U);
    running.push_back(begin(*server, endless_request("load" + std::to_string(load))));
    running.back().sink->await_pieces(1);
  }
  EXPECT_EQ(server->retired_text_models().front()->figures().scheduler.running, 1);
  EXPECT_FALSE(running[0].sink->wait().ok());
  running.clear();
  server->drain();
}

TEST_F(LanguageModelTest, AnUnchangedModelIsNotLoadedAgain) {
  add_model("m");
  const auto server = started(options(ControlMode::kExplicit));
  ASSERT_TRUE(server->load("m", {}).ok());
  const TextModelPtr before = text_model(*server);
  ASSERT_TRUE(server->load("m", {}).ok());
  EXPECT_EQ(text_model(*server), before);
}

TEST_F(LanguageModelTest, DrainAnswersWhatWasAcceptedAndRefusesTheRest) {
  add_model("m", {{"step_ms", 1}});
  const auto server = started(options());
  const std::string prompt = endless_prompt("drain", 80);
  std::vector<Running> running;
  for (int i = 0; i < 5; ++i) running.push_back(begin(*server, text_request(prompt, 80)));
  server->begin_drain();
  EXPECT_EQ(server->text_model("m").error().code, Code::kUnavailable);
  server->drain();
  for (const Running& one : running) {
    EXPECT_TRUE(one.sink->wait().ok());
    EXPECT_EQ(one.sink->text(), expected_text(prompt, 80));
  }
}

TEST_F(LanguageModelTest, AbortEndsAnswersAlsoOfVersionsThatWereReplaced) {
  add_model("m", {{"step_ms", 2}, {"context", 100'000}}, parameter("ridge_cache_tokens", "200000"));
  const auto server = started(options(ControlMode::kExplicit));
  ASSERT_TRUE(server->load("m", {}).ok());
  Running old = begin(*server, endless_request("old"));
  old.sink->await_pieces(1);
  add_model("m", {{"step_ms", 2}, {"context", 90'000}}, parameter("ridge_cache_tokens", "200000"));
  ASSERT_TRUE(server->load("m", {}).ok());
  Running next = begin(*server, endless_request("new"));
  next.sink->await_pieces(1);
  server->begin_drain();
  server->abort();
  EXPECT_EQ(old.sink->wait().error().code, Code::kUnavailable);
  EXPECT_EQ(next.sink->wait().error().code, Code::kUnavailable);
  server->drain();
}

TEST_F(LanguageModelTest, UnloadAnswersWhatRunsAndFreesTheDecoder) {
  add_model("m", {{"step_ms", 1}});
  std::atomic<int> open = 0;
  ServerOptions with_hooks = options(ControlMode::kExplicit);
  with_hooks.open_decoder = [&](const engine::DecoderPlan& plan) {
    ++open;
    return hooked({.on_end = [&open] { --open; }})(plan);
  };
  const auto server = started(with_hooks);
  ASSERT_TRUE(server->load("m", {}).ok());
  const std::string prompt = endless_prompt("unload", 50);
  const Running running = begin(*server, text_request(prompt, 50));
  ASSERT_TRUE(server->unload("m", false).ok());
  EXPECT_EQ(server->text_model("m").error().code, Code::kUnavailable);
  EXPECT_TRUE(running.sink->wait().ok());
  EXPECT_EQ(running.sink->text(), expected_text(prompt, 50));
  while (open > 0) std::this_thread::yield();
  EXPECT_EQ(reason_of(*server), "unloaded");
}

TEST_F(LanguageModelTest, AFailedStepEndsItsSequencesAndTheNextOnesAreAnswered) {
  add_model("m");
  std::atomic<bool> fails = false;
  ServerOptions with_hooks = options();
  with_hooks.open_decoder =
      hooked({.before_step = [&]() -> Status { return fails ? Error{Code::kFailed, "out of order"} : ok_status(); }});
  const auto server = started(with_hooks);
  fails = true;
  const Running running = begin(*server, text_request("fails", 10));
  EXPECT_EQ(running.sink->wait().error().message, "out of order");
  fails = false;
  EXPECT_EQ(answer(*server, text_request("works", 10))->text(), expected_text("works", 10));
  EXPECT_EQ(text_model(*server)->figures().ends.failed, 1U);
  EXPECT_EQ(server->statistics("m", 1)->front().backend_failed, 1U);
}

TEST_F(LanguageModelTest, AStepBeyondTheLimitIsBrokenOff) {
  add_model("m", {{"context", 512}});
  std::atomic<bool> hangs = false, told = false;
  ServerOptions with_hooks = options();
  with_hooks.run_limit = milliseconds(30);
  with_hooks.open_decoder = hooked({.before_step = [&]() -> Status {
                                      if (!hangs) return {};
                                      while (!told) std::this_thread::yield();
                                      return Error{Code::kCancelled, "broken off"};
                                    },
                                    .on_terminate = [&] { told = true; }});
  const auto server = started(with_hooks);
  hangs = true;
  const Running running = begin(*server, text_request("hangs", 10));
  const Status status = running.sink->wait();
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_NE(status.error().message.find("--run-timeout-secs"), std::string::npos) << status.error().message;
  hangs = false;
  EXPECT_EQ(answer(*server, text_request("works", 10))->text(), expected_text("works", 10));
}

TEST_F(LanguageModelTest, ADecoderThatDoesNotReturnIsGivenUp) {
  add_model("m", {{"context", 512}});
  FakeClock clock;
  Gate gate;
  std::atomic<bool> hangs = false, freed = false;
  ServerOptions with_hooks = options();
  with_hooks.run_limit = std::chrono::seconds(10);
  with_hooks.clock = &clock;
  with_hooks.open_decoder = hooked({.before_step = [&]() -> Status {
                                      if (hangs) gate.pass();
                                      return {};
                                    },
                                    .on_end = [&] { freed = true; }});
  const auto server = started(with_hooks);
  hangs = true;
  const Running running = begin(*server, text_request("hangs", 10));
  gate.await(1);
  const Running waits = begin(*server, text_request("waits", 10));
  clock.await(clock.now() + std::chrono::seconds(10));  // the timer
  clock.advance(std::chrono::seconds(10));
  clock.await(clock.now() + kBreakOffTime);
  clock.advance(kBreakOffTime);
  EXPECT_EQ(running.sink->wait().error().code, Code::kUnavailable);
  EXPECT_EQ(waits.sink->wait().error().code, Code::kUnavailable);
  EXPECT_FALSE(server->model_ready("m", 0));
  EXPECT_EQ(server->given_up().front(), (std::pair<std::string, uint64_t>{"m", 1}));
  server->drain();
  EXPECT_FALSE(freed) << "its memory stays for the step";
  gate.open();
  while (!freed) std::this_thread::yield();
}

TEST_F(LanguageModelTest, RefusesAtOnceWhatCannotComeInTime) {
  add_model("m", {{"step_ms", 5}, {"step_ms_per_token", 0.5}});
  const auto server = started(options());
  TextRequest request = text_request(std::string(200, 'x'), 5);
  request.first_token_within = milliseconds(20);
  const Running running = begin(*server, request);
  const Status status = running.sink->wait();
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_EQ(running.sink->begins(), 0);
  EXPECT_EQ(text_model(*server)->figures().refused, 1U);
  request.first_token_within = std::chrono::seconds(100);
  EXPECT_EQ(answer(*server, request)->text(), expected_text(std::string(200, 'x'), 5));
}

TEST_F(LanguageModelTest, RefusesMoreThanMayWait) {
  add_model("m");
  Gate gate;
  std::atomic<bool> holds = false;
  ServerOptions with_hooks = options();
  with_hooks.queue_limit = 2;
  with_hooks.open_decoder = hooked({.before_step = [&]() -> Status {
    if (holds) gate.pass();
    return {};
  }});
  const auto server = started(with_hooks);
  holds = true;
  const Running one = begin(*server, text_request("one", 2));
  gate.await(1);
  const Running two = begin(*server, text_request("two", 2));
  const Running three = begin(*server, text_request("three", 2));
  EXPECT_EQ(three.sink->wait().error().code, Code::kUnavailable);
  EXPECT_EQ(server->statistics("m", 1)->front().pending, 2U);
  gate.open();
  EXPECT_TRUE(one.sink->wait().ok());
  EXPECT_TRUE(two.sink->wait().ok());
}

TEST_F(LanguageModelTest, TakesNoTensors) {
  add_model("m");
  const auto server = started(options());
  InferRequest request;
  request.model = "m";
  const auto answer = infer(*server, std::move(request)).get();
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_NE(answer.error().message.find("/v1/completions"), std::string::npos);
  EXPECT_TRUE(server->model_ready("m", 1));
  EXPECT_EQ(server->metadata("m", 0)->inputs.size(), 0U);
  EXPECT_EQ((*server->config("m", 0))["backend"], "fake");
  EXPECT_EQ((*server->config("m", 0))["parameters"]["ridge_weights"]["string_value"], "bf16");
}

TEST_F(LanguageModelTest, IsNoStepOfAnEnsemble) {
  add_model("m");
  folder_.write("e/1/nothing", "");
  folder_.write("e/config.pbtxt",
                "platform: \"ensemble\" input { name: \"x\" data_type: TYPE_FP32 dims: 2 } "
                "output { name: \"y\" data_type: TYPE_FP32 dims: 2 } ensemble_scheduling { step { model_name: \"m\" "
                "model_version: -1 input_map { key: \"x\" value: \"x\" } output_map { key: \"y\" value: \"y\" } } }");
  const auto server = started(options());
  std::string reason;
  for (const IndexEntry& entry : server->index(false))
    if (entry.name == "e") reason = entry.reason;
  EXPECT_NE(reason.find("model 'm' is a language model: it takes no tensors"), std::string::npos) << reason;
}

TEST_F(LanguageModelTest, AServerNamesItsLanguageModels) {
  add_model("b");
  add_model("a");
  folder_.write("a/2/config.json", "{}");
  folder_.write("a/2/tokenizer.json", test_tokenizer());
  folder_.write("a/2/decoder.fake.json", R"({"vocabulary": 96, "context": 77})");
  folder_.write("a/config.pbtxt", "backend: \"fake\" version_policy { all {} }");
  folder_.write("tensors/1/model.onnx", "");
  ServerOptions with_sessions = options();
  with_sessions.open = [](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(pair_signature()));
  };
  const auto server = started(with_sessions);
  const std::vector<TextModelPtr> models = server->text_models();
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0]->name(), "a");
  EXPECT_EQ(models[0]->context(), 77) << "the highest version";
  EXPECT_EQ(models[1]->name(), "b");
  EXPECT_EQ(server->text_model("tensors").error().code, Code::kInvalid);
  EXPECT_EQ(server->text_model("nothing").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace ridge::serve
