// The kernels of a graph as an engine runs them, with the contents of those that hold others: bodies of loops and branches, and
// steps of kernels that are timed by their parts (kernel_steps.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"
#include "predict/kernel.h"

namespace ridge::predict {

constexpr double kAssumedIntegerShare = 0.35;

struct ExecutedKernel {
  Kernel kernel;
  double times = 1;  // per run of its parent
  // The contents, in place of the kernel itself: one list for a loop or for steps, two for a branch, of which one runs.
  std::vector<std::vector<ExecutedKernel>> inside;
  bool dispatched = true;  // by the engine itself; false: a step inside a kernel
};

struct ExecutedModel {
  std::vector<ExecutedKernel> kernels;  // in execution order
  std::vector<std::string> notes;       // assumptions about loops and branches, and unknown sizes
};

// `graph`: the engine's own. `integer_share`: time of an 8-bit integer matrix multiplication over the same one in FP32
// (kernel_steps.h).
ExecutedModel executed_model(const model::Graph& graph, double integer_share = kAssumedIntegerShare);

// All of them, including inner ones, each once.
std::vector<Kernel> flattened(const std::vector<ExecutedKernel>& kernels);

}  // namespace ridge::predict
