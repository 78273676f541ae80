#include "gpu/cuda/error.h"

#include <fmt/format.h>

#include "gpu/cuda/abi.h"

namespace ridge::gpu::cuda {
namespace {

struct CudaMeaning {
  int number;
  Code code;
  const char* remedy;
};

constexpr const char* kContextIsGone = "a kernel failed, and this process can no longer use the GPU; start it again";
constexpr const char* kGpuIsLost =
    "the GPU is lost; look for NVRM: Xid in dmesg, run `ridge doctor`, and reset the GPU "
    "(nvidia-smi --gpu-reset) or the machine";
constexpr const char* kWrongCode =
    "the compiler library's CUDA does not match the driver or the GPU; name a matching one in RIDGE_NVRTC "
    "(`ridge gpus` shows the driver's CUDA), or update the driver";

// Source of the meanings: CUDA Driver API, "Data types used by CUDA driver", CUresult.
constexpr CudaMeaning kMeanings[] = {
    {cuda::kOutOfMemory, Code::kExhausted,
     "the GPU has too little free memory; nvidia-smi shows which processes use it"},
    {cuda::kStubLibrary, Code::kUnavailable,
     "this libcuda.so.1 is the toolkit's stub; put the driver's before it, or name it in RIDGE_CUDA"},
    {cuda::kNeedsNewerDriver, Code::kUnsupported, "update the driver"},
    {cuda::kDeviceUnavailable, Code::kUnavailable,
     "another process holds the GPU in exclusive mode (nvidia-smi -c 0 ends that), or the GPU is lost"},
    {cuda::kNoDevice, Code::kUnavailable,
     "no GPU is visible: CUDA_VISIBLE_DEVICES may hide it, or the container was started without --gpus"},
    {cuda::kInvalidDevice, Code::kInvalid, "there is no GPU with that number"},
    {cuda::kNotLicensed, Code::kUnavailable, "the virtual GPU has no licence"},
    {cuda::kInvalidImage, Code::kUnsupported, kWrongCode},
    {cuda::kNoBinaryForGpu, Code::kUnsupported, kWrongCode},
    {cuda::kInvalidPtx, Code::kInvalid, "the driver's compiler rejects this PTX"},
    {cuda::kNoPtxCompiler, Code::kUnsupported, "the driver lacks libnvidia-ptxjitcompiler.so.1; install it"},
    {cuda::kUnsupportedPtxVersion, Code::kUnsupported, kWrongCode},
    {cuda::kPtxCompilationDisabled, Code::kUnsupported, "CUDA_DISABLE_PTX_JIT is set; unset it"},
    {cuda::kEccUncorrectable, Code::kUnavailable, kGpuIsLost},
    {cuda::kNvlinkUncorrectable, Code::kUnavailable, kGpuIsLost},
    {cuda::kContained, Code::kUnavailable, kGpuIsLost},
    {cuda::kIllegalAddress, Code::kFailed, kContextIsGone},
    {cuda::kAssertFailed, Code::kFailed, kContextIsGone},
    {cuda::kHardwareStackError, Code::kFailed, kContextIsGone},
    {cuda::kIllegalInstruction, Code::kFailed, kContextIsGone},
    {cuda::kMisalignedAddress, Code::kFailed, kContextIsGone},
    {cuda::kInvalidAddressSpace, Code::kFailed, kContextIsGone},
    {cuda::kInvalidPc, Code::kFailed, kContextIsGone},
    {cuda::kLaunchFailed, Code::kFailed, kContextIsGone},
    {cuda::kLaunchTimeout, Code::kFailed, "the GPU also drives a display, and its watchdog ended the kernel"},
    {cuda::kLaunchOutOfResources, Code::kUnsupported,
     "a block needs more registers, threads or shared memory than the GPU has; make it smaller"},
    {cuda::kNotPermitted, Code::kUnavailable,
     "no permission: /dev/nvidia* must be readable and writable, and an administrator may have restricted the GPU"},
    {cuda::kNotSupported, Code::kUnsupported, "this GPU, driver or virtual machine does not support it"},
    {cuda::kSystemNotReady, Code::kUnavailable, "the fabric manager (nvidia-fabricmanager) is not running; start it"},
    {cuda::kDriverMismatch, Code::kUnavailable,
     "the kernel module and libcuda.so.1 have different versions; reload the module or reboot"},
    {cuda::kCompatibilityNotSupported, Code::kUnavailable,
     "libcuda.so.1 is from the compatibility package, which does not support this GPU; use the driver's own"},
    {cuda::kUnknown, Code::kUnavailable,
     "the driver gives no reason; dmesg may (NVRM: Xid says that the GPU is lost; else load nvidia-uvm, by "
     "nvidia-modprobe -u)"},
};

const CudaMeaning* meaning_of(int number) {
  for (const CudaMeaning& meaning : kMeanings)
    if (meaning.number == number) return &meaning;
  return nullptr;
}

}  // namespace

Error cuda_error(const cuda::Library& library, const char* function, int code) {
  const char *name = nullptr, *words = nullptr;
  if (library.cuGetErrorName(code, &name) != cuda::kSuccess || name == nullptr) name = "unknown code";
  if (library.cuGetErrorString(code, &words) != cuda::kSuccess || words == nullptr) words = "no text";
  std::string message = fmt::format("{}: {} ({}, {})", function, words, name, code);
  const CudaMeaning* meaning = meaning_of(code);
  if (meaning == nullptr) return {Code::kFailed, message};
  return {meaning->code, fmt::format("{}; {}", message, meaning->remedy)};
}

Status cuda_status(const cuda::Library& library, const char* function, int code) {
  return code == cuda::kSuccess ? Status{} : cuda_error(library, function, code);
}

}  // namespace ridge::gpu::cuda
