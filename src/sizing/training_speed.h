// The speed of training: compute, launch cost per kernel, the pipeline's bubble, and gradients over a link.
//
// A prediction from a few stated assumptions, not a bound and not a measurement; every assumption is a field that the
// caller may replace. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/figure.h"
#include "base/result.h"
#include "base/units.h"
#include "sizing/training.h"

namespace ridge::sizing {

// Between the devices of one ring.
struct Link {
  std::string name;
  double bytes_per_s = 0;  // one direction, by the standard
  double share = 1;        // share of it reached by a ring all-reduce
  std::string why;         // of the share
};
void visit_fields(auto& visit, Is<Link> auto& link) {
  visit("link", link.name);
  visit("link_bytes_per_s", link.bytes_per_s);
  visit("link_share", link.share);
  visit("link_share_why", link.why);
}
// "pcie3", "pcie4", "pcie5" (x16), "nvlink3", "nvlink4" (all links of a device), "eth100", or a number: GB/s reached.
Result<Link> link_from_name(const std::string& name);

// Ring all-reduce: each device sends and receives 2 (n − 1) / n of the bytes (NCCL tests, doc/PERFORMANCE.md; handbook,
// section 2).
double all_reduce_seconds(double bytes, int64_t devices, const Link& link);

struct TrainingAssumptions {
  double efficiency = 0;          // share of the device's peak reached by a whole training step
  double seconds_per_kernel = 0;  // per node and pass, whatever the batch
  double overlap = 0;             // share of the communication overlapped with the backward pass
  std::string efficiency_source;
};
void visit_fields(auto& visit, Is<TrainingAssumptions> auto& assumptions) {
  visit("efficiency", assumptions.efficiency);
  visit("seconds_per_kernel", assumptions.seconds_per_kernel);
  visit("overlap", assumptions.overlap);
  visit("source", assumptions.efficiency_source);
}
// Fitted to the handbook's figures of ResNet-50 on an RTX 4090 (L24, L25); for other models and devices an assumption.
TrainingAssumptions assumed_for(TrainingPrecision precision);

struct TrainingSpeed {
  double compute_seconds = 0;        // of one step, every micro-batch
  double kernel_seconds = 0;         // kernel launches
  double bubble_seconds = 0;         // idle pipeline stages
  double communication_seconds = 0;  // gradients (or gathered weights), in all
  double exposed_seconds = 0;        // the part not overlapped
  double step_seconds = 0;
  double rows_per_s = 0;  // of all devices together
  double rows_per_step = 0;
  double scaling = 1;  // rows/s over those of a single replica
};
void visit_fields(auto& visit, Is<TrainingSpeed> auto& speed) {
  visit.derived("compute_ms", Derived{1e3 * speed.compute_seconds, means("of one step, every micro-batch")});
  visit.derived("kernel_ms", Derived{1e3 * speed.kernel_seconds, means("kernel launches")});
  visit.derived("bubble_ms", Derived{1e3 * speed.bubble_seconds, means("idle pipeline stages")});
  visit.derived("communication_ms",
                Derived{1e3 * speed.communication_seconds, means("gradients (or gathered weights), in all")});
  visit.derived("exposed_ms", Derived{1e3 * speed.exposed_seconds, means("the part of it that is not overlapped")});
  visit.derived("step_ms", 1e3 * speed.step_seconds);
  visit("rows_per_step", speed.rows_per_step);
  visit("throughput_per_s", speed.rows_per_s, means("rows, of all devices together").column("throughput").in("rows/s"));
  visit("scaling", speed.scaling, means("rows/s over those of a single replica"));
}
// `flops_per_s`: the peak of one device at the setup's precision.
TrainingSpeed training_speed(const TrainingProfile& profile, const TrainingSetup& setup, double flops_per_s,
                             const Link& link, const TrainingAssumptions& assumptions);

// FLOPs of a step over those of forward: 3, with checkpointing 4 (forward again); with frozen weights one less, because
// a frozen weight's gradient is not computed.
double passes_of(const TrainingSetup& setup);

}  // namespace ridge::sizing
