#include "predict/memory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "predict/arena_model.h"
#include "predict/buffer_plan.h"
#include "predict/heap_model.h"
#include "predict/loading.h"

namespace ridge::predict {
namespace {

// Measured with benchmarks/memory_process.cc, ONNX Runtime 1.31.1, x86-64, glibc 2.36: a process with the library loaded
// and an environment holds 21.6 MB, 7.5 of them its own, after opening a model of one node 29.7 MB, after a run 29.9 MB.
constexpr double kRuntimeBytes = 30.0e6;
// Kernels' code that real models touch, and what a node and its tensors' descriptions take: from the same process.
constexpr double kKernelCodeBytes = 1.2e6;
constexpr double kNodeBytes = 12e3;
constexpr int64_t kBufferAlignment = 64;
// How far processes lie on average between the two extremes of heap_model.h: fitted to resnet50 and yolov8x (0.1 to 0.6 in 20
// processes; bert-base is at one end or the other).
constexpr double kShareTaken = 0.3;
// Where each weight has a scale and a zero point beside it, their small blocks always take the remainders: resnet50 in QDQ form held
// 84.8 MB after loading in each of 6 processes, and 60.5 MB with every block in a mapping of its own.
constexpr double kShareTakenBesideScales = 1;

// Where a run's tensors come from: the arena, or the heap itself.
class Pool {
 public:
  Pool(HeapModel& heap, bool arena) : heap_(heap), arena_(heap), with_arena_(arena) {}
  int64_t allocate(int64_t bytes) {
    if (bytes <= 0) return -1;
    return with_arena_ ? arena_.allocate(bytes) : heap_.allocate(bytes, kBufferAlignment);
  }
  void release(int64_t block) {
    if (block < 0) return;
    if (with_arena_)
      arena_.release(block);
    else
      heap_.release(static_cast<HeapModel::Block>(block));
  }

 private:
  HeapModel& heap_;
  ArenaModel arena_;
  bool with_arena_;
};

// One run: buffers come and go with the steps; `in_block`: all but the outputs lie in one block of that size.
void run(const EngineGraph& graph, const BufferPlan& plan, std::optional<int64_t> in_block, Pool& pool) {
  int64_t block = in_block ? pool.allocate(*in_block) : -1;
  std::vector<std::vector<int64_t>> freed(graph.steps.size() + 1);
  size_t next = 0;
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    for (; next < plan.buffers.size() && plan.buffers[next].first == s; ++next) {
      const ActivationBuffer& buffer = plan.buffers[next];
      if (in_block && !buffer.output) continue;
      freed[buffer.last].push_back(pool.allocate(buffer.bytes));
    }
    pool.release(pool.allocate(graph.steps[s].workspace_bytes));
    for (int64_t made : freed[s]) pool.release(made);
  }
  for (int64_t output : freed.back()) pool.release(output);
  pool.release(block);
}

int64_t outputs_bytes(const BufferPlan& plan) {
  int64_t bytes = 0;
  for (const ActivationBuffer& buffer : plan.buffers) bytes += buffer.output ? buffer.bytes : 0;
  return bytes;
}

void load(const EngineGraph& engine, HeapModel& heap, InferenceMemory& memory) {
  memory.weights = static_cast<double>(load_weights(engine.weights, heap));
  memory.loading_peak = memory.runtime + static_cast<double>(heap.peak_bytes());
  for (const EngineTensor& tensor : engine.tensors)
    if (tensor.input && tensor.bytes > 0) {
      heap.allocate(tensor.bytes, kBufferAlignment);
      memory.inputs += static_cast<double>(tensor.bytes);
    }
  memory.retained = static_cast<double>(heap.resident_bytes()) - memory.weights - memory.inputs;
}

InferenceMemory simulate(const EngineGraph& engine, const MemoryOptions& options, HeapModel::Remainders remainders) {
  InferenceMemory memory;
  memory.known = engine.known;
  memory.runtime = kRuntimeBytes + kKernelCodeBytes + kNodeBytes * static_cast<double>(engine.nodes);
  HeapModel heap(remainders);
  load(engine, heap, memory);
  const double before_runs = static_cast<double>(heap.resident_bytes());
  BufferPlan plan = plan_buffers(engine);
  int64_t block = pattern_bytes(plan, engine.steps.size());
  Pool pool(heap, options.arena);
  run(engine, plan, std::nullopt, pool);
  for (int again = 0; again < 2; ++again)
    run(engine, plan, options.pattern ? std::optional<int64_t>(block) : std::nullopt, pool);
  memory.activations = static_cast<double>(options.pattern ? block + outputs_bytes(plan) : plan.live_bytes);
  for (const EngineStep& step : engine.steps)
    memory.workspace = std::max(memory.workspace, static_cast<double>(step.workspace_bytes));
  // Runs first use up what loading left behind.
  double grown = static_cast<double>(heap.resident_bytes()) - before_runs;
  double wanted = memory.activations + memory.workspace;
  memory.arena_slack = std::max(0.0, grown - wanted);
  memory.retained -= std::max(0.0, wanted - grown);
  memory.resident = memory.runtime + static_cast<double>(heap.resident_bytes());
  memory.peak = memory.runtime + static_cast<double>(heap.peak_bytes());
  return memory;
}

}  // namespace

EngineTraits traits_of(const std::vector<std::string>& isa) {
  auto has = [&](const char* name) { return std::find(isa.begin(), isa.end(), name) != isa.end(); };
  return {.block = has("avx512f") ? 16 : has("avx") || has("avx2") ? 8 : 0};
}

InferenceMemory inference_memory(const model::Graph& graph, const MemoryOptions& options) {
  EngineGraph engine = engine_graph(graph, options.traits);
  InferenceMemory memory = simulate(engine, options, HeapModel::Remainders::kMerge);
  const InferenceMemory high = simulate(engine, options, HeapModel::Remainders::kTaken);
  memory.peak_low = memory.peak;
  memory.peak_high = std::max(memory.peak, high.peak);
  const double taken = engine.weights.dequantised ? kShareTakenBesideScales : kShareTaken;
  const double more = taken * std::max(0.0, high.resident - memory.resident);
  memory.resident += more;
  memory.retained += more;
  memory.loading_peak += taken * std::max(0.0, high.loading_peak - memory.loading_peak);
  memory.peak = std::max(memory.resident, memory.peak_low + taken * (memory.peak_high - memory.peak_low));
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

double memory_of_instances(const InferenceMemory& one, int64_t instances) {
  double further = static_cast<double>(instances - 1) * (one.resident - one.runtime);
  return std::max(one.peak + further, one.resident + further);
}

int64_t instances_that_fit(const InferenceMemory& one, double limit_bytes) {
  if (one.peak > limit_bytes) return 0;
  double each = one.resident - one.runtime;
  if (each <= 0) return 1;
  return 1 + static_cast<int64_t>((limit_bytes - one.peak) / each);
}

Json to_json(const InferenceMemory& memory) {
  return Json{{"runtime", memory.runtime},     {"weights", memory.weights},   {"activations", memory.activations},
              {"workspace", memory.workspace}, {"inputs", memory.inputs},     {"arena_slack", memory.arena_slack},
              {"retained", memory.retained},   {"resident", memory.resident}, {"loading_peak", memory.loading_peak},
              {"peak", memory.peak},           {"peak_low", memory.peak_low}, {"peak_high", memory.peak_high},
              {"known", memory.known}};
}

}  // namespace ridge::predict
