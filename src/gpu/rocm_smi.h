// AMD's ROCm SMI library, opened at run time: what cards there are and how they fare. Absent, too old, without
// permission and lost cards are values with a reason. Where only its successor is installed: gpu/amd_smi.h.
// Not for changing anything on a card. One thread; a call into a broken driver may hang, so ask from a child process
// (doctor/bounded.h) where that must not matter.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/card.h"

namespace ridge::gpu {

namespace rocm_smi {
struct Library;  // the typed table of functions, rocm_smi.cc
}

// Move-only owner of the open and initialised library.
class RocmSmi {
 public:
  // `library`: a path; empty: the environment variable RIDGE_ROCM_SMI, else librocm_smi64.so of ROCm 7, 6 or 5 by the
  // loader's search, then in /opt/rocm. The error says whether there is no library (kNotFound), it is too old
  // (kUnsupported), or it refuses to start (kUnavailable: amdgpu not loaded, no permission).
  static Result<RocmSmi> open(const std::string& library = "");

  RocmSmi(RocmSmi&& other) noexcept;
  RocmSmi& operator=(RocmSmi&& other) noexcept;
  RocmSmi(const RocmSmi&) = delete;
  RocmSmi& operator=(const RocmSmi&) = delete;
  ~RocmSmi();

  Result<int> count() const;
  // The whole system. Takes a tenth of a second: some cards tell throttling only as the growth of counters.
  CardSystem system() const;

 private:
  explicit RocmSmi(std::unique_ptr<rocm_smi::Library> library);
  std::unique_ptr<rocm_smi::Library> library_;
};

}  // namespace ridge::gpu
