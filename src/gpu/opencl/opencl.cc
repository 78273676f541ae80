#include "gpu/opencl/opencl.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/opencl/library.h"
#include "gpu/opencl/workspace.h"
#include "gpu/pcie.h"

namespace ridge::gpu::opencl {
namespace {

// cl_nv_device_attribute_query, OpenCL extension 1; Khronos' headers lack them. cl_uint each; a slot is the device's
// number and, below it in three bits, the function's.
constexpr cl_device_info kNvidiaBus = 0x4008, kNvidiaSlot = 0x4009, kNvidiaDomain = 0x400A;

// A text from the library's usual pair of calls; empty if unavailable.
template <typename Function, typename Object>
std::string text_info(const Function& function, Object object, cl_uint what) {
  size_t size = 0;
  if (function(object, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (function(object, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

template <typename Raw>
int64_t number_info(const opencl::Library& library, cl_device_id device, cl_uint what) {
  Raw raw{};
  if (library.clGetDeviceInfo(device, what, sizeof raw, &raw, nullptr) != CL_SUCCESS) return 0;
  return static_cast<int64_t>(raw);
}

std::string kind_of(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return "gpu";
  if (type & CL_DEVICE_TYPE_CPU) return "cpu";
  return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "other";
}

std::string pci_address_of(const opencl::Library& library, cl_device_id device, const std::string& extensions) {
  cl_device_pci_bus_info_khr bus{};
  if (extensions.find("cl_khr_pci_bus_info") != std::string::npos &&
      library.clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof bus, &bus, nullptr) == CL_SUCCESS)
    return pci_address(bus.pci_domain, bus.pci_bus, bus.pci_device, bus.pci_function);
  if (extensions.find("cl_nv_device_attribute_query") == std::string::npos) return "";
  auto number = [&](cl_uint what) { return static_cast<uint64_t>(number_info<uint32_t>(library, device, what)); };
  const uint64_t slot = number(kNvidiaSlot);
  return pci_address(number(kNvidiaDomain), number(kNvidiaBus), slot >> 3, slot & 7);
}

// Lanes of a vector of the hardware.
void read_types(const opencl::Library& library, cl_device_id device, const std::string& extensions,
                DeviceFacts& facts) {
  auto has = [&](const char* extension) { return extensions.find(extension) != std::string::npos; };
  auto lanes = [&](cl_uint what) { return number_info<uint32_t>(library, device, what); };
  facts.fp64_lanes = lanes(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE);
  facts.fp32_lanes = lanes(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  if (has("cl_khr_fp16")) facts.fp16_lanes = lanes(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF);
  facts.integer_dot = has("cl_khr_integer_dot_product") &&
                      (number_info<cl_bitfield>(library, device, CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR) &
                       CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR);
}

Device describe(const std::shared_ptr<const opencl::Library>& opened, cl_platform_id platform, cl_device_id device) {
  const opencl::Library& library = *opened;
  auto text = [&](cl_uint what) { return text_info(library.clGetDeviceInfo, device, what); };
  const std::string implementation = text_info(library.clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  const std::string version = text(CL_DEVICE_VERSION), driver = text(CL_DRIVER_VERSION);
  const std::string extensions = text(CL_DEVICE_EXTENSIONS);
  Device result;
  DeviceFacts& facts = result.facts;
  facts.name = text(CL_DEVICE_NAME);
  facts.kind = kind_of(static_cast<cl_device_type>(number_info<cl_device_type>(library, device, CL_DEVICE_TYPE)));
  facts.software = fmt::format("{} {} ({})", implementation, driver, version);
  facts.pci_address = pci_address_of(library, device, extensions);
  facts.compute_units = number_info<uint32_t>(library, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  facts.threads_per_block = number_info<size_t>(library, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  facts.memory_bytes = number_info<uint64_t>(library, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  facts.largest_buffer_bytes = number_info<uint64_t>(library, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  facts.last_cache_bytes = number_info<uint64_t>(library, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  facts.clock_hz = 1e6 * static_cast<double>(number_info<uint32_t>(library, device, CL_DEVICE_MAX_CLOCK_FREQUENCY));
  const bool has_all = library.clSVMAlloc && library.clSVMFree && library.clSetKernelArgSVMPointer &&
                       library.clEnqueueSVMMap && library.clEnqueueSVMUnmap;
  facts.unified_memory = has_all && number_info<cl_bitfield>(library, device, CL_DEVICE_SVM_CAPABILITIES) != 0;
  read_types(library, device, extensions, facts);
  Json details = {{"name", facts.name},
                  {"vendor", text(CL_DEVICE_VENDOR)},
                  {"platform", implementation},
                  {"version", version},
                  {"driver", driver},
                  {"kind", facts.kind},
                  {"compute_units", facts.compute_units},
                  {"threads_per_block", facts.threads_per_block},
                  {"memory_bytes", facts.memory_bytes},
                  {"cache_bytes", facts.last_cache_bytes},
                  {"shared_bytes", number_info<uint64_t>(library, device, CL_DEVICE_LOCAL_MEM_SIZE)},
                  {"largest_buffer_bytes", facts.largest_buffer_bytes},
                  {"clock_hz", facts.clock_hz},
                  {"unified_memory", facts.unified_memory}};
  result.details = [details] { return details; };
  result.open_workspace = [opened, device, unified = facts.unified_memory](Timing timing) {
    return OpenClWorkspace::open(opened, device, unified, timing);
  };
  return result;
}

Result<std::vector<cl_platform_id>> platforms_of(const opencl::Library& library) {
  cl_uint count = 0;
  cl_int code = library.clGetPlatformIDs(0, nullptr, &count);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0))
    return Error{Code::kUnavailable, library.file.path() +
                                         " knows no implementation of OpenCL; install the driver's "
                                         "(for a CPU: pocl), which puts a file into "
                                         "/etc/OpenCL/vendors"};
  std::vector<cl_platform_id> platforms(count);
  if (code == CL_SUCCESS) code = library.clGetPlatformIDs(count, platforms.data(), nullptr);
  if (code != CL_SUCCESS) return opencl_error("clGetPlatformIDs", code);
  return platforms;
}

std::vector<cl_device_id> devices_of(const opencl::Library& library, cl_platform_id platform) {
  cl_uint count = 0;
  if (library.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices(count);
  if (library.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) return {};
  return devices;
}

}  // namespace

Error opencl_error(const char* function, cl_int code) {
  return {Code::kFailed, fmt::format("{}: OpenCL code {}", function, code)};
}

Result<std::vector<Device>> devices(const std::string& path) {
  RIDGE_ASSIGN(auto table, open_table<opencl::Library>(path, "RIDGE_OPENCL", {"libOpenCL.so.1"}, "the OpenCL loader"));
  // Implementations keep threads and handlers at exit that must not outlive their code.
  table->file.leak();
  const std::shared_ptr<const opencl::Library> library = std::move(table);
  RIDGE_ASSIGN(std::vector<cl_platform_id> platforms, platforms_of(*library));
  std::vector<Device> all;
  for (cl_platform_id platform : platforms)
    for (cl_device_id device : devices_of(*library, platform)) {
      all.push_back(describe(library, platform, device));
      all.back().facts.device = fmt::format("opencl:{}", all.size() - 1);
    }
  if (all.empty())
    return Error{Code::kUnavailable, fmt::format("{} knows {} implementation(s) of OpenCL, and none has a device here",
                                                 library->file.path(), platforms.size())};
  return all;
}

}  // namespace ridge::gpu::opencl
