// The kernels that the engine will run for a model, with what happens inside those that hold others: bodies of loops and
// branches, and steps of kernels that are timed by their parts (kernel_steps.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"
#include "predict/fusion.h"
#include "predict/kernel.h"

namespace ridge::predict {

struct ExecutedKernel {
  Kernel kernel;
  double times = 1;  // in one run of what holds it
  // What runs inside, in place of the kernel itself: one list for a loop or for steps, two for a branch, of which one runs.
  std::vector<std::vector<ExecutedKernel>> inside;
  bool dispatched = true;  // by the engine, one by one; false: a step inside a kernel
};

struct ExecutedModel {
  std::vector<ExecutedKernel> kernels;  // in execution order
  std::vector<std::string> notes;       // what was assumed about loops and branches, and which sizes are not known
};

ExecutedModel executed_model(const model::Graph& graph, const EngineTraits& traits);

// All of them, those inside too, each once.
std::vector<Kernel> flattened(const std::vector<ExecutedKernel>& kernels);

}  // namespace ridge::predict
