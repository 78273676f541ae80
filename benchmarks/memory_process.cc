// The isolated process whose memory `ridge plan` predicts: one session of ONNX Runtime with default options, its inputs,
// and a few runs. Prints one JSON object: resident memory [bytes] after each stage, and the peak (VmHWM of proc(5)).
//
//   memory_process LIBRARY MODEL THREADS RUNS [INPUT=DIMENSIONS]...      e.g. input=4x3x224x224
//
// Inputs: floating point 0.5, integers and booleans 1; an open dimension that no argument gives is 1. Outputs are allocated
// by the engine and released after each run.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

const OrtApi* api = nullptr;

[[noreturn]] void stop(const char* message) {
  std::fprintf(stderr, "memory_process: %s\n", message);
  std::exit(3);
}

void check(OrtStatus* status) {
  if (status != nullptr) stop(api->GetErrorMessage(status));
}

// A line of /proc/self/status [bytes]. Read with as little memory of its own as can be.
int64_t status_bytes(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) stop("/proc/self/status cannot be read");
  char line[256];
  long long found = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, name, std::strlen(name)) == 0) found = std::atoll(line + std::strlen(name) + 1);
  std::fclose(file);
  return found * 1024;
}

void report(const char* stage) {
  std::printf("  \"%s\": {\"rss\": %lld, \"anonymous\": %lld, \"peak\": %lld},\n", stage,
              static_cast<long long>(status_bytes("VmRSS")), static_cast<long long>(status_bytes("RssAnon")),
              static_cast<long long>(status_bytes("VmHWM")));
}

const OrtApi* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library ? dlsym(library, "OrtGetApiBase") : nullptr;
  if (symbol == nullptr) stop(dlerror());
  return reinterpret_cast<const OrtApiBase* (*)()>(symbol)()->GetApi(ORT_API_VERSION);
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_from(int count, char** arguments) {
  Shapes shapes;
  for (int i = 0; i < count; ++i) {
    std::string text = arguments[i];
    size_t equals = text.find('=');
    if (equals == std::string::npos) stop("an input's shape is NAME=1x2x3");
    std::istringstream dimensions(text.substr(equals + 1));
    for (std::string part; std::getline(dimensions, part, 'x');)
      shapes[text.substr(0, equals)].push_back(std::stoll(part));
  }
  return shapes;
}

OrtValue* make_input(const std::string& name, const OrtTypeInfo* type, OrtAllocator* allocator, const Shapes& shapes) {
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  check(api->CastTypeInfoToTensorInfo(type, &info));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  check(api->GetTensorElementType(info, &element));
  size_t rank = 0;
  check(api->GetDimensionsCount(info, &rank));
  std::vector<int64_t> shape(rank);
  check(api->GetDimensions(info, shape.data(), rank));
  if (auto given = shapes.find(name); given != shapes.end()) shape = given->second;
  size_t count = 1;
  for (int64_t& dimension : shape) count *= static_cast<size_t>(dimension = std::max<int64_t>(dimension, 1));
  OrtValue* value = nullptr;
  check(api->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), element, &value));
  void* data = nullptr;
  check(api->GetTensorMutableData(value, &data));
  switch (element) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT: std::fill_n(static_cast<float*>(data), count, 0.5f); break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: std::fill_n(static_cast<int64_t*>(data), count, 1); break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: std::fill_n(static_cast<int32_t*>(data), count, 1); break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL: std::memset(data, 1, count); break;
    default: stop("an input is of a type that this program does not make");
  }
  return value;
}

struct Names {
  std::vector<const char*> inputs, outputs;
  std::vector<OrtValue*> values;
};

Names names_and_inputs(OrtSession* session, const Shapes& shapes) {
  Names names;
  OrtAllocator* allocator = nullptr;
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  check(api->SessionGetInputCount(session, &count));
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    OrtTypeInfo* type = nullptr;
    check(api->SessionGetInputName(session, i, allocator, &name));
    check(api->SessionGetInputTypeInfo(session, i, &type));
    names.inputs.push_back(name);
    names.values.push_back(make_input(name, type, allocator, shapes));
    api->ReleaseTypeInfo(type);
  }
  check(api->SessionGetOutputCount(session, &count));
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(api->SessionGetOutputName(session, i, allocator, &name));
    names.outputs.push_back(name);
  }
  return names;
}

void run(OrtSession* session, const Names& names) {
  std::vector<OrtValue*> outputs(names.outputs.size(), nullptr);
  check(api->Run(session, nullptr, names.inputs.data(), names.values.data(), names.values.size(), names.outputs.data(),
                 outputs.size(), outputs.data()));
  for (OrtValue* output : outputs) api->ReleaseValue(output);
}

// Session config entries for experiments: MEMORY_PROCESS_OPTIONS="key=value key=value".
void add_options(OrtSessionOptions* options) {
  const char* text = std::getenv("MEMORY_PROCESS_OPTIONS");
  if (text == nullptr) return;
  std::istringstream entries(text);
  for (std::string entry; entries >> entry;) {
    size_t equals = entry.find('=');
    if (entry == "arena=0")
      check(api->DisableCpuMemArena(options));
    else if (entry == "pattern=0")
      check(api->DisableMemPattern(options));
    else
      check(api->AddSessionConfigEntry(options, entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str()));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) stop("usage: memory_process LIBRARY MODEL THREADS RUNS [INPUT=1x2x3]...");
  std::printf("{\n");
  report("start");
  api = load(arguments[1]);
  OrtEnv* env = nullptr;
  check(api->CreateEnv(std::getenv("MEMORY_PROCESS_VERBOSE") ? ORT_LOGGING_LEVEL_INFO : ORT_LOGGING_LEVEL_ERROR,
                       "memory_process", &env));
  report("library");
  OrtSessionOptions* options = nullptr;
  check(api->CreateSessionOptions(&options));
  check(api->SetIntraOpNumThreads(options, std::atoi(arguments[3])));
  add_options(options);
  OrtSession* session = nullptr;
  check(api->CreateSession(env, arguments[2], options, &session));
  report("session");
  Names names = names_and_inputs(session, shapes_from(count - 5, arguments + 5));
  report("inputs");
  for (int i = 0; i < std::atoi(arguments[4]); ++i) {
    run(session, names);
    report(("run" + std::to_string(i + 1)).c_str());
  }
  std::printf("  \"peak\": %lld\n}\n", static_cast<long long>(status_bytes("VmHWM")));
  std::fflush(stdout);
  std::_Exit(0);  // what tearing down costs is not asked
}
