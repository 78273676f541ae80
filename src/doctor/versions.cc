// Versions: driver, CUDA, cuDNN, TensorRT, NCCL and ONNX Runtime against the compatibility matrix.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "catalogue/compatibility.h"
#include "doctor/areas.h"
#include "doctor/installed.h"
#include "gpu/gpu.h"

namespace ridge::doctor {
namespace {

constexpr const char* kVersionsArea = "versions";
constexpr const char* kMatrix = "tables cuda_compat, cudnn_compat, tensorrt_compat, nccl_compat, onnxruntime_compat";

std::string shown(const InstalledPart& part) {
  return fmt::format("{} ({})", catalogue::version_text(part.version), part.path);
}

struct Stack {
  InstalledSoftware installed;
  std::optional<catalogue::Version>
      driver;  // the running version: the kernel module's, else NVML's, else the user library's
  std::string driver_origin;
  std::vector<catalogue::Version> capabilities;  // of the GPUs
};

Stack stack_of(const machine::Tree& tree) {
  Stack stack;
  stack.installed = installed_of(tree);
  Result<Json> json = machine::json_at(tree, entry::kNvml);
  Result<gpu::GpuSystem> system = json ? from_json<gpu::GpuSystem>(*json) : Result<gpu::GpuSystem>(json.error());
  if (system && system->driver_version) {
    stack.driver = catalogue::parse_version(*system->driver_version);
    stack.driver_origin = "NVML";
  }
  if (system)
    for (const gpu::Gpu& gpu : system->gpus)
      if (std::optional<catalogue::Version> capability =
              gpu.compute_capability ? catalogue::parse_version(*gpu.compute_capability) : std::nullopt)
        stack.capabilities.push_back(*capability);
  for (const std::optional<InstalledPart>* part : {&stack.installed.driver, &stack.installed.module})
    if (*part) {
      stack.driver = (*part)->version;
      stack.driver_origin = (*part)->path;
    }
  return stack;
}

// The kernel's half of the driver (the host's) and the user's half (the container's) must be one version.
Finding judge_halves(const Stack& stack) {
  Finding finding = about(kVersionsArea, "driver", "NVIDIA driver, kernel module and library",
                          "/proc/driver/nvidia/version, libcuda.so");
  const InstalledSoftware& installed = stack.installed;
  std::string where = installed.container ? "; in a container (" + *installed.container + ")" : "; no container";
  if (!installed.module && !installed.driver)
    return not_applicable(finding, "there is no NVIDIA driver" + where +
                                       (stack.driver ? ", NVML says " + catalogue::version_text(*stack.driver) : ""));
  if (!installed.module)
    return warn(finding, "library " + shown(*installed.driver) + ", but no kernel module" + where,
                installed.container ? "start the container with --gpus all, on a host whose driver is loaded"
                                    : "load it: modprobe nvidia");
  if (!installed.driver)
    return warn(finding, "kernel module " + shown(*installed.module) + ", but no libcuda.so" + where,
                installed.container ? "start the container with --gpus all: it mounts the host's libraries"
                                    : "install the driver's libraries of the same version");
  std::string evidence =
      fmt::format("kernel module {}, library {}{}", catalogue::version_text(installed.module->version),
                  shown(*installed.driver), where);
  if (installed.module->version != installed.driver->version)
    return fail(finding, evidence,
                "reboot after a driver update; in a container, remove the driver installed inside it");
  return ok(finding, evidence);
}

std::string row_text(const catalogue::CudaRow& row) {
  return fmt::format("CUDA {} came with driver {}{}", catalogue::version_text(row.cuda),
                     row.driver ? catalogue::version_text(*row.driver) : "of unknown version",
                     row.driver_minor ? ", runs from " + catalogue::version_text(*row.driver_minor) : "");
}

std::string newest_text(const catalogue::Version& driver) {
  std::optional<catalogue::CudaRow> newest = catalogue::newest_cuda_for(driver);
  return newest ? "CUDA " + catalogue::version_text(newest->cuda) + " or older" : "an older CUDA";
}

Finding judge_cuda(const Stack& stack) {
  Finding finding = about(kVersionsArea, "cuda", "driver and CUDA", kMatrix);
  if (!stack.driver) return not_applicable(finding, "there is no NVIDIA driver");
  std::string driver = fmt::format("driver {} ({})", catalogue::version_text(*stack.driver), stack.driver_origin);
  if (!stack.installed.cuda)
    return ok(finding, driver + " runs " + newest_text(*stack.driver) + "; no CUDA run-time library found");
  std::optional<catalogue::CudaRow> row = catalogue::cuda_row(stack.installed.cuda->version);
  std::string evidence = fmt::format("{}, CUDA {}", driver, shown(*stack.installed.cuda));
  if (!row) return not_applicable(finding, evidence + "; this release is not in the table");
  evidence += "; " + row_text(*row);
  switch (catalogue::driver_fit(*stack.driver, *row)) {
    case catalogue::DriverFit::kFull: return ok(finding, evidence);
    case catalogue::DriverFit::kMinor:
      return ok(finding, evidence +
                             "; it runs by minor-version compatibility: no kernels compiled at run time by this CUDA "
                             "(PTX), no newest features");
    case catalogue::DriverFit::kNone: break;
  }
  if (stack.installed.compatibility)
    return warn(finding, evidence + "; forward compatibility " + shown(*stack.installed.compatibility),
                "works on data-center GPUs only; update the driver for others");
  return fail(finding, evidence,
              fmt::format("update the driver to {} or newer, or use {}",
                          row->driver_minor ? catalogue::version_text(*row->driver_minor)
                          : row->driver     ? catalogue::version_text(*row->driver)
                                            : "that of this CUDA",
                          newest_text(*stack.driver)));
}

// cuDNN and TensorRT share these checks.
Finding judge_library(const Stack& stack, const char* id, const std::string& name,
                      const std::optional<InstalledPart>& part, const std::optional<catalogue::LibraryRow>& row) {
  Finding finding = about(kVersionsArea, id, name, kMatrix);
  if (!part) return not_applicable(finding, name + " was not found");
  std::string evidence = name + " " + shown(*part);
  if (!row) return not_applicable(finding, evidence + "; this release is not in the table");
  evidence += fmt::format("; row {}: CUDA {}", catalogue::version_text(row->version), row->cuda);
  if (stack.installed.cuda && !catalogue::fits_major(stack.installed.cuda->version, row->cuda))
    return fail(
        finding, evidence + fmt::format(", found CUDA {}", catalogue::version_text(stack.installed.cuda->version)),
        fmt::format("install {} for CUDA {}, or CUDA {}", name, stack.installed.cuda->version.part(0), row->cuda));
  if (stack.driver && row->driver && *stack.driver < *row->driver)
    return fail(finding, evidence + fmt::format(", driver {} or newer", catalogue::version_text(*row->driver)),
                "update the driver");
  for (const catalogue::Version& capability : stack.capabilities)
    if (row->least_capability && capability < *row->least_capability)
      return fail(
          finding,
          evidence + fmt::format(", GPUs from capability {}, here is {}",
                                 catalogue::version_text(*row->least_capability), catalogue::version_text(capability)),
          "use an older release of " + name + " for this GPU");
  if (stack.installed.cuda && !catalogue::fits(stack.installed.cuda->version, row->cuda))
    return warn(finding,
                evidence + fmt::format(", found CUDA {}", catalogue::version_text(stack.installed.cuda->version)),
                fmt::format("it loads, as the major version is the same; the tested version is CUDA {}", row->cuda));
  return ok(finding, evidence);
}

// NCCL contains its CUDA run-time library: only the driver counts, and the GPUs that it has code for.
Finding judge_nccl(const Stack& stack) {
  Finding finding = about(kVersionsArea, "nccl", "NCCL", kMatrix);
  const std::optional<InstalledPart>& part = stack.installed.nccl;
  if (!part) return not_applicable(finding, "NCCL not found; only programs that use several GPUs need it");
  std::string evidence = "NCCL " + shown(*part);
  if (part->version.parts.size() < 2) return not_applicable(finding, evidence + "; the file's name has no version");
  const int cuda = static_cast<int>(
      stack.installed.nccl_cuda.value_or(stack.installed.cuda ? stack.installed.cuda->version.part(0) : 12));
  std::optional<catalogue::LibraryRow> row = catalogue::nccl_row(part->version, cuda);
  if (!row) return not_applicable(finding, evidence + "; this release is not in the table");
  evidence +=
      fmt::format("; row {} for CUDA {}: {}", catalogue::version_text(row->version), cuda,
                  row->least_capability ? "GPUs from capability " + catalogue::version_text(*row->least_capability)
                                        : std::string("supported GPUs unknown"));
  if (stack.driver && row->driver && *stack.driver < *row->driver)
    return fail(finding,
                evidence + fmt::format(", driver {} or newer, here is {}", catalogue::version_text(*row->driver),
                                       catalogue::version_text(*stack.driver)),
                fmt::format("update the driver, or install NCCL for CUDA {}", cuda - 1));
  for (const catalogue::Version& capability : stack.capabilities)
    if (row->least_capability && capability < *row->least_capability)
      return fail(finding, evidence + ", here is " + catalogue::version_text(capability),
                  cuda >= 13 ? "install NCCL for CUDA 12, or an older release" : "use an older release for this GPU");
  return ok(finding, evidence);
}

Finding judge_onnxruntime(const Stack& stack) {
  Finding finding = about(kVersionsArea, "onnxruntime", "ONNX Runtime for GPUs", kMatrix);
  const InstalledSoftware& installed = stack.installed;
  if (!installed.onnxruntime) return not_applicable(finding, "no python package of ONNX Runtime found");
  std::string evidence =
      (installed.onnxruntime_gpu ? "onnxruntime-gpu " : "onnxruntime ") + shown(*installed.onnxruntime);
  if (!installed.onnxruntime_gpu) {
    if (!stack.driver) return ok(finding, evidence + ": for the CPU, and there is no GPU");
    return with_command("pip uninstall onnxruntime && pip install onnxruntime-gpu",
                        warn(finding, evidence + ": it runs on the CPU only, although there is a GPU",
                             "pip uninstall onnxruntime && pip install onnxruntime-gpu"));
  }
  if (!stack.driver)
    return warn(finding, evidence + ", but there is no NVIDIA driver",
                "install the plain onnxruntime: this one falls back to the CPU");
  std::optional<catalogue::OnnxRuntimeRow> row = catalogue::onnxruntime_row(installed.onnxruntime->version);
  if (!row) return not_applicable(finding, evidence + "; this release is not in the table");
  evidence += fmt::format("; row {}{}: CUDA {}, cuDNN {}{}", row->version, row->exact ? "" : " (the newest known)",
                          row->cuda_text, row->cudnn_text,
                          row->tensorrt ? ", TensorRT " + catalogue::version_text(*row->tensorrt) : "");
  std::string other = row->also.empty() ? "" : " (it is also built for CUDA " + row->also + ")";
  if (!installed.cuda || installed.cuda->version.part(0) != row->cuda.part(0))
    return fail(finding,
                evidence + "; found " +
                    (installed.cuda ? "CUDA " + catalogue::version_text(installed.cuda->version) : "no CUDA run-time"),
                fmt::format("install the CUDA {} run-time libraries{}: without them it falls back to the CPU",
                            row->cuda.part(0), other));
  if (!installed.cudnn || installed.cudnn->version.part(0) != row->cudnn_major)
    return fail(finding,
                evidence + "; found " +
                    (installed.cudnn ? "cuDNN " + catalogue::version_text(installed.cudnn->version) : "no cuDNN"),
                fmt::format("install cuDNN {} for CUDA {}: without it it falls back to the CPU", row->cudnn_major,
                            row->cuda.part(0)));
  if (row->tensorrt && installed.tensorrt && installed.tensorrt->version.part(0) != row->tensorrt->part(0))
    return warn(finding, evidence + "; found TensorRT " + catalogue::version_text(installed.tensorrt->version),
                fmt::format("install TensorRT {}: its provider does not load with another major version",
                            catalogue::version_text(*row->tensorrt)));
  return ok(finding, evidence);
}

Finding judge_capability(const Stack& stack) {
  Finding finding = about(kVersionsArea, "capability", "CUDA and the GPUs", kMatrix);
  if (stack.capabilities.empty()) return not_applicable(finding, "no GPU with a known capability");
  if (!stack.installed.cuda) return not_applicable(finding, "no CUDA run-time library found");
  std::optional<catalogue::CudaRow> row = catalogue::cuda_row(stack.installed.cuda->version);
  if (!row)
    return not_applicable(finding, "the table has no CUDA " + catalogue::version_text(stack.installed.cuda->version));
  std::string evidence;
  for (const catalogue::Version& capability : stack.capabilities) {
    evidence += fmt::format("{}{}", evidence.empty() ? "capability " : ", ", catalogue::version_text(capability));
    if (row->least_capability && capability < *row->least_capability)
      return fail(finding,
                  fmt::format("capability {}; CUDA {} begins at {}", catalogue::version_text(capability),
                              catalogue::version_text(row->cuda), catalogue::version_text(*row->least_capability)),
                  "use an older CUDA for this GPU: ridge gpus lists the last one");
    if (row->most_capability && capability > *row->most_capability)
      return warn(finding,
                  fmt::format("capability {}; CUDA {} ends at {}", catalogue::version_text(capability),
                              catalogue::version_text(row->cuda), catalogue::version_text(*row->most_capability)),
                  "use a newer CUDA: this one has no code for the GPU and at best compiles it at first start");
  }
  return ok(finding,
            evidence + fmt::format("; CUDA {} has code for {} to {}", catalogue::version_text(row->cuda),
                                   row->least_capability ? catalogue::version_text(*row->least_capability) : "?",
                                   row->most_capability ? catalogue::version_text(*row->most_capability) : "?"));
}

}  // namespace

Findings judge_versions(const Facts& facts) {
  Stack stack = stack_of(facts.tree);
  std::optional<catalogue::Version> cuda;
  if (stack.installed.cuda) cuda = stack.installed.cuda->version;
  std::optional<catalogue::LibraryRow> cudnn, tensorrt;
  if (stack.installed.cudnn) cudnn = catalogue::cudnn_row(stack.installed.cudnn->version, cuda);
  if (stack.installed.tensorrt) tensorrt = catalogue::tensorrt_row(stack.installed.tensorrt->version, cuda);
  return {judge_halves(stack),
          judge_cuda(stack),
          judge_library(stack, "cudnn", "cuDNN", stack.installed.cudnn, cudnn),
          judge_library(stack, "tensorrt", "TensorRT", stack.installed.tensorrt, tensorrt),
          judge_nccl(stack),
          judge_onnxruntime(stack),
          judge_capability(stack)};
}

}  // namespace ridge::doctor
