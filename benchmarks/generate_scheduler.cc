// Measures the scheduler of language models without a decoder: a round (next and done) with 256 sequences running and
// thousands waiting, add(), and drawing a token from a vocabulary of 152 k. A decoder's step takes milliseconds to
// hundreds of them.
//
//   generate_scheduler [--benchmark_filter=REGEX]
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "generate/sampler.h"
#include "generate/scheduler.h"

namespace {

using namespace ridge;
using namespace ridge::generate;

constexpr int32_t kSmallVocabulary = 16;  // so that drawing costs nothing beside the rest

Settings settings_of(int64_t sequences) {
  Settings settings;
  settings.cache = {32, 1 << 20};
  settings.blocks = 1 << 17;
  settings.context = 1 << 17;
  settings.most_sequences = sequences;
  settings.token_goal = from_seconds(1);
  settings.line = {.floor = 5.7e-3, .fixed = 4e-3, .per_token = 0.44e-3, .per_cached = 1.5e-7};
  return settings;
}

Request request_of(Id id, int64_t prompt, int64_t answer) {
  Request request;
  request.id = id;
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < prompt; ++i)
    tokens.push_back(static_cast<int32_t>(split_mix(id * 10007 + static_cast<uint64_t>(i)) % 30000));
  request.prompt = std::move(tokens);
  request.most_tokens = answer;
  request.sampling.temperature = 0;
  request.key = "key " + std::to_string(id % 100);
  if (id % 4 == 0) request.deadline = from_seconds(1e6);
  return request;
}

// Rows for each sequence of the step; each wants another token, so that drafts do not match.
void run_step(std::vector<float>& logits, Nanoseconds& now, const Step& step) {
  int64_t rows = 0;
  for (const auto& sequence : step.sequences) rows += sequence.samples;
  logits.assign(static_cast<size_t>(rows) * kSmallVocabulary, 0);
  for (int64_t row = 0; row < rows; ++row)
    logits[row * kSmallVocabulary + split_mix(static_cast<uint64_t>(now.count() + row)) % kSmallVocabulary] = 1;
  now += step.predicted;
}

// Arguments: running, waiting. Every answer that ends is followed by a new request, so that prompts are among the steps
// as well.
void round_of(benchmark::State& state) {
  Scheduler scheduler(settings_of(state.range(0)));
  Nanoseconds now{};
  Id next = 1;
  for (int64_t i = 0; i < state.range(0) + state.range(1); ++i) (void)scheduler.add(request_of(next++, 512, 256), now);
  std::vector<float> logits;
  while (scheduler.figures().running < state.range(0) || scheduler.figures().generated_tokens < 20000) {
    const Step step = scheduler.next(now);
    run_step(logits, now, step);
    for (const Event& event : scheduler.done({logits, static_cast<int64_t>(logits.size()) / kSmallVocabulary}, now)) {
      if (event.finish != Finish::kNone) (void)scheduler.add(request_of(next++, 512, 256), now);
    }
  }
  double tokens = 0;
  double predicted = 0;
  for (auto _ : state) {
    const Step step = scheduler.next(now);
    state.PauseTiming();
    run_step(logits, now, step);
    tokens += step.load.tokens;
    predicted += to_seconds(step.predicted);
    state.ResumeTiming();
    const auto events = scheduler.done({logits, static_cast<int64_t>(logits.size()) / kSmallVocabulary}, now);
    state.PauseTiming();
    for (const Event& event : events) {
      if (event.finish != Finish::kNone) (void)scheduler.add(request_of(next++, 512, 256), now);
    }
    state.ResumeTiming();
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["tokens_per_step"] = tokens / rounds;
  state.counters["step_ms"] = predicted / rounds * 1e3;
  state.counters["preemptions"] = static_cast<double>(scheduler.figures().preemptions);
}
BENCHMARK(round_of)->Args({1, 0})->Args({32, 0})->Args({256, 0})->Args({256, 4000})->Unit(benchmark::kMicrosecond);

void add_and_cancel(benchmark::State& state) {
  Scheduler scheduler(settings_of(256));
  Id next = 1;
  for (int64_t i = 0; i < state.range(0); ++i) (void)scheduler.add(request_of(next++, 512, 256), {});
  const Request request = request_of(4 * next, 512, 256);
  for (auto _ : state) {
    (void)scheduler.add(request, {});
    scheduler.cancel(request.id);
  }
}
BENCHMARK(add_and_cancel)->Arg(0)->Arg(4000)->Unit(benchmark::kMicrosecond);

void draw_of(benchmark::State& state, Sampling sampling, double spread) {
  std::vector<float> row(152064);
  for (size_t i = 0; i < row.size(); ++i) {
    double sum = -6;
    for (uint64_t j = 0; j < 12; ++j) sum += uniform(7, i * 12 + j);
    row[i] = static_cast<float>(spread * sum);
  }
  Sampler sampler;
  uint64_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.draw({row, sampling, nullptr, nullptr, {}, ++index}));
}
void register_draws() {
  const auto one = [](const char* name, const Sampling& sampling, double spread) {
    benchmark::RegisterBenchmark(name, draw_of, sampling, spread)->Unit(benchmark::kMicrosecond);
  };
  one("draw/greedy", {.temperature = 0}, 3);
  one("draw/temperature", {.temperature = 0.8}, 3);
  one("draw/top_k_50", {.top_k = 50}, 3);
  one("draw/top_p_0.9", {.temperature = 0.7, .top_p = 0.9}, 3);
  one("draw/top_p_0.9_flat", {.top_p = 0.9}, 0.5);
  one("draw/min_p_0.05", {.min_p = 0.05}, 3);
  one("draw/top_p_0.95_top_k_50", {.temperature = 0.7, .top_p = 0.95, .top_k = 50}, 3);
  one("draw/bias", {.temperature = 0, .logit_bias = {{1, 1.0F}}}, 3);
}

void logprobs_5(benchmark::State& state) {
  std::vector<float> row(152064);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(8 * uniform(7, i));
  for (auto _ : state) benchmark::DoNotOptimize(LogProbs(row).most_likely(5));
}
BENCHMARK(logprobs_5)->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
  register_draws();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
