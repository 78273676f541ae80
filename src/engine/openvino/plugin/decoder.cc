#include "engine/openvino/plugin/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <openvino/core/version.hpp>
#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/exception.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <openvino/runtime/properties.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "checkpoint/decoder_config.h"
#include "checkpoint/graph_folder.h"
#include "checkpoint/weights.h"
#include "engine/openvino/executed.h"
#include "engine/openvino/packed_kernels.h"
#include "engine/openvino/plugin/decoder_graph.h"
#include "engine/openvino/plugin/guarded.h"
#include "engine/openvino/plugin/runtime_graph.h"
#include "engine/step_check.h"

namespace ridge::engine::openvino::plugin {
namespace {

// By packed_block.h, whose activations are FP32. The engine's attention reads a cache in BF16 only in that arithmetic.
bool multiplies_packed(const DecoderPlan& plan) {
  const bool half_attention = plan.weights == WeightFormat::kBf16 && plan.cache == CacheForm::kBf16;
  return !checkpoint::is_graph_folder(plan.folder) && !half_attention && packing_pays(plan.weights);
}

// The arithmetic that the weights decide. Compressed ones are multiplied in INT8, with activations quantised in groups
// of 32, which the engine does from FP32 only.
ov::element::Type arithmetic_of(const DecoderPlan& plan) {
  const bool half = (plan.weights == WeightFormat::kBf16 || plan.weights == WeightFormat::kFp16) &&
                    !missing_for(Precision::kBf16, instruction_sets()) && !multiplies_packed(plan);
  return half ? ov::element::bf16 : ov::element::f32;
}

ov::element::Type cache_type_of(const DecoderPlan& plan) {
  switch (plan.cache) {
    case CacheForm::kFp32: return ov::element::f32;
    case CacheForm::kBf16: return ov::element::bf16;
    case CacheForm::kU8: break;
  }
  return ov::element::u8;
}

// The engine's attention reads a cache of its own arithmetic, or of 8 bits.
Status check(const DecoderPlan& plan) {
  const ov::element::Type cache = cache_type_of(plan), arithmetic = arithmetic_of(plan);
  if (cache == ov::element::u8 || cache == arithmetic) return {};
  const std::string weights(name_of(names_of(plan.weights), plan.weights));
  return Error{Code::kUnsupported, "OpenVINO computes weights in " + weights + " in " + arithmetic.get_type_name() +
                                       " on this CPU, and its cache is then in that or in u8, not in " +
                                       cache.get_type_name()};
}

ov::AnyMap decoder_properties(const DecoderPlan& plan, int threads) {
  const bool compressed = plan.weights == WeightFormat::kInt8 || plan.weights == WeightFormat::kInt4;
  return {ov::num_streams(1),
          ov::hint::inference_precision(arithmetic_of(plan)),
          ov::hint::dynamic_quantization_group_size(compressed ? 32 : 0),
          ov::hint::kv_cache_precision(cache_type_of(plan)),
          ov::hint::enable_cpu_pinning(false),
          ov::inference_num_threads(threads),
          ov::hint::enable_hyper_threading(true)};
}

// Zeroed when first touched, so a cache takes memory as it fills.
class CacheMemory {
 public:
  // Throws std::bad_alloc.
  explicit CacheMemory(size_t bytes) : memory_(std::calloc(1, bytes + kAlignment)) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  void* aligned() const {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory_.get()) + kAlignment - 1) / kAlignment *
                                   kAlignment);
  }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

// One of the compiled model's key_cache.N and value_cache.N.
struct CacheInput {
  size_t index = 0;
  ov::element::Type type;
  ov::Shape block;  // [head, token, values]; u8 has its scales among them
  size_t block_bytes() const { return ov::shape_size(block) * type.size(); }
};

// Indices of the compiled model's inputs.
struct StepInputs {
  std::map<std::string, size_t> by_name;
  std::vector<CacheInput> caches;
};

struct StepInput {
  const char* name;
  bool always = true;
};
constexpr StepInput kStepInputs[] = {{"input_ids"},           {"past_lens"},       {"subsequence_begins"},
                                     {"block_indices"},       {"max_context_len"}, {"block_indices_begins"},
                                     {"position_ids", false}, {kRotaryCos, false}, {kRotarySin, false},
                                     {kSampledRows}};

Result<StepInputs> inputs_of(const ov::CompiledModel& model) {
  StepInputs inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const auto& input = model.inputs()[i];
    const std::string name = input.get_any_name();
    if (name.starts_with("key_cache.") || name.starts_with("value_cache.")) {
      const ov::PartialShape& shape = input.get_partial_shape();
      if (shape.rank().is_dynamic() || shape.size() != 4 || shape[1].is_dynamic() || shape[2].is_dynamic() ||
          shape[3].is_dynamic())
        return Error{Code::kUnsupported, "OpenVINO states no form of its cache: " + name + " is " + shape.to_string()};
      inputs.caches.push_back({i,
                               input.get_element_type(),
                               {static_cast<size_t>(shape[1].get_length()), static_cast<size_t>(shape[2].get_length()),
                                static_cast<size_t>(shape[3].get_length())}});
      continue;
    }
    if (std::ranges::find(kStepInputs, name, &StepInput::name) == std::end(kStepInputs))
      return Error{Code::kUnsupported,
                   "OpenVINO's paged attention has an input '" + name + "' that ridge does not know"};
    inputs.by_name[name] = i;
  }
  for (const StepInput& input : kStepInputs)
    if (input.always && !inputs.by_name.contains(input.name))
      return Error{Code::kUnsupported, std::string("OpenVINO's paged attention has no input '") + input.name + "'"};
  return inputs;
}

// On CPUs a block has 32 tokens; a cache in 8 bits may have its scales in further rows of a block, so it is not read
// from the shape.
constexpr int64_t kBlockTokens = 32;

Result<CacheShape> cache_shape_of(const StepInputs& inputs) {
  CacheShape shape{kBlockTokens, 0};
  for (const CacheInput& cache : inputs.caches) {
    shape.bytes_per_block += static_cast<int64_t>(cache.block_bytes());
    const bool plain = cache.type != ov::element::u8;
    if (static_cast<int64_t>(cache.block[1]) < kBlockTokens ||
        (plain && static_cast<int64_t>(cache.block[1]) != kBlockTokens))
      return Error{Code::kUnsupported, "OpenVINO's cache has blocks of " + std::to_string(cache.block[1]) +
                                           " tokens; ridge knows " + std::to_string(kBlockTokens)};
  }
  return shape;
}

// Rotary angles of all positions so far. FP32 values of angles in double, which 16 bits would get wrong.
class RotaryTable {
 public:
  RotaryTable(const checkpoint::Rope& rope, int64_t head_dim)
      : frequencies_(checkpoint::rope_frequencies(rope, head_dim)), factor_(rope.attention_factor) {}
  size_t width() const { return 2 * frequencies_.size(); }
  void reach(int64_t positions) {
    for (int64_t position = positions_; position < positions; ++position)
      for (int half = 0; half < 2; ++half)
        for (const double frequency : frequencies_) {
          cos_.push_back(static_cast<float>(factor_ * std::cos(static_cast<double>(position) * frequency)));
          sin_.push_back(static_cast<float>(factor_ * std::sin(static_cast<double>(position) * frequency)));
        }
    positions_ = std::max(positions_, positions);
  }
  // Copies consecutive positions, which were reached.
  void copy(int64_t position, size_t count, float* cos, float* sin) const {
    const auto from = static_cast<std::ptrdiff_t>(static_cast<size_t>(position) * width());
    std::copy_n(cos_.begin() + from, count * width(), cos);
    std::copy_n(sin_.begin() + from, count * width(), sin);
  }

 private:
  const std::vector<double> frequencies_;
  const double factor_;
  int64_t positions_ = 0;
  std::vector<float> cos_, sin_;  // [position, head_dim]
};

class OpenVinoDecoder final : public Decoder {
 public:
  OpenVinoDecoder(ov::CompiledModel model, StepInputs inputs, DecoderInfo info, RotaryTable rotary)
      : model_(std::move(model)), inputs_(std::move(inputs)), info_(std::move(info)), rotary_(std::move(rotary)) {}

  const DecoderInfo& info() const override { return info_; }
  Status reserve(int64_t blocks) override;
  Result<Logits> step(std::span<const StepSequence> sequences) override;
  void terminate() override;

 private:
  template <typename T>
  T* fresh(const char* name, const ov::Shape& shape);
  void bind_caches();
  int64_t place(std::span<const StepSequence> sequences);
  Status run();

  ov::CompiledModel model_;
  const StepInputs inputs_;
  const DecoderInfo info_;
  RotaryTable rotary_;
  int64_t blocks_ = 0;
  std::vector<CacheMemory> memory_;  // in the order of inputs_.caches
  std::optional<ov::InferRequest> request_;
  Mutex running_mutex_;
  bool running_ RIDGE_GUARDED_BY(running_mutex_) = false;
  bool terminated_ RIDGE_GUARDED_BY(running_mutex_) = false;
};

Status OpenVinoDecoder::reserve(int64_t blocks) {
  return guarded("OpenVINO's cache of " + std::to_string(blocks) + " blocks of " +
                     std::to_string(info_.cache.bytes_per_block) + " bytes",
                 [&]() -> Status {
                   request_.reset();
                   memory_.clear();
                   blocks_ = 0;
                   if (blocks < 0) return invalid("a cache has at least no blocks");
                   for (const CacheInput& cache : inputs_.caches)
                     memory_.emplace_back(static_cast<size_t>(blocks) * cache.block_bytes());
                   blocks_ = blocks;
                   bind_caches();
                   return {};
                 });
}

void OpenVinoDecoder::bind_caches() {
  request_ = model_.create_infer_request();
  for (size_t i = 0; i < memory_.size(); ++i) {
    const CacheInput& cache = inputs_.caches[i];
    ov::Shape shape = {static_cast<size_t>(blocks_)};
    shape.insert(shape.end(), cache.block.begin(), cache.block.end());
    request_->set_input_tensor(cache.index, ov::Tensor(cache.type, shape, memory_[i].aligned()));
  }
}

// Memory of the request's own tensor, of that shape. Null: the graph has no such input.
template <typename T>
T* OpenVinoDecoder::fresh(const char* name, const ov::Shape& shape) {
  const auto input = inputs_.by_name.find(name);
  if (input == inputs_.by_name.end()) return nullptr;
  ov::Tensor tensor(model_.inputs()[input->second].get_element_type(), shape);
  request_->set_input_tensor(input->second, tensor);
  return tensor.data<T>();
}

// Sets all inputs but the caches. Returns the rows of logits.
int64_t OpenVinoDecoder::place(std::span<const StepSequence> sequences) {
  size_t tokens = 0, blocks = 0, rows = 0;
  int64_t longest = 0;
  for (const StepSequence& sequence : sequences) {
    const int64_t end = sequence.past + static_cast<int64_t>(sequence.tokens.size());
    tokens += sequence.tokens.size();
    blocks += static_cast<size_t>((end + kBlockTokens - 1) / kBlockTokens);
    rows += static_cast<size_t>(sequence.samples);
    longest = std::max(longest, end);
  }
  auto* ids = fresh<int64_t>("input_ids", {tokens});
  auto* past = fresh<int32_t>("past_lens", {sequences.size()});
  auto* begins = fresh<int32_t>("subsequence_begins", {sequences.size() + 1});
  auto* block_begins = fresh<int32_t>("block_indices_begins", {sequences.size() + 1});
  auto* table = fresh<int32_t>("block_indices", {blocks});
  auto* sampled = fresh<int32_t>(kSampledRows, {rows});
  auto* cos = fresh<float>(kRotaryCos, {tokens, 1, 1, rotary_.width()});
  auto* sin = fresh<float>(kRotarySin, {tokens, 1, 1, rotary_.width()});
  *fresh<int32_t>("max_context_len", {}) = static_cast<int32_t>(longest);
  auto* positions = fresh<int64_t>("position_ids", {tokens});
  if (cos != nullptr) rotary_.reach(longest);

  int32_t begin = 0, block_begin = 0;
  for (const StepSequence& sequence : sequences) {
    const auto count = static_cast<int32_t>(sequence.tokens.size());
    const int64_t used = (sequence.past + count + kBlockTokens - 1) / kBlockTokens;
    *past++ = static_cast<int32_t>(sequence.past);
    *begins++ = begin;
    *block_begins++ = block_begin;
    std::copy(sequence.tokens.begin(), sequence.tokens.end(), ids + begin);
    table = std::copy_n(sequence.blocks.begin(), used, table);
    if (cos != nullptr)
      rotary_.copy(sequence.past, sequence.tokens.size(), cos + static_cast<size_t>(begin) * rotary_.width(),
                   sin + static_cast<size_t>(begin) * rotary_.width());
    for (int32_t i = 0; positions != nullptr && i < count; ++i) positions[begin + i] = sequence.past + i;
    begin += count;
    block_begin += static_cast<int32_t>(used);
    for (int64_t i = sequence.samples; i > 0; --i) *sampled++ = begin - static_cast<int32_t>(i);
  }
  *begins = begin;
  *block_begins = block_begin;
  return static_cast<int64_t>(rows);
}

Status OpenVinoDecoder::run() {
  {
    MutexLock lock(running_mutex_);
    running_ = true;
    terminated_ = false;
  }
  // Not infer(): with one thread per stream it loses errors (request.h).
  Status ran = guarded("OpenVINO could not run a step", [&]() -> Status {
    request_->start_async();
    request_->wait();
    return {};
  });
  MutexLock lock(running_mutex_);
  running_ = false;
  if (terminated_) return Error{Code::kCancelled, "the step was broken off"};
  return ran;
}

Result<Logits> OpenVinoDecoder::step(std::span<const StepSequence> sequences) {
  RIDGE_TRY(check_step(info_, blocks_, sequences));
  return guarded("OpenVINO could not run a step", [&]() -> Result<Logits> {
    const int64_t rows = place(sequences);
    if (Status ran = run(); !ran) {
      bind_caches();  // a failed request is in an unknown state
      return std::move(ran).error();
    }
    if (rows == 0) return Logits{};
    const ov::Tensor logits = request_->get_output_tensor(0);
    return Logits{{logits.data<const float>(), static_cast<size_t>(rows * info_.vocabulary)}, rows};
  });
}

void OpenVinoDecoder::terminate() {
  MutexLock lock(running_mutex_);
  if (!running_) return;
  terminated_ = true;
  (void)guarded("cancel", [&]() -> Status {
    request_->cancel();
    return {};
  }).ok();
}

struct CompiledDecoder {
  ov::CompiledModel model;
  int64_t weight_bytes = 0;
};

Result<CompiledDecoder> compile_decoder(const DecoderPlan& plan, const checkpoint::DecoderConfig& config, int threads) {
  std::shared_ptr<const checkpoint::Weights> weights;  // none: the graph has its own
  const auto graph_of = [&]() -> Result<DecoderGraph> {
    if (checkpoint::is_graph_folder(plan.folder)) return read_decoder(config, plan.folder);
    RIDGE_ASSIGN(checkpoint::Weights opened, checkpoint::Weights::open(plan.folder));
    weights = std::make_shared<const checkpoint::Weights>(std::move(opened));
    return build_decoder(config, weights, plan.weights, multiplies_packed(plan), threads);
  };
  RIDGE_ASSIGN(DecoderGraph graph, graph_of());
  CompiledDecoder compiled{core().compile_model(graph.model, "CPU", decoder_properties(plan, threads)),
                           graph.weight_bytes};
  graph.model.reset();
  if (weights) weights->release_pages();
  return compiled;
}

Result<std::unique_ptr<Decoder>> open_checkpoint(const DecoderPlan& plan, const std::string& library) {
  const TimePoint begin = SteadyClock::now();
  RIDGE_TRY(check(plan));
  RIDGE_ASSIGN(const checkpoint::DecoderConfig config, checkpoint::read_decoder_config(plan.folder));
  const int threads = plan.threads > 0 ? plan.threads : static_cast<int>(std::thread::hardware_concurrency());
  RIDGE_ASSIGN(CompiledDecoder compiled, compile_decoder(plan, config, threads));
  const std::vector<ExecutedLayer> layers = executed_layers(compiled.model);
  if (plan.weights == WeightFormat::kFp32) RIDGE_TRY(verify(Precision::kFp32, layers));
  RIDGE_ASSIGN(StepInputs inputs, inputs_of(compiled.model));
  if (static_cast<int64_t>(inputs.caches.size()) != 2 * config.layers)
    return Error{Code::kUnsupported, "OpenVINO's paged attention has " + std::to_string(inputs.caches.size()) +
                                         " caches for " + std::to_string(config.layers) + " layers"};
  DecoderInfo info;
  const std::string build = ov::get_openvino_version().buildNumber;
  info.engine = {"openvino", build.substr(0, build.find('-')), library, "cpu", SteadyClock::now() - begin,
                 threads,    precisions_text(layers)};
  info.vocabulary = config.vocabulary;
  info.context = config.context;
  RIDGE_ASSIGN(info.cache, cache_shape_of(inputs));
  info.weight_bytes = compiled.weight_bytes;
  auto decoder = std::make_unique<OpenVinoDecoder>(std::move(compiled.model), std::move(inputs), std::move(info),
                                                   RotaryTable(config.rope, config.head_dim));
  return std::unique_ptr<Decoder>(std::move(decoder));
}

}  // namespace

Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan, const std::string& library) {
  return guarded("OpenVINO could not open " + plan.folder, [&] { return open_checkpoint(plan, library); });
}

}  // namespace ridge::engine::openvino::plugin
