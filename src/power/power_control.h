// A device with a power limit: a GPU through its vendor's library, the CPU's packages through RAPL. One thread, except
// state(), which a second one may call.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "power/settings.h"

namespace ridge::power {

class PowerControl {
 public:
  virtual ~PowerControl() = default;
  virtual const std::string& id() const = 0;    // stable across processes and reboots: a GPU's UUID, "cpu"
  virtual const std::string& name() const = 0;  // for people: "GPU 0 (NVIDIA H100 80GB HBM3)"
  // Error: the device as a whole does not answer.
  virtual Result<State> state() = 0;
  virtual Status set_limit(int64_t limit_mw) = 0;
};

// By index, UUID or PCI address.
bool is_named(const gpu::Gpu& gpu, const std::string& name);

// "cpu", or an NVIDIA GPU; empty: the only one. kInvalid: no such GPU, or several.
Result<std::unique_ptr<PowerControl>> open_power_control(const std::string& name);

}  // namespace ridge::power
