#include "tune/space.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/engines.h"

namespace ridge::tune {
namespace {

constexpr std::array<std::pair<Objective, std::string_view>, 5> kObjectives = {{{Objective::kBalanced, "balanced"},
                                                                                {Objective::kThroughput, "throughput"},
                                                                                {Objective::kLatency, "latency"},
                                                                                {Objective::kEnergy, "energy"},
                                                                                {Objective::kCost, "cost"}}};

// Parallel operators are tried when at least this much of the work is off the longest path. Below it the gain is below
// a measurement's resolution on a shared machine (2 %…5 %) even with perfect overlap.
constexpr double kWorthOverlapping = 1.1;
// Maximum sessions on one GPU: kernels of several streams fill it better, and each has its own weights.
constexpr int kMostOnGpu = 4;
constexpr int kBlockBase = 4;  // the value ONNX Runtime's documentation suggests for session.dynamic_block_base
// An engine keeps the weights twice while it repacks them, and a little more; assumed, to reject only what cannot fit.
constexpr double kMemoryMargin = 1.2;

// 1, 2, 4, … and `most` itself.
template <typename T>
std::vector<T> doublings(T most) {
  std::vector<T> values;
  for (T value = 1; value < most; value *= 2) values.push_back(value);
  values.push_back(most);
  return values;
}

// The engine options worth trying for a layout; the first is none.
std::vector<Candidate> with_options(const Candidate& layout, const engine::Engine& engine, int cpus, bool overlap) {
  std::vector<Candidate> result{layout};
  if (!engine.pools_threads) return result;
  if (layout.threads > 1) {  // one thread has no pool that could spin or share blocks
    Candidate quiet = layout;
    quiet.spin = plan::Spin::kOff;
    result.push_back(quiet);
    Candidate blocks = layout;
    blocks.block_base = kBlockBase;
    if (!engine.block_base_option.empty()) result.push_back(blocks);
  }
  if (overlap && layout.threads * layout.instances * 2 <= cpus) {
    Candidate side_by_side = layout;
    side_by_side.inter_op_threads = 2;
    result.push_back(side_by_side);
  }
  return result;
}

std::vector<Candidate> with_switches(const Candidate& layout, const engine::Engine& engine, plan::DeviceKind kind) {
  std::vector<Candidate> result{layout};
  for (const engine::Switch& one : engine.switches) {
    if (one.device != kind) continue;
    result.push_back(layout);
    result.back().options[std::string(one.option)] = "1";
  }
  return result;
}

// On a GPU one thread submits the work.
std::vector<Candidate> candidates_on_gpu(const Implementation& implementation, const SpaceOptions& options) {
  std::vector<Candidate> result;
  for (int instances : doublings(kMostOnGpu))
    for (int64_t batch : doublings(options.max_batch)) {
      Candidate layout;
      layout.variant = implementation.variant;
      layout.threads = 1;
      layout.instances = instances;
      layout.batch = batch;
      for (const Candidate& candidate :
           with_switches(layout, engine::named(implementation.engine), options.target.device.kind))
        result.push_back(candidate);
    }
  return result;
}

std::vector<Candidate> candidates(const Implementation& implementation, const std::string& base_engine, int cpus,
                                  const SpaceOptions& options, bool overlap) {
  if (!options.target.on_cpu()) return candidates_on_gpu(implementation, options);
  std::vector<Candidate> result;
  const engine::Engine& engine = engine::named(implementation.engine);
  for (int threads : doublings(cpus))
    for (int instances : doublings(cpus / threads))
      for (int64_t batch : doublings(options.max_batch)) {
        Candidate layout;
        if (implementation.engine != base_engine) layout.engine = implementation.engine;
        layout.variant = implementation.variant;
        layout.threads = threads;
        layout.instances = instances;
        layout.batch = batch;
        for (const Candidate& candidate : with_options(layout, engine, cpus, overlap)) result.push_back(candidate);
      }
  return result;
}

// The figures that grow with the work.
constexpr std::array kNodeFigures = {&cost::NodeCost::flops, &cost::NodeCost::macs, &cost::NodeCost::needed_flops,
                                     &cost::NodeCost::bytes_read, &cost::NodeCost::bytes_written};
constexpr std::array kFigures = {&cost::Costs::flops,
                                 &cost::Costs::macs,
                                 &cost::Costs::bytes,
                                 &cost::Costs::compulsory_read,
                                 &cost::Costs::compulsory_written,
                                 &cost::Costs::compulsory_bytes,
                                 &cost::Costs::peak_activation_bytes};

// One run's work done `times` at once.
cost::Costs scaled(cost::Costs costs, double times) {
  for (cost::NodeCost& node : costs.nodes)
    for (double cost::NodeCost::*figure : kNodeFigures) node.*figure *= times;
  for (double cost::Costs::*figure : kFigures) costs.*figure *= times;
  return costs;
}

// All instances run at once: each is limited by its own threads, together they are limited by the machine.
PricedCandidate bounded(const Candidate& candidate, int64_t rows, const machine::Machine& machine,
                        const cost::Costs& costs) {
  PricedCandidate entry{candidate, 0, 0, candidate.instances * (costs.weight_bytes + costs.peak_activation_bytes)};
  int threads = candidate.threads * candidate.inter_op_threads;
  Result<cost::DeviceLimits> own = cost::limits_of(machine, threads);
  Result<cost::DeviceLimits> shared = cost::limits_of(machine, threads * candidate.instances);
  if (!own || !shared) return entry;
  entry.bound_ms = std::max(cost::bound(costs, *own).ms, cost::bound(scaled(costs, candidate.instances), *shared).ms);
  if (entry.bound_ms > 0)
    entry.max_rows_per_s = 1e3 * static_cast<double>(rows * candidate.batch * candidate.instances) / entry.bound_ms *
                           machine::quota_factor(machine, threads * candidate.instances);
  return entry;
}

// The same on a GPU, which all instances share.
PricedCandidate bounded_on_gpu(const Candidate& candidate, int64_t rows, const Target& target,
                               const cost::Costs& costs) {
  PricedCandidate entry{candidate, 0, 0, candidate.instances * (costs.weight_bytes + costs.peak_activation_bytes)};
  if (!target.limits) return entry;
  entry.bound_ms = cost::bound(scaled(costs, candidate.instances), *target.limits).ms;
  if (entry.bound_ms > 0)
    entry.max_rows_per_s = 1e3 * static_cast<double>(rows * candidate.batch * candidate.instances) / entry.bound_ms;
  return entry;
}

// Why the candidate cannot pay on this machine, whatever a measurement shows; empty = it may.
SkipReason hopeless(const PricedCandidate& entry, double available, const SpaceOptions& options) {
  const Goal& goal = options.goal;
  const Candidate& candidate = entry.candidate;
  if (goal.objective == Objective::kLatency && (candidate.batch > 1 || candidate.instances > 1))
    return {"no-shorter", "more rows or instances at once cannot shorten one request"};
  if (available > 0 && kMemoryMargin * entry.memory_bytes > available)
    return {"memory", "does not fit into the available memory"};
  if (goal.p99_ms && entry.bound_ms > *goal.p99_ms)
    return {"bound-misses-goal", "its physical limit misses the p99 goal"};
  if (goal.rows_per_s && entry.max_rows_per_s > 0 && entry.max_rows_per_s < *goal.rows_per_s)
    return {"bound-misses-load", "its physical limit is below the load"};
  if (options.max_run_ms > 0 && entry.bound_ms > options.max_run_ms)
    return {"long-run", "one run takes too much of the time budget"};
  return {};
}

// Weights of multiply-adds stored in `scale` of their bytes; the arithmetic is the same.
cost::Costs with_weights(cost::Costs costs, double scale) {
  for (cost::NodeCost& node : costs.nodes) {
    if (node.macs <= 0) continue;
    const double saved = (1 - scale) * node.weight_bytes;
    node.weight_bytes -= saved;
    node.bytes_read -= saved;
    for (double cost::Costs::*figure : {&cost::Costs::bytes, &cost::Costs::compulsory_read,
                                        &cost::Costs::compulsory_bytes, &cost::Costs::weight_bytes})
      costs.*figure -= saved;
  }
  return costs;
}

double between(double one, double two, int64_t batch) { return one + (two - one) * static_cast<double>(batch - 1); }

}  // namespace

NameTable<Objective> names_of(Objective) { return kObjectives; }

Result<Objective> objective_from_name(std::string_view name) {
  return from_name<Objective>(kObjectives, name, "objective");
}

cost::Costs at_batch(const BatchCosts& costs, int64_t batch) {
  cost::Costs result = costs.one;
  if (batch == 1 || !costs.two) return result;
  const cost::Costs& two = *costs.two;
  for (size_t i = 0; i < result.nodes.size() && i < two.nodes.size(); ++i)
    for (double cost::NodeCost::*figure : kNodeFigures)
      result.nodes[i].*figure = between(result.nodes[i].*figure, two.nodes[i].*figure, batch);
  for (double cost::Costs::*figure : kFigures) result.*figure = between(result.*figure, two.*figure, batch);
  return result;
}

PricedImplementation priced(const Implementation& implementation, const model::Graph& one, const model::Graph* two) {
  auto costs_of = [&](const model::Graph& graph) {
    return with_weights(cost::count(graph, implementation.precision), implementation.weight_scale);
  };
  PricedImplementation result{implementation, {costs_of(one), std::nullopt}};
  if (two != nullptr) result.costs.two = costs_of(*two);
  return result;
}

double parallelism(const model::Graph& graph, const cost::Costs& costs) {
  if (costs.nodes.size() != graph.nodes.size()) return 1;
  std::vector<double> done(graph.tensors.size(), 0);  // work on the longest path to each tensor
  double total = 0;
  double longest = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    double start = 0;
    for (int input : graph.nodes[i].inputs)
      if (input >= 0) start = std::max(start, done[static_cast<size_t>(input)]);
    double end = start + costs.nodes[i].flops;
    for (int output : graph.nodes[i].outputs)
      if (output >= 0) done[static_cast<size_t>(output)] = end;
    total += costs.nodes[i].flops;
    longest = std::max(longest, end);
  }
  return longest > 0 ? total / longest : 1;
}

Space make_space(const machine::Machine& machine, const model::Graph& graph,
                 std::span<const PricedImplementation> implementations, const SpaceOptions& options) {
  int cpus = options.threads.value_or(machine::usable_threads(machine));
  Space space;
  for (const auto& [implementation, costs] : implementations) {
    bool overlap = parallelism(graph, costs.one) >= kWorthOverlapping;
    for (const Candidate& candidate :
         candidates(implementation, implementations.front().implementation.engine, cpus, options, overlap)) {
      cost::Costs run = at_batch(costs, candidate.batch);
      const bool here = options.target.on_cpu();
      PricedCandidate entry = here ? bounded(candidate, options.rows, machine, run)
                                   : bounded_on_gpu(candidate, options.rows, options.target, run);
      const SkipReason reason = hopeless(entry, here ? available_bytes(machine) : 0, options);
      if (reason)
        count_skip(space.skipped, reason);
      else
        space.entries.push_back(entry);
    }
  }
  return space;
}

double available_bytes(const machine::Machine& machine) {
  int64_t bytes = machine.memory.available_bytes;
  if (machine.memory.limit_bytes) bytes = std::min(bytes, *machine.memory.limit_bytes);
  return static_cast<double>(bytes);
}

void count_skip(std::vector<SkipCount>& skipped, const SkipReason& reason) {
  for (SkipCount& entry : skipped)
    if (entry.reason.id == reason.id && entry.reason.text == reason.text) {
      ++entry.count;
      return;
    }
  skipped.push_back({reason, 1});
}

}  // namespace ridge::tune
