#include "serve/text_statistics.h"

#include <initializer_list>
#include <limits>

#include "serve/histogram.h"

namespace ridge::serve {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The bounds are vLLM's (vllm/v1/metrics/loggers.py), with others below, as its first ones are longer than what is
// measured on small models.
const std::vector<double> kFirstTokenBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04,     0.06, 0.08,
                                               0.1,    0.25,  0.5,    0.75,  1,    2.5,  5,        7.5,  10,
                                               20,     40,    80,     160,   640,  2560, kInfinity};
const std::vector<double> kTokenBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075,
                                          0.1,    0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1,
                                          2.5,    5,     7.5,    10,    20,   40,    80,   kInfinity};
const std::vector<double> kRequestBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.3,  0.5,
                                            0.8,    1,     1.5,    2,     2.5,  5,     10,   15,   20,   30,
                                            40,     50,    60,     120,   240,  480,   960,  1920, 7680, kInfinity};
const std::vector<double> kLengthBounds = {1,    2,    5,     10,    20,    50,     100,    200,    500, 1000,
                                           2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1e6, kInfinity};
const std::vector<double> kStepTokenBounds = {1,   2,   4,    8,    16,   32,   64,    128,
                                              256, 512, 1024, 2048, 4096, 8192, 16384, kInfinity};

double seconds_between(TimePoint from, TimePoint to) { return to_seconds(to - from); }

std::initializer_list<Histogram TextFigures::*> histograms() {
  static constexpr std::initializer_list<Histogram TextFigures::*> kAll = {&TextFigures::first_token,
                                                                           &TextFigures::between_tokens,
                                                                           &TextFigures::per_output_token,
                                                                           &TextFigures::whole,
                                                                           &TextFigures::queue,
                                                                           &TextFigures::prefill,
                                                                           &TextFigures::decode,
                                                                           &TextFigures::inference,
                                                                           &TextFigures::prompt_tokens,
                                                                           &TextFigures::generation_tokens,
                                                                           &TextFigures::step_tokens,
                                                                           &TextFigures::prefill_step,
                                                                           &TextFigures::decode_step,
                                                                           &TextFigures::prefill_bound,
                                                                           &TextFigures::decode_bound};
  return kAll;
}

}  // namespace

TextStatistics::TextStatistics() {
  figures_.first_token = empty_histogram(kFirstTokenBounds);
  for (auto histogram : {&TextFigures::between_tokens, &TextFigures::per_output_token, &TextFigures::prefill_step,
                         &TextFigures::decode_step, &TextFigures::prefill_bound, &TextFigures::decode_bound})
    figures_.*histogram = empty_histogram(kTokenBounds);
  for (auto histogram :
       {&TextFigures::whole, &TextFigures::queue, &TextFigures::prefill, &TextFigures::decode, &TextFigures::inference})
    figures_.*histogram = empty_histogram(kRequestBounds);
  figures_.prompt_tokens = figures_.generation_tokens = empty_histogram(kLengthBounds);
  figures_.step_tokens = empty_histogram(kStepTokenBounds);
}

void TextStatistics::refuse() {
  MutexLock lock(mutex_);
  ++figures_.refused;
}

void TextStatistics::begin_step(TimePoint now) {
  MutexLock lock(mutex_);
  step_began_ = now;
}

void TextStatistics::end_step(TimePoint now, const EndedStep& step) {
  MutexLock lock(mutex_);
  figures_.last_step_s = seconds_between(step_began_, now);
  figures_.last_step_predicted_s = to_seconds(step.predicted);
  figures_.last_step_bound_s = step.bound_s;
  step_began_ = {};
  serve::add(step.decode ? figures_.decode_step : figures_.prefill_step, figures_.last_step_s);
  serve::add(figures_.step_tokens, static_cast<double>(step.tokens));
  if (step.bound_s > 0) serve::add(step.decode ? figures_.decode_bound : figures_.prefill_bound, step.bound_s);
}

uint64_t TextStatistics::bound_ns() const {
  MutexLock lock(mutex_);
  return static_cast<uint64_t>(1e9 * (figures_.prefill_bound.sum_s + figures_.decode_bound.sum_s));
}

void TextStatistics::note(const generate::Figures& scheduler, const generate::StepLine& line) {
  MutexLock lock(mutex_);
  figures_.scheduler = scheduler;
  figures_.line = line;
}

void TextStatistics::add_token(Nanoseconds since_the_last) {
  MutexLock lock(mutex_);
  serve::add(figures_.between_tokens, to_seconds(since_the_last));
}

void TextStatistics::end(uint64_t TextEnds::*cause, const ChoiceTimes& times, int64_t prompt_tokens, int64_t tokens,
                         TimePoint now) {
  MutexLock lock(mutex_);
  ++(figures_.ends.*cause);
  serve::add(figures_.prompt_tokens, static_cast<double>(prompt_tokens));
  serve::add(figures_.generation_tokens, static_cast<double>(tokens));
  if (tokens == 0) return;
  const double decode = seconds_between(times.first_token, times.last_token);
  serve::add(figures_.first_token, seconds_between(times.arrived, times.first_token));
  if (tokens > 1) serve::add(figures_.per_output_token, decode / static_cast<double>(tokens - 1));
  serve::add(figures_.whole, seconds_between(times.arrived, now));
  serve::add(figures_.queue, seconds_between(times.arrived, times.started));
  serve::add(figures_.prefill, seconds_between(times.started, times.first_token));
  serve::add(figures_.decode, decode);
  serve::add(figures_.inference, seconds_between(times.started, times.last_token));
}

TextFigures TextStatistics::snapshot(TimePoint now) const {
  TextFigures figures;
  {
    MutexLock lock(mutex_);
    figures = figures_;
    if (step_began_ != TimePoint{}) figures.running_step_s = seconds_between(step_began_, now);
  }
  for (const auto histogram : histograms()) accumulate_counts(figures.*histogram);
  return figures;
}

}  // namespace ridge::serve
