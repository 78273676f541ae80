#include "measure/bench.h"

#include <algorithm>
#include <limits>

#include "cost/costs.h"
#include "measure/advice.h"
#include "measure/layers.h"
#include "measure/load.h"
#include "measure/resident.h"
#include "measure/runner.h"
#include "measure/statistics.h"
#include "model/inputs.h"

namespace ridge::measure {
namespace {

constexpr Nanoseconds kLayersTime = std::chrono::seconds(3);

// A quarter, and at most kLayersTime.
Nanoseconds layers_time(const BenchOptions& options) {
  return std::min<Nanoseconds>(options.max_time / 4, kLayersTime);
}

// `left`: of the time, once the model is open. Warming up takes a quarter of it; with time for fewer than four runs the
// first run, at opening, was the warm-up.
LoadOptions load_options(const BenchOptions& options, int callers, Nanoseconds first_run, TimePoint now,
                         Nanoseconds left) {
  LoadOptions load;
  load.concurrency = callers;
  load.rate_per_s = options.rate_per_s;
  load.arrival = options.arrival;
  load.seed = options.seed;
  if (left >= 4 * first_run || options.warm_up_runs > 0) {
    load.warm_up.emplace();
    load.warm_up->max_time = std::min<Nanoseconds>(load.warm_up->max_time, left / 4);
    load.warm_up->min_runs = std::max(load.warm_up->min_runs, options.warm_up_runs);
  }
  load.stop.max_time = std::max(left, Nanoseconds(0));
  load.end_by = now + left;
  load.stop.half_width_percent = options.runs ? 0 : options.half_width_percent;
  if (options.runs) load.stop.max_samples = *options.runs;
  load.interrupted = options.interrupted;
  if (options.progress) load.progress = [&options](double share) { options.progress("measure", share); };
  return load;
}

// The first run as the measurement: a second would exceed the time.
LoadResult cold_run(const Runner& runner) {
  LoadResult load;
  load.latencies_ms = {runner.first_run_ms()};
  load.half_width_percent = std::numeric_limits<double>::infinity();
  load.rate_per_s = 1e3 / runner.first_run_ms();
  load.mean_times.compute = from_seconds(runner.first_run_ms() / 1e3);
  return load;
}

Measurement describe(const plan::Plan& plan, Runner& runner, const LoadResult& load) {
  const engine::Info& info = runner.session(0).info();
  Measurement m;
  m.model = plan.model;
  m.shapes = runner.shapes();
  m.engine = info.name;
  m.engine_version = info.version;
  m.device = info.device;
  m.precision = plan.precision;
  m.executed = info.executed;
  m.threads = info.threads;
  m.instances = plan.instances;
  m.batch = runner.rows();
  m.latency_ms = latency_of(load.latencies_ms);
  m.histogram = histogram_of(load.latencies_ms);
  m.throughput_per_s = load.rate_per_s * static_cast<double>(runner.rows());
  m.ci95_percent = load.half_width_percent;
  m.latency_ci95_ms = percentile_intervals(load.latencies_ms);
  m.samples = static_cast<int64_t>(load.latencies_ms.size());
  m.converged = load.verdict == Verdict::kConverged;
  m.interrupted = load.interrupted;
  m.stages_ms = {runner.load_ms(), runner.first_run_ms(), to_ms(load.mean_times.input), to_ms(load.mean_times.compute),
                 to_ms(load.mean_times.output)};
  return m;
}

}  // namespace

Result<Measurement> bench(const plan::Plan& plan, const model::Graph* graph, const machine::Machine* machine,
                          const BenchOptions& options, Clock& clock) {
  const int callers = options.concurrency > 0 ? options.concurrency : plan.instances;
  const int64_t resident_before = resident_bytes();
  const TimePoint begin = clock.now();
  if (options.progress) options.progress("open", 0);
  Measurement m;
  std::string non_finite;
  {
    RIDGE_ASSIGN(Runner runner, Runner::open(plan, graph, callers, options.seed, clock, to_seconds(options.max_time)));
    EnergyOfLoad energy(options.energy, options.energy_reason);
    const TimePoint open = clock.now();
    const Nanoseconds left =
        options.max_time - (open - begin) - (options.layers ? layers_time(options) : Nanoseconds(0));
    const Nanoseconds first_run = from_seconds(runner.first_run_ms() / 1e3);
    LoadOptions how = load_options(options, callers, first_run, open, left);
    how.counting_begins = [&] { energy.begin(clock.now()); };
    how.keep_runs = options.trace != nullptr;
    if (options.watch) how.before_end = [&] { options.watch->look(); };
    LoadResult load = cold_run(runner);
    const bool cold = left < first_run && callers == 1 && !options.rate_per_s && !options.runs;
    if (!cold) {
      RIDGE_ASSIGN(load, run_load(runner.target(), how, clock));
    }
    const TimePoint end = clock.now();
    if (load.latencies_ms.empty()) return Error{Code::kCancelled, "interrupted before the first run ended"};
    m = describe(plan, runner, load);
    non_finite = runner.non_finite();
    if (options.trace) *options.trace = std::move(load.runs);
    m.cold = cold;
    if (!options.rate_per_s) m.throughput_ci95_per_s = rate_interval(m.throughput_per_s, m.ci95_percent);
    if (options.runs) m.converged = m.samples >= *options.runs;
    m.energy = energy.end(end, m.throughput_per_s);
    if (options.rate_per_s)
      m.load = OpenLoad{*options.rate_per_s, load.rate_per_s, load.busy_share, load.mean_queueing_ms};
    if (options.watch) m.disturbance = options.watch->end();
    if (m.disturbance && !m.load && m.latency_ms.p50 > 0)
      m.disturbance->mean_over_median = m.latency_ms.mean / m.latency_ms.p50;
    m.concurrency = callers;
    m.rss_delta_bytes = resident_bytes() - resident_before;
  }  // frees the sessions' memory before the profiled one opens

  if (graph != nullptr) m.open_batch = model::has_open_batch(*graph);
  std::optional<cost::DeviceLimits> limits = options.device, all = options.device;
  double quota_factor = 1;
  if (graph != nullptr && (limits || machine != nullptr)) {
    const cost::Costs costs = cost::count(*graph, plan.precision);
    m.flops = costs.flops;
    m.without_rule = costs.without_rule;
    m.nodes = std::count_if(costs.nodes.begin(), costs.nodes.end(), [](const auto& node) { return node.runs; });
    if (limits) {
      m.limits = limits->sources;
    } else {
      const int usable = machine::usable_threads(*machine);
      RIDGE_ASSIGN(limits, cost::limits_of(*machine, std::min(m.threads, usable)));
      m.limits = cost::sources_of(*machine, *limits);
      // Each caller computes itself, beside the other threads of its session.
      const int busy = std::min(m.instances, callers) * (m.threads - 1) + callers;
      RIDGE_ASSIGN(all, cost::limits_of(*machine, std::min(busy, usable)));
      quota_factor = machine::quota_factor(*machine, busy);
    }
    set_beside_limit(m, costs, *limits, *all, quota_factor);
  }
  const cost::DeviceLimits* known = limits ? &*limits : nullptr;
  if (options.layers && !m.interrupted) {
    if (options.progress) options.progress("profile", 0);
    RIDGE_ASSIGN(m.layers, measure_layers(plan, graph, known, layers_time(options), to_seconds(options.max_time),
                                          options.interrupted, clock));
    m.interrupted = options.interrupted && options.interrupted();
    if (all && m.bound_ms <= 0) {
      const cost::Costs costs = costs_of(m.layers, m.precision);
      m.flops = std::max(m.flops, costs.flops);
      set_beside_limit(m, costs, *limits, *all, quota_factor);
    }
  }
  if (machine::disturbed(m.disturbance) && !m.load) m.undisturbed = undisturbed(m);
  m.advice = non_finite.empty() ? advise(m, known) : not_finite(non_finite);
  return m;
}

}  // namespace ridge::measure
