// Memory that one process needs to run a model with ONNX Runtime on a CPU, before anything is loaded.
//
// The process is an isolated one: it opens one session, holds one set of inputs, and runs it one at a time; its peak is
// what the system reports as VmHWM (benchmarks/memory_process.cc is that process, benchmarks/memory_prediction.py compares).
// Not for devices with memory of their own. Pure: engine_graph says what is allocated, heap_model and arena_model what of it
// becomes resident.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/graph.h"
#include "predict/engine_graph.h"

namespace ridge::predict {

// ONNX Runtime with the blocked kernels that it has for these instruction sets (machine::Cpu::isa).
EngineTraits traits_of(const std::vector<std::string>& isa);

// What a driver context and libraries take on a card: assumed, 0.5 GiB, as in training_plan.h.
inline constexpr double kAssumedContextBytes = 512.0 * 1024 * 1024;

struct MemoryOptions {
  EngineTraits traits;
  bool arena = true;    // Plan::memory_arena
  bool pattern = true;  // Plan::memory_pattern
};

// [bytes]. The parts from runtime to retained add up to resident.
struct InferenceMemory {
  double runtime = 0;      // the process, the engine's library and what a session needs for itself
  double weights = 0;      // as the engine holds them
  double activations = 0;  // of a run from the second on: buffers shared as the engine plans them, outputs included
  double workspace = 0;    // of the one operator that needs most
  double inputs = 0;
  double arena_slack = 0;   // written in the arena and not needed by a run: the first run's own layout, rounding, gaps
  double retained = 0;      // freed while loading, and kept by the C library for later
  double resident = 0;      // after a few runs
  double loading_peak = 0;  // the process at its fullest before the first run
  double peak = 0;          // at any time
  double peak_low = 0, peak_high = 0;  // when all holes in the heap merge, and when none do (heap_model.h): by chance
  bool known = true;                   // false: some shapes are unknown; the figures are a lower bound
};
InferenceMemory inference_memory(const model::Graph& graph, const MemoryOptions& options = {});

// Memory of a batch, known at two of them: straight lines through both. Peaks of loading do not grow with the batch.
struct MemoryLine {
  double batch_one = 1, batch_two = 2;
  double peak_one = 0, peak_two = 0;
};
double memory_at(const MemoryLine& line, double batch);

// The largest batch whose peak is at most `limit_bytes`; 0 if not even one row fits. `peak_bytes(batch)` must not decrease.
int64_t largest_batch(const std::function<double(int64_t batch)>& peak_bytes, double limit_bytes);

// How many instances (sessions of one process, opened one after the other) fit: the first brings the runtime along, each
// further one adds its weights, its arena and what loading leaves behind; while the last one loads, the others are there.
int64_t instances_that_fit(const InferenceMemory& one, double limit_bytes);
double memory_of_instances(const InferenceMemory& one, int64_t instances);

Json to_json(const InferenceMemory& memory);

}  // namespace ridge::predict
