// Measurement: the result of benchmarking a model, beside its limit. The `bench` JSON contract.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
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
  std::string name;  // of the model's node with the most arithmetic (measure/own_nodes.h), else the engine's
  std::string op;
  double ms = 0;  // per run, by the engine's profile
  double flops = 0;
  double macs = 0;  // the multiply-adds among them
  double bytes = 0;
  double flops_per_s = 0;  // achieved
  double bytes_per_s = 0;
  double bound_ms = 0;
  double percent_of_limit = 0;  // 100 · bound / measured
  cost::Limiter limiter = cost::Limiter::kUnknown;
  bool has_rule = true;
  int position = 0;                     // in the order in which the layers ran
  std::string kernel = {};              // the executed kernel, if the engine reports it: "brgconv_avx512_bf16"
  std::string engine_name = {};         // in the engine's graph
  std::vector<std::string> nodes = {};  // of the model, that it computes; empty: none, or not known
};
void visit_fields(auto& visit, Is<Layer> auto& layer) {
  visit.optional("name", layer.name);
  visit.optional("op", layer.op);
  visit.optional("ms", layer.ms);
  visit.optional("flops", layer.flops);
  visit.optional("macs", layer.macs);
  visit.optional("bytes", layer.bytes);
  visit.optional("flops_per_s", layer.flops_per_s);
  visit.optional("bytes_per_s", layer.bytes_per_s);
  visit.optional("bound_ms", layer.bound_ms);
  visit.optional("percent_of_limit", layer.percent_of_limit);
  visit.optional("limiter", layer.limiter);
  visit.optional("has_rule", layer.has_rule);
  visit.optional("position", layer.position);
  visit.optional("kernel", layer.kernel);
  visit.optional("engine_name", layer.engine_name);
  visit.optional("nodes", layer.nodes);
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
  double rate_per_s = 0, achieved_per_s = 0;  // of requests
  double busy_share = 0;                      // of the callers' time, in runs
  double queueing_ms = 0;                     // mean, from the intended time of a request to its run
};
// Callers that are never idle fall behind, unless the rate is what they can just do.
constexpr double kFullyBusy = 0.98;
inline bool kept_up(const OpenLoad& load) {
  return load.busy_share < kFullyBusy || load.achieved_per_s >= load.rate_per_s;
}
void visit_fields(auto& visit, Is<OpenLoad> auto& load) {
  visit("rate_per_s", load.rate_per_s);
  visit("achieved_per_s", load.achieved_per_s);
  visit.derived("kept_up", kept_up(load));
  visit("busy_share", load.busy_share);
  visit("queueing_ms", load.queueing_ms);
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
  std::string model_digest;             // of the file (base/digest.h); empty: of a script
  std::map<std::string, Shape> shapes;  // of the inputs as they ran, by name
  Precision precision = Precision::kFp32;
  std::string
      executed;       // precisions that the engine says it runs in: "bf16 in 53 layers, f32 in 1"; empty: not reported
  int threads = 0;    // per instance, as they really run
  int instances = 1;  // sessions
  int concurrency = 1;  // callers with a request in flight
  int64_t batch = 1;
  bool open_batch = true;       // the model takes other batches too
  int64_t nodes = 0;            // of the model, that run; 0: not known
  Latency latency_ms;           // of one run (a batch)
  double throughput_per_s = 0;  // rows (items), not runs
  double ci95_percent = 0;      // half-width of the 95 % confidence interval of the mean latency
  PercentileIntervals latency_ci95_ms;
  Interval throughput_ci95_per_s;  // of a closed loop; empty: not known
  int64_t samples = 0;
  bool cold = false;         // the only sample is the first run: a second would have exceeded the time
  bool converged = true;     // false: time ran out before the interval was narrow enough
  bool interrupted = false;  // ended by the user; the figures cover the time until then
  Stages stages_ms;
  double bound_ms = 0;  // of one run with `threads` threads
  double percent_of_limit = 0;
  cost::Limiter limiter = cost::Limiter::kUnknown;
  std::vector<cost::DeviceLimits::Source> limits;  // the source of each: of a GPU, or of the CPU with `threads` threads
  std::vector<cost::BoundShare> arithmetic;        // the longest first
  std::vector<std::string> limit_notes;            // assumptions about them, and doubts
  Energy energy;
  double flops = 0;                    // of one run
  int64_t rss_delta_bytes = 0;         // resident memory of the process after the runs, less before opening
  std::optional<Histogram> histogram;  // of the latencies of all samples
  std::vector<Layer> layers;           // empty unless requested
  std::vector<std::string> without_rule;
  std::optional<OpenLoad> load;                     // of an open loop
  std::optional<machine::Disturbance> disturbance;  // of the runs; absent: not watched
  std::optional<Undisturbed> undisturbed;           // of a disturbed closed loop
  Advice advice;                                    // by measure/advice.h
};
void visit_fields(auto& visit, Is<Measurement> auto& m) {
  visit.optional("model", m.model);
  visit.unless_empty("model_digest", m.model_digest);
  visit.unless_empty("shapes", m.shapes);
  visit.optional("engine", m.engine);
  visit.optional("engine_version", m.engine_version);
  visit.optional("device", m.device);
  visit.optional("precision", m.precision);
  visit.optional("executed", m.executed);
  visit.optional("threads", m.threads);
  visit.optional("instances", m.instances);
  visit.optional("concurrency", m.concurrency);
  visit.optional("batch", m.batch);
  visit.optional("open_batch", m.open_batch);
  visit.optional("nodes", m.nodes);
  visit("latency_ms", m.latency_ms);
  visit.optional("throughput_per_s", m.throughput_per_s);
  visit.optional("ci95_percent", m.ci95_percent);
  visit.optional("latency_ci95_ms", m.latency_ci95_ms);
  visit.optional("throughput_ci95_per_s", m.throughput_ci95_per_s);
  visit.optional("samples", m.samples);
  visit.unless_empty("cold", m.cold);
  visit.optional("converged", m.converged);
  visit.optional("interrupted", m.interrupted);
  visit("stages_ms", m.stages_ms);
  visit.optional("bound_ms", m.bound_ms);
  visit.optional("percent_of_limit", m.percent_of_limit);
  visit.optional("limiter", m.limiter);
  visit.optional("limits", m.limits);
  visit.optional("arithmetic", m.arithmetic);
  visit.optional("limit_notes", m.limit_notes);
  visit.optional("energy", m.energy);
  visit.optional("flops", m.flops);
  visit.object("memory_bytes", [&](auto& memory) { memory.optional("rss_delta", m.rss_delta_bytes); });
  visit.optional("layers", m.layers);
  visit.optional("without_rule", m.without_rule);
  visit.unless_empty("load", m.load);
  visit.unless_empty("disturbance", m.disturbance);
  visit.unless_empty("undisturbed", m.undisturbed);
  visit.unless_empty("histogram", m.histogram);
  visit.optional("advice_id", m.advice.id);
  visit.optional("advice", m.advice.sentence);
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
