// The time of one step of an engine that serves a model on one or several GPUs: the sum of its kernels, communication
// and the engine's own costs. A step computes all tokens of a batch once: one of each decoding sequence (several in
// speculative decoding), and chunks of prompts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "llm/gpu.h"
#include "llm/kernels.h"
#include "llm/model.h"

namespace ridge::llm {

enum class EngineKind { kVllm, kTensorRtLlm, kSglang, kLlamaCpp };
NameTable<EngineKind> names_of(EngineKind);

// How one replica is split. Attention is divided among `tensor` GPUs and replicated `data` times, each replica with its
// own sequences; experts among all tensor · data = expert_tensor · expert GPUs of a stage; layers among `pipeline`
// stages.
struct Parallel {
  int64_t tensor = 1, data = 1, pipeline = 1;
  int64_t expert_tensor = 1, expert = 1;
  int64_t gpus() const { return tensor * data * pipeline; }
  bool operator==(const Parallel&) const = default;
};
void visit_fields(auto& visit, Is<Parallel> auto& p) {
  visit("tensor", p.tensor);
  visit("data", p.data);
  visit("pipeline", p.pipeline);
  visit("expert_tensor", p.expert_tensor);
  visit("expert", p.expert);
}

// An engine's own costs. Constants fitted to public runs: docs/methods.md, "Language-model serving".
struct EngineCosts {
  double kernel_us = 0;  // per kernel: the gap to the next one, and small kernels between that are not counted
  double eager_kernel_us =
      0;                    // per kernel, least time of a step with prompts, which the host launches kernel by kernel
  double graph_tokens = 0;  // steps of no more tokens are recorded graphs, with prompts too
  double sequence_us = 0;   // per decoding sequence and step: its output
  // On kernels of steps with prompts that follow one another: seconds at full power run below the clock of the
  // kernels' short measurements.
  double prompt_factor = 1;
  double token_us = 0;     // of the tokeniser, per token of a prompt, one prompt after another
  double router_ms = 0;    // per request, of a front end before the engine's
  double handover_ms = 0;  // per request, from a prefill to a decode worker beside the transfer
  double start_share = 1;  // of the kernels' fixed times: the rest overlaps with the kernel before
  double lag_steps = 0;    // steps between a first token and its delivery
  // Steps that are composed and launched before the one before them has ended, so that the host's work is hidden: a
  // new request waits for them.
  double steps_ahead = 0;
  double fixed_ms = 0;  // per request: HTTP
};
const EngineCosts& costs_of(EngineKind engine);

// Rules of an engine's scheduler, as its own code has them in 2026. Without any of these, decoding sequences and chunks
// of prompts share steps, and a sequence is admitted if its longest output fits.
struct EngineRules {
  // Steps compute prompts, first, or decode; new requests are looked for at intervals of decode steps.
  bool prompts_alone = false;
  // Only a prompt longer than a step is divided; if told so, prompts wait until a step is well filled.
  bool whole_prompts = false;
  // The cache is taken as a sequence grows; where none is left the last one is preempted and computed again.
  bool takes_blocks = false;
};
const EngineRules& rules_of(EngineKind engine);

struct Deployment {
  Model model;
  Formats formats;
  double cache_bits = 16;
  Gpu gpu;
  Parallel parallel;
  EngineKind engine = EngineKind::kVllm;
  EngineCosts costs;
  // Drafts of speculative decoding, per sequence and step; 0: none. A model with layers of multi-token prediction
  // computes them by these, one after another: a layer like its last one, the matrix that joins a token's embedding to
  // the hidden state, and the head (DeepSeek-V3, arXiv:2412.19437, section 2.2). Without such layers drafts cost
  // nothing here.
  int64_t draft_tokens = 0;
};

// Served by that engine, with its costs.
Deployment with_engine(Deployment deployment, EngineKind engine);

// True if the model's own layers compute draft tokens.
inline bool drafts(const Deployment& d) { return d.draft_tokens > 0 && d.model.draft_layers > 0; }

// Work of a step on one attention replica.
struct Step {
  double sequences = 0;  // that decode
  double cached = 0;     // tokens that they hold together
  struct Chunk {
    double tokens = 0, cached = 0;
  };
  std::vector<Chunk> chunks = {};  // of prompts
  double prompts_done = 0;         // chunks that end their prompt, so that a token is sampled
  // Tokens per attention replica, over those of this one, for which the others wait: experts compute them all.
  double balance = 1;
  // Share of the time before it that computed prompts, for the clock: prompt_factor holds where it is 1.
  double sustained = 1;
};

// A kernel of the step, over all its layers on one GPU.
struct KernelRow {
  std::string name;
  double calls = 0;
  KernelTime time;  // of all calls
};
void visit_fields(auto& visit, Is<KernelRow> auto& row) {
  const KernelTime& t = row.time;
  visit("name", row.name, means("of the kernel, over all layers").column("kernel"));
  visit("calls", row.calls, means("of a step").column("calls").leaves(4));
  visit.derived("ms", Derived{1e3 * t.seconds, means("of all calls").column("time")});
  visit.derived("bound_ms", Derived{1e3 * t.bound_seconds, means("the physical limit").column("limit").leaves(3)});
  visit.derived("percent_of_limit", Derived{t.seconds > 0 ? 100 * t.bound_seconds / t.seconds : 0,
                                            means("of the time").column("share of the limit").leaves(5)});
  visit.derived("limiter", Derived{std::string(t.bound_seconds <= 0 ? "none"
                                               : t.compute_bound    ? "compute"
                                                                    : "memory"),
                                   means("`compute`, `memory` or `none`").column("limiter").leaves(1)});
  visit.derived(
      "law", Derived{std::string(t.error_percent <= 0 ? "assumed"
                                 : t.own              ? "this GPU's"
                                                      : "other GPUs'"),
                     means("that gives the time: `this GPU's`, `other GPUs'` or `assumed`").column("law").leaves(1)});
  visit.unless_empty("median_error_percent", t.error_percent, means("of the law").column("median error"));
}

// Every kernel of the step, and the engine's own costs without a bound, in the order of a layer.
std::vector<KernelRow> kernels_of(const Deployment& deployment, const Step& step);

// Kernels of a step: those that leave a gap behind them in a recorded graph, and those that the host launches without
// one.
struct Launches {
  double recorded = 0, eager = 0;
};

// The same as one time, from a table over numbers of tokens; for simulations.
class StepTable {
 public:
  StepTable(const Deployment& deployment, int64_t most_tokens);
  double seconds(const Step& step) const;

 private:
  double at(const std::vector<double>& values, double tokens) const;

  const Deployment deployment_;
  const Launches launches_;
  std::vector<double> tokens_;
  std::vector<double> layers_;  // [s] at tokens_: all that depends on the number of tokens only
  std::vector<double> shared_;  // the same of what all attention replicas do together
  std::vector<double> head_;    // [s] at tokens_ as rows that are sampled
  std::vector<double>
      draft_;  // [s] at tokens_ as sequences: one draft token of each, without attention; empty: no drafts
};

}  // namespace ridge::llm
