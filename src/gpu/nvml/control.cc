// The part of Nvml that changes settings.
#include <fmt/format.h>

#include "gpu/nvml/library.h"
#include "gpu/nvml/nvml.h"

namespace ridge::gpu::nvml {
namespace {

// Calls one function of a GPU that changes something. `what`: the attempt, for the error.
template <typename Signature, typename... Arguments>
Status change(const nvml::Library& library, int index, const std::string& what,
              const LibraryFunction<Signature>& function, Arguments... arguments) {
  nvml::Device device = nullptr;
  int code = library.nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(index), &device);
  const char* name = library.nvmlDeviceGetHandleByIndex_v2.name();
  if (code == nvml::kSuccess) {
    name = function.name();
    code = function == nullptr ? int{nvml::kFunctionNotFound} : function(device, arguments...);
  }
  if (code == nvml::kSuccess) return {};
  Error error = wrap(library.error(name, code), what);
  if (code == nvml::kNoPermission)
    error.message +=
        "; the driver lets only an administrator change this: run the same command as root (sudo). In a container, "
        "root "
        "needs the capability CAP_SYS_ADMIN of the host too: set it on the host instead";
  if (code == nvml::kInvalidArgument) error.code = Code::kInvalid;
  return error;
}

}  // namespace

Status Nvml::set_power_limit(int index, int64_t limit_mw) const {
  return change(*library_, index, fmt::format("set the power limit of GPU {} to {:g} W", index, limit_mw / 1e3),
                library_->nvmlDeviceSetPowerManagementLimit, static_cast<unsigned>(limit_mw));
}

}  // namespace ridge::gpu::nvml
