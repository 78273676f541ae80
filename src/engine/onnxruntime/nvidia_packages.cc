#include "engine/onnxruntime/nvidia_packages.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/dynlib.h"
#include "gpu/needed_libraries.h"
#include "gpu/python_packages.h"

namespace ridge::engine::onnxruntime {
namespace {

namespace fs = std::filesystem;

// The providers open these by name, the first time that a model needs them.
constexpr std::array<const char*, 4> kAskedForLater = {"libcudnn.so", "libcufft.so", "libnvrtc-builtins.so",
                                                       "libnvrtc.so"};

std::string file_in(const std::vector<std::string>& folders, const std::string& name) {
  std::error_code error;
  for (const std::string& folder : folders)
    if (const fs::path file = fs::path(folder) / name; fs::exists(file, error)) return file.string();
  return "";
}

class NeededOpener {
 public:
  explicit NeededOpener(const std::vector<std::string>& folders) : folders_(folders) {}

  // The dependencies of `library`, each after its own.
  void open_needs_of(const std::string& library) {
    const Result<std::vector<std::string>> needed = gpu::needed_libraries(library);
    if (!needed) return;
    for (const std::string& name : *needed)
      if (const std::string file = file_in(folders_, name); !file.empty()) open(file);
  }
  void open(const std::string& file) {
    if (!seen_.insert(file).second) return;
    open_needs_of(file);
    if (Result<DynamicLibrary> opened = DynamicLibrary::open(file)) opened->leak();
  }

 private:
  const std::vector<std::string>& folders_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<std::string> nvidia_folders(const std::string& runtime_path) {
  std::error_code error;
  const fs::path capi = fs::canonical(runtime_path, error).parent_path();
  if (error || capi.filename() != "capi" || capi.parent_path().filename() != "onnxruntime") return {};
  const fs::path packages = capi.parent_path().parent_path();
  std::vector<std::string> folders;
  for (const fs::directory_entry& package : fs::directory_iterator(packages / "nvidia", error))
    if (const fs::path libraries = package.path() / "lib"; fs::is_directory(libraries, error))
      folders.push_back(libraries.string());
  std::sort(folders.begin(), folders.end());
  if (const fs::path tensorrt = packages / "tensorrt_libs"; fs::is_directory(tensorrt, error))
    folders.push_back(tensorrt.string());
  return folders;
}

void open_needed(const std::string& library, const std::vector<std::string>& folders) {
  if (folders.empty()) return;
  NeededOpener opener(folders);
  opener.open_needs_of(library);
  for (const char* name : kAskedForLater)
    for (const std::string& folder : folders)
      if (const auto found = gpu::libraries_in(folder, name); !found.empty()) opener.open(found.front());
}

}  // namespace ridge::engine::onnxruntime
