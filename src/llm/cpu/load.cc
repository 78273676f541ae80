#include "llm/cpu/load.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "base/fake_clock.h"

namespace ridge::llm::cpu {
namespace {

// Numbers of the golden ratio's sequence lie far apart, so prompts begin at different places and share no prefix.
constexpr double kGoldenRatio = 0.6180339887498949;

std::vector<int32_t> prompt_of(const Load& load, size_t request) {
  const double turn = kGoldenRatio * static_cast<double>(request);
  size_t at = static_cast<size_t>((turn - static_cast<double>(static_cast<int64_t>(turn))) *
                                  static_cast<double>(load.text.size()));
  std::vector<int32_t> prompt;
  const int64_t tokens = load.requests[request].prompt;
  const auto common = static_cast<int64_t>(load.common_share * static_cast<double>(tokens));
  for (int64_t i = 0; i < common; ++i) prompt.push_back(load.text[static_cast<size_t>(i) % load.text.size()]);
  for (int64_t i = common; i < tokens; ++i) prompt.push_back(load.text[at++ % load.text.size()]);
  return prompt;
}

// One run of a load.
class Run {
 public:
  Run(engine::Decoder& decoder, const generate::Settings& settings, const Load& load, Clock& clock)
      : decoder_(decoder), load_(load), clock_(clock), begin_(clock.now()), scheduler_(settings) {
    served_.answered.resize(load.requests.size());
  }

  bool done() const { return ends_.size() == load_.requests.size(); }

  Status send_due() {
    while (sent_ < load_.requests.size()) {
      const std::optional<Nanoseconds> sent = next_sent();
      if (!sent || *sent + load_.front > now()) break;
      const llm::Request& asked = load_.requests[sent_];
      generate::Request request;
      request.id = sent_ + 1;
      request.prompt = prompt_of(load_, sent_);
      request.most_tokens = asked.output;
      request.sampling.temperature = 0;
      request.arrived = *sent + load_.front;
      served_.answered[sent_] = {to_seconds(*sent), 0, 0, asked.output};
      ++sent_;
      RIDGE_TRY(scheduler_.add(std::move(request), now()));
    }
    return {};
  }

  Status step(const std::function<void(const generate::Step&, Nanoseconds)>& ran) {
    const generate::Step step = scheduler_.next(now());
    if (step.sequences.empty()) {  // the next request is not due yet
      assert(sent_ < load_.requests.size() && next_sent());
      clock_.sleep_until(begin_ + *next_sent() + load_.front);
      return {};
    }
    const TimePoint begin = clock_.now();
    RIDGE_ASSIGN(const engine::Logits logits, decoder_.step(step.sequences));
    if (ran) ran(step, clock_.now() - begin);
    for (const generate::Event& event : scheduler_.done(logits, now())) {
      Answered& answer = served_.answered[event.id - 1];
      answer.last_s = to_seconds(now());
      if (answer.first_s == 0) answer.first_s = answer.last_s;
      if (event.finish != generate::Finish::kNone) ends_.push_back(now());
    }
    return {};
  }

  Served result() {
    const generate::Figures figures = scheduler_.figures();
    served_.seconds = to_seconds(now());
    served_.preemptions = figures.preemptions;
    served_.drafted_tokens = figures.drafted_tokens;
    served_.accepted_tokens = figures.accepted_tokens;
    return std::move(served_);
  }

 private:
  bool open() const { return load_.concurrency == 0; }
  Nanoseconds now() const { return clock_.now() - begin_; }
  // Time of the next request; empty: an answer has to end before. A closed load's first requests are sent at once.
  std::optional<Nanoseconds> next_sent() const {
    if (open()) return from_seconds(load_.requests[sent_].sent_s);
    const auto before = static_cast<int64_t>(sent_) - load_.concurrency;
    if (before < 0) return Nanoseconds{};
    if (before >= std::ssize(ends_)) return {};
    return ends_[static_cast<size_t>(before)];
  }

  engine::Decoder& decoder_;
  const Load& load_;
  Clock& clock_;
  const TimePoint begin_;
  generate::Scheduler scheduler_;
  Served served_;
  size_t sent_ = 0;
  std::vector<Nanoseconds> ends_;  // of answers, in their order
};

// Takes the line's time on a clock of its own. Every token is the same one.
class LineDecoder final : public engine::Decoder {
 public:
  LineDecoder(const generate::StepLine& line, FakeClock& clock) : line_(line), clock_(clock) {}
  const engine::DecoderInfo& info() const override { return info_; }
  Status reserve(int64_t) override { return {}; }
  Result<engine::Logits> step(std::span<const engine::StepSequence> sequences) override {
    generate::StepLoad load;
    int64_t rows = 0;
    for (const engine::StepSequence& sequence : sequences) {
      load.add(static_cast<double>(sequence.tokens.size()), static_cast<double>(sequence.past),
               static_cast<double>(sequence.samples));
      rows += sequence.samples;
    }
    clock_.advance(from_seconds(line_.seconds(load)));
    logits_.assign(static_cast<size_t>(rows), 0);
    return engine::Logits{logits_, rows};
  }

 private:
  const generate::StepLine line_;
  FakeClock& clock_;
  const engine::DecoderInfo info_ = {};
  std::vector<float> logits_;
};

bool within(const Answered& answer, const Goals& goals) {
  const double tokens = static_cast<double>(answer.output - 1);
  return (!goals.ttft_ms || 1e3 * (answer.first_s - answer.sent_s) <= *goals.ttft_ms) &&
         (!goals.tpot_ms || tokens < 1 || 1e3 * (answer.last_s - answer.first_s) / tokens <= *goals.tpot_ms);
}

}  // namespace

int64_t longest(const Load& load) {
  int64_t tokens = 0;
  for (const llm::Request& request : load.requests) tokens = std::max(tokens, request.prompt + request.output);
  return tokens;
}

Result<Served> serve(engine::Decoder& decoder, const generate::Settings& settings, const Load& load, Clock& clock,
                     const std::function<bool()>& interrupted,
                     const std::function<void(const generate::Step&, Nanoseconds)>& ran) {
  Run run(decoder, settings, load, clock);
  while (!run.done()) {
    if (interrupted && interrupted()) return Error{Code::kCancelled, "interrupted"};
    RIDGE_TRY(run.send_due());
    RIDGE_TRY(run.step(ran));
  }
  return run.result();
}

Figures figures_of(std::span<const Served> served, const Goals& goals) {
  std::vector<Answered> all;
  double seconds = 0;
  for (const Served& one : served) {
    all.insert(all.end(), one.answered.begin(), one.answered.end());
    seconds += one.seconds;
  }
  const llm::Simulation times = llm::times_of(all, seconds);
  Figures figures;
  figures.output_tokens_per_s = times.output_tokens_per_s;
  figures.requests_per_s = times.requests_per_s;
  figures.ttft_ms = times.ttft_ms;
  figures.tpot_ms = times.tpot_ms;
  if (goals.any())
    figures.goodput_per_s =
        static_cast<double>(std::ranges::count_if(all, [&](const Answered& a) { return within(a, goals); })) / seconds;
  return figures;
}

double score_of(const Figures& figures) { return figures.goodput_per_s.value_or(figures.output_tokens_per_s); }

Result<Served> predict(generate::Settings settings, const Load& load) {
  settings.speculate = false;
  FakeClock clock;
  LineDecoder decoder(settings.line, clock);
  return serve(decoder, settings, load, clock);
}

}  // namespace ridge::llm::cpu
