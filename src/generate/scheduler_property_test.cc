// Whatever comes: random settings, arrivals, cancels, deadlines and failed steps.
#include <gtest/gtest.h>

#include "generate/test_decoder.h"

namespace ridge::generate {
namespace {

// Only even tokens; asked a few times before it knows them.
class EvenTokens : public TokenFilter {
 public:
  explicit EvenTokens(int rounds) : rounds_(rounds), left_(rounds) {}
  bool ready() override { return left_ == 0 || --left_ == 0; }
  void mask(std::span<float> logits) override {
    for (size_t i = 1; i < logits.size(); i += 2) logits[i] = -std::numeric_limits<float>::infinity();
  }
  void accept(int32_t token) override {
    EXPECT_EQ(token % 2, 0);
    left_ = rounds_;
  }

 private:
  const int rounds_;
  int left_;
};

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(split_mix(seed + 17)) {}
  int64_t below(int64_t end) {
    return static_cast<int64_t>(split_mix(state_ += kGoldenGamma) % static_cast<uint64_t>(end));
  }
  bool one_in(int64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

Settings any_settings(Dice& dice) {
  Settings settings = test_settings(14 + dice.below(30), 1 + dice.below(5));
  settings.most_sequences = 1 + dice.below(7);
  if (dice.one_in(2)) settings.most_tokens = 1 + dice.below(20);
  if (dice.one_in(2)) settings.token_goal = from_seconds(4e-3 + 1e-3 * static_cast<double>(dice.below(20)));
  if (dice.one_in(4)) settings.line = {};
  settings.overbooking = dice.one_in(2) ? 0 : 0.4;
  settings.prefix_reuse = !dice.one_in(3);
  settings.speculate = !dice.one_in(3);
  return settings;
}

Request any_request(Dice& dice, Id id, Nanoseconds now) {
  Request request =
      test_request(id, test_prompt(dice.below(3), 1 + dice.below(14)), 1 + dice.below(9), dice.one_in(2) ? 0 : 0.8);
  std::vector<int32_t> prompt(request.prompt.begin(), request.prompt.end()), stops;
  if (dice.one_in(2)) prompt.push_back(static_cast<int32_t>(id % 32));
  for (int64_t i = dice.below(4); i > 0; --i) stops.push_back(static_cast<int32_t>(dice.below(32)));
  request.prompt = std::move(prompt);
  request.stop_tokens = std::move(stops);
  request.least_tokens = dice.below(request.most_tokens + 1);
  request.key = dice.one_in(2) ? "a" : "b";
  if (dice.one_in(3)) request.filter = std::make_shared<EvenTokens>(static_cast<int>(dice.below(4)));
  if (dice.one_in(4)) request.sampling.repetition_penalty = 1.3;
  if (dice.one_in(4)) request.prompt_logprobs = true;
  if (dice.one_in(3)) request.deadline = now + from_seconds(1e-3 * static_cast<double>(1 + dice.below(60)));
  return request;
}

std::vector<int32_t> answer_alone(Request request, int64_t window) {
  Settings settings = test_settings(64, 4);
  settings.prefix_reuse = settings.speculate = false;
  request.deadline = {};
  Simulation simulation(settings, window);
  const Id id = request.id;
  EXPECT_TRUE(simulation.add(std::move(request)).ok());
  simulation.run();
  return simulation.answers[id].tokens;
}

class AnyRun {
 public:
  explicit AnyRun(uint64_t seed)
      : dice_(seed),
        settings_(any_settings(dice_)),
        window_(dice_.below(2)),
        simulation_(settings_, window_, 32, test_settings().line) {}

  void run() {
    simulation_.seen = [this](const Step& step) { look_at(step); };
    simulation_.during = [this] {
      if (dice_.one_in(6) && next_ > 1)
        simulation_.scheduler.cancel(1 + static_cast<Id>(dice_.below(static_cast<int64_t>(next_))));
    };
    for (int round = 0; round < 40; ++round) {
      while (next_ < 16 && dice_.one_in(2)) arrive();
      if (dice_.one_in(8) && next_ > 1)
        simulation_.scheduler.cancel(1 + static_cast<Id>(dice_.below(static_cast<int64_t>(next_))));
      if (dice_.one_in(40)) {
        fail();
      } else {
        round_with_every_decode();
      }
    }
    simulation_.run();
    check();
  }
  uint64_t preemptions() const { return simulation_.scheduler.figures().preemptions; }
  uint64_t accepted() const { return simulation_.scheduler.figures().accepted_tokens; }

 private:
  void arrive() {
    const Request request = any_request(dice_, next_, simulation_.now);
    const Status status = simulation_.add(request);
    if (status.ok()) {
      requests_.push_back(request);
    } else {
      EXPECT_TRUE(status.error().code == Code::kUnavailable || status.error().code == Code::kInvalid);
    }
    ++next_;
  }

  void look_at(const Step& step) {
    EXPECT_LE(static_cast<int64_t>(step.sequences.size()), settings_.most_sequences);
    if (settings_.most_tokens) {
      EXPECT_LE(step.load.tokens, *settings_.most_tokens);
    } else if (settings_.token_goal && simulation_.scheduler.line().known()) {
      // The decodes alone may take longer; one block of a prompt joins them however long they take, with its rows of
      // logprobs.
      const StepLine& line = simulation_.scheduler.line();
      const double decodes =
          line.seconds({static_cast<double>(step.sequences.size()), step.load.cached, 0, step.load.rows});
      const double block =
          (line.per_token + line.per_pair * 100 + line.per_row) * static_cast<double>(settings_.cache.block_tokens);
      EXPECT_LE(to_seconds(step.predicted), std::max(to_seconds(*settings_.token_goal), decodes) + block);
    }
  }

  // A sequence that has its first token gets one in every step, unless it is preempted or waits for its filter.
  void round_with_every_decode() {
    std::map<Id, size_t> before;
    for (const auto& [id, answer] : simulation_.answers) {
      const bool filtered = std::ranges::any_of(
          requests_, [id = id](const Request& request) { return request.id == id && request.filter != nullptr; });
      if (!answer.tokens.empty() && answer.ends == 0 && !filtered) before[id] = answer.tokens.size();
    }
    simulation_.round();
    if (simulation_.scheduler.figures().preemptions > 0) return;
    for (const auto& [id, tokens] : before) {
      const Answer& answer = simulation_.answers[id];
      EXPECT_TRUE(answer.tokens.size() > tokens || answer.ends == 1) << "request " << id << " got no token";
    }
  }

  void fail() {
    const Step step = simulation_.scheduler.next(simulation_.now);
    simulation_.take(simulation_.scheduler.take_ended());
    if (step.sequences.empty()) return;
    for (const Id id : simulation_.scheduler.failed()) ++simulation_.answers[id].ends;
    simulation_.take(simulation_.scheduler.take_ended());
  }

  void check() {
    const Figures figures = simulation_.scheduler.figures();
    EXPECT_EQ(figures.blocks_used, 0);
    EXPECT_EQ(figures.running, 0);
    EXPECT_EQ(figures.waiting, 0);
    if (settings_.overbooking == 0) {
      EXPECT_EQ(figures.preemptions, 0U);
    }
    for (const Request& request : requests_) {
      SCOPED_TRACE(request.id);
      const Answer& answer = simulation_.answers[request.id];
      EXPECT_EQ(answer.ends, 1);
      if (answer.finish != Finish::kStop && answer.finish != Finish::kLength) continue;
      EXPECT_EQ(answer.tokens, answer_alone(request, window_));
      EXPECT_GE(static_cast<int64_t>(answer.tokens.size()), request.least_tokens);
      EXPECT_EQ(answer.prompt_chances.size(), request.prompt_logprobs ? request.prompt.size() - 1 : 0);
    }
  }

  Dice dice_;
  Settings settings_;
  int64_t window_;
  Simulation simulation_;
  std::vector<Request> requests_;
  Id next_ = 1;
};

TEST(SchedulerProperties, HoldForAnyArrivalsCancelsDeadlinesAndFailures) {
  uint64_t accepted = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    AnyRun run(seed);
    run.run();
    accepted += run.accepted();
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(accepted, 100U);
}

// Answers were short, then long ones come: blocks run out again and again.
TEST(SchedulerProperties, HoldWhenBlocksRunOut) {
  uint64_t preemptions = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed + 100000);
    Settings settings = any_settings(dice);
    settings.overbooking = 0.5;
    settings.most_sequences = 8;
    settings.most_tokens = {};
    Simulation simulation(settings, 0, 32, test_settings().line);
    const generate::SharedList<int32_t> every_token = all_tokens(32);
    const int64_t positions = settings.blocks * settings.cache.block_tokens;
    for (Id id = 100; id < 140; ++id) {
      Request request = test_request(id, test_prompt(id, 2), positions / 2);
      request.stop_tokens = every_token;
      ASSERT_TRUE(simulation.add(request).ok());
    }
    simulation.run();
    std::vector<Request> requests;
    for (Id id = 1; id <= 6; ++id) {
      requests.push_back(
          test_request(id, test_prompt(dice.below(3), 1 + dice.below(positions / 4)), positions / 2, 0.9));
      ASSERT_TRUE(simulation.add(requests.back()).ok());
    }
    simulation.run();
    for (const Request& request : requests) {
      SCOPED_TRACE(request.id);
      EXPECT_EQ(simulation.answers[request.id].tokens, answer_alone(request, 0));
      EXPECT_EQ(simulation.answers[request.id].ends, 1);
    }
    EXPECT_EQ(simulation.scheduler.figures().blocks_used, 0);
    preemptions += simulation.scheduler.figures().preemptions;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(preemptions, 300U);
}

}  // namespace
}  // namespace ridge::generate
