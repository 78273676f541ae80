#include "predict/memory.h"

#include <algorithm>
#include <cmath>
#include <set>
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

// Fitted to the points of benchmarks/memory_prediction.py, by the least sum of logarithmic errors (ONNX Runtime 1.31.1, x86-64,
// glibc 2.36); results/memory_prediction-*.txt has them. kFirstRun is from the arena's log.
constexpr double kRuntimeBytes = 40e6;      // the program, the engine's library, a session of one node
constexpr double kNodeBytes = 4.2e3;        // of the file
constexpr double kConvolutionCopies = 1.8;  // of weights stored in blocks: copies left by loading
constexpr double kMatrixCopies = 0.7;       // of matrices that the file holds and kernels pack
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
  double convolutions = 0, matrices = 0;
  double largest_matrix = 0;
  double attributes = 0;  // numbers in lists, as tree ensembles have them
};

double bytes_of(const model::Attribute& attribute) {
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute))
    return 8.0 * static_cast<double>(integers->size());
  if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) return 4.0 * static_cast<double>(reals->size());
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute))
    return 32.0 * static_cast<double>(texts->size());
  return 0;
}

void add_matrix(const model::TensorInfo* weight, Weights& weights) {
  if (weight == nullptr || weight->role != model::TensorRole::kWeight) return;
  weights.matrices += bytes_of(*weight);
  weights.largest_matrix = std::max(weights.largest_matrix, bytes_of(*weight));
}

// `blocked`: for convolutions only those that the graph itself marks as blocked.
Weights weights_of(const model::Graph& graph, bool blocked) {
  Weights weights;
  std::unordered_set<const model::TensorInfo*> seen;
  for (const model::Node& node : graph.nodes) {
    const model::TensorInfo* weight = tensor_at(graph, node, 1);
    const bool fresh = weight != nullptr && weight->role == model::TensorRole::kWeight && seen.insert(weight).second;
    const cost::KernelFamily kernel = cost::operator_of(node.domain, node.op).kernel;
    if (fresh && kernel == cost::KernelFamily::kConvolution && (!blocked || node.domain == model::kBlocked))
      weights.convolutions += bytes_of(*weight);
    if (fresh && kernel == cost::KernelFamily::kMatMul && weight->shape && weight->shape->size() == 2)
      add_matrix(weight, weights);
    if (fresh && kernel == cost::KernelFamily::kGatedRecurrence) {
      add_matrix(weight, weights);
      add_matrix(tensor_at(graph, node, 2), weights);
    }
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

// Whether ONNX Runtime knows at loading which results have the same shape: seldom if the file leaves more sizes open than the
// batch.
bool compares_shapes(const model::Graph& graph) {
  std::set<std::string> open;
  for (const model::GraphInput& input : graph.input_specs)
    for (const std::string& symbol : input.symbols)
      if (!symbol.empty()) open.insert(symbol == "?" ? symbol + std::to_string(open.size()) : symbol);
  return open.size() <= 1;
}

// Memory touched by later runs in addition: their block, in a region of its own or, if it fits, in the one with the largest
// buffer, whose size is a power of two (bfc_arena.cc, Extend).
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

InferenceMemory inference_memory(const model::Graph& graph, const model::Graph* optimised) {
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
  const cost::BufferPlan plan = cost::plan_buffers(executed, compares_shapes(graph));
  memory.activations = plan.block + plan.outputs;
  memory.arena_slack = (kFirstRun - 1) * memory.activations + later_runs(plan);
  const bool from_file = 2 * stored_bytes(graph) > memory.weights;
  const double left = kConvolutionCopies * weights.convolutions + (from_file ? kMatrixCopies * weights.matrices : 0) +
                      kListCopies * weights.attributes;
  memory.retained = left - std::min(kReused * left, memory.activations + memory.arena_slack);
  memory.loading_peak = memory.runtime + memory.weights + std::max(left, weights.largest_matrix);
  memory.resident = memory.runtime + memory.weights + memory.activations + memory.workspace + memory.inputs +
                    memory.arena_slack + memory.retained;
  memory.peak = std::max(memory.loading_peak, memory.resident);
  memory.peak_low = memory.peak * (1 - kMemoryError);
  memory.peak_high = memory.peak * (1 + kMemoryError);
  return memory;
}

double memory_at(const MemoryLine& line, double batch) {
  if (line.batch_two == line.batch_one) return line.peak_one;
  double slope = (line.peak_two - line.peak_one) / (line.batch_two - line.batch_one);
  return std::max(line.peak_one, line.peak_one + slope * (batch - line.batch_one));
}

int64_t largest_batch(const std::function<double(int64_t batch)>& peak_bytes, double limit_bytes) {
  if (peak_bytes(1) > limit_bytes) return 0;
  constexpr int64_t kMost = int64_t{1} << 30;
  int64_t low = 1, high = 2;
  while (high < kMost && peak_bytes(high) <= limit_bytes) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (peak_bytes(middle) <= limit_bytes ? low : high) = middle;
  }
  return low;
}

int64_t instances_that_fit(const InferenceMemory& one, double limit_bytes) {
  if (one.peak > limit_bytes) return 0;
  double each = one.resident - one.runtime;
  if (each <= 0) return 1;
  return 1 + static_cast<int64_t>((limit_bytes - one.peak) / each);
}

}  // namespace ridge::predict
