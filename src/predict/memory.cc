#include "predict/memory.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "cost/buffer_plan.h"
#include "cost/costs.h"
#include "cost/operators.h"
#include "model/domains.h"

namespace ridge::predict {
namespace {

// Fitted to the points of benchmarks/memory_prediction.py, by the least sum of logarithmic errors (ONNX Runtime 1.31.1,
// x86-64, glibc 2.36); results/memory_prediction-*.txt has them. kFirstRun is from the arena's log.
constexpr double kRuntimeBytes = 40e6;  // the program, the engine's library, a session of one node
constexpr double kNodeBytes = 4.2e3;    // of the file
constexpr double kBlockedCopies = 1.3;  // of convolutions' weights that are laid out in blocks: originals and holes
constexpr double kTemporaries = 5;      // of the largest of them, while it is laid out
// Share of weights that kernels pack which stays: the next packed one is aligned, and fits where one was freed or not,
// which small allocations decide. In some processes none of them is left (0), in others nearly all (0.7); this lies
// between the two.
constexpr double kPackedCopies = 0.3;
// A block of this size that is freed goes back to the system: 32 MiB (glibc's malloc.c, DEFAULT_MMAP_THRESHOLD_MAX).
constexpr double kMapped = 32 << 20;
constexpr double kListCopies =
    3.7;  // of numbers in attributes: parsed, copied into the node, built into the kernel's own trees
constexpr double kFirstRun =
    1.1;  // of the planned block and the outputs: the first run allocates buffer by buffer, from several regions
constexpr double kReused = 0.28;  // of loading's leftovers, reused by runs

const model::TensorInfo* tensor_at(const model::Graph& graph, const model::Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] < 0) return nullptr;
  return &graph.tensors[static_cast<size_t>(node.inputs[input])];
}

double bytes_of(const model::TensorInfo& info) {
  return info.shape ? static_cast<double>(byte_size(info.type, *info.shape).value_or(0)) : 0;
}

// Weights by their handling during loading [bytes].
struct Weights {
  double blocked = 0, largest_blocked = 0;  // of convolutions, laid out in blocks
  double packed = 0,
         largest_packed = 0;  // of matrices and quantised convolutions; `packed` without those that are mapped
  double attributes = 0;      // numbers in lists, as tree ensembles have them
};

double bytes_of(const model::Attribute& attribute) {
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute))
    return 8.0 * static_cast<double>(integers->size());
  if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) return 4.0 * static_cast<double>(reals->size());
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute))
    return 32.0 * static_cast<double>(texts->size());
  return 0;
}

void add_packed(const model::TensorInfo* weight, Weights& weights) {
  if (weight == nullptr || weight->role != model::TensorRole::kWeight) return;
  const double bytes = bytes_of(*weight);
  weights.packed += bytes < kMapped ? bytes : 0;
  weights.largest_packed = std::max(weights.largest_packed, bytes);
}

// `chosen`: the engine has chosen the layouts of this graph.
Weights weights_of(const model::Graph& graph, bool chosen) {
  Weights weights;
  std::unordered_set<const model::TensorInfo*> seen;
  for (const model::Node& node : graph.nodes) {
    const cost::KernelFamily kernel = cost::operator_of(node.domain, node.op).kernel;
    const bool quantised = kernel == cost::KernelFamily::kQuantisedProduct;
    const model::TensorInfo* weight = tensor_at(graph, node, quantised ? 3 : 1);
    const bool fresh = weight != nullptr && weight->role == model::TensorRole::kWeight && seen.insert(weight).second;
    if (fresh && kernel == cost::KernelFamily::kConvolution && (!chosen || node.domain == model::kBlocked)) {
      weights.blocked += bytes_of(*weight);
      weights.largest_blocked = std::max(weights.largest_blocked, bytes_of(*weight));
    }
    const bool matrix = kernel == cost::KernelFamily::kMatMul && fresh && weight->shape && weight->shape->size() == 2;
    const bool recurrent = fresh && kernel == cost::KernelFamily::kGatedRecurrence;
    if (matrix || recurrent || (fresh && (quantised || kernel == cost::KernelFamily::kIntegerProduct)))
      add_packed(weight, weights);
    if (recurrent) add_packed(tensor_at(graph, node, 2), weights);
    for (const auto& [name, attribute] : node.attributes) weights.attributes += bytes_of(attribute);
  }
  return weights;
}

// For weights stored in the file; those only described (ConstantOfShape) leave no copy of the file behind.
double stored_bytes(const model::Graph& graph) {
  std::vector<bool> made(graph.tensors.size());
  for (const model::Node& node : graph.nodes)
    for (int t : node.outputs)
      if (t >= 0) made[static_cast<size_t>(t)] = true;
  double bytes = 0;
  for (size_t t = 0; t < made.size(); ++t)
    if (!made[t] && graph.tensors[t].role == model::TensorRole::kWeight) bytes += bytes_of(graph.tensors[t]);
  return bytes;
}

// The windows of one image and group, for a convolution in plain layout (im2col): whole if there are more filters than
// positions, else in negligible pieces (mlas/lib/convolve.cpp, MlasConvPrepare; conv_transpose.cc).
double windows_bytes(const model::Graph& graph, const model::Node& node) {
  const cost::KernelFamily kernel = cost::operator_of(node.domain, node.op).kernel;
  const bool transposed = kernel == cost::KernelFamily::kTransposedConvolution;
  if ((kernel != cost::KernelFamily::kConvolution && !transposed) || node.domain == model::kBlocked) return 0;
  const model::TensorInfo *x = tensor_at(graph, node, 0), *w = tensor_at(graph, node, 1);
  if (x == nullptr || w == nullptr || !w->shape || node.outputs.empty() || node.outputs[0] < 0) return 0;
  const std::optional<Shape>& places =
      transposed ? x->shape : graph.tensors[static_cast<size_t>(node.outputs[0])].shape;
  if (!places || places->size() != w->shape->size() || places->size() < 3) return 0;
  double taps = 1, positions = 1;
  for (size_t i = 2; i < places->size(); ++i) {
    taps *= static_cast<double>((*w->shape)[i]);
    positions *= static_cast<double>((*places)[i]);
  }
  const bool whole = transposed || (taps > 1 && static_cast<double>((*w->shape)[0]) > positions);
  return whole ? 4 * taps * static_cast<double>((*w->shape)[1]) * std::max(positions, 0.0) : 0;
}

// Memory touched by later runs in addition: their block, in a region of its own or, if it fits, in the one with the
// largest buffer, whose size is a power of two (bfc_arena.cc, Extend).
double later_runs(const cost::BufferPlan& plan) {
  const double region = std::exp2(std::floor(std::log2(std::max(plan.largest, 1.0))) + 1);
  return plan.block < region ? plan.block - plan.largest : plan.block;
}

bool shapes_known(const model::Graph& graph) {
  return std::all_of(graph.tensors.begin(), graph.tensors.end(), [](const model::TensorInfo& info) {
    return info.role != model::TensorRole::kActivation || info.shape;
  });
}

}  // namespace

InferenceMemory inference_memory(const model::Graph& graph, const model::Graph* optimised,
                                 const std::unordered_set<std::string>& open) {
  const model::Graph& executed = optimised != nullptr ? *optimised : graph;
  const cost::Costs costs = cost::count(executed);
  const Weights weights = weights_of(executed, optimised != nullptr);
  InferenceMemory memory;
  memory.of_engine_graph = optimised != nullptr;
  memory.known = shapes_known(graph);
  memory.runtime = kRuntimeBytes + kNodeBytes * static_cast<double>(graph.nodes.size());
  memory.weights = costs.weight_bytes + weights.attributes;
  for (int t : graph.inputs) memory.inputs += bytes_of(graph.tensors[static_cast<size_t>(t)]);
  for (const model::Node& node : executed.nodes)
    memory.workspace = std::max(memory.workspace, windows_bytes(executed, node));
  const cost::BufferPlan plan = cost::plan_buffers(executed, open);
  memory.activations = plan.block + plan.outputs;
  memory.arena_slack = (kFirstRun - 1) * memory.activations + later_runs(plan);
  const bool from_file = 2 * stored_bytes(graph) > memory.weights;
  const double left = kBlockedCopies * weights.blocked + kTemporaries * weights.largest_blocked +
                      (from_file ? kPackedCopies * weights.packed : 0) + kListCopies * weights.attributes;
  memory.retained = left - std::min(kReused * left, memory.activations + memory.arena_slack);
  const double twice = weights.largest_packed;  // held in both forms while it is packed
  memory.loading_peak = memory.runtime + memory.weights + (from_file ? left + twice : std::max(left, twice));
  memory.resident = memory.runtime + memory.weights + memory.activations + memory.workspace + memory.inputs +
                    memory.arena_slack + memory.retained;
  memory.peak = std::max(memory.loading_peak, memory.resident);
  memory.peak_low = memory.peak * (1 - kMemoryError);
  memory.peak_high = memory.peak * (1 + kMemoryError);
  return memory;
}

int64_t largest_batch(const MemoryLine& line, double limit_bytes) {
  constexpr double kMost = 1 << 30;
  if (line.peak_one > limit_bytes) return 0;
  const double slope = (line.peak_two - line.peak_one) / (line.batch_two - line.batch_one);
  const double fits = slope > 0 ? line.batch_one + (limit_bytes - line.peak_one) / slope : kMost;
  return static_cast<int64_t>(std::min(fits, kMost));
}

int64_t instances_that_fit(const InferenceMemory& one, double limit_bytes) {
  if (one.peak > limit_bytes) return 0;
  double each = one.resident - one.runtime;
  if (each <= 0) return 1;
  return 1 + static_cast<int64_t>((limit_bytes - one.peak) / each);
}

}  // namespace ridge::predict
