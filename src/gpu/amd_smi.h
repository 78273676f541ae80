// AMD SMI, the successor of ROCm SMI, opened at run time: for systems where only this one is installed. What it tells is
// what gpu/rocm_smi.h tells; so are its rules.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/card.h"

namespace ridge::gpu {

namespace amd_smi {
struct Library;  // the typed table of functions and the cards found, amd_smi.cc
}

// Move-only owner of the open and initialised library.
class AmdSmi {
 public:
  // `library`: a path; empty: the environment variable RIDGE_AMD_SMI, else libamd_smi.so of ROCm 7 or 6 by the loader's
  // search, then in /opt/rocm. Errors as those of RocmSmi::open.
  static Result<AmdSmi> open(const std::string& library = "");

  AmdSmi(AmdSmi&& other) noexcept;
  AmdSmi& operator=(AmdSmi&& other) noexcept;
  AmdSmi(const AmdSmi&) = delete;
  AmdSmi& operator=(const AmdSmi&) = delete;
  ~AmdSmi();

  int count() const;
  // The whole system. Takes a tenth of a second: some cards tell throttling only as the growth of counters.
  CardSystem system() const;

 private:
  explicit AmdSmi(std::unique_ptr<amd_smi::Library> library);
  std::unique_ptr<amd_smi::Library> library_;
};

// AMD's cards by whichever of its two libraries is here: ROCm SMI first, unless only RIDGE_AMD_SMI names a file.
Result<CardSystem> amd_cards();

}  // namespace ridge::gpu
