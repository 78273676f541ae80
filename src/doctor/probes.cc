#include "doctor/probes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/child_process.h"
#include "base/descriptor.h"
#include "base/dynlib.h"
#include "base/file.h"
#include "base/proc_text.h"
#include "doctor/clocks.h"
#include "doctor/installed.h"
#include "doctor/memory_modules.h"
#include "gpu/cuda/cuda.h"
#include "gpu/nvml/nvml.h"
#include "machine/gpu_counters.h"
#include "machine/pci_gpus.h"
#include "machine/pci_names.h"

namespace ridge::doctor {
namespace {

constexpr Nanoseconds kClockTest = std::chrono::milliseconds(50);

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);)
    if (!word.empty()) words.push_back(word);
  return words;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The variables that change how engines find and use the machine; nothing else of the environment is read or recorded.
Result<std::string> environment() {
  std::string text;
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "KUBERNETES_SERVICE_HOST", "container"})
    if (const char* value = std::getenv(name)) text += fmt::format("{}={}\n", name, value);
  return text;
}

Result<std::string> file_systems() {
  std::string text;
  for (const char* path : {"/dev/shm", "/tmp"}) {
    struct statvfs info {};
    if (statvfs(path, &info) != 0) continue;
    auto bytes = [&](auto blocks) { return static_cast<uint64_t>(blocks) * info.f_frsize; };
    text += fmt::format("{} {} {}\n", path, bytes(info.f_blocks), bytes(info.f_bavail));
  }
  return text;
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

Result<std::string> memory_modules() {
  std::vector<MemoryModule> modules;
  std::vector<std::string> entries = matches("/sys/firmware/dmi/entries/17-*/raw");
  if (entries.empty())
    return Error{
        Code::kNotFound,
        "the firmware's tables (/sys/firmware/dmi/entries) are not there: a virtual machine or container, or no root"};
  for (const std::string& path : entries) {
    Result<std::string> raw = read_file(path);
    if (!raw) return Error{Code::kNotFound, raw.error().message + " (it needs root)"};
    if (std::optional<MemoryModule> module = parse_memory_module(*raw)) modules.push_back(std::move(*module));
  }
  return dump_json(json_of(modules));
}

Result<std::string> nvml() {
  RIDGE_ASSIGN(gpu::nvml::Nvml library, gpu::nvml::Nvml::open());
  return dump_json(json_of(library.system()));
}

Result<std::string> cuda_devices() {
  RIDGE_ASSIGN(gpu::cuda::Cuda library, gpu::cuda::Cuda::open());
  return dump_json(json_of(library.devices()));
}

Result<std::string> compute_libraries() {
  std::string text;
  for (const char* name : {"libamdhip64.so", "libze_loader.so.1"}) {
    Result<DynamicLibrary> library = DynamicLibrary::open(name);
    text += fmt::format("{}: {}\n", name, library ? "loaded" : library.error().message);
    if (library) library->leak();
  }
  return text;
}

Result<std::string> kernel_records() {
  const Descriptor file(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return Error{Code::kNotFound, std::string("/dev/kmsg: ") + std::strerror(errno)};
  std::string records;
  char record[8192];  // the kernel gives one record per read
  for (;;) {
    ssize_t got = read(file.number(), record, sizeof record);
    if (got > 0) records.append(record, static_cast<size_t>(got));
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;  // overwritten meanwhile: continue with the next
    if (got <= 0) break;
  }
  if (records.empty()) return Error{Code::kNotFound, "/dev/kmsg has no records"};
  return records;
}

Result<std::string> run_tool(std::vector<std::string> command, Nanoseconds limit) {
  return output_of_program({.arguments = std::move(command), .take_errors = true}, {.time = limit});
}

Result<std::string> kernel_log(Nanoseconds limit) {
  Result<std::string> records = result_of_function("/dev/kmsg", {.time = limit}, kernel_records);
  if (records) return kernel_log_from_records(*records);
  Result<std::string> dmesg = run_tool({"dmesg"}, limit);
  if (dmesg) return dmesg;
  Result<std::string> journal = run_tool({"journalctl", "--dmesg", "--boot", "--no-pager", "--quiet"}, limit);
  if (journal && !journal->empty()) return journal;
  return Error{Code::kNotFound,
               "the kernel log cannot be read here: " + records.error().message + "; " + dmesg.error().message};
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders = {"/usr/lib/x86_64-linux-gnu",
                                      "/usr/lib/aarch64-linux-gnu",
                                      "/usr/lib64",
                                      "/usr/lib",
                                      "/usr/local/lib",
                                      "/usr/local/cuda/lib64",
                                      "/usr/local/cuda-*/lib64",
                                      "/usr/local/cuda*/targets/*/lib",
                                      "/usr/local/cuda/compat",
                                      "/usr/local/nvidia/lib64",
                                      "/usr/lib/wsl/lib",
                                      "/opt/tensorrt/lib"};
  for (const std::string& folder : split(variable("LD_LIBRARY_PATH"), ':')) folders.push_back(folder);
  return folders;
}

std::vector<std::string> python_folders(std::vector<std::string> folders) {
  std::vector<std::string> prefixes = {variable("VIRTUAL_ENV"), "/usr", "/usr/local", "/opt/conda",
                                       variable("HOME") + "/.local"};
  for (const std::string& folder : split(variable("PATH"), ':'))
    if (access((folder + "/python3").c_str(), X_OK) == 0)
      prefixes.push_back(std::filesystem::path(folder).parent_path().string());
  for (const std::string& prefix : prefixes) {
    if (prefix.empty()) continue;
    for (const char* name : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages"})
      folders.push_back(prefix + name);
  }
  return folders;
}

Result<std::string> installed(const std::vector<std::string>& package_folders) {
  std::string text;
  for (const std::string& pattern : installed_patterns(library_folders(), python_folders(package_folders)))
    for (const std::string& path : matches(pattern)) {
      // A link libcudart.so.12 leads to the file with the full version in its name.
      std::error_code failure;
      std::string real = std::filesystem::canonical(path, failure).string();
      text += (failure ? path : real) + "\n";
    }
  return text;
}

Result<std::string> time_facts() { return dump_json(json_of(measure_clocks(kClockTest))); }

bool has_vendor(const machine::Tree& tree, machine::GpuVendor vendor) {
  for (const machine::PciGpu& gpu : machine::pci_gpus(tree))
    if (gpu.vendor == vendor && !gpu.display_only) return true;
  return false;
}

using Ask = std::function<Result<std::string>(const machine::Tree&)>;

Ask in_child(std::string what, Nanoseconds limit, std::function<Result<std::string>()> work) {
  return [what = std::move(what), limit, work = std::move(work)](const machine::Tree&) {
    return result_of_function(what, {.time = limit}, work);
  };
}

// Only for GPUs of AMD and Intel.
Ask if_not_nvidia_only(Ask ask) {
  return [ask = std::move(ask)](const machine::Tree& read) -> Result<std::string> {
    if (!has_vendor(read, machine::GpuVendor::kAmd) && !has_vendor(read, machine::GpuVendor::kIntel))
      return Error{Code::kNotFound, "no AMD or Intel GPU"};
    return ask(read);
  };
}

Ask pci_names(const GatherOptions& options) {
  return [options](const machine::Tree& read) -> Result<std::string> {
    std::vector<std::string> ids;
    for (const machine::PciGpu& gpu : machine::pci_gpus(read)) ids.push_back(gpu.id);
    return in_child("reading pci.ids", options.limit, [&] { return machine::find_pci_names(options.root, ids); })(read);
  };
}

}  // namespace

std::vector<Probe> probes_of(const GatherOptions& options, const std::vector<std::string>& package_folders) {
  const Nanoseconds limit = options.limit;
  return {
      {{"cpu", "gpu", "versions"},
       entry::kEnvironment,
       "environment",
       [](const machine::Tree&) { return environment(); }},
      {{"limits"}, entry::kFileSystems, "file systems", in_child("statvfs", limit, file_systems)},
      {{"memory"},
       entry::kMemoryModules,
       "memory modules",
       in_child("reading the firmware's tables", limit, memory_modules)},
      {{"gpu", "versions", "engines"},
       entry::kNvml,
       "NVIDIA's library",
       in_child("NVIDIA's management library", limit, nvml)},
      {{"gpu"}, entry::kCuda, "NVIDIA's driver", in_child("NVIDIA's driver library", limit, cuda_devices)},
      {{"gpu"},
       entry::kGpuCounters,
       "counters of GPUs",
       if_not_nvidia_only(in_child("reading the counters of GPUs", limit,
                                   [options] { return machine::take_gpu_counters(options.root); }))},
      {{"gpu"}, entry::kPciNames, "names of GPUs", if_not_nvidia_only(pci_names(options))},
      {{"gpu"},
       entry::kNvidiaSmi,
       "nvidia-smi",
       [limit](const machine::Tree&) { return run_tool({"nvidia-smi", "-L"}, limit); }},
      {{"gpu"},
       entry::kLibraries,
       "compute libraries",
       if_not_nvidia_only(in_child("loading the compute libraries", limit, compute_libraries))},
      {{"log"}, entry::kKernelLog, "kernel log", [limit](const machine::Tree&) { return kernel_log(limit); }},
      {{"versions"},
       entry::kInstalled,
       "installed versions",
       in_child("looking for libraries", limit, [package_folders] { return installed(package_folders); })},
      {{"clock"}, entry::kTime, "clocks", in_child("the test of the clocks", limit, time_facts)},
  };
}

std::string kernel_log_from_records(std::string_view records) {
  std::string text;
  while (!records.empty()) {
    std::string_view line = records.substr(0, records.find('\n'));
    records.remove_prefix(std::min(line.size() + 1, records.size()));
    size_t semicolon = line.find(';');
    if (line.empty() || line.front() == ' ' || semicolon == std::string_view::npos)
      continue;  // " SUBSYSTEM=pci": properties
    size_t first = line.find(','), second = line.find(',', first + 1), third = line.find(',', second + 1);
    if (first == std::string_view::npos || second == std::string_view::npos || third > semicolon) third = semicolon;
    int64_t us =
        second == std::string_view::npos ? 0 : to_number(line.substr(second + 1, third - second - 1)).value_or(0);
    text += fmt::format("[{:5d}.{:06d}] {}\n", us / 1000000, us % 1000000, line.substr(semicolon + 1));
  }
  return text;
}

}  // namespace ridge::doctor
