#include "engine/onnxruntime/library.h"

#include <cstdlib>
#include <memory>

#include "base/dynlib.h"
#include "engine/loaded_libraries.h"
#include "model/model_file.h"

namespace ridge::engine::onnxruntime {
namespace {

const LibraryQuery kSought{"libonnxruntime.so", "onnxruntime/capi", "onnxruntime", "RIDGE_ONNXRUNTIME", {"lib"}};

struct Remedy {
  std::string_view said;
  std::string_view remedy;
};
constexpr Remedy kRemedies[] = {
    {"Unsupported model IR version", model::kLowerIrVersion},
    {"Failed to construct locale",
     "; the model compares texts by that language's rules: install it, as by locale-gen en_US.UTF-8"},
};

Code code_of(OrtErrorCode code, const std::string& message) {
  if (message.find("bad_alloc") != std::string::npos ||
      message.find("Failed to allocate memory") != std::string::npos ||
      message.find("BFCArena::Alloc") != std::string::npos)
    return Code::kExhausted;
  switch (code) {
    case ORT_NO_SUCHFILE:
    case ORT_NO_MODEL: return Code::kNotFound;
    case ORT_INVALID_ARGUMENT:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH: return Code::kInvalid;
    case ORT_NOT_IMPLEMENTED: return Code::kUnsupported;
    default: return Code::kFailed;
  }
}

Status read_providers(Library& library) {
  char** names = nullptr;
  int count = 0;
  RIDGE_TRY(take(*library.api, library.api->GetAvailableProviders(&names, &count)));
  library.providers.assign(names, names + count);
  return take(*library.api, library.api->ReleaseAvailableProviders(names, count));
}

// Since 1.29 the library stores an identifier of the device and reports to its maker, first before an OrtEnv could be
// told not to (microsoft/onnxruntime#25573, #27379). This variable ends it, but only before the library is opened.
void forbid_telemetry() { setenv("ORT_DISABLE_TELEMETRY", "1", 0); }

Result<Library> open_runtime(const std::string& path) {
  forbid_telemetry();
  RIDGE_ASSIGN(DynamicLibrary file, DynamicLibrary::open(path));
  RIDGE_ASSIGN(auto* get_base, file.symbol<const OrtApiBase*()>("OrtGetApiBase"));
  Library library;
  library.path = path;
  library.version = get_base()->GetVersionString();
  library.api = get_base()->GetApi(ORT_API_VERSION);
  if (library.api == nullptr)
    return Error{Code::kUnsupported, path + " is ONNX Runtime " + library.version + ", which lacks API version " +
                                         std::to_string(ORT_API_VERSION) + "; use 1." +
                                         std::to_string(ORT_API_VERSION) + " or newer"};
  const OrtApi& api = *library.api;
  library.cpu_memory = MemoryInfoHandle(api);
  RIDGE_TRY(take(api, api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, library.cpu_memory.out())));
  RIDGE_TRY(take(api, api.GetAllocatorWithDefaultOptions(&library.allocator)));
  RIDGE_TRY(read_providers(library));
  file.leak();
  return library;
}

}  // namespace

std::string without_places(std::string message) {
  constexpr std::string_view kSource = "/onnxruntime_src/", kConst = "const ";
  for (size_t from = 0; (from = message.find(kSource)) != std::string::npos;) {
    size_t to = message.find('(', from);
    for (int open = 0; to < message.size(); ++to) {
      open += message[to] == '(' ? 1 : message[to] == ')' ? -1 : 0;
      if (open == 0) break;
    }
    to = message.find(' ', std::min(to, message.size()));
    if (to == std::string::npos) break;
    const bool constant = message.compare(to + 1, kConst.size(), kConst) == 0;
    message.erase(from, to + 1 - from + (constant ? kConst.size() : 0));
  }
  return message;
}

Status take(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return {};
  std::string message = api.GetErrorMessage(status);
  Code code = code_of(api.GetErrorCode(status), message);
  api.ReleaseStatus(status);
  message = without_places(std::move(message));
  message.erase(message.find_last_not_of(" \n") + 1);
  for (const Remedy& row : kRemedies)
    if (message.find(row.said) != std::string::npos) message += row.remedy;
  return Error{code, std::move(message)};
}

std::string take_text(const Library& library, char* text) {
  const auto release = [&library](char* owned) {
    (void)take(*library.api, library.api->AllocatorFree(library.allocator, owned));
  };
  const std::unique_ptr<char, decltype(release)> owner(text, release);
  return text;
}

Result<const Library*> load(const std::string& wanted) {
  std::string tried;
  if (const Library* library = LoadedLibraries<Library>::table().find(kSought, wanted, open_runtime, tried))
    return library;
  return Error{Code::kNotFound,
               "ONNX Runtime's library was not found. Tried:" + tried +
                   "\nInstall it (pip install onnxruntime), or name libonnxruntime.so by --engine-library or "
                   "the environment variable RIDGE_ONNXRUNTIME."};
}

Result<Info> find_library(const plan::Plan& plan) {
  RIDGE_ASSIGN(const Library* library, load(plan.engine_library));
  return Info{"onnxruntime", library->version, library->path, "cpu", Nanoseconds(0), 0};
}

}  // namespace ridge::engine::onnxruntime
