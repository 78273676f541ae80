#include "llm/cpu/serving_here.h"

#include <algorithm>
#include <array>

#include "llm/cpu/load.h"

namespace ridge::llm::cpu {
namespace {

constexpr int64_t kBlockTokens = 32;  // of OpenVINO's decoder

// What the load takes by the line, through the scheduler that serves it, as far as its cache is large enough. Of a
// closed load neither the first wave counts, whose prompts come all at once, nor the last, beside which answers run
// out.
Result<Simulation> simulated(const generate::StepLine& line, const llm::Load& load) {
  constexpr int64_t kFewestRequests = 100, kPerSequence = 10;
  Workload w = load.workload;
  if (!w.trace.empty()) w.concurrency = 0;
  if (w.concurrency > 0) w.requests = std::max(kFewestRequests, kPerSequence * w.concurrency);
  static constexpr std::array<int32_t, 1021> kText = {};  // any tokens
  Load sent{.requests = requests_of(w, EngineKind::kVllm), .concurrency = w.concurrency, .text = kText};
  sent.common_share = w.prefix_hit;
  sent.front = from_seconds(kFrontSeconds);
  generate::Settings settings;
  settings.line = line;
  settings.prefix_reuse = w.prefix_hit > 0;
  settings.context = longest(sent);
  if (load.chunk_tokens > 0) settings.most_tokens = load.chunk_tokens;
  if (load.most_sequences > 0) settings.most_sequences = load.most_sequences;
  settings.cache.block_tokens = kBlockTokens;
  settings.blocks = std::min<int64_t>(settings.most_sequences, std::ssize(sent.requests)) *
                    settings.cache.blocks_for(settings.context);
  RIDGE_ASSIGN(const Served served, predict(settings, sent));
  const auto end = served.answered.end() - w.concurrency;
  const std::vector<Answered> counted(served.answered.begin() + w.concurrency, end);
  double steps = 0, cached = 0, decoding_s = 0, all_s = 0;
  for (size_t i = 0; i < counted.size(); ++i) {
    const Request& request = sent.requests[i + static_cast<size_t>(w.concurrency)];
    const auto prompt = static_cast<double>(request.prompt), output = static_cast<double>(request.output);
    steps += output - 1;
    cached += (output - 1) * (prompt + output / 2);
    decoding_s += counted[i].last_s - counted[i].first_s;
    all_s += counted[i].last_s - counted[i].sent_s;
  }
  const double seconds = w.concurrency > 0 ? all_s / static_cast<double>(w.concurrency) : served.seconds;
  Simulation simulation = times_of(counted, seconds);
  simulation.mean_decoding = decoding_s / seconds;
  simulation.mean_cached = steps > 0 ? cached / steps : 0;
  return simulation;
}

void add_bounds(const DecoderLimit& limit, ServingHere& here) {
  StepWork prompt = limit.weights(), decode = limit.weights();
  limit.add(0.5 * static_cast<double>(here.workload.prompt_min + here.workload.prompt_max), 0, 1, prompt);
  const double batch = std::max(1.0, here.simulation.mean_decoding);
  StepWork one{};
  limit.add(1, here.simulation.mean_cached, 1, one);
  decode.flops += batch * one.flops;
  decode.bytes += batch * one.bytes;
  here.ttft_bound_ms = limit.bound(prompt).ms;
  here.tpot_bound_ms = limit.bound(decode).ms;
}

}  // namespace

Status predict_serving(const llm::Load& load, const DecoderLimit& limit, ServingHere& here) {
  RIDGE_ASSIGN(here.simulation, simulated(here.line, load));
  add_bounds(limit, here);
  return {};
}

}  // namespace ridge::llm::cpu
