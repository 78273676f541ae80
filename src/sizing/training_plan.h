// The answer to "can I train this here, with what batch, how fast": memory by part, and the curve over the batch. Pure;
// `ridge size --training` shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "model/graph.h"
#include "sizing/training.h"
#include "sizing/training_speed.h"

namespace ridge::sizing {

struct TrainingDevice {
  std::string name;
  double memory_bytes = 0;    // 0: not known
  double reserved_bytes = 0;  // of it, unavailable to the model: driver context, library handles
  double flops_per_s = 0;     // peak at the setup's precision; 0: not known, then no speed is predicted
  Origin origin = Origin::kMeasured;
};
void visit_fields(auto& visit, Is<TrainingDevice> auto& device) {
  visit("name", device.name);
  visit("memory_bytes", device.memory_bytes, means("0: not known"));
  visit("reserved_bytes", device.reserved_bytes, means("of it, unavailable to the model"));
  visit("flops_per_s", device.flops_per_s, means("peak; 0: not known, then no speed is predicted").in("FLOP/s"));
  visit("origin", device.origin);
}
// Memory of CUDA's context, cuDNN's and cuBLAS's handles and their workspaces on a GPU: assumed, 0.5 GiB (300 to 600
// MiB are seen in practice, more with more loaded kernels).
inline constexpr double kAssumedReservedBytes = 512.0 * 1024 * 1024;

struct TrainingPoint {
  int64_t batch = 1;  // of one micro-batch of one replica
  TrainingMemory memory;
  std::optional<TrainingSpeed> speed;
  bool fits = true;
};
void visit_fields(auto& visit, Is<TrainingPoint> auto& point) {
  visit("batch", point.batch, Figure().column("batch"));
  visit("memory_bytes", point.memory, Figure().part_columns("activations total").in("B"));
  visit.unless_empty("speed", point.speed, means("where it is known").groups_columns());
  visit("fits", point.fits, Figure().column("fits"));
}

struct TrainingPlan {
  TrainingSetup setup;
  TrainingDevice device;
  Link link;
  TrainingAssumptions assumptions;
  TrainingPoint point;               // at the requested batch
  std::optional<int64_t> max_batch;  // 0: none; absent: the model's batch is fixed, or the device's memory not known
  std::vector<TrainingPoint> curve;  // powers of two up to twice the largest that fits
  double kept_bytes_per_row = 0;
  std::vector<std::pair<std::string, double>> kept_by_operator;  // [bytes] at the batch, largest first
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<TrainingPlan> auto& plan) {
  visit_fields(visit, plan.point);
  visit("setup", plan.setup, means("as the options say"));
  visit("device", plan.device);
  visit.object("assumptions", [&](auto& assumptions) {
    visit_fields(assumptions, plan.assumptions);
    visit_fields(assumptions, plan.link);
  });
  visit("max_batch", plan.max_batch, means("0: none; null: the batch is fixed, or the device's memory not known"));
  visit("kept_by_operator", plan.kept_by_operator, means("bytes at the batch, the most first").in("B"));
  visit("curve", plan.curve, means("the same over batches"));
  visit("notes", plan.notes);
}

// `one` is the graph at `batch`; `two` at another batch (`batch_of_two`), or null if the batch is fixed.
struct TrainingQuestion {
  const model::Graph* one = nullptr;
  const model::Graph* two = nullptr;
  int64_t batch = 1, batch_of_two = 2;
  TrainingSetup setup;
  TrainingDevice device;
  Link link;
  TrainingAssumptions assumptions;
};
TrainingPlan plan_training(const TrainingQuestion& question);

}  // namespace ridge::sizing
