#include "gpu/opencl/opencl.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/device_name.h"
#include "gpu/opencl/abi.h"
#include "gpu/opencl/state.h"
#include "gpu/pcie.h"

namespace ridge::gpu::opencl {
namespace {

using opencl::Handle;

// A text that the library tells by the usual pair of calls; empty where it does not.
template <typename Function>
std::string text_info(const Function& function, Handle object, uint32_t what) {
  size_t size = 0;
  if (function(object, what, 0, nullptr, &size) != opencl::kSuccess || size == 0) return "";
  std::string text(size, '\0');
  if (function(object, what, size, text.data(), nullptr) != opencl::kSuccess) return "";
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

template <typename Raw>
int64_t number_info(const opencl::Library& library, Handle device, uint32_t what) {
  Raw raw{};
  if (library.clGetDeviceInfo(device, what, sizeof raw, &raw, nullptr) != opencl::kSuccess) return 0;
  return static_cast<int64_t>(raw);
}

std::string kind_of(opencl::Bits type) {
  if (type & opencl::kGpu) return "gpu";
  if (type & opencl::kCpu) return "cpu";
  return type & opencl::kAccelerator ? "accelerator" : "other";
}

std::string pci_address_of(const opencl::Library& library, Handle device, const std::string& extensions) {
  opencl::PciBus bus{};
  if (extensions.find("cl_khr_pci_bus_info") != std::string::npos &&
      library.clGetDeviceInfo(device, opencl::kDevicePciBus, sizeof bus, &bus, nullptr) == opencl::kSuccess)
    return pci_address(bus.domain, bus.bus, bus.device, bus.function);
  if (extensions.find("cl_nv_device_attribute_query") == std::string::npos) return "";
  auto number = [&](uint32_t what) { return static_cast<uint64_t>(number_info<uint32_t>(library, device, what)); };
  const uint64_t slot = number(opencl::kNvidiaSlot);
  return pci_address(number(opencl::kNvidiaDomain), number(opencl::kNvidiaBus), slot >> 3, slot & 7);
}

OpenClDevice describe(const opencl::Library& library, Handle platform, Handle device) {
  OpenClDevice result;
  result.platform = text_info(library.clGetPlatformInfo, platform, opencl::kPlatformName);
  result.name = text_info(library.clGetDeviceInfo, device, opencl::kDeviceName);
  result.vendor = text_info(library.clGetDeviceInfo, device, opencl::kDeviceVendor);
  result.version = text_info(library.clGetDeviceInfo, device, opencl::kDeviceVersion);
  result.driver = text_info(library.clGetDeviceInfo, device, opencl::kDriverVersion);
  result.kind = kind_of(static_cast<opencl::Bits>(number_info<opencl::Bits>(library, device, opencl::kDeviceType)));
  result.compute_units = number_info<uint32_t>(library, device, opencl::kDeviceComputeUnits);
  result.threads_per_block = number_info<size_t>(library, device, opencl::kDeviceMaxGroup);
  result.memory_bytes = number_info<uint64_t>(library, device, opencl::kDeviceGlobalMemory);
  result.cache_bytes = number_info<uint64_t>(library, device, opencl::kDeviceGlobalCache);
  result.shared_bytes = number_info<uint64_t>(library, device, opencl::kDeviceLocalMemory);
  result.largest_buffer_bytes = number_info<uint64_t>(library, device, opencl::kDeviceLargestBuffer);
  result.fp64_lanes = number_info<uint32_t>(library, device, opencl::kDeviceNativeDoubles);
  result.fp32_lanes = number_info<uint32_t>(library, device, opencl::kDeviceNativeFloats);
  const std::string extensions = text_info(library.clGetDeviceInfo, device, opencl::kDeviceExtensions);
  if (extensions.find("cl_khr_fp16") != std::string::npos)
    result.fp16_lanes = number_info<uint32_t>(library, device, opencl::kDeviceNativeHalves);
  result.integer_dot = extensions.find("cl_khr_integer_dot_product") != std::string::npos &&
                       (number_info<opencl::Bits>(library, device, opencl::kDeviceDotProducts) & opencl::kDot4x8Packed);
  result.pci_address = pci_address_of(library, device, extensions);
  result.clock_hz = 1e6 * static_cast<double>(number_info<uint32_t>(library, device, opencl::kDeviceClockMhz));
  bool has_all = library.clSVMAlloc && library.clSVMFree && library.clSetKernelArgSVMPointer &&
                 library.clEnqueueSVMMap && library.clEnqueueSVMUnmap;
  result.unified_memory = has_all && number_info<opencl::Bits>(library, device, opencl::kDeviceSvm) != 0;
  return result;
}

Result<std::vector<Handle>> platforms_of(const opencl::Library& library) {
  uint32_t count = 0;
  int32_t code = library.clGetPlatformIDs(0, nullptr, &count);
  if (code == opencl::kPlatformNotFound || (code == opencl::kSuccess && count == 0))
    return Error{Code::kUnavailable, library.file.path() +
                                         " knows no implementation of OpenCL; install the driver's "
                                         "(for a processor: pocl), which puts a file into "
                                         "/etc/OpenCL/vendors"};
  std::vector<Handle> platforms(count);
  if (code == opencl::kSuccess) code = library.clGetPlatformIDs(count, platforms.data(), nullptr);
  if (code != opencl::kSuccess) return opencl_error("clGetPlatformIDs", code);
  return platforms;
}

std::vector<Handle> devices_of(const opencl::Library& library, Handle platform) {
  uint32_t count = 0;
  if (library.clGetDeviceIDs(platform, opencl::kAllDevices, 0, nullptr, &count) != opencl::kSuccess) return {};
  std::vector<Handle> devices(count);
  if (library.clGetDeviceIDs(platform, opencl::kAllDevices, count, devices.data(), nullptr) != opencl::kSuccess)
    return {};
  return devices;
}

}  // namespace

Error opencl_error(const char* function, int32_t code) {
  return {Code::kFailed, fmt::format("{}: OpenCL code {}", function, code)};
}

Json to_json(const OpenClDevice& device) {
  return Json{{"name", device.name},
              {"vendor", device.vendor},
              {"platform", device.platform},
              {"version", device.version},
              {"driver", device.driver},
              {"kind", device.kind},
              {"compute_units", device.compute_units},
              {"threads_per_block", device.threads_per_block},
              {"memory_bytes", device.memory_bytes},
              {"cache_bytes", device.cache_bytes},
              {"shared_bytes", device.shared_bytes},
              {"largest_buffer_bytes", device.largest_buffer_bytes},
              {"clock_hz", device.clock_hz},
              {"unified_memory", device.unified_memory}};
}

Result<OpenCl> OpenCl::open(const std::string& path) {
  RIDGE_ASSIGN(auto table, open_table<opencl::Library>(path, "RIDGE_OPENCL", {"libOpenCL.so.1"}, "the OpenCL loader"));
  // Implementations keep threads and handlers at exit that must not outlive their code.
  table->file.leak();
  OpenCl opened(std::move(table));
  const opencl::Library& library = *opened.library_;
  RIDGE_ASSIGN(std::vector<Handle> platforms, platforms_of(library));
  for (Handle platform : platforms)
    for (Handle device : devices_of(library, platform)) {
      opened.devices_.push_back(describe(library, platform, device));
      opened.handles_.push_back(device);
    }
  if (opened.devices_.empty())
    return Error{Code::kUnavailable, fmt::format("{} knows {} implementation(s) of OpenCL, and none has a device here",
                                                 library.file.path(), platforms.size())};
  return opened;
}

Result<Handle> OpenCl::handle(size_t index) const {
  RIDGE_TRY(check_device_index(index, handles_.size(), "OpenCL"));
  return handles_[index];
}

Result<OpenClWorkspace> OpenCl::workspace(size_t index, OpenClTiming timing) const {
  RIDGE_ASSIGN(Handle device, handle(index));
  auto state = std::make_unique<OpenClWorkspace::State>(library_);
  state->unified_memory = devices_[index].unified_memory;
  state->timing = timing;
  RIDGE_TRY(state->start(device));
  return OpenClWorkspace(std::move(state));
}

}  // namespace ridge::gpu::opencl
