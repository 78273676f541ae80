// A fake of the ONNX Runtime with NVIDIA's providers: it forwards everything to the real one, which computes on the
// CPU, and adds a GPU's behaviour, as ONNX Runtime does:
//   the providers exist, take their options, refuse wrong ones, and restart from the defaults with every update
//   a session on a GPU computes on its given stream, after the work queued there before: here when it is run
//   tensors of a run may be on the GPU; an output without memory comes to the CPU's
//   the first run of a graph on a thread captures it, in the driver's global mode
//   a session has memory on its GPU, which is freed at its end
//   while the file RIDGE_FAKE_HOLD exists, no run on a GPU ends (for ten seconds at most)
//   the log says which nodes are where; nodes of the operator RIDGE_FAKE_FALLBACK, or "all", stay on CPU; "tensorrt":
//   TensorRT takes none, and the CUDA provider all
//   TensorRT refuses a model that holds QuantizeLinear unless trt_int8_enable is 1
// The GPU's memory is the fake driver's (fake_cuda.cc, found by RIDGE_CUDA), which a CPU can read. Its calls are
// written to the file RIDGE_FAKE_ONNXRUNTIME_LOG, a line each. Loaded as --engine-library; the real library is the file
// RIDGE_REAL_ONNXRUNTIME.
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "fake_driver.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// Opaque in the header: each side has its own.
struct OrtCUDAProviderOptionsV2 {
  std::map<std::string, std::string> values;
  void* stream = nullptr;
};
struct OrtTensorRTProviderOptionsV2 : OrtCUDAProviderOptionsV2 {};

namespace {

// The creation options of a session on a GPU.
struct GpuSession {
  void* stream = nullptr;
  bool tensorrt = false;
  bool int8 = false;  // that TensorRT may compute in
  int device = 0;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
};

std::mutex mutex;  // guards the following members; runs do not hold it
OrtApi real;
std::map<const OrtSessionOptions*, GpuSession> asked;
std::map<const OrtSession*, GpuSession> sessions;
std::map<const OrtRunOptions*, std::map<std::string, std::string>> run_entries;
OrtLoggingFunction ridge_log = nullptr;
constexpr const char *kCudaProvider = "CUDAExecutionProvider", *kTensorRtProvider = "TensorrtExecutionProvider";
thread_local const char* provider = nullptr;  // of the session on a GPU being created by this thread

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void note(const std::string& line) {
  const std::string path = variable("RIDGE_FAKE_ONNXRUNTIME_LOG");
  if (path.empty()) return;
  std::lock_guard lock(mutex);
  std::ofstream(path, std::ios::app) << line << "\n";
}

OrtStatus* error(const std::string& words) { return real.CreateStatus(ORT_FAIL, words.c_str()); }

// --- providers

OrtStatus* available(char*** names, int* count) noexcept {
  static std::array<char, 26> tensorrt = std::to_array("TensorrtExecutionProvider");
  static std::array<char, 22> cuda = std::to_array("CUDAExecutionProvider");
  static std::array<char, 21> cpu = std::to_array("CPUExecutionProvider");
  static std::array<char*, 3> all = {tensorrt.data(), cuda.data(), cpu.data()};
  *names = all.data();
  *count = 3;
  return nullptr;
}
OrtStatus* release_available(char**, int) noexcept { return nullptr; }

template <typename Options>
OrtStatus* create(Options** options) noexcept {
  *options = new Options;
  return nullptr;
}
template <typename Options>
void release(Options* options) noexcept {
  delete options;
}

// Like ProviderOptionsParser: an unknown name is an error, and an unnamed option has its default again.
template <typename Options>
OrtStatus* update(Options* options, const char* const* keys, const char* const* values, size_t count) noexcept {
  options->values.clear();
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key.find("no_such") != std::string::npos) return error("Unknown provider option: \"" + key + "\".");
    options->values[key] = values[i];
  }
  int gpus = 0;
  if (auto* counts = DRIVER(cuDeviceGetCount); counts != nullptr) counts(&gpus);
  if (std::atoi(options->values["device_id"].c_str()) >= gpus)
    return error("Invalid device ID: " + options->values["device_id"] + ", must be between 0 (inclusive) and " +
                 std::to_string(gpus) + " (exclusive).");
  return nullptr;
}
template <typename Options>
OrtStatus* update_with_value(Options* options, const char* key, void* value) noexcept {
  if (std::string(key) != "user_compute_stream") return error(std::string("Unknown provider option: ") + key);
  options->stream = value;
  return nullptr;
}

template <typename Options>
OrtStatus* append(OrtSessionOptions* session, const Options* options) noexcept {
  const bool tensorrt = std::is_same_v<Options, OrtTensorRTProviderOptionsV2>;
  std::string line = tensorrt ? "append TensorRT" : "append CUDA";
  for (const auto& [key, value] : options->values) line += " " + key + "=" + value;
  note(line + (options->stream != nullptr ? " on a given stream" : ""));
  std::lock_guard lock(mutex);
  GpuSession& this_gpu = asked[session];
  const auto int8 = options->values.find("trt_int8_enable");
  const auto device = options->values.find("device_id");
  this_gpu = {options->stream,
              tensorrt || this_gpu.tensorrt,
              this_gpu.int8 || (int8 != options->values.end() && int8->second == "1"),
              device == options->values.end() ? 0 : std::atoi(device->second.c_str()),
              nullptr,
              0};
  return nullptr;
}

void release_session_options(OrtSessionOptions* options) noexcept {
  {
    std::lock_guard lock(mutex);
    asked.erase(options);
  }
  real.ReleaseSessionOptions(options);
}

// --- the log of creating a session on a GPU

void ORT_API_CALL log(void* parameter, OrtLoggingLevel level, const char* category, const char* id, const char* place,
                      const char* message) {
  auto say = [&](const std::string& text) { ridge_log(parameter, level, category, id, place, text.c_str()); };
  const std::string all = " All nodes placed on [CPUExecutionProvider]. Number of nodes: ";
  const std::string text = message;
  if (provider == nullptr || !text.starts_with(all)) return say(text);
  const int nodes = std::atoi(text.substr(all.size()).c_str());
  const std::string fallback = variable("RIDGE_FAKE_FALLBACK");
  if (fallback == "all") return say(text);
  const std::string this_gpu = fallback == "tensorrt" ? kCudaProvider : provider;
  if (fallback.empty() || fallback == "tensorrt")
    return say(" All nodes placed on [" + this_gpu + "]. Number of nodes: " + std::to_string(nodes));
  say(" Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1");
  say("  " + fallback + " (left)");
  say(" Node(s) placed on [" + this_gpu + "]. Number of nodes: " + std::to_string(nodes - 1));
}

OrtStatus* create_env(OrtLoggingFunction function, void* parameter, OrtLoggingLevel level, const char* id,
                      OrtEnv** env) noexcept {
  ridge_log = function;
  return real.CreateEnvWithCustomLogger(log, parameter, level, id, env);
}

// --- sessions

bool holds(const char* path, const std::string& word) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return bytes.find(word) != std::string::npos;
}

// Memory of the session, as ONNX Runtime has it; on a thread that may have called nothing of the driver before.
void take_memory(GpuSession& this_gpu) {
  auto* retain = DRIVER(cuDevicePrimaryCtxRetain);
  if (retain == nullptr || retain(&this_gpu.context, this_gpu.device) != CUDA_SUCCESS) return;
  DRIVER(cuCtxSetCurrent)(this_gpu.context);
  if (DRIVER(cuMemAlloc_v2)(&this_gpu.memory, 256) != CUDA_SUCCESS) this_gpu.memory = 0;
}
void give_memory_back(const GpuSession& this_gpu) {
  if (this_gpu.context == nullptr) return;
  DRIVER(cuCtxSetCurrent)(this_gpu.context);
  if (this_gpu.memory != 0) DRIVER(cuMemFree_v2)(this_gpu.memory);
  DRIVER(cuDevicePrimaryCtxRelease_v2)(this_gpu.device);
}

OrtStatus* create_session(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                          OrtSession** session) noexcept {
  GpuSession this_gpu;
  {
    std::lock_guard lock(mutex);
    if (auto found = asked.find(options); found != asked.end()) {
      this_gpu = found->second;
      provider = this_gpu.tensorrt ? kTensorRtProvider : kCudaProvider;
    }
  }
  if (this_gpu.tensorrt && !this_gpu.int8 && holds(path, "QuantizeLinear"))
    return provider = nullptr, error("Networks with Q/DQ layers require int8, which is not configured in the builder");
  OrtStatus* made = real.CreateSession(env, path, options, session);
  const bool ours = std::exchange(provider, nullptr) != nullptr;
  if (made != nullptr || !ours) return made;
  take_memory(this_gpu);
  std::lock_guard lock(mutex);
  sessions[*session] = this_gpu;
  return made;
}

void release_session(OrtSession* session) noexcept {
  std::unique_lock lock(mutex);
  const auto found = sessions.find(session);
  const bool ours = found != sessions.end();
  const GpuSession this_gpu = ours ? found->second : GpuSession{};
  if (ours) sessions.erase(found);
  lock.unlock();
  if (ours) {
    note("end");
    give_memory_back(this_gpu);
  }
  real.ReleaseSession(session);
}

bool lies_on_gpu(const OrtValue* value) {
  const OrtMemoryInfo* memory = nullptr;
  const char* name = "";
  OrtStatus* status = real.GetTensorMemoryInfo(value, &memory);
  if (status == nullptr) status = real.MemoryInfoGetName(memory, &name);
  if (status != nullptr) real.ReleaseStatus(status);
  return std::string(name) == "Cuda";
}

// The same tensor for the CPU; null: the given one is already there.
OrtStatus* seen_by_cpu(const OrtValue* value, OrtValue** seen) {
  *seen = nullptr;
  if (!lies_on_gpu(value)) return nullptr;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  OrtMemoryInfo* memory = nullptr;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0, bytes = 0;
  void* data = nullptr;
  std::vector<int64_t> shape;
  OrtStatus* status = real.GetTensorTypeAndShape(value, &info);
  if (status == nullptr) status = real.GetTensorElementType(info, &type);
  if (status == nullptr) status = real.GetDimensionsCount(info, &rank);
  shape.resize(rank);
  if (status == nullptr) status = real.GetDimensions(info, shape.data(), rank);
  if (status == nullptr) status = real.GetTensorShapeElementCount(info, &bytes);
  if (status == nullptr) status = real.GetTensorMutableData(const_cast<OrtValue*>(value), &data);
  if (status == nullptr) status = real.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory);
  if (status == nullptr)  // eight bytes cover every type; ONNX Runtime only checks that there are enough
    status = real.CreateTensorWithDataAsOrtValue(memory, data, 8 * bytes, shape.data(), rank, type, seen);
  if (info != nullptr) real.ReleaseTensorTypeAndShapeInfo(info);
  if (memory != nullptr) real.ReleaseMemoryInfo(memory);
  return status;
}

OrtStatus* add_run_entry(OrtRunOptions* options, const char* key, const char* value) noexcept {
  std::lock_guard lock(mutex);
  run_entries[options][key] = value;
  return real.AddRunConfigEntry(options, key, value);
}
void release_run_options(OrtRunOptions* options) noexcept {
  std::unique_lock lock(mutex);
  run_entries.erase(options);
  lock.unlock();
  real.ReleaseRunOptions(options);
}
std::string entry(const OrtRunOptions* options, const std::string& key) {
  std::lock_guard lock(mutex);
  const auto found = run_entries.find(options);
  return found == run_entries.end() || !found->second.contains(key) ? "" : found->second.at(key);
}

void hold() {
  const std::string file = variable("RIDGE_FAKE_HOLD");
  for (int i = 0; i < 10000 && !file.empty() && std::filesystem::exists(file); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Captures like ONNX Runtime: per session, thread and number of the graph, when it is run first.
OrtStatus* capture(const GpuSession& this_gpu, const OrtSession* session, const std::string& graph) {
  thread_local std::set<std::pair<const OrtSession*, std::string>> captured;
  if (graph.empty() || graph == "-1" || !captured.emplace(session, graph).second) return hold(), nullptr;
  const auto stream = static_cast<CUstream>(this_gpu.stream);
  CUgraph made = nullptr;
  const bool begun = DRIVER(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS;
  hold();
  if (!begun || DRIVER(cuStreamEndCapture)(stream, &made) != CUDA_SUCCESS) return error("the capture was broken");
  DRIVER(cuGraphDestroy)(made);
  return nullptr;
}

OrtStatus* run_on_gpu(const GpuSession& this_gpu, OrtSession* session, const OrtRunOptions* options,
                      const char* const* in_names, const OrtValue* const* in, size_t in_count,
                      const char* const* out_names, size_t out_count, OrtValue** out) {
  std::string line = "run in:";
  for (size_t i = 0; i < in_count; ++i) line += lies_on_gpu(in[i]) ? " GPU" : " host";
  line += " out:";
  for (size_t i = 0; i < out_count; ++i) line += out[i] == nullptr ? " engine" : lies_on_gpu(out[i]) ? " GPU" : " host";
  if (entry(options, "disable_synchronize_execution_providers") != "1") line += " waits";
  const std::string graph = entry(options, "gpu_graph_id");
  if (!graph.empty()) line += " graph " + graph;
  note(line);
  // Work queued before on the stream comes first, and nothing else: other streams are independent.
  auto* synchronize = DRIVER(cuStreamSynchronize);
  if (this_gpu.stream != nullptr &&
      (synchronize == nullptr || synchronize(static_cast<CUstream>(this_gpu.stream)) != CUDA_SUCCESS))
    return error("the stream of the session is none");
  if (OrtStatus* broken = capture(this_gpu, session, graph); broken != nullptr) return broken;

  std::vector<OrtValue*> made;
  std::vector<const OrtValue*> inputs(in, in + in_count);
  std::vector<OrtValue*> outputs(out, out + out_count);
  OrtStatus* status = nullptr;
  auto see = [&](auto& value) {
    OrtValue* seen = nullptr;
    if (status == nullptr && value != nullptr) status = seen_by_cpu(value, &seen);
    if (seen == nullptr) return;
    made.push_back(seen);
    value = seen;
  };
  for (const OrtValue*& value : inputs) see(value);
  for (OrtValue*& value : outputs) see(value);
  if (status == nullptr)
    status = real.Run(session, options, in_names, inputs.data(), in_count, out_names, out_count, outputs.data());
  if (status == nullptr)
    for (size_t i = 0; i < out_count; ++i)
      if (out[i] == nullptr) out[i] = outputs[i];
  for (OrtValue* value : made) real.ReleaseValue(value);
  return status;
}

OrtStatus* run(OrtSession* session, const OrtRunOptions* options, const char* const* in_names,
               const OrtValue* const* in, size_t in_count, const char* const* out_names, size_t out_count,
               OrtValue** out) noexcept {
  std::unique_lock lock(mutex);
  const auto found = sessions.find(session);
  const bool ours = found != sessions.end();
  const GpuSession this_gpu = ours ? found->second : GpuSession{};
  lock.unlock();
  if (!ours) return real.Run(session, options, in_names, in, in_count, out_names, out_count, out);
  return run_on_gpu(this_gpu, session, options, in_names, in, in_count, out_names, out_count, out);
}

const OrtApiBase* real_base() {
  static void* library = dlopen(variable("RIDGE_REAL_ONNXRUNTIME").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "fake_onnxruntime_gpu: RIDGE_REAL_ONNXRUNTIME: %s\n", dlerror());
    std::abort();
  }
  return reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))();
}

const OrtApi* api(uint32_t version) noexcept {
  static const OrtApi* ours = [&]() -> const OrtApi* {
    const OrtApi* theirs = real_base()->GetApi(version);
    if (theirs == nullptr) return nullptr;
    real = *theirs;
    static OrtApi changed = real;
    changed.GetAvailableProviders = available;
    changed.ReleaseAvailableProviders = release_available;
    changed.CreateCUDAProviderOptions = create<OrtCUDAProviderOptionsV2>;
    changed.UpdateCUDAProviderOptions = update<OrtCUDAProviderOptionsV2>;
    changed.UpdateCUDAProviderOptionsWithValue = update_with_value<OrtCUDAProviderOptionsV2>;
    changed.ReleaseCUDAProviderOptions = release<OrtCUDAProviderOptionsV2>;
    changed.SessionOptionsAppendExecutionProvider_CUDA_V2 = append<OrtCUDAProviderOptionsV2>;
    changed.CreateTensorRTProviderOptions = create<OrtTensorRTProviderOptionsV2>;
    changed.UpdateTensorRTProviderOptions = update<OrtTensorRTProviderOptionsV2>;
    changed.UpdateTensorRTProviderOptionsWithValue = update_with_value<OrtTensorRTProviderOptionsV2>;
    changed.ReleaseTensorRTProviderOptions = release<OrtTensorRTProviderOptionsV2>;
    changed.SessionOptionsAppendExecutionProvider_TensorRT_V2 = append<OrtTensorRTProviderOptionsV2>;
    changed.ReleaseSessionOptions = release_session_options;
    changed.CreateEnvWithCustomLogger = create_env;
    changed.CreateSession = create_session;
    changed.ReleaseSession = release_session;
    changed.Run = run;
    changed.AddRunConfigEntry = add_run_entry;
    changed.ReleaseRunOptions = release_run_options;
    return &changed;
  }();
  return ours;
}

const char* version_text() noexcept { return real_base()->GetVersionString(); }

}  // namespace

EXPORT const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept {
  static const OrtApiBase base{api, version_text};
  return &base;
}
