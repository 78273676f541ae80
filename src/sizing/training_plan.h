// The answer to "can I train this here, with what batch, how fast": memory by part, the curve over the batch, the handbook's
// formula beside it. Pure; `ridge plan --training` shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "model/graph.h"
#include "sizing/handbook_memory.h"
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
// Memory of CUDA's context, cuDNN's and cuBLAS's handles and their workspaces on a GPU: assumed, 0.5 GiB (300 to 600 MiB in
// practice, more with more loaded kernels).
inline constexpr double kAssumedReservedBytes = 512.0 * 1024 * 1024;

struct TrainingPoint {
  int64_t batch = 1;  // of one micro-batch of one replica
  TrainingMemory memory;
  std::optional<TrainingSpeed> speed;
  bool fits = true;
};

struct TrainingPlan {
  TrainingSetup setup;
  TrainingDevice device;
  Link link;
  TrainingAssumptions assumptions;
  TrainingPoint point;               // at the requested batch
  std::optional<int64_t> max_batch;  // 0: none; absent: the model's batch is fixed, or the device's memory not known
  std::vector<TrainingPoint> curve;  // powers of two up to twice the largest that fits
  HandbookComparison handbook;
  double kept_bytes_per_row = 0;
  std::vector<std::pair<std::string, double>> kept_by_operator;  // [bytes] at the batch, largest first
  std::vector<std::string> notes;
};

// `one` is the graph at `batch`; `two` the same at another batch (`batch_of_two`), or null if the model's batch is fixed.
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

Json to_json(const TrainingPlan& plan);

}  // namespace ridge::sizing
