#include "gpu/nvml/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/letter_case.h"
#include "gpu/nvml/library.h"
#include "gpu/nvml/system.h"

namespace ridge::gpu::nvml {
namespace {

constexpr unsigned kTextSize = 96;  // the library's longest text, a UUID or name, needs 96
constexpr int kTemperatureSensor = 0;

Reading<bool> flag(const Reading<int64_t>& number) {
  if (!number) return Error{Code::kUnavailable, number.reason};
  return *number != 0;
}

void read_identity(const Library& library, Reader& reader, Gpu& gpu) {
  Error error;
  gpu.name = reader.text(library.nvmlDeviceGetName);
  gpu.uuid = reader.text(library.nvmlDeviceGetUUID);
  PciInfo pci{};
  if (reader.ask(error, library.nvmlDeviceGetPciInfo_v3, &pci))
    gpu.pci_address = sysfs_pci_address(std::string_view(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id)));
  else
    gpu.pci_address = error;
  int major = 0, minor = 0;
  if (reader.ask(error, library.nvmlDeviceGetCudaComputeCapability, &major, &minor))
    gpu.compute_capability = fmt::format("{}.{}", major, minor);
  else
    gpu.compute_capability = error;
  gpu.architecture = architecture_name(reader.number<unsigned>(library.nvmlDeviceGetArchitecture));
  gpu.cores = reader.number<unsigned>(library.nvmlDeviceGetNumGpuCores);
}

void read_memory(const Library& library, Reader& reader, Gpu& gpu) {
  Error error;
  MemoryInfo memory{};
  if (reader.ask(error, library.nvmlDeviceGetMemoryInfo, &memory)) {
    gpu.memory_total_bytes = static_cast<int64_t>(memory.total);
    gpu.memory_used_bytes = static_cast<int64_t>(memory.used);
  } else {
    gpu.memory_total_bytes = gpu.memory_used_bytes = error;
  }
  gpu.memory_bus_bits = reader.number<unsigned>(library.nvmlDeviceGetMemoryBusWidth);
  Utilization busy{};
  if (reader.ask(error, library.nvmlDeviceGetUtilizationRates, &busy))
    gpu.utilization_percent = int64_t{busy.gpu};
  else
    gpu.utilization_percent = error;
}

void read_errors(const Library& library, Reader& reader, Gpu& gpu) {
  Error error;
  int current = 0, pending = 0;
  if (reader.ask(error, library.nvmlDeviceGetEccMode, &current, &pending))
    gpu.ecc = current != 0;
  else
    gpu.ecc = error;
  auto count = [&](ErrorType type, CounterType counter) {
    return reader.number<unsigned long long>(library.nvmlDeviceGetTotalEccErrors, int{type}, int{counter});
  };
  gpu.ecc_corrected = count(kCorrected, kSinceStart);
  gpu.ecc_uncorrected = count(kUncorrected, kSinceStart);
  gpu.ecc_corrected_ever = count(kCorrected, kEver);
  gpu.ecc_uncorrected_ever = count(kUncorrected, kEver);
  unsigned corrected = 0, uncorrected = 0, remap_pending = 0, failed = 0;
  if (reader.ask(error, library.nvmlDeviceGetRemappedRows, &corrected, &uncorrected, &remap_pending, &failed)) {
    gpu.rows_remapped = int64_t{corrected} + uncorrected;
    gpu.row_remap_pending = remap_pending != 0;
    gpu.row_remap_failed = failed != 0;
  } else {
    gpu.rows_remapped = error;
    gpu.row_remap_pending = gpu.row_remap_failed = error;
  }
}

void read_mode(const Library& library, Reader& reader, Gpu& gpu) {
  gpu.persistence = flag(reader.number<int>(library.nvmlDeviceGetPersistenceMode));
  gpu.compute_mode = reader.number<int>(library.nvmlDeviceGetComputeMode);
  gpu.performance_state = reader.number<int>(library.nvmlDeviceGetPerformanceState);
  // The same bits under their name in drivers before 535.
  gpu.slowdown_bits = library.nvmlDeviceGetCurrentClocksEventReasons
                          ? reader.number<unsigned long long>(library.nvmlDeviceGetCurrentClocksEventReasons)
                          : reader.number<unsigned long long>(library.nvmlDeviceGetCurrentClocksThrottleReasons);
}

void read_mig(const Library& library, Reader& reader, Gpu& gpu) {
  Error error;
  unsigned current = 0, pending = 0;
  if (reader.ask(error, library.nvmlDeviceGetMigMode, &current, &pending)) {
    gpu.mig = current != 0;
    if (current != 0) gpu.slices = slices_of(library, reader.gpu());
    gpu.mig_instances = static_cast<int64_t>(gpu.slices.size());
  } else {
    gpu.mig = error;
    gpu.mig_instances = error;
  }
}

void read_link(const Library& library, Reader& reader, Gpu& gpu) {
  gpu.pcie_generation = reader.number<unsigned>(library.nvmlDeviceGetCurrPcieLinkGeneration);
  gpu.pcie_generation_max = reader.number<unsigned>(library.nvmlDeviceGetMaxPcieLinkGeneration);
  gpu.pcie_width = reader.number<unsigned>(library.nvmlDeviceGetCurrPcieLinkWidth);
  gpu.pcie_width_max = reader.number<unsigned>(library.nvmlDeviceGetMaxPcieLinkWidth);
  gpu.pcie_replays = reader.number<unsigned>(library.nvmlDeviceGetPcieReplayCounter);
}

// Absent: not of this library or GPU.
std::optional<int64_t> field_value(const Library& library, Device gpu, unsigned field, unsigned scope) {
  FieldValue value{};
  value.field = field;
  value.scope = scope;
  const auto& values = library.nvmlDeviceGetFieldValues;
  const int code = values ? values(gpu, 1, &value) : int{kFunctionNotFound};
  if (code != kSuccess || value.result != kSuccess) return std::nullopt;
  return static_cast<int64_t>(value.type == kUnsigned ? value.value.u : value.value.ull);
}

void read_heat_and_power(const Library& library, Reader& reader, Gpu& gpu) {
  gpu.temperature_c = reader.number<unsigned>(library.nvmlDeviceGetTemperature, kTemperatureSensor);
  gpu.slowdown_temperature_c = reader.number<unsigned>(library.nvmlDeviceGetTemperatureThreshold, int{kSlowdown});
  if (const auto now = field_value(library, reader.gpu(), kFieldPowerInstant, 0))
    gpu.power_mw = *now;
  else
    gpu.power_mw = reader.number<unsigned>(library.nvmlDeviceGetPowerUsage);
  gpu.power_limit_mw = reader.number<unsigned>(library.nvmlDeviceGetEnforcedPowerLimit);
  gpu.power_limit_set_mw = reader.number<unsigned>(library.nvmlDeviceGetPowerManagementLimit);
  gpu.power_limit_default_mw = reader.number<unsigned>(library.nvmlDeviceGetPowerManagementDefaultLimit);
  Error error;
  unsigned least = 0, most = 0;
  if (reader.ask(error, library.nvmlDeviceGetPowerManagementLimitConstraints, &least, &most)) {
    gpu.power_limit_min_mw = int64_t{least};
    gpu.power_limit_max_mw = int64_t{most};
  } else {
    gpu.power_limit_min_mw = gpu.power_limit_max_mw = error;
  }
  gpu.energy_mj = reader.number<unsigned long long>(library.nvmlDeviceGetTotalEnergyConsumption);
}

void read_clocks(const Library& library, Reader& reader, Gpu& gpu) {
  gpu.sm_clock_mhz = reader.number<unsigned>(library.nvmlDeviceGetClockInfo, int{kSmClock});
  gpu.sm_clock_max_mhz = reader.number<unsigned>(library.nvmlDeviceGetMaxClockInfo, int{kSmClock});
  gpu.memory_clock_mhz = reader.number<unsigned>(library.nvmlDeviceGetClockInfo, int{kMemoryClock});
  gpu.memory_clock_max_mhz = reader.number<unsigned>(library.nvmlDeviceGetMaxClockInfo, int{kMemoryClock});
}

// NVLink 5 counts recoveries in a field, no longer in an error counter of the link.
Reading<int64_t> link_recoveries(const Library& library, Reader& reader, unsigned link) {
  Reading<int64_t> counted =
      reader.number<unsigned long long>(library.nvmlDeviceGetNvLinkErrorCounter, link, int{kLinkRecovery});
  if (counted) return counted;
  const std::optional<int64_t> value = field_value(library, reader.gpu(), kFieldLinkRecoveries, link);
  return value ? *value : counted;
}

PeerLink read_link_to_peer(const Library& library, Reader& reader, unsigned index, bool up) {
  PeerLink link;
  link.index = static_cast<int>(index);
  link.up = up;
  PciInfo pci{};
  Error error{Code::kUnavailable, "the link is down"};
  const auto& remote = library.nvmlDeviceGetNvLinkRemotePciInfo_v2;
  int code = !up ? int{kNotFound} : remote ? remote(reader.gpu(), index, &pci) : int{kFunctionNotFound};
  if (code == kSuccess)
    link.remote = sysfs_pci_address(std::string_view(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id)));
  else
    link.remote = up ? library.error(remote.name(), code) : error;
  link.replays = reader.number<unsigned long long>(library.nvmlDeviceGetNvLinkErrorCounter, index, int{kLinkReplay});
  link.recoveries = link_recoveries(library, reader, index);
  link.crc_errors =
      reader.number<unsigned long long>(library.nvmlDeviceGetNvLinkErrorCounter, index, int{kLinkCrcFlit});
  return link;
}

// The library does not report the number of links: links without a state are left out.
void read_peer_links(const Library& library, Reader& reader, Gpu& gpu) {
  const auto& state = library.nvmlDeviceGetNvLinkState;
  int code = kFunctionNotFound, first_code = kFunctionNotFound;
  for (unsigned i = 0; state != nullptr && i < kMaxLinks && code != kGpuIsLost; ++i) {
    int up = 0;
    code = state(reader.gpu(), i, &up);
    if (i == 0) first_code = code;
    if (code == kSuccess) gpu.links.push_back(read_link_to_peer(library, reader, i, up != 0));
  }
  if (gpu.links.empty())
    gpu.peer_links = library.error(state.name(), first_code);
  else
    gpu.peer_links = static_cast<int64_t>(gpu.links.size());
}

// _v2 and _v3 fill the same structure; a library too old for both reports no processes.
void read_processes(const Library& library, Reader& reader, Gpu& gpu) {
  const auto& list = library.nvmlDeviceGetComputeRunningProcesses_v3 ? library.nvmlDeviceGetComputeRunningProcesses_v3
                                                                     : library.nvmlDeviceGetComputeRunningProcesses_v2;
  if (list == nullptr) return;
  unsigned count = 64;
  std::vector<ProcessInfo> processes(count);
  int code = list(reader.gpu(), &count, processes.data());
  if (code == kInsufficientSize) {
    count += 16;  // for processes that start meanwhile
    processes.resize(count);
    code = list(reader.gpu(), &count, processes.data());
  }
  if (code != kSuccess) return;
  processes.resize(std::min<size_t>(count, processes.size()));
  for (const ProcessInfo& process : processes)
    gpu.processes.push_back(
        {process.pid, process.memory_bytes == kNoMemoryFigure ? -1 : static_cast<int64_t>(process.memory_bytes)});
}

enum class Detail { kAll, kVitals };

Gpu read_gpu(const Library& library, int index, Detail detail) {
  Gpu gpu;
  gpu.index = index;
  const Error foreign{Code::kUnsupported, "not available in NVIDIA's library"};
  gpu.performance_level = gpu.partition = foreign;
  Device device = nullptr;
  if (int code = library.nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(index), &device); code != kSuccess) {
    Error error = library.error("nvmlDeviceGetHandleByIndex_v2", code);
    gpu.failure = error.message;
    visit_readings(gpu, [&](const char*, auto& reading, const auto&...) { reading = error; });
    return gpu;
  }
  Reader reader(library, device);
  read_identity(library, reader, gpu);
  read_memory(library, reader, gpu);
  read_mode(library, reader, gpu);
  read_heat_and_power(library, reader, gpu);
  read_clocks(library, reader, gpu);
  if (detail == Detail::kAll) {
    read_errors(library, reader, gpu);
    read_mig(library, reader, gpu);
    read_link(library, reader, gpu);
    read_peer_links(library, reader, gpu);
    read_processes(library, reader, gpu);
  }
  gpu.failure = reader.failure();
  return gpu;
}

void read_versions(const Library& library, GpuSystem& system) {
  char driver[kTextSize] = "";
  int code = library.nvmlSystemGetDriverVersion(driver, kTextSize);
  if (code == kSuccess)
    system.driver_version = std::string(driver);
  else
    system.driver_version = library.error("nvmlSystemGetDriverVersion", code);
  int cuda = 0;
  const auto& ask_cuda = library.nvmlSystemGetCudaDriverVersion_v2;
  code = ask_cuda ? ask_cuda(&cuda) : int{kFunctionNotFound};
  if (code == kSuccess)
    system.cuda_version = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  else
    system.cuda_version = library.error(ask_cuda.name(), code);
}

Status start(const Library& library) {
  int code = library.nvmlInit_v2();
  if (code == kSuccess) return {};
  Error error = library.error("nvmlInit_v2", code);
  if (code == kVersionMismatch)
    error.message += "; the library and the kernel module are of different versions: reboot, or load the module again";
  if (code == kDriverNotLoaded) error.message += "; load the nvidia kernel module and look at the kernel log";
  return Error{Code::kUnavailable, error.message};
}

}  // namespace
std::string sysfs_pci_address(std::string_view library_address) {
  std::string address = lower_case(library_address);
  size_t colon = address.find(':');
  // Eight digits of domain here, four in /sys unless the domain needs more.
  if (colon == 8 && address.starts_with("0000")) address.erase(0, 4);
  return address;
}

Nvml::Nvml(std::unique_ptr<nvml::Library> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&& other) noexcept = default;
Nvml& Nvml::operator=(Nvml&& other) noexcept {
  std::swap(library_, other.library_);
  return *this;
}
Nvml::~Nvml() {
  if (library_) library_->nvmlShutdown();
}

Result<Nvml> Nvml::open(const std::string& library) {
  RIDGE_ASSIGN(auto table,
               open_table<nvml::Library>(library, "RIDGE_NVML", {"libnvidia-ml.so.1"}, "the NVIDIA driver"));
  RIDGE_TRY(nvml::start(*table));
  return Nvml(std::move(table));
}

Result<int> Nvml::count() const {
  unsigned count = 0;
  int code = library_->nvmlDeviceGetCount_v2(&count);
  if (code != nvml::kSuccess) return library_->error("nvmlDeviceGetCount_v2", code);
  return static_cast<int>(count);
}

Gpu Nvml::gpu(int index) const { return nvml::read_gpu(*library_, index, nvml::Detail::kAll); }

Gpu Nvml::vitals(int index) const { return nvml::read_gpu(*library_, index, nvml::Detail::kVitals); }

Reading<int64_t> Nvml::energy_mj(int index) const {
  nvml::Device device = nullptr;
  if (int code = library_->nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(index), &device); code != nvml::kSuccess)
    return library_->error("nvmlDeviceGetHandleByIndex_v2", code);
  nvml::Reader reader(*library_, device);
  return reader.number<unsigned long long>(library_->nvmlDeviceGetTotalEnergyConsumption);
}

GpuSystem Nvml::system() const {
  GpuSystem system;
  system.library = library_->file.path();
  nvml::read_versions(*library_, system);
  Result<int> gpus = count();
  for (int i = 0; gpus && i < *gpus; ++i) system.gpus.push_back(gpu(i));
  system.pairs = nvml::pairs_of(*library_, static_cast<int>(system.gpus.size()));
  return system;
}

}  // namespace ridge::gpu::nvml
