#include "gpu/opencl/opencl.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/device_name.h"
#include "gpu/opencl/library.h"
#include "gpu/opencl/state.h"
#include "gpu/pcie.h"

namespace ridge::gpu::opencl {
namespace {

// cl_nv_device_attribute_query, OpenCL extension 1; Khronos' headers lack them. cl_uint each; a slot is the device's number and, below
// it in three bits, the function's.
constexpr cl_device_info kNvidiaBus = 0x4008, kNvidiaSlot = 0x4009, kNvidiaDomain = 0x400A;

// A text that the library tells by the usual pair of calls; empty where it does not.
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

OpenClDevice describe(const opencl::Library& library, cl_platform_id platform, cl_device_id device) {
  OpenClDevice result;
  result.platform = text_info(library.clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  result.name = text_info(library.clGetDeviceInfo, device, CL_DEVICE_NAME);
  result.vendor = text_info(library.clGetDeviceInfo, device, CL_DEVICE_VENDOR);
  result.version = text_info(library.clGetDeviceInfo, device, CL_DEVICE_VERSION);
  result.driver = text_info(library.clGetDeviceInfo, device, CL_DRIVER_VERSION);
  result.kind = kind_of(static_cast<cl_device_type>(number_info<cl_device_type>(library, device, CL_DEVICE_TYPE)));
  result.compute_units = number_info<uint32_t>(library, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  result.threads_per_block = number_info<size_t>(library, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  result.memory_bytes = number_info<uint64_t>(library, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  result.cache_bytes = number_info<uint64_t>(library, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  result.shared_bytes = number_info<uint64_t>(library, device, CL_DEVICE_LOCAL_MEM_SIZE);
  result.largest_buffer_bytes = number_info<uint64_t>(library, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  result.fp64_lanes = number_info<uint32_t>(library, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE);
  result.fp32_lanes = number_info<uint32_t>(library, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  const std::string extensions = text_info(library.clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS);
  if (extensions.find("cl_khr_fp16") != std::string::npos)
    result.fp16_lanes = number_info<uint32_t>(library, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF);
  result.integer_dot = extensions.find("cl_khr_integer_dot_product") != std::string::npos &&
                       (number_info<cl_bitfield>(library, device, CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR) &
                        CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR);
  result.pci_address = pci_address_of(library, device, extensions);
  result.clock_hz = 1e6 * static_cast<double>(number_info<uint32_t>(library, device, CL_DEVICE_MAX_CLOCK_FREQUENCY));
  bool has_all = library.clSVMAlloc && library.clSVMFree && library.clSetKernelArgSVMPointer &&
                 library.clEnqueueSVMMap && library.clEnqueueSVMUnmap;
  result.unified_memory = has_all && number_info<cl_bitfield>(library, device, CL_DEVICE_SVM_CAPABILITIES) != 0;
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
  RIDGE_ASSIGN(std::vector<cl_platform_id> platforms, platforms_of(library));
  for (cl_platform_id platform : platforms)
    for (cl_device_id device : devices_of(library, platform)) {
      opened.devices_.push_back(describe(library, platform, device));
      opened.handles_.push_back(device);
    }
  if (opened.devices_.empty())
    return Error{Code::kUnavailable, fmt::format("{} knows {} implementation(s) of OpenCL, and none has a device here",
                                                 library.file.path(), platforms.size())};
  return opened;
}

Result<cl_device_id> OpenCl::handle(size_t index) const {
  RIDGE_TRY(check_device_index(index, handles_.size(), "OpenCL"));
  return handles_[index];
}

Result<OpenClWorkspace> OpenCl::workspace(size_t index, OpenClTiming timing) const {
  RIDGE_ASSIGN(cl_device_id device, handle(index));
  auto state = std::make_unique<OpenClWorkspace::State>(library_);
  state->unified_memory = devices_[index].unified_memory;
  state->timing = timing;
  RIDGE_TRY(state->start(device));
  return OpenClWorkspace(std::move(state));
}

}  // namespace ridge::gpu::opencl
