#include "gpu/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/dynlib.h"
#include "base/lower_case.h"
#include "gpu/nvml_abi.h"
#include "gpu/open_library.h"

namespace ridge::gpu {

using namespace nvml;

// What was found in the library; nullptr = this library lacks it.
struct NvmlLibrary {
  explicit NvmlLibrary(DynamicLibrary opened) : file(std::move(opened)) {}
  DynamicLibrary file;
#define RIDGE_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  RIDGE_NVML_REQUIRED(RIDGE_MEMBER)
  RIDGE_NVML_OPTIONAL(RIDGE_MEMBER)
#undef RIDGE_MEMBER

  Error error(const char* function, int code) const {
    const char* words =
        code == kFunctionNotFound ? "the driver's library is too old for this question" : nvmlErrorString(code);
    Code kind = code == kNotSupported || code == kFunctionNotFound ? Code::kUnsupported : Code::kUnavailable;
    return {kind, fmt::format("{}: {} (NVML code {})", function, words ? words : "unknown error", code)};
  }
};

namespace {

constexpr unsigned kTextSize = 96;  // the library's longest text, a UUID or name, needs 96
constexpr int kTemperatureSensor = 0;

Status find_functions(NvmlLibrary& library) {
#define RIDGE_FIND(name, ...)                                                                                         \
  {                                                                                                                   \
    auto found = library.file.symbol<__VA_ARGS__>(#name);                                                             \
    if (!found) return Error{Code::kUnsupported, found.error().message + "; the NVIDIA driver is too old for ridge"}; \
    library.name = *found;                                                                                            \
  }
  RIDGE_NVML_REQUIRED(RIDGE_FIND)
#undef RIDGE_FIND
#define RIDGE_FIND(name, ...) \
  if (auto found = library.file.symbol<__VA_ARGS__>(#name)) library.name = *found;
  RIDGE_NVML_OPTIONAL(RIDGE_FIND)
#undef RIDGE_FIND
  return {};
}

// Asks one card and remembers if it is the card itself that is gone.
class CardReader {
 public:
  CardReader(const NvmlLibrary& library, Device device) : library_(library), device_(device) {}

  template <typename Raw, typename Function, typename... Arguments>
  Reading<int64_t> number(const char* name, Function* function, Arguments... arguments) {
    Raw raw{};
    int code = function ? function(device_, arguments..., &raw) : int{kFunctionNotFound};
    if (!succeeded(name, code)) return library_.error(name, code);
    return static_cast<int64_t>(raw);
  }
  template <typename Function>
  Reading<bool> flag(const char* name, Function* function) {
    Reading<int64_t> value = number<int>(name, function);
    if (!value) return Error{Code::kUnavailable, value.reason};
    return *value != 0;
  }
  template <typename Function>
  Reading<std::string> text(const char* name, Function* function) {
    char buffer[kTextSize] = "";
    int code = function(device_, buffer, kTextSize);
    if (!succeeded(name, code)) return library_.error(name, code);
    return std::string(buffer);
  }
  // Structures and pairs: fills in `raw...` and says whether that went well; `error` is set otherwise.
  template <typename Function, typename... Raw>
  bool ask(Error& error, const char* name, Function* function, Raw*... raw) {
    int code = function ? function(device_, raw...) : int{kFunctionNotFound};
    if (succeeded(name, code)) return true;
    error = library_.error(name, code);
    return false;
  }
  const std::string& failure() const { return failure_; }
  Device device() const { return device_; }

 private:
  bool succeeded(const char* name, int code) {
    bool gone = code == kGpuIsLost || code == kResetRequired;
    if (gone && failure_.empty()) failure_ = library_.error(name, code).message;
    return code == kSuccess;
  }
  const NvmlLibrary& library_;
  Device device_;
  std::string failure_;
};

// The name of a function beside its pointer.
#define RIDGE_NVML(function) #function, library.function

void read_identity(const NvmlLibrary& library, CardReader& reader, Card& card) {
  Error error;
  card.name = reader.text(RIDGE_NVML(nvmlDeviceGetName));
  card.uuid = reader.text(RIDGE_NVML(nvmlDeviceGetUUID));
  PciInfo pci{};
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetPciInfo_v3), &pci))
    card.pci_address = sysfs_pci_address(std::string_view(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id)));
  else
    card.pci_address = error;
  int major = 0, minor = 0;
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetCudaComputeCapability), &major, &minor))
    card.compute_capability = fmt::format("{}.{}", major, minor);
  else
    card.compute_capability = error;
}

void read_memory(const NvmlLibrary& library, CardReader& reader, Card& card) {
  Error error;
  MemoryInfo memory{};
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetMemoryInfo), &memory)) {
    card.memory_total_bytes = static_cast<int64_t>(memory.total);
    card.memory_used_bytes = static_cast<int64_t>(memory.used);
  } else {
    card.memory_total_bytes = card.memory_used_bytes = error;
  }
  Utilization busy{};
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetUtilizationRates), &busy))
    card.utilization_percent = int64_t{busy.gpu};
  else
    card.utilization_percent = error;
}

void read_errors(const NvmlLibrary& library, CardReader& reader, Card& card) {
  Error error;
  int current = 0, pending = 0;
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetEccMode), &current, &pending))
    card.ecc = current != 0;
  else
    card.ecc = error;
  auto count = [&](ErrorType type, CounterType counter) {
    return reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetTotalEccErrors), int{type}, int{counter});
  };
  card.ecc_corrected = count(kCorrected, kSinceStart);
  card.ecc_uncorrected = count(kUncorrected, kSinceStart);
  card.ecc_corrected_ever = count(kCorrected, kEver);
  card.ecc_uncorrected_ever = count(kUncorrected, kEver);
  unsigned corrected = 0, uncorrected = 0, remap_pending = 0, failed = 0;
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetRemappedRows), &corrected, &uncorrected, &remap_pending, &failed)) {
    card.rows_remapped = int64_t{corrected} + uncorrected;
    card.row_remap_pending = remap_pending != 0;
    card.row_remap_failed = failed != 0;
  } else {
    card.rows_remapped = error;
    card.row_remap_pending = card.row_remap_failed = error;
  }
}

void read_mode(const NvmlLibrary& library, CardReader& reader, Card& card) {
  card.persistence = reader.flag(RIDGE_NVML(nvmlDeviceGetPersistenceMode));
  card.compute_mode = reader.number<int>(RIDGE_NVML(nvmlDeviceGetComputeMode));
  card.performance_state = reader.number<int>(RIDGE_NVML(nvmlDeviceGetPerformanceState));
  // The same bits under the name that drivers had until 535.
  card.slowdown_bits = library.nvmlDeviceGetCurrentClocksEventReasons
                           ? reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetCurrentClocksEventReasons))
                           : reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetCurrentClocksThrottleReasons));
}

int64_t count_mig_instances(const NvmlLibrary& library, Device device) {
  unsigned most = 0;
  if (!library.nvmlDeviceGetMaxMigDeviceCount || !library.nvmlDeviceGetMigDeviceHandleByIndex) return 0;
  if (library.nvmlDeviceGetMaxMigDeviceCount(device, &most) != kSuccess) return 0;
  int64_t count = 0;
  for (unsigned i = 0; i < most; ++i) {
    Device instance = nullptr;
    count += library.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance) == kSuccess ? 1 : 0;
  }
  return count;
}

void read_mig(const NvmlLibrary& library, CardReader& reader, Card& card) {
  Error error;
  unsigned current = 0, pending = 0;
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetMigMode), &current, &pending)) {
    card.mig = current != 0;
    card.mig_instances = current != 0 ? count_mig_instances(library, reader.device()) : 0;
  } else {
    card.mig = error;
    card.mig_instances = error;
  }
}

void read_link(const NvmlLibrary& library, CardReader& reader, Card& card) {
  card.pcie_generation = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetCurrPcieLinkGeneration));
  card.pcie_generation_max = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetMaxPcieLinkGeneration));
  card.pcie_width = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetCurrPcieLinkWidth));
  card.pcie_width_max = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetMaxPcieLinkWidth));
  card.pcie_replays = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetPcieReplayCounter));
}

void read_heat_and_power(const NvmlLibrary& library, CardReader& reader, Card& card) {
  card.temperature_c = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetTemperature), kTemperatureSensor);
  card.slowdown_temperature_c = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetTemperatureThreshold), int{kSlowdown});
  card.power_mw = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetPowerUsage));
  card.power_limit_mw = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetEnforcedPowerLimit));
  card.power_limit_default_mw = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetPowerManagementDefaultLimit));
  Error error;
  unsigned least = 0, most = 0;
  if (reader.ask(error, RIDGE_NVML(nvmlDeviceGetPowerManagementLimitConstraints), &least, &most)) {
    card.power_limit_min_mw = int64_t{least};
    card.power_limit_max_mw = int64_t{most};
  } else {
    card.power_limit_min_mw = card.power_limit_max_mw = error;
  }
  card.energy_mj = reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetTotalEnergyConsumption));
}

void read_clocks(const NvmlLibrary& library, CardReader& reader, Card& card) {
  card.sm_clock_mhz = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetClockInfo), int{kSmClock});
  card.sm_clock_max_mhz = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetMaxClockInfo), int{kSmClock});
  card.memory_clock_mhz = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetClockInfo), int{kMemoryClock});
  card.memory_clock_max_mhz = reader.number<unsigned>(RIDGE_NVML(nvmlDeviceGetMaxClockInfo), int{kMemoryClock});
}

// NVLink 5 counts recoveries as a field and no longer as an error counter of the link.
Reading<int64_t> link_recoveries(const NvmlLibrary& library, CardReader& reader, unsigned link) {
  Reading<int64_t> counted =
      reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetNvLinkErrorCounter), link, int{kLinkRecovery});
  if (counted) return counted;
  FieldValue field{};
  field.field = kFieldLinkRecoveries;
  field.scope = link;
  auto* values = library.nvmlDeviceGetFieldValues;
  int code = values ? values(reader.device(), 1, &field) : int{kFunctionNotFound};
  if (code != kSuccess || field.result != kSuccess) return counted;
  return static_cast<int64_t>(field.type == kUnsigned ? field.value.u : field.value.ull);
}

PeerLink read_link_to_peer(const NvmlLibrary& library, CardReader& reader, unsigned index, bool up) {
  PeerLink link;
  link.index = static_cast<int>(index);
  link.up = up;
  PciInfo pci{};
  Error error{Code::kUnavailable, "the link is down"};
  auto* remote = library.nvmlDeviceGetNvLinkRemotePciInfo_v2;
  int code = !up ? int{kNotFound} : remote ? remote(reader.device(), index, &pci) : int{kFunctionNotFound};
  if (code == kSuccess)
    link.remote = sysfs_pci_address(std::string_view(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id)));
  else
    link.remote = up ? library.error("nvmlDeviceGetNvLinkRemotePciInfo_v2", code) : error;
  link.replays =
      reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetNvLinkErrorCounter), index, int{kLinkReplay});
  link.recoveries = link_recoveries(library, reader, index);
  link.crc_errors =
      reader.number<unsigned long long>(RIDGE_NVML(nvmlDeviceGetNvLinkErrorCounter), index, int{kLinkCrcFlit});
  return link;
}

// The library does not tell how many links there are: those are left out for which it knows no state.
void read_peer_links(const NvmlLibrary& library, CardReader& reader, Card& card) {
  auto* state = library.nvmlDeviceGetNvLinkState;
  int code = kFunctionNotFound, first_code = kFunctionNotFound;
  for (unsigned i = 0; state != nullptr && i < kMaxLinks && code != kGpuIsLost; ++i) {
    int up = 0;
    code = state(reader.device(), i, &up);
    if (i == 0) first_code = code;
    if (code == kSuccess) card.links.push_back(read_link_to_peer(library, reader, i, up != 0));
  }
  if (card.links.empty())
    card.peer_links = library.error("nvmlDeviceGetNvLinkState", first_code);
  else
    card.peer_links = static_cast<int64_t>(card.links.size());
}

// _v2 and _v3 fill the same structure; a library too old for both tells no processes.
void read_processes(const NvmlLibrary& library, CardReader& reader, Card& card) {
  auto* list = library.nvmlDeviceGetComputeRunningProcesses_v3 ? library.nvmlDeviceGetComputeRunningProcesses_v3
                                                               : library.nvmlDeviceGetComputeRunningProcesses_v2;
  if (list == nullptr) return;
  unsigned count = 64;
  std::vector<ProcessInfo> processes(count);
  int code = list(reader.device(), &count, processes.data());
  if (code == kInsufficientSize) {
    count += 16;  // room for those that start meanwhile
    processes.resize(count);
    code = list(reader.device(), &count, processes.data());
  }
  if (code != kSuccess) return;
  processes.resize(std::min<size_t>(count, processes.size()));
  for (const ProcessInfo& process : processes)
    card.processes.push_back(
        {process.pid, process.memory_bytes == kNoMemoryFigure ? -1 : static_cast<int64_t>(process.memory_bytes)});
}

}  // namespace

std::string sysfs_pci_address(std::string_view library_address) {
  std::string address = lower_case(library_address);
  size_t colon = address.find(':');
  // Eight digits of domain here, four in /sys unless the domain needs more.
  if (colon == 8 && address.starts_with("0000")) address.erase(0, 4);
  return address;
}

Nvml::Nvml(std::unique_ptr<NvmlLibrary> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&& other) noexcept = default;
Nvml& Nvml::operator=(Nvml&& other) noexcept {
  std::swap(library_, other.library_);
  return *this;
}
Nvml::~Nvml() {
  if (library_) library_->nvmlShutdown();
}

Result<Nvml> Nvml::open(const std::string& library) {
  RIDGE_ASSIGN(DynamicLibrary file, open_library(library, "RIDGE_NVML", {"libnvidia-ml.so.1"}));
  auto table = std::make_unique<NvmlLibrary>(std::move(file));
  RIDGE_TRY(find_functions(*table));
  if (int code = table->nvmlInit_v2(); code != kSuccess) {
    Error error = table->error("nvmlInit_v2", code);
    if (code == kVersionMismatch)
      error.message +=
          "; the library and the kernel module are of different versions: reboot, or load the module again";
    if (code == kDriverNotLoaded) error.message += "; load the nvidia kernel module and look at the kernel log";
    return Error{Code::kUnavailable, error.message};
  }
  return Nvml(std::move(table));
}

Result<int> Nvml::count() const {
  unsigned count = 0;
  int code = library_->nvmlDeviceGetCount_v2(&count);
  if (code != kSuccess) return library_->error("nvmlDeviceGetCount_v2", code);
  return static_cast<int>(count);
}

Card Nvml::card(int index) const {
  const NvmlLibrary& library = *library_;
  Card card;
  card.index = index;
  const Error foreign{Code::kUnsupported, "NVIDIA's library has no such notion"};
  card.memory_health = card.performance_level = card.partition = foreign;
  Device device = nullptr;
  if (int code = library.nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(index), &device); code != kSuccess) {
    Error error = library.error("nvmlDeviceGetHandleByIndex_v2", code);
    card.failure = error.message;
    visit_readings(card, [&](const char*, auto& reading) { reading = error; });
    return card;
  }
  CardReader reader(library, device);
  read_identity(library, reader, card);
  read_memory(library, reader, card);
  read_errors(library, reader, card);
  read_mode(library, reader, card);
  read_mig(library, reader, card);
  read_link(library, reader, card);
  read_heat_and_power(library, reader, card);
  read_clocks(library, reader, card);
  read_peer_links(library, reader, card);
  read_processes(library, reader, card);
  card.failure = reader.failure();
  return card;
}

CardSystem Nvml::system() const {
  const NvmlLibrary& library = *library_;
  CardSystem system;
  system.library = library.file.path();
  char driver[kTextSize] = "";
  int code = library.nvmlSystemGetDriverVersion(driver, kTextSize);
  if (code == kSuccess)
    system.driver_version = std::string(driver);
  else
    system.driver_version = library.error("nvmlSystemGetDriverVersion", code);
  int cuda = 0;
  auto* ask_cuda = library.nvmlSystemGetCudaDriverVersion_v2;
  code = ask_cuda ? ask_cuda(&cuda) : int{kFunctionNotFound};
  if (code == kSuccess)
    system.cuda_version = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  else
    system.cuda_version = library.error("nvmlSystemGetCudaDriverVersion_v2", code);
  Result<int> cards = count();
  for (int i = 0; cards && i < *cards; ++i) system.cards.push_back(card(i));
  return system;
}

}  // namespace ridge::gpu
