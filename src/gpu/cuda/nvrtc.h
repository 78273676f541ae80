// NVIDIA's run-time compiler (NVRTC), opened at run time: CUDA source in, machine code for one generation of chips out.
// It needs neither a GPU nor a driver, so compilation can be checked on any machine. Does not run anything.
// Thread-safe, like the library itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::gpu::cuda {

namespace nvrtc {
struct Library;
}

// The assembler's resources of one kernel.
struct CudaKernelUse {
  std::string name;
  int registers = 0;     // per thread
  int shared_bytes = 0;  // per block, the static part
  int stack_bytes = 0;   // per thread: local arrays that did not fit registers
  int spill_bytes = 0;   // per thread, stored: values that did not fit registers
};

struct CudaProgram {
  std::string machine_code;  // CUBIN; for the one architecture only
  std::string ptx;           // assembly; a newer driver compiles it for newer chips
  std::vector<CudaKernelUse> kernels;
  std::string log;  // of the compiler: warnings, and the source of `kernels`
};

// Move-only owner of the open library.
class Nvrtc {
 public:
  // `library`: a path; empty: the environment variable RIDGE_NVRTC, else libnvrtc of CUDA 13, 12 or 11.2 by the
  // loader's search, then in python's packages (nvidia-cuda-nvrtc), none newer than `newest`: a driver loads no machine
  // code of a later CUDA. The error: none (kNotFound) or too old (kUnsupported).
  static Result<Nvrtc> open(const std::string& library = "", int newest = 1000);

  Nvrtc(Nvrtc&& other) noexcept;
  Nvrtc& operator=(Nvrtc&& other) noexcept;
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;
  ~Nvrtc();

  const std::vector<int>& architectures() const { return architectures_; }  // 75, 80, …: its target architectures

  // `architecture`: 89 means sm_89. `name` appears in the log. A wrong source is kInvalid, with the compiler's log.
  // Hopper has instructions of its own: 90 means sm_90a (from NVRTC 12), unless PTX for others is wanted.
  Result<CudaProgram> compile(const std::string& source, const std::string& name, int architecture,
                              bool for_later_ones = false) const;

 private:
  explicit Nvrtc(std::unique_ptr<nvrtc::Library> library);
  std::unique_ptr<nvrtc::Library> library_;
  std::string version_;  // of CUDA: "13.5"
  int major_ = 0;
  std::vector<int> architectures_;
};

// Reads the assembler's report (ptxas -v) from a log. Kernels in their order; none for a log without a report.
std::vector<CudaKernelUse> kernel_uses(const std::string& log);

}  // namespace ridge::gpu::cuda
