#include "predict/executed_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/trips.h"
#include "predict/kernel_steps.h"
#include "predict/kernel_work.h"

namespace ridge::predict {
namespace {

// Sizes that were unknown, or assumed, counted over the whole model.
struct Gaps {
  std::vector<std::string> loops;  // without a trip count
  int branches = 0;
  int sizeless = 0, kernels = 0;
  std::string first_sizeless;
};

bool sized(const cost::Operand& operand) {
  return !operand.present || (operand.shape && std::all_of(operand.shape->begin(), operand.shape->end(),
                                                           [](int64_t size) { return size >= 0; }));
}

void note_sizes(const Kernel& kernel, Gaps& gaps) {
  ++gaps.kernels;
  const bool known = std::all_of(kernel.inputs.begin(), kernel.inputs.end(), sized) &&
                     std::all_of(kernel.outputs.begin(), kernel.outputs.end(), sized);
  if (known || is_view(kernel)) return;
  if (gaps.sizeless++ == 0) gaps.first_sizeless = kernel.name;
}

std::vector<ExecutedKernel> kernels_in(const model::Graph& graph, double integer_share, Gaps& gaps);

void open_bodies(const model::Node& node, double integer_share, ExecutedKernel& executed, Gaps& gaps) {
  const cost::LoopTripCount trips = cost::trips_of(node, executed.kernel.inputs);
  if (!trips.known) gaps.loops.push_back(node.op + " " + node.name);
  for (const auto& body : cost::bodies_of(node, executed.kernel.inputs)) {
    std::vector<ExecutedKernel> inner = kernels_in(*body, integer_share, gaps);
    for (ExecutedKernel& kernel : inner) kernel.times *= trips.count;
    executed.inside.push_back(std::move(inner));
  }
  if (executed.inside.size() > 1) ++gaps.branches;
}

std::vector<ExecutedKernel> kernels_in(const model::Graph& graph, double integer_share, Gaps& gaps) {
  std::vector<Kernel> kernels = kernels_of(graph);
  std::vector<ExecutedKernel> result;
  for (size_t n = 0; n < kernels.size(); ++n) {
    ExecutedKernel kernel{std::move(kernels[n]), 1, {}, true};
    open_bodies(graph.nodes[n], integer_share, kernel, gaps);
    if (kernel.inside.empty()) {
      note_sizes(kernel.kernel, gaps);
      if (std::vector<ExecutedKernel> steps = steps_of(kernel.kernel, integer_share); !steps.empty())
        kernel.inside.push_back(std::move(steps));
    }
    result.push_back(std::move(kernel));
  }
  return result;
}

std::vector<std::string> notes_on(const Gaps& gaps) {
  std::vector<std::string> notes;
  if (!gaps.loops.empty())
    notes.push_back(fmt::format("the trip count of {} depends on the data{}; the estimate counts one trip",
                                gaps.loops[0],
                                gaps.loops.size() > 1 ? fmt::format(" (and {} more)", gaps.loops.size() - 1) : ""));
  if (gaps.branches > 0)
    notes.push_back(fmt::format("the estimate has the slower side of {}",
                                gaps.branches == 1 ? "a branch" : fmt::format("{} branches", gaps.branches)));
  if (gaps.sizeless > 0)
    notes.push_back(
        fmt::format("{} of {} kernels have data-dependent sizes (first: {}); the estimate has their minimum",
                    gaps.sizeless, gaps.kernels, gaps.first_sizeless));
  return notes;
}

void flatten(const std::vector<ExecutedKernel>& kernels, std::vector<Kernel>& flat) {
  for (const ExecutedKernel& kernel : kernels) {
    if (kernel.inside.empty()) flat.push_back(kernel.kernel);
    for (const auto& inner : kernel.inside) flatten(inner, flat);
  }
}

}  // namespace

ExecutedModel executed_model(const model::Graph& graph, double integer_share) {
  Gaps gaps;
  ExecutedModel executed;
  executed.kernels = kernels_in(graph, integer_share, gaps);
  executed.notes = notes_on(gaps);
  return executed;
}

std::vector<Kernel> flattened(const std::vector<ExecutedKernel>& kernels) {
  std::vector<Kernel> flat;
  flatten(kernels, flat);
  return flat;
}

}  // namespace ridge::predict
