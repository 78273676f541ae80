// The number of instances and machines that carry a load within a goal. Pure.
//
// Model, printed with every answer: requests of one row arrive at random (Poisson), one queue feeds all instances,
// every run takes the same time (M/D/c, queueing.h). With batches of b rows a run waits for b rows (E_b/D/c,
// simulated).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"

namespace ridge::sizing {

struct Load {
  double rows_per_s = 0;
  std::optional<double> p99_ms;   // goal on the time in the system; absent: only sufficient throughput
  double most_utilisation = 0.8;  // of the instances, whatever the goal: headroom for bursts
};
void visit_fields(auto& visit, Is<Load> auto& load) {
  visit("rows_per_s", load.rows_per_s);
  visit("p99_ms", load.p99_ms, means("goal on the time in the system; null: only sufficient throughput"));
  visit("most_utilisation", load.most_utilisation, means("of the instances, whatever the goal"));
}

// One way to run: the time of a number of rows on one instance.
struct Service {
  int64_t batch = 1;
  double ms = 0;
  std::string basis;  // "bound", "estimate", "measured", "given"
};
void visit_fields(auto& visit, Is<Service> auto& service) {
  visit("batch", service.batch);
  visit("service_ms", service.ms, means("of one run"));
  visit("basis", service.basis, means("where that time is from"));
}

struct Capacity {
  Service service;
  bool met = false;
  int64_t instances = 0;
  double utilisation = 0;
  double fill_ms = 0;       // average wait of a batch's first row for the last
  double mean_wait_ms = 0;  // for a free instance
  double p99_wait_ms = 0;
  double p99_ms = 0;   // of rows: filling, waiting and the run together
  double idle_ms = 0;  // of a request to an idle machine: the lower limit of any goal
  int64_t instances_per_machine = 1;
  int64_t machines = 0;
  std::string reason;  // why it is not met
};
void visit_fields(auto& visit, Is<Capacity> auto& capacity) {
  visit("met", capacity.met);
  visit_fields(visit, capacity.service);
  visit("idle_ms", capacity.idle_ms, means("of a request to an idle machine: the lower limit of any goal"));
  visit.when(!capacity.met, [&](auto& part) { part("reason", capacity.reason, means("why it is not met")); });
  visit.when(capacity.met, [&](auto& part) {
    part("instances", capacity.instances);
    part("instances_per_machine", capacity.instances_per_machine);
    part("machines", capacity.machines);
    part("utilisation", capacity.utilisation);
    part("fill_ms", capacity.fill_ms, means("average wait of a batch's first row for the last"));
    part("mean_wait_ms", capacity.mean_wait_ms, means("for a free instance"));
    part("p99_wait_ms", capacity.p99_wait_ms);
    part("p99_ms", capacity.p99_ms, means("of rows: filling, waiting and the run together"));
  });
}

// The result of exactly that many instances under the load; `reason` stays empty.
Capacity with_instances(const Load& load, const Service& service, int64_t instances);

// The fewest instances that meet the load. `instances_per_machine` ≥ 1.
Capacity capacity(const Load& load, const Service& service, int64_t instances_per_machine);

// Picks the service that meets the load with the fewest machines, then instances, then the lowest p99; if none
// does, the one with the lowest idle time. `services` is not empty.
Capacity best_capacity(const Load& load, const std::vector<Service>& services, int64_t instances_per_machine);

}  // namespace ridge::sizing
