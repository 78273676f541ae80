// Space: every sensible candidate for a model on a machine, each with its physical limit.
//
// Pure: built from Machine, Graph and Costs, no measurement. Candidates that cannot pay are left out here with a reason
// and a count (memory, latency goal); Search drops those that lose against measured results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "cost/costs.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "tune/candidate.h"
#include "tune/load_goal.h"
#include "tune/target.h"

namespace ridge::tune {

enum class Objective {
  kBalanced,    // rows per second, weighed against latency (tune/knee.h)
  kThroughput,  // rows per second
  kLatency,     // p50 of one request alone
  kEnergy,      // rows per joule, by the machine's counters
  kCost,        // rows per CPU and second: for prices per CPU
};
NameTable<Objective> names_of(Objective);  // "balanced", "throughput", …
Result<Objective> objective_from_name(std::string_view name);

struct Goal {
  Objective objective = Objective::kThroughput;
  std::optional<double> p99_ms = {};      // at most: of one run; with a load of a request, including its wait
  std::optional<double> rows_per_s = {};  // the load that must be carried

  ModelGoal limits() const { return {rows_per_s, p99_ms}; }
  bool has_limits() const { return p99_ms || rows_per_s; }
};

struct PricedCandidate {
  Candidate candidate;
  double bound_ms = 0;        // least time of one run with all instances busy; 0 = no limit known
  double max_rows_per_s = 0;  // most rows by that bound; 0 = no limit known
  double memory_bytes = 0;    // weights and live activations of all instances; 0 = not known
};

// Why candidates are not measured.
struct SkipReason {
  std::string id = {};  // stable: "memory", "bound-below-best", …; empty: they are
  std::string text = {};
  explicit operator bool() const { return !id.empty(); }
};

// Of all searches, as contracts name them.
constexpr const char* kSkipReasons =
    "never measured: `memory`, `bound-misses-goal`, `bound-misses-load`, `bound-below-best`, `no-shorter` (more rows "
    "or instances cannot shorten one request), `long-run`, `smaller-batch-misses-goal`, `smaller-failed`, "
    "`variant-failed`, `unpromising`, `budget-ended`; measured, and then out: `failed`, `not-confirmed`, "
    "`rows-lose-accuracy`, `not-proven` (does not carry the load); of several models also `threads`, "
    "`misses-goal-alone`, `misses-goals`; of a language model `predicted-slower`, `predicted-alike`, `others-first`, "
    "`threads-of-best-only`, `budget-ended`, `not-opened`";
// Left over by the searches at their end.
inline const SkipReason kBudgetEnded = {"budget-ended", "the time budget ended before it"};
inline const SkipReason kUnpromising = {"unpromising", "similar candidates were too slow"};
inline const SkipReason kNotConfirmed = {"not-confirmed", "ahead in the search, not confirmed when measured again"};

struct SkipCount {
  SkipReason reason;
  int count = 0;
};
void visit_fields(auto& visit, Is<SkipCount> auto& skipped) {
  visit("id", skipped.reason.id, means(kSkipReasons));
  visit("reason", skipped.reason.text);
  visit("count", skipped.count);
}

struct Space {
  std::vector<PricedCandidate> entries;
  std::vector<SkipCount> skipped;
};

struct SpaceOptions {
  Goal goal;
  int64_t max_batch = 1;       // 1 = the batch is fixed by the model
  std::optional<int> threads;  // upper limit in all; absent = machine::usable_threads
  double max_run_ms = 0;       // a run with a longer bound is not tried; 0 = no limit
  int64_t rows = 1;            // of a run at batch 1: more where the file fixes its first dimension
  Target target = {};
};

// The model's costs at batch 1 and, if its batch is free, at batch 2: FLOPs and bytes are affine in the batch, so that
// two points give all others.
struct BatchCosts {
  cost::Costs one;
  std::optional<cost::Costs> two;
};
cost::Costs at_batch(const BatchCosts& costs, int64_t batch);

// Total work over the work on the longest path, in FLOPs; 1 = a chain. Shows whether parallel operators can help.
double parallelism(const model::Graph& graph, const cost::Costs& costs);

// An implementation with its work and traffic.
struct PricedImplementation {
  Implementation implementation;
  BatchCosts costs;
};

// `one` and, if the batch is free, `two`: the graph of the FP32 model at these batches; null: the batch is fixed.
PricedImplementation priced(const Implementation& implementation, const model::Graph& one, const model::Graph* two);

// Every layout for every implementation. The first is the baseline's: the original model in the base plan's engine.
Space make_space(const machine::Machine& machine, const model::Graph& graph,
                 std::span<const PricedImplementation> implementations, const SpaceOptions& options);

// [bytes] Available to models on the machine: free when probed, within the cgroup's limit; 0 = not known.
double available_bytes(const machine::Machine& machine);

// Adds one to `reason`.
void count_skip(std::vector<SkipCount>& skipped, const SkipReason& reason);

}  // namespace ridge::tune
