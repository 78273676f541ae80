// Memory of one process that runs a model with ONNX Runtime on a CPU: by a formula before anything is loaded. A process
// that runs it gives the real value (engine_process.h).
//
// The process opens one session, holds one set of inputs, and runs it one at a time; its peak is the system's VmHWM.
// Devices with memory of their own are not covered. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/figure.h"
#include "model/graph.h"

namespace ridge::predict {

// Memory of a driver context and libraries on a GPU: assumed, 0.5 GiB, as in training_plan.h.
inline constexpr double kAssumedContextBytes = 512.0 * 1024 * 1024;

// All 36 points of benchmarks/results/memory_prediction-intel-2c.txt are within this.
inline constexpr double kMemoryError = 0.2;

// [bytes]. The parts from runtime to retained add up to resident.
struct InferenceMemory {
  double runtime = 0;      // the process, the engine's library, the overhead of a session and of each node
  double weights = 0;      // as the engine holds them
  double activations = 0;  // results of nodes, laid out like the engine's (cost/buffer_plan.h), and the model's outputs
  double workspace = 0;    // of the convolution with the largest need
  double inputs = 0;
  double arena_slack = 0;   // the first run allocates buffers one by one, later ones in one block of their own
  double retained = 0;      // left by copies of weights during loading, kept by the C library
  double resident = 0;      // after a few runs
  double loading_peak = 0;  // at its fullest before the first run
  double peak = 0;          // at any time
  double peak_low = 0, peak_high = 0;  // by kMemoryError
  bool known = true;                   // false: some shapes are unknown; the figures are a lower bound
  bool of_engine_graph = false;        // false: from the file's own graph
};
void visit_fields(auto& visit, Is<InferenceMemory> auto& memory) {
  visit("runtime", memory.runtime, means("process, library, session: 40 MB, and 4.2 kB per node of the file"));
  visit("weights", memory.weights,
        means("as the engine holds them, including lists of numbers in attributes (tree ensembles)"));
  visit("activations", memory.activations,
        means("the block in which ONNX Runtime lays out the results of nodes, and the outputs"));
  visit(
      "workspace", memory.workspace,
      means(
          "of the convolution in plain layout that needs the most (im2col; where it has more filters than positions)"));
  visit("inputs", memory.inputs, means("held by the caller"));
  visit("arena_slack", memory.arena_slack,
        means("0.1 × activations, and what later runs take: the first run lays buffers out one by one, later ones in "
              "one block"));
  visit("retained", memory.retained, means("`left` less `reused`: freed while loading and kept by the C library"));
  visit("resident", memory.resident, means("the sum: after a few runs"));
  visit("loading_peak", memory.loading_peak, means("highest use before the first run"));
  visit("peak", memory.peak, means("highest use at any time"));
  visit("peak_low", memory.peak_low, means("20 % below `peak`"));
  visit("peak_high", memory.peak_high, means("20 % above `peak`"));
  visit("known", memory.known, means("false: some shapes are unknown, and the figures are a lower bound"));
  visit.derived("graph", Derived{std::string(memory.of_engine_graph ? "engine" : "file"),
                                 means("whose activations and weights these are: `engine` or `file`")});
}

// `graph`: as read; `optimised`: the engine's version, or null; `open`: of it (cost::plan_buffers).
InferenceMemory inference_memory(const model::Graph& graph, const model::Graph* optimised,
                                 const std::unordered_set<std::string>& open = {});

// Memory at two batches; between and beyond them it grows in a straight line, and never below the first.
struct MemoryLine {
  double batch_one = 1, batch_two = 2;
  double peak_one = 0, peak_two = 0;
};
// The largest batch whose peak is at most `limit_bytes`; 0 if not even one row fits.
int64_t largest_batch(const MemoryLine& line, double limit_bytes);

// The number of instances that fit (sessions of one process, opened in sequence): the first brings the runtime, each
// further one adds its weights, its arena and the leftovers of loading; while the last one loads, the others exist.
int64_t instances_that_fit(const InferenceMemory& one, double limit_bytes);

}  // namespace ridge::predict
