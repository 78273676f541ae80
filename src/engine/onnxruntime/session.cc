#include "engine/onnxruntime/session.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/mutex.h"
#include "base/temporary_folder.h"
#include "engine/onnxruntime/binding.h"
#include "engine/onnxruntime/element_type.h"
#include "engine/onnxruntime/environment.h"
#include "engine/onnxruntime/gpu_provider.h"
#include "engine/onnxruntime/gpu_runner.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/placement.h"
#include "engine/onnxruntime/placements.h"
#include "engine/onnxruntime/profile.h"
#include "engine/onnxruntime/session_options.h"
#include "engine/onnxruntime/signature.h"
#include "engine/onnxruntime/string_tensor.h"
#include "engine/parameter.h"
#include "plan/device.h"

namespace ridge::engine::onnxruntime {
namespace {

namespace fs = std::filesystem;

// Per-thread data of run(), kept so that the next run allocates nothing.
struct Scratch {
  Placements placements;
  Binding::Tensors tensors;
  Binding binding;  // after the placements: it is released first

  void begin(uint64_t session, const Library& library, size_t slots) {
    placements.belong_to(session, library, slots);
    tensors.clear();
  }
};

std::atomic<uint64_t> sessions_opened = 0;

// Owns a session. One on a GPU frees memory there at its end, which must not happen during another's capture.
class OwnedSession {
 public:
  OwnedSession(const OrtApi& api, bool on_gpu) : handle_(api), on_gpu_(on_gpu) {}
  OwnedSession(OwnedSession&&) = default;
  OwnedSession& operator=(OwnedSession&&) = delete;
  ~OwnedSession() {
    if (!on_gpu_ || handle_.get() == nullptr) return;
    ReaderLock beside(graph_captures());
    handle_ = SessionHandle();
  }
  OrtSession* get() const { return handle_.get(); }
  OrtSession** out() { return handle_.out(); }

 private:
  SessionHandle handle_;
  bool on_gpu_;
};

class OnnxRuntimeSession final : public Session {
 public:
  // `gpu`: null on the CPU.
  OnnxRuntimeSession(const Library& library, std::unique_ptr<GpuRunner> gpu, OwnedSession session,
                     RunOptionsHandle run_options, Signature signature, Info info,
                     std::optional<TemporaryFolder> profile)
      : library_(library),
        api_(*library.api),
        gpu_(std::move(gpu)),
        session_(std::move(session)),
        run_options_(std::move(run_options)),
        signature_(std::move(signature)),
        info_(std::move(info)),
        profile_(std::move(profile)) {}

  const Signature& signature() const override { return signature_; }
  const Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
             RunTimes* times) override;
  Result<std::vector<NodeTime>> take_profile(int skip_runs) override;
  void terminate() override {
    terminated_ = true;
    (void)take(api_, api_.RunOptionsSetTerminate(run_options_.get())).ok();
  }
  void resume() override {
    (void)take(api_, api_.RunOptionsUnsetTerminate(run_options_.get())).ok();
    terminated_ = false;
  }

 private:
  // `strings`: values created for one run alone.
  Status add_inputs(std::span<const TensorView> inputs, Scratch& scratch, std::vector<ValueHandle>& strings) const;
  Status add_outputs(std::span<const int> wanted, std::span<const Output> outputs, Scratch& scratch) const;
  Status execute(Scratch& scratch, bool repeatable) const;
  Status take_output(ValueHandle value, Output& output) const;
  const TensorSpec& input_spec(size_t i) const {
    const size_t needed = signature_.inputs.size();
    return i < needed ? signature_.inputs[i] : signature_.optional_inputs[i - needed];
  }
  size_t slots() const {
    return signature_.inputs.size() + signature_.optional_inputs.size() + signature_.outputs.size();
  }

  const uint64_t number_ = ++sessions_opened;
  const Library& library_;
  const OrtApi& api_;
  const std::unique_ptr<GpuRunner> gpu_;  // before the session, which computes on its stream
  OwnedSession session_;
  const RunOptionsHandle run_options_;  // of runs on the CPU; shared, so that terminate() reaches all of them
  std::atomic<bool> terminated_ = false;
  const Signature signature_;
  const Info info_;
  std::optional<TemporaryFolder> profile_;  // kept until the profile is taken
};

Status OnnxRuntimeSession::run(std::span<const TensorView> inputs, std::span<const int> wanted,
                               std::span<Output> outputs, RunTimes* times) {
  assert(inputs.size() == signature_.inputs.size() ||
         inputs.size() == signature_.inputs.size() + signature_.optional_inputs.size());
  assert(wanted.size() == outputs.size());
  if (gpu_)
    return gpu_->run({session_.get(), signature_, inputs, wanted, outputs}, times,
                     [this](ValueHandle value, Output& output) { return take_output(std::move(value), output); });
  static thread_local Scratch scratch;
  const TimePoint begin = times ? SteadyClock::now() : TimePoint();
  std::vector<ValueHandle> strings;
  scratch.begin(number_, library_, slots());
  RIDGE_TRY(add_inputs(inputs, scratch, strings));
  RIDGE_TRY(add_outputs(wanted, outputs, scratch));
  const TimePoint handed_over = times ? SteadyClock::now() : TimePoint();
  Status ran = execute(scratch, strings.empty());
  if (!ran && terminated_) ran = Error{Code::kCancelled, "the run was broken off"};
  const TimePoint computed = times ? SteadyClock::now() : TimePoint();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!outputs[i].data.empty() || scratch.tensors.out[i] == nullptr) continue;
    ValueHandle value(api_, scratch.tensors.out[i]);
    if (ran) ran = take_output(std::move(value), outputs[i]);
  }
  if (times) *times = {handed_over - begin, computed - handed_over, SteadyClock::now() - computed};
  return ran;
}

Status OnnxRuntimeSession::add_inputs(std::span<const TensorView> inputs, Scratch& scratch,
                                      std::vector<ValueHandle>& strings) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& tensor = inputs[i];
    if (tensor.type == DataType::kInvalid) continue;
    const TensorSpec& spec = input_spec(i);
    scratch.tensors.in_names.push_back(spec.name.c_str());
    if (tensor.type == DataType::kBytes && spec.type == DataType::kBytes) {
      Result<ValueHandle> value = string_tensor_from_wire(library_, tensor);
      if (!value) return wrap(value.error(), "input '" + spec.name + "'");
      scratch.tensors.in.push_back(value->get());
      strings.push_back(std::move(*value));
      continue;
    }
    RIDGE_ASSIGN(OrtValue * value, scratch.placements.place(i, spec, tensor.type, tensor.shape, tensor.data));
    scratch.tensors.in.push_back(value);
  }
  return {};
}

Status OnnxRuntimeSession::add_outputs(std::span<const int> wanted, std::span<const Output> outputs,
                                       Scratch& scratch) const {
  const size_t first = signature_.inputs.size() + signature_.optional_inputs.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto index = static_cast<size_t>(wanted[i]);
    const TensorSpec& spec = signature_.outputs[index];
    const Output& output = outputs[i];
    scratch.tensors.out_names.push_back(spec.name.c_str());
    scratch.tensors.out.push_back(nullptr);  // the engine allocates
    if (output.data.empty()) continue;
    if (spec.type == DataType::kBytes)
      return Error{Code::kUnsupported, "output '" + spec.name +
                                           "' holds strings: its size is not known before the run, so it cannot be "
                                           "written into caller memory"};
    RIDGE_ASSIGN(scratch.tensors.out.back(),
                 scratch.placements.place(first + index, spec, output.type, output.shape, output.data));
  }
  return {};
}

// `repeatable`: the next run may come with the same values.
Status OnnxRuntimeSession::execute(Scratch& scratch, bool repeatable) const {
  Binding::Tensors& run = scratch.tensors;
  OrtIoBinding* binding = nullptr;
  if (repeatable) {
    RIDGE_ASSIGN(binding, scratch.binding.binding_for(number_, session_.get(), library_, run));
  } else {
    scratch.binding.pause();
  }
  if (binding != nullptr) return take(api_, api_.RunWithBinding(session_.get(), run_options_.get(), binding));
  return take(api_, api_.Run(session_.get(), run_options_.get(), run.in_names.data(), run.in.data(), run.in.size(),
                             run.out_names.data(), run.out_names.size(), run.out.data()));
}

// Takes the engine's value: into the output's owner, or freed after copying or on an error.
Status OnnxRuntimeSession::take_output(ValueHandle value, Output& output) const {
  TensorInfoHandle info(api_);
  RIDGE_TRY(take(api_, api_.GetTensorTypeAndShape(value.get(), info.out())));
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  RIDGE_TRY(take(api_, api_.GetTensorElementType(info.get(), &type)));
  RIDGE_TRY(take(api_, api_.GetDimensionsCount(info.get(), &rank)));
  output.type = to_data_type(type);
  output.shape.resize(rank);
  RIDGE_TRY(take(api_, api_.GetDimensions(info.get(), output.shape.data(), rank)));
  if (output.type == DataType::kBytes) {
    RIDGE_ASSIGN(Buffer wire, string_tensor_to_wire(library_, value.get(), element_count(output.shape).value_or(0)));
    auto owner = std::make_shared<Buffer>(std::move(wire));
    output.data = owner->span();
    output.owner = std::move(owner);
    return {};
  }
  void* data = nullptr;
  RIDGE_TRY(take(api_, api_.GetTensorMutableData(value.get(), &data)));
  output.data = {static_cast<std::byte*>(data), byte_size(output.type, output.shape).value_or(0)};
  output.owner = std::make_shared<const ValueHandle>(std::move(value));
  return {};
}

Result<std::vector<NodeTime>> OnnxRuntimeSession::take_profile(int skip_runs) {
  if (!profile_)
    return Error{Code::kInvalid, "this session has no profile: it was not asked for, or it was taken already"};
  TemporaryFolder folder = std::move(*profile_);
  profile_.reset();
  char* raw_path = nullptr;
  RIDGE_TRY(take(api_, api_.SessionEndProfiling(session_.get(), library_.allocator, &raw_path)));
  RIDGE_ASSIGN(std::string text, read_file(take_text(library_, raw_path)));
  return parse_profile(text, skip_runs);
}

int threads_of_this_process() {
  std::error_code error;
  return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/task", error), fs::directory_iterator()));
}

std::string what_to_do(const Error& error) {
  if (error.message.find("opset") != std::string::npos) return "A newer ONNX Runtime may know this opset.";
  switch (error.code) {
    case Code::kNotFound: return "Check the path, and that its external data lies beside it.";
    case Code::kInvalid: return "The file is damaged, incomplete or not an ONNX model; export it again.";
    case Code::kUnsupported:
      return "The CPU has no kernel for this operator and type; export the model in FP32 or with other operators.";
    case Code::kExhausted: return "There is not enough memory; use fewer instances or a smaller model.";
    default: return "";
  }
}

Result<RunOptionsHandle> run_options(const OrtApi& api, const std::map<std::string, std::string>& entries) {
  RunOptionsHandle options(api);
  RIDGE_TRY(take(api, api.CreateRunOptions(options.out())));
  for (const auto& [key, value] : entries)
    RIDGE_TRY(take(api, api.AddRunConfigEntry(options.get(), key.c_str(), value.c_str())));
  return options;
}

// Threads that execute one operator: as planned, else all that the session started.
int threads_per_run(const plan::Plan& plan, const SharedOptions& shared, int started) {
  if (shared.threads) return *shared.threads;
  if (plan.threads > 0) return plan.threads;
  const int between = plan.inter_op_threads > 1 ? plan.inter_op_threads - 1 : 0;
  return std::max(1, 1 + started - between);
}

// The model in ONNX Runtime, and the placement of its nodes, as far as they are on a GPU.
struct LoadedGraph {
  OwnedSession session;
  std::string executed = {};
  bool mixed = false;  // some nodes are on a GPU, and some are not
};

// ok if the requested provider computes some of the model: one without nodes is an error.
Result<std::string> check_placement(const plan::Plan& plan, const plan::Device& device, const Placement& placement) {
  const std::string main(provider_name(provider_of(device.kind)));
  if (placement.by_provider.empty()) return std::string("ONNX Runtime did not report which nodes are on the GPU");
  const std::string text = placement_text(placement, main);
  if (placement.by_provider.contains(main)) return text;
  const bool cuda = placement.by_provider.contains(std::string(provider_name(GpuProvider::kCuda)));
  const plan::Device instead = cuda ? plan::Device{plan::DeviceKind::kCuda, device.index} : plan::Device{};
  return Error{Code::kUnsupported, "device " + plan::device_name(device) + " runs no node of " + plan.model +
                                       ", all would fall back to " + plan::device_name(instead) + ": " + text +
                                       "\nUse --device " + plan::device_name(instead) +
                                       ", or a model with operators and types that it has kernels for"};
}

// Opens the GPU of the plan and gives its providers to the session's options; null for the CPU.
Result<std::unique_ptr<GpuRunner>> use_gpu(const Library& library, const plan::Device& device,
                                           const EngineOptions& engine, OrtSessionOptions* options) {
  if (!plan::is_nvidia(device)) return std::unique_ptr<GpuRunner>();
  RIDGE_TRY(check_compiled(library, device));
  const bool graphs = is_on(engine.cuda, "enable_cuda_graph") || is_on(engine.tensorrt, "trt_cuda_graph_enable");
  Result<std::unique_ptr<GpuRunner>> gpu = GpuRunner::open(library, device, engine.run, graphs);
  if (!gpu) return explain(library, device, gpu.error());
  RIDGE_TRY(append_gpu(library, options, device, engine, (*gpu)->stream()));
  return gpu;
}

Result<LoadedGraph> make_session(const Library& library, const plan::Plan& plan, const plan::Device& device,
                                 OrtEnv* env, OrtSessionOptions* options) {
  const OrtApi& api = *library.api;
  LoadedGraph made{OwnedSession(api, plan::is_nvidia(device))};
  if (device.kind == plan::DeviceKind::kCpu) {
    Status status = take(api, api.CreateSession(env, plan.model.c_str(), options, made.session.out()));
    if (status) return made;
    const std::string help = what_to_do(status.error());
    return Error{status.error().code, "ONNX Runtime " + library.version + " could not load " + plan.model + ": " +
                                          status.error().message + (help.empty() ? "" : "\n") + help};
  }
  RIDGE_TRY(take(api, api.SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_VERBOSE)));
  PlacementListener listener;
  ReaderLock beside(graph_captures());
  if (Status status = take(api, api.CreateSession(env, plan.model.c_str(), options, made.session.out())); !status)
    return wrap(explain(library, device, status.error()),
                "ONNX Runtime " + library.version + " could not load " + plan.model);
  RIDGE_ASSIGN(made.executed, check_placement(plan, device, listener.placement()));
  const auto& providers = listener.placement().by_provider;
  made.mixed = providers.empty() || providers.contains("CPUExecutionProvider");
  return made;
}

}  // namespace

Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan) {
  RIDGE_ASSIGN(const Library* library, load(plan.engine_library));
  RIDGE_ASSIGN(const plan::Device device, plan::device_from_name(plan.device));
  std::optional<TemporaryFolder> profile;
  if (plan.profile) {
    RIDGE_ASSIGN(profile, TemporaryFolder::make());
  }
  RIDGE_ASSIGN(EngineOptions engine, engine_options(plan));
  RIDGE_ASSIGN(OrtEnv * env, environment(*library, engine.shared));
  RIDGE_ASSIGN(SessionOptionsHandle options,
               session_options(*library, plan, engine, profile ? profile->path() + "/run" : ""));
  RIDGE_ASSIGN(std::unique_ptr<GpuRunner> gpu, use_gpu(*library, device, engine, options.get()));
  RIDGE_ASSIGN(RunOptionsHandle for_runs, run_options(*library->api, engine.run));

  const int threads_before = threads_of_this_process();
  const TimePoint begin = SteadyClock::now();
  RIDGE_ASSIGN(LoadedGraph made, make_session(*library, plan, device, env, options.get()));
  if (gpu) gpu->set_mixed(made.mixed);
  const Nanoseconds load_time = SteadyClock::now() - begin;
  const int threads_started = threads_of_this_process() - threads_before;

  Result<Signature> signature = read_signature(*library, made.session.get());
  if (!signature) return wrap(signature.error(), plan.model);
  Info info{"onnxruntime", library->version,
            library->path, plan::device_name(device),
            load_time,     threads_per_run(plan, engine.shared, threads_started),
            made.executed};
  return std::unique_ptr<Session>(
      std::make_unique<OnnxRuntimeSession>(*library, std::move(gpu), std::move(made.session), std::move(for_runs),
                                           std::move(*signature), std::move(info), std::move(profile)));
}

}  // namespace ridge::engine::onnxruntime
