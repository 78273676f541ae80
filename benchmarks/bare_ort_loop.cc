// The least that can be done to run a model: ONNX Runtime's C API in a loop, with the same values again and again. What
// `ridge bench` is compared with by bench_overhead.py. Prints runs per second.
//
//   bare_ort_loop LIBRARY MODEL THREADS SECONDS
//
// Inputs: FP32 (0.5) or INT64 (1); an open dimension is 1. Outputs are written to the same memory in every run.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

const OrtApi* api = nullptr;

void check(OrtStatus* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "bare_ort_loop: %s\n", api->GetErrorMessage(status));
  std::exit(3);
}

const OrtApi* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library ? dlsym(library, "OrtGetApiBase") : nullptr;
  if (symbol == nullptr) {
    std::fprintf(stderr, "bare_ort_loop: %s\n", dlerror());
    std::exit(3);
  }
  return reinterpret_cast<const OrtApiBase* (*)()>(symbol)()->GetApi(ORT_API_VERSION);
}

struct Loop {
  OrtSession* session = nullptr;
  std::vector<const char*> input_names, output_names;
  std::vector<OrtValue*> inputs, outputs;

  void run() {
    check(api->Run(session, nullptr, input_names.data(), inputs.data(), inputs.size(), output_names.data(),
                   output_names.size(), outputs.data()));
  }
};

OrtValue* make_input(const OrtTypeInfo* type, OrtAllocator* allocator) {
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  check(api->CastTypeInfoToTensorInfo(type, &info));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  check(api->GetTensorElementType(info, &element));
  size_t rank = 0;
  check(api->GetDimensionsCount(info, &rank));
  std::vector<int64_t> shape(rank);
  check(api->GetDimensions(info, shape.data(), rank));
  size_t count = 1;
  for (int64_t& dimension : shape) count *= static_cast<size_t>(dimension = std::max<int64_t>(dimension, 1));
  OrtValue* value = nullptr;
  check(api->CreateTensorAsOrtValue(allocator, shape.data(), rank, element, &value));
  void* data = nullptr;
  check(api->GetTensorMutableData(value, &data));
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) std::fill_n(static_cast<float*>(data), count, 0.5f);
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) std::fill_n(static_cast<int64_t*>(data), count, 1);
  return value;
}

Loop open(OrtEnv* env, const char* model, int threads) {
  Loop loop;
  OrtSessionOptions* options = nullptr;
  check(api->CreateSessionOptions(&options));
  check(api->SetIntraOpNumThreads(options, threads));
  check(api->CreateSession(env, model, options, &loop.session));
  OrtAllocator* allocator = nullptr;
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  check(api->SessionGetInputCount(loop.session, &count));
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    check(api->SessionGetInputName(loop.session, i, allocator, &name));
    check(api->SessionGetInputTypeInfo(loop.session, i, &type));
    loop.input_names.push_back(name);
    loop.inputs.push_back(make_input(type, allocator));
    api->ReleaseTypeInfo(type);
  }
  check(api->SessionGetOutputCount(loop.session, &count));
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(api->SessionGetOutputName(loop.session, i, allocator, &name));
    loop.output_names.push_back(name);
  }
  loop.outputs.resize(count, nullptr);  // the first run allocates, the others write there again
  return loop;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Looks at the clock once per `step` runs, which take about a millisecond.
double runs_per_s(Loop& loop, double seconds, int step) {
  const auto begin = std::chrono::steady_clock::now();
  long runs = 0;
  for (; seconds_since(begin) < seconds; runs += step)
    for (int i = 0; i < step; ++i) loop.run();
  return static_cast<double>(runs) / seconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bare_ort_loop LIBRARY MODEL THREADS SECONDS\n");
    return 2;
  }
  api = load(argv[1]);
  if (api == nullptr) return 3;
  OrtEnv* env = nullptr;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bare", &env));
  Loop loop = open(env, argv[2], std::atoi(argv[3]));
  double seconds = std::atof(argv[4]);
  double warm = runs_per_s(loop, seconds / 4, 1);
  std::printf("%.6g\n", runs_per_s(loop, seconds, std::max(1, static_cast<int>(warm / 1000))));
  std::fflush(stdout);
  std::_Exit(0);  // nothing is worth taking down
}
