#include "predict/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "cost/costs.h"
#include "predict/executed_kernels.h"
#include "predict/kernel_steps.h"
#include "predict/kernel_work.h"
#include "predict/predictor.h"

namespace ridge::predict {
namespace {

// Added to the calibration's own error. Assumed.
constexpr double kOtherThreadsError = 0.07;
constexpr double kInstancesError = 0.08;
constexpr double kModelError = 0.06;  // if no held-out error is stored

constexpr double kStepsError = 0.2;  // of a kernel timed by its steps

// The prediction for one number of threads, on a device as seen by one of several instances.
struct Source {
  int threads = 1;
  std::unique_ptr<Predictor> predictor;
  KernelDevice device;
  double held_out_error = 0;
};

// `alone` as seen by one of `instances`: the last cache and the bandwidth of all busy cores are divided.
Result<KernelDevice> shared_device(const KernelDevice& alone, const machine::Machine& machine, int instances) {
  if (instances <= 1) return alone;
  const int busy = std::min(instances * alone.threads, machine::usable_threads(machine));
  RIDGE_ASSIGN(cost::DeviceLimits one, cost::limits_of(machine, 1));
  RIDGE_ASSIGN(cost::DeviceLimits all, cost::limits_of(machine, busy));
  const KernelDevice together = kernel_device(one, all, alone.block);
  KernelDevice device = alone;
  device.dram_bytes_per_s = std::min(alone.dram_bytes_per_s, together.dram_bytes_per_s / instances);
  device.far_shared_bytes_per_s = std::min(alone.far_shared_bytes_per_s, together.far_shared_bytes_per_s / instances);
  device.far_capacity_bytes = alone.far_capacity_bytes / instances;
  return device;
}

Result<Source> source_of(const Calibration& calibration, const Efficiency& efficiency, const machine::Machine& machine,
                         int instances) {
  RIDGE_ASSIGN(cost::DeviceLimits one, cost::limits_of(machine, 1));
  RIDGE_ASSIGN(cost::DeviceLimits all, cost::limits_of(machine, calibration.threads));
  Source source;
  source.threads = calibration.threads;
  const KernelDevice alone = kernel_device(one, all, efficiency.block);
  source.predictor = std::make_unique<Predictor>(calibration, alone);
  RIDGE_ASSIGN(source.device, shared_device(alone, machine, instances));
  source.held_out_error = calibration.held_out_error > 0 ? calibration.held_out_error : kModelError;
  return source;
}

// The calibrations to use: the one with these threads, or the two nearest to interpolate (or extrapolate) with.
std::vector<const Calibration*> nearest(const Efficiency& efficiency, int threads) {
  std::vector<const Calibration*> all;
  for (const Calibration& calibration : efficiency.calibrations) all.push_back(&calibration);
  std::sort(all.begin(), all.end(), [&](const Calibration* a, const Calibration* b) {
    return std::abs(std::log(static_cast<double>(a->threads) / threads)) <
           std::abs(std::log(static_cast<double>(b->threads) / threads));
  });
  if (!all.empty() && all.front()->threads == threads) return {all.front()};
  if (all.size() > 2) all.resize(2);
  return all;
}

// Amdahl's law through one or two points: a + b / threads.
double at_threads(const std::vector<Source>& sources, const std::vector<double>& us, int threads) {
  const double t = threads;
  if (us.size() == 1) return us[0] * static_cast<double>(sources[0].threads) / t;
  const double x0 = 1.0 / sources[0].threads, x1 = 1.0 / sources[1].threads;
  const double slope = x0 == x1 ? 0 : (us[1] - us[0]) / (x1 - x0);
  const double straight = us[0] + slope * (1 / t - x0);
  return std::max(straight, std::min(us[0], us[1]) * std::min(1.0, sources[us[0] < us[1] ? 0 : 1].threads / t));
}

bool is_stepped(const ExecutedKernel& executed) {
  return !executed.inside.empty() && !executed.inside[0].empty() && !executed.inside[0][0].dispatched;
}

struct Sum {
  double us = 0;
  double squares = 0;  // of the kernels' own errors [µs²]
  double unknown_us = 0;
  double stepped_us = 0;  // of decomposed kernels
  std::set<std::string> unknown, stepped, at_bound;
};

// The least time of a kernel, by the roofline; of one that holds others, of what is inside it.
double bound_us(const ExecutedKernel& executed, const cost::DeviceLimits& limits) {
  if (executed.inside.empty() || is_stepped(executed)) {
    const Kernel& kernel = executed.kernel;
    const model::Node node{kernel.name, kernel.op, kernel.domain, {}, {}, kernel.attributes};
    return 1e3 * executed.times * cost::bound(cost::count_node(node, kernel.inputs, kernel.outputs), limits).ms;
  }
  double longest = 0;
  for (const std::vector<ExecutedKernel>& side : executed.inside) {
    double us = 0;
    for (const ExecutedKernel& kernel : side) us += bound_us(kernel, limits);
    longest = std::max(longest, us);
  }
  return executed.times * longest;
}

// The time of one kernel, including everything inside it.
struct KernelDuration {
  std::vector<double> us;  // per source
  double squares = 0;      // of the errors [µs²] of the last source
  double unknown_us = 0;   // likewise
  double dispatched = 0;   // kernels launched by the engine
  bool known = true;
};

class KernelTimeSum {
 public:
  KernelTimeSum(const std::vector<Source>& sources, double footprint) : sources_(sources), footprint_(footprint) {}

  KernelDuration time_of(const ExecutedKernel& executed, Sum& sum) const {
    if (executed.inside.empty()) return leaf(executed, sum);
    KernelDuration slowest = list(executed.inside[0], sum);
    for (size_t i = 1; i < executed.inside.size(); ++i)
      if (KernelDuration side = list(executed.inside[i], sum); side.us[0] > slowest.us[0]) slowest = std::move(side);
    return scaled(std::move(slowest), executed);
  }

 private:
  KernelDuration leaf(const ExecutedKernel& executed, Sum& sum) const {
    KernelDuration timed;
    KernelTime time;
    for (const Source& source : sources_) {
      time = source.predictor->time_of(executed.kernel, footprint_, source.device);
      timed.us.push_back(time.us);
    }
    timed.squares = std::pow(time.us * time.error, 2);
    timed.known = time.known;
    if (!time.known) {
      timed.unknown_us = time.us;
      sum.unknown.insert(executed.kernel.op);
    }
    timed.dispatched = executed.dispatched ? 1 : 0;
    return scaled(std::move(timed), executed);
  }

  KernelDuration list(const std::vector<ExecutedKernel>& kernels, Sum& sum) const {
    KernelDuration all;
    all.us.resize(sources_.size());
    for (const ExecutedKernel& kernel : kernels) {
      const KernelDuration one = time_of(kernel, sum);
      for (size_t i = 0; i < all.us.size(); ++i)
        all.us[i] += one.us[i] + one.dispatched * sources_[i].predictor->dispatch_us();
      all.squares += one.squares;
      all.unknown_us += one.unknown_us;
      all.known = all.known && one.known;
    }
    return all;
  }

  static KernelDuration scaled(KernelDuration timed, const ExecutedKernel& executed) {
    for (double& us : timed.us) us *= executed.times;
    timed.squares *= executed.times * executed.times;
    timed.unknown_us *= executed.times;
    timed.dispatched *= executed.times;
    return timed;
  }

  const std::vector<Source>& sources_;
  double footprint_;
};

Sum add_layers(const std::vector<ExecutedKernel>& kernels, const std::vector<Source>& sources,
               const cost::DeviceLimits& limits, const EstimateOptions& options, double turns, Estimate& estimate) {
  const KernelTimeSum stopwatch(sources, footprint_of(flattened(kernels)));
  Sum sum;
  for (const ExecutedKernel& executed : kernels) {
    KernelDuration timed = stopwatch.time_of(executed, sum);
    const bool exact = sources.size() == 1 && sources[0].threads == options.threads;
    const double predicted = exact ? timed.us[0] : at_threads(sources, timed.us, options.threads);
    const double bound = bound_us(executed, limits);
    if (predicted < bound) sum.at_bound.insert(executed.kernel.op);
    const double value = std::max(predicted, bound) * turns;
    const double scale = timed.us.back() > 0 ? value / timed.us.back() : 0;
    if (is_stepped(executed)) {
      sum.stepped_us += value;
      sum.stepped.insert(executed.kernel.op);
      timed.squares += std::pow(kStepsError * timed.us.back(), 2);
    }
    const double error = std::sqrt(timed.squares) * scale;
    estimate.layers.push_back(
        {executed.kernel.name, executed.kernel.op, value / 1e3, value > 0 ? 100 * error / value : 0, timed.known});
    sum.us += value;
    sum.squares += error * error;
    sum.unknown_us += timed.unknown_us * scale;
  }
  return sum;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void add_notes(const std::vector<Source>& sources, const EstimateOptions& options, const Sum& sum, double turns,
               Estimate& estimate) {
  if (sources.size() > 1 || sources[0].threads != options.threads) {
    std::string known;
    for (const Source& source : sources) known += (known.empty() ? "" : " and ") + std::to_string(source.threads);
    estimate.notes.push_back(fmt::format("estimate for {} threads from measurements with {}", options.threads, known));
  }
  if (options.instances > 1)
    estimate.notes.push_back(fmt::format("{} instances share the last cache and the memory bandwidth{}",
                                         options.instances, turns > 1 ? " and take turns on the cores" : ""));
  if (sum.unknown_us > 0.01 * sum.us)
    estimate.notes.push_back(fmt::format("{} of the estimate is a guess: {} was not in the calibration",
                                         format_percent(100 * sum.unknown_us / sum.us), joined(sum.unknown)));
  if (sum.stepped_us > 0.01 * sum.us)
    estimate.notes.push_back(
        fmt::format("{} of the estimate is {}, composed of timed matrix multiplications and functions",
                    format_percent(100 * sum.stepped_us / sum.us), joined(sum.stepped)));
  if (!sum.at_bound.empty())
    estimate.notes.push_back(
        fmt::format("by the calibration {} would be faster than the bound; the bound is taken", joined(sum.at_bound)));
}

}  // namespace

Result<Estimate> estimate(const model::Graph& graph, const Efficiency& efficiency, const machine::Machine& machine,
                          const EstimateOptions& options) {
  std::vector<Source> sources;
  for (const Calibration* calibration : nearest(efficiency, options.threads)) {
    RIDGE_ASSIGN(Source source, source_of(*calibration, efficiency, machine, options.instances));
    sources.push_back(std::move(source));
  }
  if (sources.empty())
    return Error{Code::kNotFound, "the calibration of " + efficiency.machine + " holds no measurement"};
  RIDGE_ASSIGN(cost::DeviceLimits limits, cost::limits_of(machine, sources[0].threads));
  const double integer_share = integer_share_of(cost::rate_of(limits, Precision::kFp32).flops_per_s,
                                                cost::rate_of(limits, Precision::kInt8).flops_per_s);
  const ExecutedModel executed = executed_model(graph, integer_share);
  const double turns = std::max(1.0, static_cast<double>(options.instances * options.threads) /
                                         std::max(machine::usable_threads(machine), options.threads));
  Estimate estimate;
  estimate.threads = options.threads;
  estimate.instances = options.instances;
  estimate.engine = efficiency.engine + " " + efficiency.engine_version;
  estimate.measured_at = efficiency.measured_at;
  RIDGE_ASSIGN(const cost::DeviceLimits own_limits, cost::limits_of(machine, options.threads));
  Sum sum = add_layers(executed.kernels, sources, own_limits, options, turns, estimate);
  const double between_us = sources[0].predictor->dispatch_us() * static_cast<double>(executed.kernels.size()) * turns;
  estimate.between_ms = between_us / 1e3;
  estimate.ms = (sum.us + between_us) / 1e3;
  if (estimate.ms < options.bound_ms) {
    estimate.ms = options.bound_ms;
    sum.at_bound.insert("the model as a whole");
  }
  if (estimate.ms > 0)
    estimate.throughput_per_s = 1e3 * static_cast<double>(options.rows * options.instances) / estimate.ms;
  double variance = std::pow(options.seen_error.value_or(sources[0].held_out_error), 2);
  if (sum.us > 0) variance += sum.squares / (sum.us * sum.us) + std::pow(0.5 * sum.unknown_us / sum.us, 2);
  if (sources.size() > 1 || sources[0].threads != options.threads) variance += kOtherThreadsError * kOtherThreadsError;
  if (options.instances > 1) variance += kInstancesError * kInstancesError;
  estimate.error_percent = 100 * std::sqrt(variance);
  estimate.notes = executed.notes;
  add_notes(sources, options, sum, turns, estimate);
  return estimate;
}

}  // namespace ridge::predict
