// Answers do not depend on what else runs: each is compared to the answer of the same request alone, in one piece,
// without reuse and drafts.
#include <gtest/gtest.h>

#include "generate/test_decoder.h"

namespace ridge::generate {
namespace {

std::vector<int32_t> alone(Request request, int64_t window = 0) {
  Settings settings = test_settings();
  settings.prefix_reuse = settings.speculate = false;
  Simulation simulation(settings, window);
  const Id id = request.id;
  EXPECT_TRUE(simulation.add(std::move(request)).ok());
  simulation.run();
  return simulation.answers[id].tokens;
}

void expect_as_alone(Simulation& simulation, const std::vector<Request>& requests, int64_t window = 0) {
  for (const Request& request : requests) {
    SCOPED_TRACE(request.id);
    const Answer& answer = simulation.answers[request.id];
    EXPECT_EQ(answer.tokens, alone(request, window));
    EXPECT_EQ(answer.finish, Finish::kLength);
    EXPECT_EQ(answer.ends, 1);
  }
  EXPECT_EQ(simulation.scheduler.figures().blocks_used, 0);
}

std::vector<Request> several(int count, double temperature) {
  std::vector<Request> requests;
  for (int i = 1; i <= count; ++i)
    requests.push_back(test_request(i, test_prompt(i, 3 + 5 * i), 4 + 3 * i, temperature));
  return requests;
}

TEST(SchedulerAnswers, AreTheSameAmongNeighbours) {
  for (const double temperature : {0.0, 1.0}) {
    Simulation simulation(test_settings());
    const auto requests = several(5, temperature);
    for (const Request& request : requests) ASSERT_TRUE(simulation.add(request).ok());
    simulation.run();
    expect_as_alone(simulation, requests);
  }
}

TEST(SchedulerAnswers, AreTheSameInChunksOfAnyBudget) {
  for (const int64_t budget : {1, 2, 3, 5, 7, 16, 33}) {
    SCOPED_TRACE(budget);
    Settings settings = test_settings();
    settings.most_tokens = budget;
    Simulation simulation(settings);
    const auto requests = several(4, 0.7);
    for (const Request& request : requests) ASSERT_TRUE(simulation.add(request).ok());
    simulation.seen = [&](const Step& step) { EXPECT_LE(step.load.tokens, budget); };
    simulation.run();
    expect_as_alone(simulation, requests);
  }
}

TEST(SchedulerAnswers, AreTheSameWithAReusedPrefix) {
  Simulation simulation(test_settings());
  const Request first = test_request(1, test_prompt(1, 21), 5);
  ASSERT_TRUE(simulation.add(first).ok());
  simulation.run();
  EXPECT_EQ(simulation.answers[1].reused, 0);
  Request second = test_request(2, test_prompt(1, 21), 9);  // the same
  Request third = test_request(3, test_prompt(1, 20), 9);  // five whole blocks: the last token is computed all the same
  std::vector<int32_t> other = test_prompt(1, 21), longer = other;
  other[9] = (other[9] + 1) % 32;
  Request fourth = test_request(4, other, 9);  // differs in its third block
  for (const int32_t token : simulation.answers[1].tokens) longer.push_back(token);
  Request fifth = test_request(5, longer, 3);  // goes on where the first answer ended
  for (const Request& request : {second, third, fourth, fifth}) ASSERT_TRUE(simulation.add(request).ok());
  simulation.run();
  EXPECT_EQ(simulation.answers[2].reused, 20);
  EXPECT_EQ(simulation.answers[3].reused, 16);
  EXPECT_EQ(simulation.answers[4].reused, 8);
  EXPECT_EQ(simulation.answers[5].reused, 24);
  expect_as_alone(simulation, {first, second, third, fourth, fifth});
  EXPECT_EQ(simulation.scheduler.figures().reused_tokens, 68U);
}

TEST(SchedulerAnswers, FindBlocksOfTheirOwnPrefixGroupAlone) {
  Simulation simulation(test_settings());
  const auto reused = [&](Id id, uint64_t group) {
    Request request = test_request(id, test_prompt(1, 21), 5);
    request.prefix_group = group;
    EXPECT_TRUE(simulation.add(request).ok());
    simulation.run();
    EXPECT_EQ(simulation.answers[id].tokens, simulation.answers[1].tokens);
    return simulation.answers[id].reused;
  };
  const uint64_t a = uint64_t{1} << 63 | 1, b = uint64_t{1} << 63 | 2;
  EXPECT_EQ(reused(1, a), 0);
  EXPECT_EQ(reused(2, b), 0);
  EXPECT_EQ(reused(3, 0), 0);
  for (const uint64_t group : {a, b, uint64_t{0}}) EXPECT_EQ(reused(group + 10, group), 20);
}

TEST(SchedulerAnswers, OfTheSamePromptAtTheSameTimeShareBlocks) {
  Simulation simulation(test_settings());
  std::vector<Request> requests;
  for (Id id = 1; id <= 4; ++id) requests.push_back(test_request(id, test_prompt(7, 30), 6, 1.0));
  for (const Request& request : requests) ASSERT_TRUE(simulation.add(request).ok());
  ASSERT_TRUE(simulation.round());
  // Seven full blocks once, and of each the block of its last tokens.
  EXPECT_EQ(simulation.scheduler.figures().blocks_used, 7 + 4);
  simulation.run();
  expect_as_alone(simulation, requests);
}

TEST(SchedulerAnswers, AreTheSameWithDrafts) {
  for (const double temperature : {0.0, 0.2}) {
    Settings settings = test_settings();
    settings.line.floor = 20e-3;  // 34 tokens take as long as one
    Simulation simulation(settings, 1);
    std::vector<Request> requests;
    for (Id id = 1; id <= 3; ++id) requests.push_back(test_request(id, test_prompt(id, 12), 60, temperature));
    requests[1].sampling.presence_penalty = 0.1;
    for (const Request& request : requests) ASSERT_TRUE(simulation.add(request).ok());
    simulation.run();
    expect_as_alone(simulation, requests, 1);
    EXPECT_GT(simulation.scheduler.figures().accepted_tokens, 25U);
  }
}

TEST(SchedulerAnswers, AreTheSameWhenNeighboursAreCancelled) {
  Simulation simulation(test_settings());
  const auto requests = several(6, 1.0);
  for (const Request& request : requests) ASSERT_TRUE(simulation.add(request).ok());
  simulation.during = [&] {
    if (simulation.steps == 3) simulation.scheduler.cancel(2);
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(simulation.round());
  EXPECT_EQ(simulation.answers[2].finish, Finish::kCancelled);
  simulation.scheduler.cancel(5);
  EXPECT_EQ(simulation.scheduler.figures().running, 4);
  simulation.run();
  EXPECT_EQ(simulation.answers[5].finish, Finish::kCancelled);
  expect_as_alone(simulation, {requests[0], requests[2], requests[3], requests[5]});
}

TEST(SchedulerAnswers, AreTheSameAfterPreemption) {
  for (const bool reuse : {false, true}) {
    Settings settings = test_settings(24);
    settings.overbooking = 0.5;
    settings.prefix_reuse = reuse;
    Simulation simulation(settings);
    Id id = 100;
    // Short answers, from which it learns that answers are short.
    for (int i = 0; i < 40; ++i) {
      Request request = test_request(id++, test_prompt(i, 3), 60);
      request.stop_tokens = all_tokens(32);
      ASSERT_TRUE(simulation.add(request).ok());
    }
    simulation.run();
    EXPECT_EQ(simulation.scheduler.figures().preemptions, 0U);
    std::vector<Request> requests;
    for (Id i = 1; i <= 5; ++i) requests.push_back(test_request(i, test_prompt(i, 9), 60, 1.0));
    for (const Request& request : requests) ASSERT_TRUE(simulation.add(request).ok());
    simulation.run();
    EXPECT_GT(simulation.scheduler.figures().preemptions, 0U);
    EXPECT_GT(simulation.scheduler.figures().preempted_tokens, 0U);
    expect_as_alone(simulation, requests);
  }
}

}  // namespace
}  // namespace ridge::generate
