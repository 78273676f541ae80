#include "doctor/installed.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/proc_text.h"
#include "doctor/facts.h"

namespace ridge::doctor {
namespace {

void keep_newest(std::optional<InstalledPart>& known, const std::string& version, const std::string& path) {
  std::optional<catalogue::Version> parsed = catalogue::parse_version(version);
  if (!parsed) return;
  // "libcudnn.so.9" beside "libcudnn.so.9.1.0" is the same one, less exactly.
  bool newer = !known || *parsed > known->version;
  if (newer) known = InstalledPart{*parsed, path};
}

// The component of a path, by the file's or package's name.
void read_path(const std::string& path, InstalledSoftware& installed) {
  static const std::regex library(R"(lib(cuda|cudart|cudnn|nvinfer|nccl)\.so\.([0-9.]+)$)");
  static const std::regex package(
      R"(/(onnxruntime|onnxruntime_gpu|tensorrt|tensorrt_cu\d+|nvidia_cudnn_cu\d+|nvidia_nccl_cu\d{1,3})"
      R"(|nvidia_cuda_runtime(?:_cu\d+)?)-([0-9.]+)[^/]*\.dist-info$)");
  std::smatch match;
  if (std::regex_search(path, match, library)) {
    std::string name = match[1], version = match[2];
    if (name == "cuda" && version != "1")
      keep_newest(path.find("/compat/") != std::string::npos ? installed.compatibility : installed.driver, version,
                  path);
    if (name == "cudart") keep_newest(installed.cuda, version, path);
    if (name == "cudnn") keep_newest(installed.cudnn, version, path);
    if (name == "nvinfer") keep_newest(installed.tensorrt, version, path);
    if (name == "nccl") keep_newest(installed.nccl, version, path);
  } else if (std::regex_search(path, match, package)) {
    std::string name = match[1], version = match[2];
    if (name.starts_with("onnxruntime")) {
      // Both packages in one environment write into the same folder; the user wanted the GPU one.
      if (name == "onnxruntime_gpu" || !installed.onnxruntime_gpu) keep_newest(installed.onnxruntime, version, path);
      installed.onnxruntime_gpu |= name == "onnxruntime_gpu";
    }
    if (name.starts_with("tensorrt")) keep_newest(installed.tensorrt, version, path);
    if (name.starts_with("nvidia_cudnn")) keep_newest(installed.cudnn, version, path);
    if (name.starts_with("nvidia_nccl_cu")) {
      keep_newest(installed.nccl, version, path);
      if (installed.nccl && installed.nccl->path == path) installed.nccl_cuda = to_number(name.substr(14));
    }
    if (name.starts_with("nvidia_cuda_runtime")) keep_newest(installed.cuda, version, path);
  }
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 ..." (also "Open Kernel Module for x86_64")
void read_module(const machine::Tree& tree, InstalledSoftware& installed) {
  std::string line =
      line_value(machine::text_at(tree, "proc/driver/nvidia/version").value_or(""), "NVRM version").value_or("");
  static const std::regex version(R"(\s(\d+\.\d+(?:\.\d+)?)\s)");
  std::smatch match;
  if (std::regex_search(line, match, version)) keep_newest(installed.module, match[1], "/proc/driver/nvidia/version");
}

// The toolkit's own list, more exact than the library's name.
void read_toolkit(const machine::Tree& tree, InstalledSoftware& installed) {
  Result<Json> json = machine::json_at(tree, "usr/local/cuda/version.json");
  if (!json || !json->contains("cuda")) return;
  Result<std::string> version = json_member<std::string>((*json)["cuda"], "version");
  if (version) keep_newest(installed.cuda, *version, "/usr/local/cuda/version.json");
}

std::optional<std::string> container_sign(const machine::Tree& tree) {
  std::string environment = machine::text_at(tree, entry::kEnvironment).value_or("");
  for (const char* name : {"KUBERNETES_SERVICE_HOST", "container"})
    if (line_value(environment, name, '=')) return "environment variable " + std::string(name);
  for (const char* path : {".dockerenv", "run/.containerenv"})
    if (tree.files.contains(path)) return "/" + std::string(path);
  std::string groups = machine::text_at(tree, "proc/1/cgroup").value_or("");
  for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"})
    if (groups.find(word) != std::string::npos) return "/proc/1/cgroup names " + std::string(word);
  return std::nullopt;
}

}  // namespace

InstalledSoftware installed_of(const machine::Tree& tree) {
  InstalledSoftware installed;
  read_module(tree, installed);
  std::istringstream lines(machine::text_at(tree, entry::kInstalled).value_or(""));
  for (std::string line; std::getline(lines, line);) read_path(line, installed);
  read_toolkit(tree, installed);
  installed.container = container_sign(tree);
  return installed;
}

std::vector<std::string> installed_patterns(const std::vector<std::string>& library_folders,
                                            const std::vector<std::string>& python_folders) {
  std::vector<std::string> patterns;
  for (const std::string& folder : library_folders)
    for (const char* name : {"libcuda.so.*", "libcudart.so.*", "libcudnn.so.*", "libnvinfer.so.*", "libnccl.so.*"})
      patterns.push_back(folder + "/" + name);
  for (const std::string& folder : python_folders) {
    for (const char* name : {"onnxruntime*", "tensorrt*", "nvidia_cudnn*", "nvidia_nccl*", "nvidia_cuda_runtime*"})
      patterns.push_back(folder + "/" + name + ".dist-info");
    for (const char* name : {"cudnn/lib/libcudnn.so.*", "cuda_runtime/lib/libcudart.so.*", "cu13/lib/libcudart.so.*",
                             "nccl/lib/libnccl.so.*"})
      patterns.push_back(folder + "/nvidia/" + name);
  }
  return patterns;
}

}  // namespace ridge::doctor
