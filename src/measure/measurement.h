// Measurement: the result of benchmarking a model, beside its limit. The `bench` JSON contract.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/tensor.h"
#include "cost/costs.h"
#include "machine/disturbance.h"
#include "measure/energy.h"
#include "measure/histogram.h"
#include "measure/interval.h"
#include "plan/plan.h"

namespace ridge::measure {

// A set of latencies [ms].
struct Latency {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, min = 0, max = 0;
};
void visit_fields(auto& visit, Is<Latency> auto& latency) {
  visit.optional("mean", latency.mean);
  visit.optional("p50", latency.p50);
  visit.optional("p90", latency.p90);
  visit.optional("p95", latency.p95);
  visit.optional("p99", latency.p99);
  visit.optional("min", latency.min);
  visit.optional("max", latency.max);
}

struct PercentileIntervals {
  Interval p50, p90, p95, p99;
};
void visit_fields(auto& visit, Is<PercentileIntervals> auto& intervals) {
  visit("p50", intervals.p50);
  visit("p90", intervals.p90);
  visit("p95", intervals.p95);
  visit("p99", intervals.p99);
}

struct Layer {
  std::string name, op;
  double ms = 0;
  double flops = 0, macs = 0, bytes = 0;
  double flops_per_s = 0, bytes_per_s = 0;
  double bound_ms = 0, percent_of_limit = 0;
  cost::Limiter limiter = cost::Limiter::kUnknown;
  bool has_rule = true;
  int position = 0;
  std::string kernel = {}, engine_name = {};
  std::vector<std::string> nodes = {};
};
void visit_fields(auto& visit, Is<Layer> auto& layer) {
  visit.optional("name", layer.name,
                 means("of the one of `nodes` with the most arithmetic; without `nodes` the layer is the engine's own "
                       "(a change of layout): of the node that it serves")
                     .csv());
  visit.optional("op", layer.op,
                 means("of that node; of an engine's own layer what it does").column("operator").leaves(6).csv());
  visit.optional("ms", layer.ms, means("per run, by the engine's profile").column("time").csv().low_is_better());
  visit.optional("flops", layer.flops, Figure().csv());
  visit.optional("macs", layer.macs, means("the multiply-adds among the FLOPs"));
  visit.optional("bytes", layer.bytes, Figure().csv());
  visit.optional("flops_per_s", layer.flops_per_s, means("reached").column("reached").leaves(3).in("FLOP/s").csv());
  visit.optional("bytes_per_s", layer.bytes_per_s, means("moved").column("moved").leaves(4).in("B/s").csv());
  visit.optional("bound_ms", layer.bound_ms, Figure().column("bound").leaves(2).csv());
  visit.optional("percent_of_limit", layer.percent_of_limit,
                 means("100 · bound / measured").column("share of the limit").csv());
  visit.optional("limiter", layer.limiter, Figure().column("limiter").leaves(5).csv());
  visit.optional("has_rule", layer.has_rule, means("false: its FLOPs are not counted").csv());
  visit.optional("position", layer.position, means("in the order in which the layers ran").csv());
  visit.optional("kernel", layer.kernel,
                 means("what executed it, if the engine reports it").column("kernel").leaves(1).csv());
  visit.optional("engine_name", layer.engine_name, means("in the engine's graph"));
  visit.optional("nodes", layer.nodes, means("of the model, that the layer computes"));
}

struct Stages {     // [ms]
  double load = 0;  // open the session
  double first_run = 0;
  double input = 0;    // hand the inputs to the engine
  double compute = 0;  // inside the engine's run
  double output = 0;   // take the outputs
};
void visit_fields(auto& visit, Is<Stages> auto& stages) {
  visit.optional("load", stages.load);
  visit.optional("first_run", stages.first_run);
  visit.optional("input", stages.input);
  visit.optional("compute", stages.compute);
  visit.optional("output", stages.output);
}

// The load of an open loop, whose latencies speak of it and not of the model's speed.
struct OpenLoad {
  double rate_per_s = 0, achieved_per_s = 0;
  double busy_share = 0;
  double queueing_ms = 0;
};
// Callers that are never idle fall behind, unless the rate is what they can just do.
constexpr double kFullyBusy = 0.98;
inline bool kept_up(const OpenLoad& load) {
  return load.busy_share < kFullyBusy || load.achieved_per_s >= load.rate_per_s;
}
void visit_fields(auto& visit, Is<OpenLoad> auto& load) {
  visit("rate_per_s", load.rate_per_s, means("requests per second asked for"));
  visit("achieved_per_s", load.achieved_per_s, means("requests per second answered"));
  visit.derived("kept_up", Derived{kept_up(load), means("false: the callers were never idle and fell behind")});
  visit("busy_share", load.busy_share, means("of the callers' time, in runs"));
  visit("queueing_ms", load.queueing_ms, means("mean time from a request's intended time to its run").low_is_better());
}

// A disturbed measurement, as it would probably be on a quiet machine.
struct Undisturbed {
  std::string by;  // "median" run; "fastest", where the median run is of more than twice its time
  double latency_ms = 0, throughput_per_s = 0, percent_of_limit = 0;
};
void visit_fields(auto& visit, Is<Undisturbed> auto& estimate) {
  visit("by", estimate.by);
  visit("latency_ms", estimate.latency_ms);
  visit("throughput_per_s", estimate.throughput_per_s);
  visit("percent_of_limit", estimate.percent_of_limit);
}

// Possible improvements.
struct Advice {
  // limit-unknown, limits-too-low, above-limit (of a GPU), memory-limit, compute-limit, small-model, one-operator,
  // see-layers, larger-batch, other-threads; of a disturbed measurement "disturbed"; of an open loop "kept-up" or
  // "overloaded"; stable
  std::string id;
  std::string sentence;
};

struct Measurement {
  std::string model, engine, engine_version, device;
  std::string model_digest;  // of the file (base/digest.h); empty: of a script
  std::map<std::string, Shape> shapes;
  Precision precision = Precision::kFp32;
  std::string executed;
  int threads = 0, instances = 1, concurrency = 1;
  int64_t batch = 1;
  bool open_batch = true;
  int64_t nodes = 0;
  Latency latency_ms;           // of one run (a batch)
  double throughput_per_s = 0;  // rows (items), not runs
  double ci95_percent = 0;
  PercentileIntervals latency_ci95_ms;
  Interval throughput_ci95_per_s;
  int64_t samples = 0;
  bool cold = false, converged = true, interrupted = false;
  Stages stages_ms;
  double bound_ms = 0, percent_of_limit = 0;
  cost::Limiter limiter = cost::Limiter::kUnknown;
  std::vector<cost::DeviceLimits::Source> limits;  // the source of each: of a GPU, or of the CPU with `threads` threads
  std::vector<cost::BoundShare> arithmetic;        // the longest first
  std::vector<std::string> limit_notes;
  Energy energy;
  double flops = 0;
  int64_t rss_delta_bytes = 0;  // resident memory of the process after the runs, less before opening
  std::optional<Histogram> histogram;
  std::vector<Layer> layers;
  std::vector<std::string> without_rule;
  std::optional<OpenLoad> load;
  std::optional<machine::Disturbance> disturbance;  // of the runs; absent: not watched
  std::optional<Undisturbed> undisturbed;
  Advice advice;  // by measure/advice.h
};
void visit_fields(auto& visit, Is<Measurement> auto& m) {
  visit.optional("model", m.model, means("the file, as given").csv());
  visit.unless_empty("model_digest", m.model_digest,
                     means("of the file and its external data; absent in `best` of `tune` and of scripts"));
  visit.unless_empty("shapes", m.shapes,
                     means("by name, of the inputs as they ran; absent in `baseline` and `best` of `tune`, where "
                           "`shapes` beside them says it"));
  visit.optional("engine", m.engine, Figure().column("engine").csv());
  visit.optional("engine_version", m.engine_version, Figure().csv());
  visit.optional("device", m.device, means("as plans name it").csv());
  visit.optional("precision", m.precision, means("asked for").column("precision").leaves(2).csv());
  visit.optional("executed", m.executed,
                 means("precisions or providers, as the engine reports: `bf16 in 53 layers, f32 in 1`"));
  visit.optional("threads", m.threads, means("of one instance, as they really ran").column("threads").leaves(4).csv());
  visit.optional("instances", m.instances, means("sessions").column("instances").leaves(4).csv());
  visit.optional("concurrency", m.concurrency, means("callers with a request in flight").csv());
  visit.optional("batch", m.batch,
                 means("rows of one run; a vector of a fixed size is one row").column("batch").leaves(5).csv());
  visit.optional("open_batch", m.open_batch, means("the file leaves the first dimension open"));
  visit.optional("nodes", m.nodes, means("of the model, that run; 0: not known"));
  visit("latency_ms", m.latency_ms, means("of one run").part_columns("p50 p99", "{}").csv().low_is_better());
  visit.optional("throughput_per_s", m.throughput_per_s,
                 means("rows, of all callers").column("throughput").in("rows/s").csv().high_is_better());
  visit.optional("ci95_percent", m.ci95_percent,
                 means("half-width of the 95 % interval of the mean latency; null: one sample only").csv().or_null());
  visit.optional("latency_ci95_ms", m.latency_ci95_ms,
                 means("95 % confidence intervals; an end that lies beyond all samples is null"));
  visit.optional("throughput_ci95_per_s", m.throughput_ci95_per_s,
                 means("of a closed loop, from the mean latency; in `tune` from the rounds; null: not known"));
  visit.optional("samples", m.samples, means("timed runs").column("runs").leaves(1).csv());
  visit.unless_empty(
      "cold", m.cold,
      means(
          "true, and only then there: opening and the first run took all of the time, so that run is the only sample"));
  visit.optional("converged", m.converged,
                 means("false: time ran out before the interval was narrow enough, or before `--iterations`"));
  visit.optional("interrupted", m.interrupted, means("ended by Ctrl-C; the figures cover the time until then"));
  visit("stages_ms", m.stages_ms,
        means("opening and the first run: once each; else means over the samples").low_is_better());
  visit.optional("bound_ms", m.bound_ms, means("least time of one run").csv());
  visit.optional("percent_of_limit", m.percent_of_limit,
                 means("100 · rate reached / rate at the bound").column("share of the limit").csv());
  visit.optional("limiter", m.limiter,
                 means("`unknown` where there is no limit, or most of the arithmetic has no rule or no known shape; "
                       "bound_ms and percent_of_limit are then 0")
                     .csv());
  visit.optional("limits", m.limits,
                 means("peaks by precision and levels of memory; of the CPU with the session's threads"));
  visit.optional("arithmetic", m.arithmetic, means("what the model computes in, as of a plan"));
  visit.optional("limit_notes", m.limit_notes, means("assumptions about the limits, and doubts"));
  visit.optional("energy", m.energy, means("from the device's own counters; null if unknown, and `counters` says why"));
  visit.optional("flops", m.flops, means("of one run, counted from the graph"));
  visit.object("memory_bytes", [&](auto& memory) {
    memory.optional("rss_delta", m.rss_delta_bytes,
                    means("growth of the process's resident memory").in("B").low_is_better());
  });
  visit.optional("layers", m.layers, means("with `--layers`: all of them, slowest first"));
  visit.optional("without_rule", m.without_rule, means("operators whose FLOPs are not counted"));
  visit.unless_empty("load", m.load, means("with `--rate` only"));
  visit.unless_empty("disturbance", m.disturbance, means("as below; absent: not watched").csv());
  visit.unless_empty("undisturbed", m.undisturbed,
                     means("of a disturbed closed loop: the estimate by the `median` run, or by the `fastest` where "
                           "the median run took more than twice its time"));
  visit.unless_empty("histogram", m.histogram, means("of all samples; absent in `tune`"));
  visit.optional("advice_id", m.advice.id,
                 means("`limit-unknown`, `limits-too-low` (a CPU above 100 % of its limit), `above-limit` (a GPU, "
                       "whose data or algorithm may explain it), `memory-limit`, `compute-limit`, `small-model`, "
                       "`one-operator` (an operator that multiplies nothing takes more than half of the run), "
                       "`see-layers` (`--layers` would name it), `larger-batch` or `other-threads`; of a disturbed "
                       "measurement `disturbed`; with `--rate` `kept-up` or `overloaded`; before all of them "
                       "`not-finite`: outputs of the first run hold NaN or infinite values (in `tune` of `baseline`)"));
  visit.optional("advice", m.advice.sentence, means("what would help, in one sentence"));
}

// Estimate for a closed loop, by its median or fastest run; after set_beside_limit().
Undisturbed undisturbed(const Measurement& m);

Json to_json(const Measurement& measurement);

// Bound, limiter and share of the limit of what was measured. The share compares rates: runs per second reached,
// against runs per second that all threads together could do at best. `one`: limits of one session; `all`: of all at
// once; `duty` as machine::duty.
void set_beside_limit(Measurement& m, const cost::Costs& costs, const cost::DeviceLimits& one,
                      const cost::DeviceLimits& all, double quota_factor);

}  // namespace ridge::measure
