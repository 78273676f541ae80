#include "plan/first_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::plan {
namespace {

// Distributing an operator to several threads and waiting for them costs some microseconds; a model whose bound on one
// thread is below this gains nothing from a second. Assumed (a thread wake-up on Linux takes 5 to 50 µs), checked by
// tuning.
constexpr double kTooSmallToShareMs = 0.05;

void choose_threads(const machine::Machine& machine, const cost::Costs& costs, const PlanRequest& request, Plan& plan) {
  int usable = machine::usable_threads(machine);
  if (request.threads) {
    plan.threads = *request.threads;
    if (plan.threads > usable)
      plan.reasons.push_back(fmt::format("{} threads requested, more than the {} usable ones", plan.threads, usable));
    return;
  }
  if (request.device.kind != DeviceKind::kCpu) {
    plan.threads = 1;
    plan.reasons.push_back("1 thread: the CPU only launches work on " + plan.device);
    return;
  }
  plan.threads = usable;
  const Result<cost::DeviceLimits> one = cost::limits_of(machine, 1);
  const double bound_ms = one ? cost::bound(costs, *one).ms : 0;
  if (usable > 1 && bound_ms > 0 && bound_ms < kTooSmallToShareMs) {
    plan.threads = 1;
    plan.reasons.push_back(
        fmt::format("1 thread: the run is too short to parallelise (at least {})", format_ms(bound_ms)));
    return;
  }
  if (machine.cpu.quota && usable < machine.cpu.allowed_cores)
    plan.reasons.push_back(fmt::format("{} threads: the quota of {:g} CPUs is below the {} usable cores", usable,
                                       *machine.cpu.quota, machine.cpu.allowed_cores));
  else
    plan.reasons.push_back(fmt::format("{} threads: one per usable physical core", usable));
}

// Spinning threads use up a quota without computing, and take cores when there are more threads than cores.
void choose_spin(const machine::Machine& machine, Plan& plan) {
  bool quota = machine.cpu.quota && *machine.cpu.quota < machine.cpu.allowed_cpus;
  bool crowded = plan.threads > std::max(machine.cpu.allowed_cpus, 1);
  if (!quota && !crowded) return;
  plan.spin = Spin::kOff;
  plan.reasons.push_back(
      quota ? fmt::format("waiting threads sleep: spinning would use up the quota of {:g} CPUs", *machine.cpu.quota)
            : "waiting threads sleep: there are more threads than CPUs");
}

}  // namespace

Plan first_plan(const machine::Machine& machine, const cost::Costs& costs, const PlanRequest& request) {
  Plan plan;
  plan.model = request.model;
  plan.shapes = request.shapes;
  plan.batch = request.batch;
  plan.precision = request.precision;
  plan.device = device_name(request.device);
  choose_threads(machine, costs, request, plan);
  choose_spin(machine, plan);
  if (request.device.kind != DeviceKind::kCpu) return plan;
  if (auto limits = cost::limits_of(machine, plan.threads)) plan.bound_ms = cost::bound(costs, *limits).ms;
  return plan;
}

}  // namespace ridge::plan
