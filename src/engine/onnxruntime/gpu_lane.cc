#include "engine/onnxruntime/gpu_lane.h"

#include <onnxruntime_run_options_config_keys.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/onnxruntime/element_type.h"
#include "engine/onnxruntime/placements.h"
#include "engine/onnxruntime/string_tensor.h"

namespace ridge::engine::onnxruntime {
namespace {

// Pageable memory is staged in pinned chunks of this size while the GPU copies the previous one: copies of some hundred
// KiB reach the link's rate (CUDA C++ Best Practices Guide, "Data Transfer Between Host and Device").
constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kLeastBytes = 256;  // minimum buffer: a tensor without elements has an address too

// ONNX Runtime keeps a captured graph by a number from the caller: one per lane and set of addresses.
int next_graph() {
  static std::atomic<int> graphs = 0;
  return ++graphs;
}

// ONNX Runtime frees no graph before the session ends, and each holds memory: what comes after a lane's usual few, be
// it another layout or another thread, which has a graph of its own, runs without.
constexpr size_t kMostGraphs = 16;

// A wait longer than this sleeps: being late by 20 µs costs a run 2 %, spinning a core. The last run's wait tells.
constexpr Nanoseconds kLongestSpin = std::chrono::milliseconds(1);

// A number of the calling thread, never given again.
uint64_t this_thread() {
  static std::atomic<uint64_t> threads = 0;
  thread_local const uint64_t number = ++threads;
  return number;
}

Status allocate(gpu::cuda::CudaMemory& memory, const gpu::cuda::CudaContext& context, size_t bytes,
                gpu::MemoryKind kind) {
  RIDGE_ASSIGN(memory, gpu::cuda::CudaMemory::allocate(context, bytes, kind));
  return {};
}

Result<RunOptionsHandle> run_options_of(const OrtApi& api, const std::map<std::string, std::string>& entries) {
  RunOptionsHandle options(api);
  RIDGE_TRY(take(api, api.CreateRunOptions(options.out())));
  RIDGE_TRY(take(api, api.RunOptionsSetRunLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_WARNING)));
  for (const auto& [key, value] : entries)
    RIDGE_TRY(take(api, api.AddRunConfigEntry(options.get(), key.c_str(), value.c_str())));
  return options;
}

}  // namespace

Result<std::unique_ptr<GpuLane>> GpuLane::make(const GpuBasis& basis) {
  std::unique_ptr<GpuLane> lane(new GpuLane(basis));
  RIDGE_ASSIGN(lane->copies_, gpu::cuda::CudaStream::create(basis.context));
  for (gpu::cuda::CudaEvent* event : {&lane->begun_, &lane->sent_, &lane->started_, &lane->computed_}) {
    RIDGE_ASSIGN(*event, gpu::cuda::CudaEvent::create(basis.context));
  }
  RIDGE_ASSIGN(lane->left_, gpu::cuda::CudaEvent::create(basis.context, gpu::cuda::EventWait::kSleeps));
  return lane;
}

GpuLane::~GpuLane() {
  if (copies_.handle() != nullptr) (void)copies_.synchronize();  // its result no longer matters
}

Result<GpuLane::GpuTensor*> GpuLane::place(size_t slot, DataType type, const Shape& shape, size_t bytes) {
  const OrtApi& api = *basis_.library.api;
  std::unique_ptr<GpuTensor>& kept = gpu_tensors_[slot];
  if (kept && kept->type == type && kept->shape == shape) return kept.get();
  const size_t needed = std::max(bytes, kLeastBytes);
  if (!kept) kept = std::make_unique<GpuTensor>(api);
  kept->value = ValueHandle(api);
  kept->type = DataType::kInvalid;  // if a later step fails
  if (kept->gpu.size() < needed) {
    kept->gpu = {};
    kept->pinned = {};
    RIDGE_TRY(allocate(kept->gpu, basis_.context, needed, gpu::MemoryKind::kDevice));
    RIDGE_TRY(allocate(kept->pinned, basis_.context, needed, gpu::MemoryKind::kPinned));
  }
  auto* address = reinterpret_cast<void*>(kept->gpu.address());
  RIDGE_TRY(take(api, api.CreateTensorWithDataAsOrtValue(basis_.memory.get(), address, bytes, shape.data(),
                                                         shape.size(), to_element_type(type), kept->value.out())));
  kept->type = type;
  kept->shape = shape;
  return kept.get();
}

Status GpuLane::send_input(const TensorSpec& spec, size_t slot, const TensorView& tensor) {
  in_names_.push_back(spec.name.c_str());
  if (tensor.type == DataType::kBytes && spec.type == DataType::kBytes) {  // these stay with the CPU
    Result<ValueHandle> strings = string_tensor_from_wire(basis_.library, tensor);
    if (!strings) return wrap(strings.error(), "input '" + spec.name + "'");
    strings_.push_back(std::move(*strings));
    in_.push_back(strings_.back().get());
    return {};
  }
  RIDGE_TRY(check_tensor(spec, tensor.type, tensor.shape, tensor.data.size()));
  RIDGE_ASSIGN(GpuTensor * to, place(slot, tensor.type, tensor.shape, tensor.data.size()));
  note(*to);
  in_.push_back(to->value.get());
  for (size_t at = 0; at < tensor.data.size(); at += kPiece) {
    const size_t bytes = std::min(kPiece, tensor.data.size() - at);
    const std::span<std::byte> piece = to->pinned.bytes().subspan(at, bytes);
    std::memcpy(piece.data(), tensor.data.data() + at, bytes);
    RIDGE_TRY(copies_.write(to->gpu, piece, at));
  }
  return {};
}

Status GpuLane::send(const GpuRun& run) {
  in_names_.clear();
  in_.clear();
  strings_.clear();
  allocated_.clear();
  laid_out_.clear();
  RIDGE_TRY(copies_.record(begun_));
  const size_t needed = run.signature.inputs.size();
  for (size_t i = 0; i < run.inputs.size(); ++i) {
    if (run.inputs[i].type == DataType::kInvalid) continue;
    const TensorSpec& spec = i < needed ? run.signature.inputs[i] : run.signature.optional_inputs[i - needed];
    RIDGE_TRY(send_input(spec, i, run.inputs[i]));
  }
  RIDGE_TRY(add_outputs(run));
  return copies_.record(sent_);
}

Status GpuLane::add_outputs(const GpuRun& run) {
  const size_t first = run.signature.inputs.size() + run.signature.optional_inputs.size();
  out_names_.clear();
  out_.clear();
  engine_allocates_ = false;
  for (size_t i = 0; i < run.wanted.size(); ++i) {
    const auto index = static_cast<size_t>(run.wanted[i]);
    const TensorSpec& spec = run.signature.outputs[index];
    const Output& output = run.outputs[i];
    out_names_.push_back(spec.name.c_str());
    out_.push_back(nullptr);
    if (output.data.empty()) {
      engine_allocates_ = true;
      continue;
    }
    if (spec.type == DataType::kBytes)
      return Error{Code::kUnsupported, "output '" + spec.name +
                                           "' holds strings: its size is not known before the run, so it cannot be "
                                           "written into caller memory"};
    RIDGE_TRY(check_tensor(spec, output.type, output.shape, output.data.size()));
    RIDGE_ASSIGN(GpuTensor * from, place(first + index, output.type, output.shape, output.data.size()));
    note(*from);
    out_.back() = from->value.get();
  }
  return {};
}

void GpuLane::note(const GpuTensor& place) {
  if (basis_.graphs) laid_out_ += std::to_string(place.gpu.address()) + shape_text(place.shape);
}

// Outputs allocated by the engine are copied to the CPU's memory by the engine itself; only a run that waits for its
// end has finished them.
Result<OrtRunOptions*> GpuLane::options_of_run() {
  const auto known = layouts_.find(laid_out_);
  const bool graph = has_graph();
  if (graph && known != layouts_.end()) return known->second.options.get();
  std::optional<RunOptionsHandle>& kept = waits() ? waiting_ : queuing_;
  if (!graph && kept) return kept->get();
  std::map<std::string, std::string> entries = basis_.run_entries;
  if (!waits()) entries[kOrtRunOptionsConfigDisableSynchronizeExecutionProviders] = "1";
  if (basis_.graphs) entries[kOrtRunOptionsConfigCudaGraphAnnotation] = graph ? std::to_string(next_graph()) : "-1";
  RIDGE_ASSIGN(RunOptionsHandle made, run_options_of(*basis_.library.api, entries));
  if (graph) return layouts_.emplace(laid_out_, Layout{std::move(made), {}}).first->second.options.get();
  kept = std::move(made);
  return kept->get();
}

bool GpuLane::is_captured() const {
  const auto known = layouts_.find(laid_out_);
  return known != layouts_.end() && known->second.captured_by.contains(this_thread());
}

bool GpuLane::has_graph() const { return basis_.graphs && !waits() && (captures_ < kMostGraphs || is_captured()); }

bool GpuLane::captures() const { return has_graph() && !is_captured(); }

Status GpuLane::compute(const GpuRun& run, const gpu::cuda::CudaStream& stream) {
  RIDGE_ASSIGN(const OrtRunOptions* options, options_of_run());
  if (basis_.mixed) RIDGE_TRY(sent_.synchronize());
  RIDGE_TRY(stream.wait(sent_));
  RIDGE_TRY(stream.record(started_));
  const OrtApi& api = *basis_.library.api;
  const std::vector<OrtValue*> given = out_;
  RIDGE_TRY(take(api, api.Run(run.session, options, in_names_.data(), in_.data(), in_.size(), out_names_.data(),
                              out_names_.size(), out_.data())));
  if (has_graph() && layouts_.at(laid_out_).captured_by.insert(this_thread()).second) ++captures_;
  for (size_t i = 0; i < out_.size(); ++i)
    if (given[i] == nullptr) allocated_.emplace_back(api, out_[i]);
  return stream.record(computed_);
}

Status GpuLane::fetch(const GpuRun& run, const TakeOutput& take_output) {
  const size_t first = run.signature.inputs.size() + run.signature.optional_inputs.size();
  auto place_of = [&](size_t i) -> GpuTensor& { return *gpu_tensors_.at(first + static_cast<size_t>(run.wanted[i])); };
  RIDGE_TRY(copies_.wait(computed_));
  for (size_t i = 0; i < run.wanted.size(); ++i)
    if (const size_t bytes = run.outputs[i].data.size(); bytes > 0)
      RIDGE_TRY(copies_.read(place_of(i).pinned.bytes().first(bytes), place_of(i).gpu));
  RIDGE_TRY(copies_.record(left_));
  const TimePoint begin = SteadyClock::now();
  RIDGE_TRY(waited_ > kLongestSpin ? left_.synchronize() : copies_.synchronize());
  left_at_ = SteadyClock::now();
  waited_ = left_at_ - begin;
  for (size_t i = 0, allocated = 0; i < run.wanted.size(); ++i) {
    if (Output& output = run.outputs[i]; output.data.empty())
      RIDGE_TRY(take_output(std::move(allocated_[allocated++]), output));
    else
      std::memcpy(output.data.data(), place_of(i).pinned.bytes().data(), output.data.size());
  }
  fetched_at_ = SteadyClock::now();
  return {};
}

Result<RunTimes> GpuLane::times() const {
  RIDGE_ASSIGN(const double in, sent_.seconds_since(begun_));
  RIDGE_ASSIGN(const double computed, computed_.seconds_since(started_));
  RIDGE_ASSIGN(const double out, left_.seconds_since(computed_));
  return RunTimes{from_seconds(in), from_seconds(computed), from_seconds(out) + (fetched_at_ - left_at_)};
}

}  // namespace ridge::engine::onnxruntime
