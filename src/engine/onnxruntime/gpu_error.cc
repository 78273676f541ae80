#include "engine/onnxruntime/gpu_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/units.h"
#include "catalogue/compatibility.h"

namespace ridge::engine::onnxruntime {
namespace {

using catalogue::CudaRow;
using catalogue::DriverFit;
using catalogue::OnnxRuntimeRow;
using catalogue::parse_version;
using catalogue::Version;
using catalogue::version_text;

constexpr std::string_view kDriverLibrary = "libcuda.so.1";

// The matrix's conclusions from the facts.
struct Matrix {
  std::optional<Version> driver;
  std::optional<OnnxRuntimeRow> runtime;  // of the version at hand
  std::optional<CudaRow> cuda;            // that this version was built with
};

Matrix matrix_of(const GpuFacts& facts) {
  Matrix matrix;
  if (facts.driver) matrix.driver = parse_version(*facts.driver);
  if (const std::optional<Version> version = parse_version(facts.version))
    matrix.runtime = catalogue::onnxruntime_row(*version);
  if (matrix.runtime) matrix.cuda = catalogue::cuda_row(matrix.runtime->cuda);
  return matrix;
}

std::string row_text(const OnnxRuntimeRow& row) {
  return fmt::format("onnxruntime-gpu {}{} needs CUDA {}, cuDNN {}{}", row.version,
                     row.exact ? "" : " (the newest row, your version is newer)", row.cuda_text, row.cudnn_text,
                     row.tensorrt ? ", TensorRT " + version_text(*row.tensorrt) : "");
}

std::string row_text(const CudaRow& row) {
  return fmt::format("CUDA {} needs driver {} or newer{}", version_text(row.cuda),
                     row.driver ? version_text(*row.driver) : "of its release",
                     row.driver_minor
                         ? fmt::format(" ({} or newer by minor-version compatibility)", version_text(*row.driver_minor))
                         : "");
}

std::string driver_text(const GpuFacts& facts) {
  if (!facts.driver && facts.gpus.empty()) return "no NVIDIA driver (" + facts.driver_reason + ")";
  return fmt::format("driver {}, {}", facts.driver ? *facts.driver : "of unknown version",
                     counted(facts.gpus.size(), "GPU"));
}

bool runs_on(const OnnxRuntimeRow& row, const Version& driver) {
  const std::optional<CudaRow> cuda = catalogue::cuda_row(row.cuda);
  return cuda && catalogue::driver_fit(driver, *cuda) != DriverFit::kNone;
}

// The newest release, from `version` downwards, whose CUDA this driver runs.
std::optional<OnnxRuntimeRow> newest_for(const Version& driver, const std::string& version) {
  for (std::optional<Version> below = parse_version(version); below;) {
    std::optional<OnnxRuntimeRow> row = catalogue::onnxruntime_row(*below);
    if (!row || runs_on(*row, driver)) return row;
    const std::optional<Version> listed = parse_version(row->version);
    if (!listed || listed->part(1) == 0) return std::nullopt;
    below = parse_version(fmt::format("{}.{}.99", listed->part(0), listed->part(1) - 1));
  }
  return std::nullopt;
}

// "1.20.x" → "1.20.*", in pip's form.
std::string for_pip(std::string version) {
  std::replace(version.begin(), version.end(), 'x', '*');
  return version;
}

std::string install_text(const std::string& version) {
  return fmt::format("pip install \"onnxruntime-gpu[cuda,cudnn]=={}\"", version);
}

// The python package of an NVIDIA library, for CUDA `major`; empty: not known.
std::string package_of(const std::string& library, int major) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPackages = {
      {{"libcublas", "nvidia-cublas"},
       {"libcudart", "nvidia-cuda-runtime"},
       {"libcurand", "nvidia-curand"},
       {"libcufft", "nvidia-cufft"},
       {"libnvrtc", "nvidia-cuda-nvrtc"},
       {"libcudnn", "nvidia-cudnn"},
       {"libnvinfer", "tensorrt"},
       {"libnvonnxparser", "tensorrt"}}};
  for (const auto& [start, package] : kPackages) {
    if (!library.starts_with(start)) continue;
    const bool bare = major >= 13 && package.starts_with("nvidia-") && package != "nvidia-cudnn";  // from CUDA 13 on
    return bare ? std::string(package) : fmt::format("{}-cu{}", package, major);
  }
  return "";
}

std::string packages_of(const std::vector<std::string>& libraries, int major) {
  std::vector<std::string> packages;
  for (const std::string& library : libraries) {
    const std::string package = package_of(library, major);
    if (!package.empty() && std::find(packages.begin(), packages.end(), package) == packages.end())
      packages.push_back(package);
  }
  return fmt::format("{}", fmt::join(packages, " "));
}

// A finding: the problem and the remedy.
struct Reason {
  std::string wrong, help;
  Code code = Code::kUnavailable;
};

// The installed package is another build, for the CPU alone or for other GPUs.
std::optional<Reason> other_build(GpuProvider provider, const GpuFacts& facts, const Matrix& matrix) {
  if (std::find(facts.compiled.begin(), facts.compiled.end(), provider_name(provider)) != facts.compiled.end())
    return std::nullopt;
  const std::optional<OnnxRuntimeRow> fitting =
      matrix.driver ? newest_for(*matrix.driver, facts.version) : std::nullopt;
  std::string help = "pip uninstall onnxruntime, then ";
  if (!matrix.driver)
    help += install_text(facts.version) + ", and install NVIDIA's driver (in a container: start it with --gpus all)";
  else if (!fitting)
    help = "update the driver: no onnxruntime-gpu in the matrix runs on it";
  else if (matrix.runtime && fitting->version == matrix.runtime->version)
    help += install_text(facts.version);
  else
    help += fmt::format("{} (the newest whose CUDA {} this driver runs)", install_text(for_pip(fitting->version)),
                        fitting->cuda_text);
  return Reason{
      fmt::format("{} is ONNX Runtime {} with {} only", facts.runtime, facts.version, fmt::join(facts.compiled, ", ")),
      help, Code::kUnsupported};
}

std::optional<Reason> missing_library(const GpuFacts& facts, const Matrix& matrix) {
  std::vector<std::string> missing = facts.missing;
  const bool driver = std::erase(missing, kDriverLibrary) > 0;
  if (missing.empty() && !driver) return std::nullopt;
  Reason reason;
  std::string what = missing.empty() ? std::string(kDriverLibrary) : missing.front();
  reason.wrong = fmt::format("{} needs {}, which is not installed", facts.provider_library, what);
  if (missing.size() > 1)
    reason.wrong += fmt::format("; nor are {}", fmt::join(missing.begin() + 1, missing.end(), ", "));
  if (driver && !missing.empty()) reason.wrong += fmt::format("; nor is the driver's {}", kDriverLibrary);
  const int major = matrix.runtime ? matrix.runtime->cuda.part(0) : 0;
  if (const std::string packages = packages_of(missing, major); major > 0 && !packages.empty())
    reason.help =
        fmt::format("pip install {} beside onnxruntime-gpu, or name their folders in LD_LIBRARY_PATH", packages);
  if (driver || (!facts.driver && facts.gpus.empty()))
    reason.help += std::string(reason.help.empty() ? "" : "; and ") +
                   "install NVIDIA's driver (in a container: start it with --gpus all)";
  return reason;
}

std::optional<Reason> no_driver(const GpuFacts& facts) {
  if (facts.driver || facts.driver_reason.empty() || !facts.gpus.empty()) return std::nullopt;
  return Reason{"there is no NVIDIA driver: " + facts.driver_reason,
                "install it, or start the container with --gpus all; see ridge doctor --area gpu"};
}

std::optional<Reason> old_driver(const GpuFacts& facts, const Matrix& matrix) {
  if (!matrix.driver || !matrix.cuda || catalogue::driver_fit(*matrix.driver, *matrix.cuda) != DriverFit::kNone)
    return std::nullopt;
  const Version& least =
      matrix.cuda->driver_minor ? *matrix.cuda->driver_minor : matrix.cuda->driver.value_or(*matrix.driver);
  const std::optional<OnnxRuntimeRow> fitting = newest_for(*matrix.driver, facts.version);
  return Reason{fmt::format("driver {} is too old for CUDA {}", *facts.driver, version_text(matrix.cuda->cuda)),
                fmt::format("update the driver to {} or newer{}", version_text(least),
                            fitting ? ", or " + install_text(for_pip(fitting->version)) : "")};
}

std::optional<Reason> no_such_gpu(const plan::Device& device, const GpuFacts& facts) {
  if (facts.gpus.empty() || device.index < static_cast<int>(facts.gpus.size())) return std::nullopt;
  std::string gpus;
  for (size_t i = 0; i < facts.gpus.size(); ++i)
    gpus += fmt::format("{}cuda:{} {}", i == 0 ? ": " : ", ", i, facts.gpus[i].name);
  return Reason{fmt::format("there is no GPU {}; the driver has {}{}", device.index, facts.gpus.size(), gpus),
                "name one of these; CUDA_VISIBLE_DEVICES changes their numbers"};
}

std::optional<Reason> wrong_capability(const plan::Device& device, const GpuFacts& facts, const Matrix& matrix) {
  if (!matrix.cuda || device.index >= static_cast<int>(facts.gpus.size())) return std::nullopt;
  const CudaGpu& gpu = facts.gpus[static_cast<size_t>(device.index)];
  const std::optional<Version> capability = parse_version(gpu.capability);
  if (!capability || !matrix.cuda->least_capability || *capability >= *matrix.cuda->least_capability)
    return std::nullopt;
  return Reason{fmt::format("{} has compute capability {}; CUDA {} begins at {}", gpu.name, gpu.capability,
                            version_text(matrix.cuda->cuda), version_text(*matrix.cuda->least_capability)),
                "use an onnxruntime-gpu built with an older CUDA for this GPU"};
}

Reason reason_of(const plan::Device& device, GpuProvider provider, const GpuFacts& facts, const Matrix& matrix) {
  for (const std::optional<Reason>& reason :
       {other_build(provider, facts, matrix), missing_library(facts, matrix), no_driver(facts),
        old_driver(facts, matrix), no_such_gpu(device, facts), wrong_capability(device, facts, matrix)})
    if (reason) return *reason;
  return {facts.engine_words, "see the message above; ridge doctor shows whether driver and libraries match"};
}

}  // namespace

Error gpu_error(const plan::Device& device, const GpuFacts& facts) {
  const GpuProvider provider = provider_of(device.kind);
  const Matrix matrix = matrix_of(facts);
  const Reason reason = reason_of(device, provider, facts, matrix);
  std::string text = fmt::format("device {} cannot be used: {}\n  here: {}", plan::device_name(device), reason.wrong,
                                 driver_text(facts));
  if (matrix.runtime) text += "\n  matrix: " + row_text(*matrix.runtime);
  if (matrix.cuda) text += "; " + row_text(*matrix.cuda);
  if (!facts.engine_words.empty() && facts.engine_words != reason.wrong)
    text += "\n  in its words: " + facts.engine_words;
  return {reason.code, text + "\n  what to do: " + reason.help};
}

}  // namespace ridge::engine::onnxruntime
