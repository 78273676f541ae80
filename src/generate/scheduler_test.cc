#include "generate/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "generate/test_decoder.h"

namespace ridge::generate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Nanoseconds first_token(const Simulation& simulation, Id id, Nanoseconds arrived) {
  return simulation.answers.at(id).times.front() - arrived;
}

Nanoseconds percentile_99(std::vector<Nanoseconds> times) {
  std::ranges::sort(times);
  return times[times.size() * 99 / 100];
}

TEST(Scheduler, RefusesWhatCannotRunWithItsNumbers) {
  Settings settings = test_settings(10, 4);
  settings.context = 100;
  Scheduler scheduler(settings);
  const auto message = [&](Request request) {
    const Status status = scheduler.add(std::move(request), {});
    if (status.ok()) return std::string();
    EXPECT_EQ(status.error().code, Code::kInvalid);
    return status.error().message;
  };
  EXPECT_THAT(message(test_request(1, {}, 4)), testing::HasSubstr("no tokens"));
  EXPECT_THAT(message(test_request(1, test_prompt(1, 97), 4)), testing::HasSubstr("context of 100"));
  EXPECT_THAT(message(test_request(1, test_prompt(1, 38), 4)),
              testing::HasSubstr("need 11 blocks of 4 tokens; the cache has 10"));
  EXPECT_THAT(message(test_request(1, test_prompt(1, 37), -4)), testing::HasSubstr("-4"));
  EXPECT_EQ(message(test_request(1, test_prompt(1, 37), 4)), "");  // 40 positions: the last token is not computed
  EXPECT_THAT(message(test_request(1, test_prompt(1, 5), 4)), testing::HasSubstr("request 1 already exists"));
  Request hot = test_request(2, test_prompt(1, 5), 4);
  hot.sampling.top_p = 2;
  EXPECT_THAT(message(hot), testing::HasSubstr("top_p"));
}

TEST(Scheduler, StopTokensEndAnAnswerButNotBeforeItsLeastTokens) {
  Simulation simulation(test_settings());
  ASSERT_TRUE(simulation.add(test_request(1, test_prompt(1, 9), 20)).ok());
  simulation.run();
  const std::vector<int32_t> free = simulation.answers[1].tokens;
  Request stopped = test_request(2, test_prompt(1, 9), 20);
  stopped.stop_tokens = {free[3]};
  ASSERT_TRUE(simulation.add(stopped).ok());
  Request later = test_request(3, test_prompt(1, 9), 20);
  later.stop_tokens = {free[3]};
  later.least_tokens = 10;
  ASSERT_TRUE(simulation.add(later).ok());
  simulation.run();
  const auto end = std::ranges::find(free, free[3]);
  EXPECT_EQ(simulation.answers[2].tokens, std::vector<int32_t>(free.begin(), end + 1));
  EXPECT_EQ(simulation.answers[2].finish, Finish::kStop);
  const auto& tokens = simulation.answers[3].tokens;
  EXPECT_GE(tokens.size(), 10U);
  EXPECT_EQ(std::count(tokens.begin(), tokens.begin() + 10, free[3]), 0);
}

TEST(Scheduler, TellsWhenARequestsFirstStepBegan) {
  Simulation simulation(test_settings());
  simulation.now = seconds(5);
  ASSERT_TRUE(simulation.add(test_request(1, test_prompt(1, 9), 3)).ok());
  simulation.run();
  EXPECT_EQ(simulation.answers[1].started, seconds(5));
}

TEST(Scheduler, StepsHave512TokensWithoutAGoalHoweverManyPromptsWait) {
  Simulation simulation(test_settings(1024));
  for (Id id = 1; id <= 40; ++id) ASSERT_TRUE(simulation.add(test_request(id, test_prompt(id, 40), 1)).ok());
  double most = 0;
  simulation.seen = [&](const Step& step) { most = std::max(most, step.load.tokens); };
  simulation.run();
  EXPECT_EQ(most, 512);
}

TEST(Scheduler, ChunksBehindALongPastKeepToTheGoal) {
  Settings settings = test_settings(256, 64);
  settings.context = 16384;
  settings.line.per_pair = 1e-7;
  settings.token_goal = milliseconds(30);  // a block behind 8000 tokens takes 93
  Simulation simulation(settings, 1);
  ASSERT_TRUE(simulation.add(test_request(1, test_prompt(1, 8000), 1)).ok());
  simulation.seen = [&](const Step& step) { ASSERT_LE(step.predicted, milliseconds(30)); };
  simulation.run();
}

TEST(Scheduler, LogprobsAreOfEachTokenAndOfThePromptOnce) {
  for (const int64_t budget : {3, 100}) {
    Settings settings = test_settings();
    settings.most_tokens = budget;
    settings.speculate = false;
    Simulation simulation(settings);
    ASSERT_TRUE(
        simulation.add(test_request(1, test_prompt(1, 20), 2)).ok());  // its blocks are there, but the rows are wanted
    simulation.run();
    Request request = test_request(2, test_prompt(1, 20), 5);
    request.logprobs = 3;
    request.prompt_logprobs = true;
    ASSERT_TRUE(simulation.add(request).ok());
    simulation.run();
    const Answer& answer = simulation.answers[2];
    EXPECT_EQ(answer.logprobs.size(), 5U);
    ASSERT_EQ(answer.prompt_chances.size(), 19U);
    for (size_t i = 0; i < 19; ++i) {
      const PromptChance& chance = answer.prompt_chances[i];
      EXPECT_EQ(chance.token, request.prompt[i + 1]);
      ASSERT_EQ(chance.alternatives.size(), 3U);
      EXPECT_GE(chance.alternatives[0].logprob, chance.logprob);
      EXPECT_GE(chance.alternatives[0].logprob, chance.alternatives[2].logprob);
    }
    // The chance of a prompt's last token is that of the same token drawn after the rest.
    Request shorter = test_request(3, test_prompt(1, 19), 1);
    shorter.logprobs = 0;
    shorter.sampling.logit_bias = {{request.prompt[19], 1000.0F}};
    ASSERT_TRUE(simulation.add(shorter).ok());
    simulation.run();
    EXPECT_EQ(simulation.answers[3].tokens.front(), request.prompt[19]);
    EXPECT_FLOAT_EQ(simulation.answers[3].logprobs.front(), answer.prompt_chances[18].logprob);
  }
}

TEST(Scheduler, NoTokensAreWantedButThePromptsChances) {
  Simulation simulation(test_settings());
  Request request = test_request(1, test_prompt(1, 12), 0);
  request.prompt_logprobs = true;
  ASSERT_TRUE(simulation.add(request).ok());
  simulation.run();
  EXPECT_EQ(simulation.answers[1].finish, Finish::kLength);
  EXPECT_TRUE(simulation.answers[1].tokens.empty());
  EXPECT_EQ(simulation.answers[1].prompt_chances.size(), 11U);
}

TEST(Scheduler, CancelEndsARequestInTheQueueAtOnceAndInAStepWithIt) {
  Settings settings = test_settings();
  settings.most_sequences = 1;
  Scheduler scheduler(settings);
  ASSERT_TRUE(scheduler.add(test_request(1, test_prompt(1, 5), 9), {}).ok());
  ASSERT_TRUE(scheduler.add(test_request(2, test_prompt(2, 5), 9), {}).ok());
  ASSERT_EQ(scheduler.next({}).sequences.size(), 1U);
  scheduler.cancel(1);
  scheduler.cancel(2);
  scheduler.cancel(3);  // unknown
  auto ended = scheduler.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].id, 2U);
  const std::vector<float> logits(32);
  EXPECT_TRUE(scheduler.done({logits, 1}, milliseconds(5)).empty());
  ended = scheduler.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].id, 1U);
  EXPECT_EQ(ended[0].finish, Finish::kCancelled);
  EXPECT_EQ(scheduler.figures().blocks_used, 0);
  EXPECT_TRUE(scheduler.next(milliseconds(6)).sequences.empty());
}

TEST(Scheduler, AFailedStepEndsItsSequencesOnly) {
  Settings settings = test_settings();
  settings.most_sequences = 2;
  Simulation simulation(settings);
  for (Id id = 1; id <= 3; ++id) ASSERT_TRUE(simulation.add(test_request(id, test_prompt(id, 5), 4)).ok());
  ASSERT_EQ(simulation.scheduler.next({}).sequences.size(), 2U);
  EXPECT_EQ(simulation.scheduler.failed(), (std::vector<Id>{1, 2}));
  EXPECT_EQ(simulation.scheduler.figures().blocks_used, 0);
  simulation.run();
  EXPECT_EQ(simulation.answers[3].tokens.size(), 4U);
}

TEST(Scheduler, ADeadlineThatPassesInTheQueueEndsTheRequest) {
  Settings settings = test_settings();
  settings.most_sequences = 1;
  settings.line = {};  // without a line, no prediction refuses it at once
  Simulation simulation(settings, 0, 32, test_settings().line);
  ASSERT_TRUE(simulation.add(test_request(1, test_prompt(1, 5), 60)).ok());
  ASSERT_TRUE(simulation.round());
  Request request = test_request(2, test_prompt(2, 5), 4);
  request.deadline = simulation.now + milliseconds(20);
  ASSERT_TRUE(simulation.add(request).ok());
  simulation.run();
  EXPECT_EQ(simulation.answers[2].finish, Finish::kDeadline);
  EXPECT_TRUE(simulation.answers[2].tokens.empty());
  EXPECT_EQ(simulation.answers[1].tokens.size(), 60U);
}

TEST(Scheduler, RefusesADeadlineThatThePredictionMisses) {
  Settings settings = test_settings(400);
  settings.most_tokens = 50;
  Simulation simulation(settings);
  for (Id id = 1; id <= 3; ++id) {
    Request request = test_request(id, test_prompt(id, 200), 2);
    request.deadline = seconds(1);
    ASSERT_TRUE(simulation.add(request).ok());
  }
  // 600 tokens before it and its own 100: 14 steps of 50 tokens, of 3 + 25 ms.
  Request request = test_request(9, test_prompt(9, 100), 2);
  request.deadline = milliseconds(380);
  const Status status = simulation.scheduler.add(request, {});
  ASSERT_TRUE(status.ok());  // its latest start is before theirs
  simulation.scheduler.cancel(9);
  request.prompt = test_prompt(9, 1200);
  const Status refused = simulation.scheduler.add(request, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("expected after 672 ms, but was wanted within 380 ms"));
  EXPECT_EQ(refused.error().retry_after, milliseconds(292));
  EXPECT_EQ(simulation.scheduler.predicted_first_token(100, {}), milliseconds(14 * 28));
}

// The prediction is what happens, where nothing else comes.
TEST(Scheduler, PredictsTheFirstToken) {
  Settings settings = test_settings(400);
  settings.most_tokens = 64;
  settings.line.per_pair = 1e-7;
  Simulation simulation(settings);
  Id id = 1;
  for (; id <= 6; ++id)
    ASSERT_TRUE(simulation.add(test_request(id, test_prompt(id, 40 * static_cast<int64_t>(id)), 3)).ok());
  const Nanoseconds predicted = simulation.scheduler.predicted_first_token(300, {});
  ASSERT_TRUE(simulation.add(test_request(id, test_prompt(id, 300), 3)).ok());
  simulation.run();
  EXPECT_NEAR(to_ms(first_token(simulation, id, {})), to_ms(predicted), 0.1 * to_ms(predicted));
}

TEST(Scheduler, AKeyWithTenTimesTheRequestsGetsNoMoreTimeWhileBothWait) {
  Settings settings = test_settings(400);
  settings.most_sequences = 8;
  settings.most_tokens = 64;
  settings.speculate = false;
  Simulation simulation(settings);
  for (Id id = 1; id <= 220; ++id) {
    Request request = test_request(id, test_prompt(id, 35), 12);
    request.key = id % 11 == 0 ? "few" : "many";
    ASSERT_TRUE(simulation.add(request).ok());
  }
  const auto ended = [&](Id remainder) {
    return std::ranges::count_if(simulation.answers, [&](const auto& answer) {
      return answer.second.ends > 0 && (answer.first % 11 == 0) == (remainder == 0);
    });
  };
  while (ended(0) < 20) ASSERT_TRUE(simulation.round());
  EXPECT_GE(ended(1), 16);
  EXPECT_LE(ended(1), 26);
}

TEST(Scheduler, AKeyThatWasAwayHasNoCredit) {
  Settings settings = test_settings(400);
  settings.most_sequences = 4;
  settings.most_tokens = 64;
  Simulation simulation(settings);
  Id id = 1;
  const auto add = [&](const char* key, int count) {
    for (int i = 0; i < count; ++i, ++id) {
      Request request = test_request(id, test_prompt(id, 30), 8);
      request.key = key;
      ASSERT_TRUE(simulation.add(request).ok());
    }
  };
  const auto tokens_of = [&](Id from, Id to) {
    size_t tokens = 0;
    for (Id each = from; each < to; ++each) tokens += simulation.answers[each].tokens.size();
    return static_cast<double>(tokens);
  };
  add("away", 1);
  add("there", 60);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(simulation.round());
  const double before = tokens_of(1, id);
  const Id first = id;
  add("away", 60);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(simulation.round());
  const double of_away = tokens_of(first, id);
  EXPECT_NEAR(of_away / (tokens_of(1, id) - before), 0.5, 0.1);
}

TEST(Scheduler, PreemptsWhereTheFewestTokensAreLost) {
  Settings settings = test_settings(24);
  settings.overbooking = 0.5;
  settings.prefix_reuse = settings.speculate = false;
  Simulation simulation(settings);
  for (Id id = 100; id < 140; ++id) {  // answers were short
    Request request = test_request(id, test_prompt(id, 3), 60);
    request.stop_tokens = all_tokens(32);
    ASSERT_TRUE(simulation.add(request).ok());
  }
  simulation.run();
  ASSERT_TRUE(simulation.add(test_request(1, test_prompt(1, 40), 50)).ok());
  ASSERT_TRUE(simulation.add(test_request(2, test_prompt(2, 8), 50)).ok());
  simulation.run();
  // 24 tokens more each fill the 96 positions: 64 of the first, 32 of the second.
  EXPECT_EQ(simulation.scheduler.figures().preemptions, 1U);
  EXPECT_NEAR(static_cast<double>(simulation.scheduler.figures().preempted_tokens), 32, 4);
  EXPECT_GT(simulation.answers[2].times.back(), simulation.answers[1].times.back());
}

struct Mixed {
  Nanoseconds first_99{}, between_99{};
};

// Short prompts of 30 tokens every 250 ms, and prompts of 8000 tokens, four seconds of work each.
Mixed run_mixed(std::optional<Nanoseconds> deadline, const char* key, Nanoseconds between_longs) {
  Settings settings = test_settings(4000, 16);
  settings.context = 20000;
  settings.token_goal = milliseconds(30);
  settings.speculate = false;
  settings.prefix_reuse = false;
  settings.line.per_pair = 1e-8;
  Simulation simulation(settings, 1);
  Nanoseconds next_short{}, next_long = milliseconds(700);
  std::map<Id, Nanoseconds> shorts;
  Id id = 1;
  while (simulation.now < seconds(60)) {
    for (; next_short <= simulation.now; next_short += milliseconds(250)) {
      Request request = test_request(id, test_prompt(id, 30), 15);
      request.key = key;
      if (deadline) request.deadline = simulation.now + *deadline;
      shorts[id++] = simulation.now;
      EXPECT_TRUE(simulation.add(request).ok());
    }
    for (; next_long <= simulation.now; next_long += between_longs, ++id)
      EXPECT_TRUE(simulation.add(test_request(id, test_prompt(id, 8000), 15)).ok());
    if (!simulation.round()) simulation.now = std::min(next_short, next_long);
  }
  simulation.run();
  std::vector<Nanoseconds> first, between;
  for (const auto& [each, arrived] : shorts) {
    const Answer& answer = simulation.answers[each];
    first.push_back(answer.times.front() - arrived);
    for (size_t i = 1; i < answer.times.size(); ++i) between.push_back(answer.times[i] - answer.times[i - 1]);
  }
  EXPECT_EQ(simulation.answers.size(), id - 1);
  for (const auto& [each, answer] : simulation.answers) EXPECT_EQ(answer.finish, Finish::kLength) << each;
  return {percentile_99(first), percentile_99(between)};
}

TEST(Scheduler, ShortPromptsAreNearTheirGoalWhileLongOnesCome) {
  const std::optional<Nanoseconds> none;
  for (const auto& [deadline, key, between_longs] :
       std::vector<std::tuple<std::optional<Nanoseconds>, const char*, int>>{
           {milliseconds(100), "", 6}, {none, "other", 6}, {none, "", 6}, {none, "", 2}}) {
    const Mixed times = run_mixed(deadline, key, seconds(between_longs));
    SCOPED_TRACE(testing::Message() << "deadline " << deadline.has_value() << ", key " << key << ", a long one every "
                                    << between_longs << " s");
    EXPECT_LE(to_ms(times.first_99), 120);
    EXPECT_LE(to_ms(times.between_99), 1.1 * 30);
  }
}

TEST(Scheduler, SpeculatesOnlyWhereTheLineSaysThatItPays) {
  const auto run = [](StepLine line, int sequences, double temperature, int64_t window) {
    Settings settings = test_settings(400);
    settings.line = line;
    Simulation simulation(settings, window);
    for (Id id = 1; id <= static_cast<Id>(sequences); ++id)
      EXPECT_TRUE(simulation.add(test_request(id, test_prompt(id, 40), 100, temperature)).ok());
    simulation.run();
    return std::pair(simulation.scheduler.figures(), simulation.now);
  };
  const StepLine flat{.floor = 20e-3, .fixed = 4e-3, .per_token = 0.5e-3};  // 32 tokens are as fast as one
  const StepLine steep{.fixed = 0.01e-3, .per_token = 1e-3};                // each token costs a step
  EXPECT_GT(run(flat, 1, 0, 1).first.accepted_tokens, 60U);
  EXPECT_LT(run(flat, 1, 0, 1).second, run({.floor = 20e-3, .fixed = 4e-3, .per_token = 17e-3}, 1, 0, 1).second);
  EXPECT_EQ(run(steep, 1, 0, 1).first.drafted_tokens, 0U);
  EXPECT_EQ(run({}, 1, 0, 1).first.drafted_tokens, 0U);  // not known
  // Each draft costs all of many sequences its time, and gives one of them a token.
  const StepLine straight{.fixed = 4e-3, .per_token = 0.5e-3};
  const Figures alone = run(straight, 1, 0, 1).first;
  EXPECT_GT(alone.drafted_tokens, 30U);
  EXPECT_GT(alone.drafts, 0U);
  EXPECT_LT(alone.drafts, alone.drafted_tokens);  // of several tokens each
  const Figures many = run(straight, 40, 0, 1).first;
  EXPECT_GT(static_cast<double>(many.accepted_tokens), 0.8 * static_cast<double>(many.drafted_tokens));
  // Where drafts fail, they end.
  const Figures failing = run(straight, 1, 3, 1).first;
  EXPECT_LT(failing.drafted_tokens, 60U);
}

TEST(Scheduler, DraftsDoNotChangeTheTimeBetweenTokensBeyondTheGoal) {
  Settings settings = test_settings(400);
  settings.line = {.fixed = 10e-3, .per_token = 1e-3};
  settings.token_goal = milliseconds(13);
  Simulation simulation(settings, 1);
  ASSERT_TRUE(simulation.add(test_request(1, test_prompt(1, 4), 100)).ok());
  simulation.seen = [](const Step& step) { EXPECT_LE(step.predicted, milliseconds(14)); };
  simulation.run();
  EXPECT_GT(simulation.scheduler.figures().accepted_tokens, 30U);
}

}  // namespace
}  // namespace ridge::generate
