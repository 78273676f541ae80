#include "gpu/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"

namespace ridge::gpu::cuda {

Result<int> CudaKernel::registers() const {
  RIDGE_TRY(context_.use());
  const cuda::Library& library = context_.library();
  int count = 0;
  RIDGE_TRY(
      cuda_status(library, "cuFuncGetAttribute", library.cuFuncGetAttribute(&count, cuda::kRegisters, function_)));
  return count;
}

Status CudaKernel::allow_dynamic_shared(size_t bytes) {
  RIDGE_TRY(context_.use());
  const cuda::Library& library = context_.library();
  Status allowed =
      cuda_status(library, "cuFuncSetAttribute",
                  library.cuFuncSetAttribute(function_, cuda::kMostDynamicSharedBytes, static_cast<int>(bytes)));
  return allowed ? allowed : wrap(allowed.error(), fmt::format("{} bytes of dynamic shared memory per block", bytes));
}

Result<int> CudaKernel::blocks_per_multiprocessor(int threads, size_t dynamic_shared_bytes) const {
  RIDGE_TRY(context_.use());
  const cuda::Library& library = context_.library();
  int blocks = 0;
  RIDGE_TRY(cuda_status(
      library, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
      library.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, threads, dynamic_shared_bytes)));
  return blocks;
}

Result<CudaModule> CudaModule::load(const CudaContext& context, const std::string& image) {
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  std::string log(8192, '\0');
  int options[] = {cuda::kErrorLog, cuda::kErrorLogBytes};
  // The driver takes numbers in the place of pointers.
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  void* handle = nullptr;
  int code = library.cuModuleLoadDataEx(&handle, image.c_str(), 2, options, values);
  if (code != cuda::kSuccess) {
    Error error = cuda_error(library, "cuModuleLoadDataEx", code);
    if (log[0] != '\0') error.message += fmt::format(":\n{}", log.c_str());
    return error;
  }
  CudaModule loaded;
  loaded.module_ = CudaHandle<void*>(context, handle, library.cuModuleUnload);
  return loaded;
}

Result<CudaKernel> CudaModule::kernel(const std::string& name) const {
  void* function = nullptr;
  int code = cuda::kNotFound;
  if (module_.get() != nullptr) {
    RIDGE_TRY(module_.context().use());
    const cuda::Library& library = module_.context().library();
    code = library.cuModuleGetFunction(&function, module_.get(), name.c_str());
    if (code != cuda::kSuccess && code != cuda::kNotFound) return cuda_error(library, "cuModuleGetFunction", code);
  }
  if (code == cuda::kNotFound) return Error{Code::kNotFound, fmt::format("the program has no kernel {}", name)};
  return CudaKernel(module_.context(), function);
}

Result<CudaTarget> choose_target(const std::vector<int>& known, int capability) {
  CudaTarget target{0, false};
  for (int architecture : known)
    if (architecture <= capability) target.architecture = std::max(target.architecture, architecture);
  if (target.architecture == 0)
    return Error{Code::kUnsupported,
                 fmt::format("this NVRTC compiles for sm_{}, but the GPU has compute capability {}.{}; name an older "
                             "NVRTC in RIDGE_NVRTC (that of CUDA 12 knows GPUs from 5.0 on)",
                             fmt::join(known, ", sm_"), capability / 10, capability % 10)};
  target.exact = target.architecture == capability;
  return target;
}

}  // namespace ridge::gpu::cuda
