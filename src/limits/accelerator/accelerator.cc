#include "limits/accelerator/accelerator.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/device_name.h"
#include "limits/accelerator/cuda_accelerator.h"
#include "limits/accelerator/opencl_accelerator.h"

namespace ridge::limits::accelerator {

bool runs_on_cpu(const Facts& facts) { return facts.kind == "cpu"; }

Json to_json(const Facts& facts) {
  return {{"device", facts.device},
          {"name", facts.name},
          {"kind", facts.kind},
          {"software", facts.software},
          {"compute_capability", facts.capability},
          {"pci_address", facts.pci_address},
          {"uuid", facts.uuid},
          {"compute_units", facts.compute_units},
          {"threads_per_block", facts.threads_per_block},
          {"memory_bytes", facts.memory_bytes},
          {"largest_buffer_bytes", facts.largest_buffer_bytes},
          {"last_cache_bytes", facts.last_cache_bytes},
          {"clock_hz", facts.clock_hz}};
}

Result<std::unique_ptr<Accelerator>> open_accelerator(std::string_view name) {
  const std::optional<gpu::DeviceName> parsed = gpu::parse_device_name(name);
  if (parsed && parsed->family == "opencl") return open_opencl_accelerator(parsed->index);
  if (parsed && parsed->family == "cuda") return open_cuda_accelerator(parsed->index);
  return Error{Code::kInvalid,
               fmt::format("there is no device '{}': it is cpu, cuda:N or opencl:N with N from 0", name)};
}

}  // namespace ridge::limits::accelerator
