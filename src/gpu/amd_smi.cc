#include "gpu/amd_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "gpu/amd_card.h"
#include "gpu/amd_smi_abi.h"
#include "gpu/card_reader.h"
#include "gpu/library_function.h"
#include "gpu/pcie.h"
#include "gpu/rocm_smi.h"

namespace ridge::gpu::amd_smi {

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  std::vector<Handle> cards;
  ProcessLayout process = kProcessSince25;
#define RIDGE_MEMBER(name, ...) Function<__VA_ARGS__> name{file, #name, complete};
  RIDGE_AMD_SMI_REQUIRED(RIDGE_MEMBER)
#undef RIDGE_MEMBER
#define RIDGE_MEMBER(name, ...) Function<__VA_ARGS__> name{file, #name};
  RIDGE_AMD_SMI_OPTIONAL(RIDGE_MEMBER)
#undef RIDGE_MEMBER

  using CardHandle = Handle;
  using StatusCode = uint32_t;
  static constexpr uint32_t kOk = kSuccess, kAbsent = kFunctionNotFound;
  static bool broken(uint32_t status) {
    return status == kFileError || status == kInputOutput || status == kApiFailed || status == kNotFound;
  }
  Error error(const char* function, uint32_t status) const {
    if (status == kFunctionNotFound)
      return {Code::kUnsupported, fmt::format("{}: this AMD SMI library is too old for this question", function)};
    const char* words = nullptr;
    amdsmi_status_code_to_string(status, &words);
    std::string text = fmt::format("{}: {} (AMD SMI status {})", function, words ? words : "unknown error", status);
    if (status == kNoPermission) text += "; no permission: add the user to the groups render and video";
    bool unsupported = status == kNotSupported || status == kNotYetImplemented;
    return {unsupported ? Code::kUnsupported : Code::kUnavailable, std::move(text)};
  }
};

namespace {

using Reader = CardReader<Library>;

constexpr uint32_t kUntold = ~uint32_t{0};
constexpr uint16_t kUntoldShort = 0xFFFF;

// .26 is of ROCm 7, .25 of 6.4, .24 of 6.1 to 6.3.
const std::vector<std::string> kFiles = {"libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "libamd_smi.so",
                                         "/opt/rocm/lib/libamd_smi.so"};

// Of structures that begin with a text of at most kNameBytes.
template <typename Signature>
Reading<std::string> first_text(Reader& reader, const LibraryFunction<Signature>& function) {
  std::vector<char> buffer(kBufferBytes, '\0');
  Error error;
  if (!reader.ask(error, function, static_cast<void*>(buffer.data()))) return error;
  return std::string(buffer.data(), strnlen(buffer.data(), kNameBytes));
}

void read_identity(const Library& library, Reader& reader, Card& card) {
  Error error;
  card.name = first_text(reader, library.amdsmi_get_gpu_asic_info);
  char uuid[kNameBytes] = "";
  unsigned size = sizeof uuid;
  if (reader.ask(error, library.amdsmi_get_gpu_device_uuid, &size, static_cast<char*>(uuid)))
    card.uuid = std::string(uuid, strnlen(uuid, sizeof uuid));
  else
    card.uuid = error;
  // amdsmi_bdf_t: function, device, bus and domain in bits 2–0, 7–3, 15–8 and 63–16.
  uint64_t id = 0;
  if (reader.ask(error, library.amdsmi_get_gpu_device_bdf, &id))
    card.pci_address = pci_address(id >> 16, id >> 8 & 0xFF, id >> 3 & 0x1F, id & 7);
  else
    card.pci_address = error;
}

void read_memory(const Library& library, Reader& reader, Card& card) {
  Error error;
  card.memory_total_bytes = reader.number<uint64_t>(library.amdsmi_get_gpu_memory_total, uint32_t{kVideoMemory});
  card.memory_used_bytes = reader.number<uint64_t>(library.amdsmi_get_gpu_memory_usage, uint32_t{kVideoMemory});
  EngineUsage usage{};
  if (!reader.ask(error, library.amdsmi_get_gpu_activity, &usage))
    card.utilization_percent = error;
  else if (usage.graphics == kUntold || usage.graphics == kUntoldShort)
    card.utilization_percent = Error{Code::kUnsupported, "amdsmi_get_gpu_activity: this card does not tell its use"};
  else
    card.utilization_percent = int64_t{usage.graphics};
}

void read_errors(const Library& library, Reader& reader, Card& card) {
  Error error;
  Reading<int64_t> blocks = reader.number<uint64_t>(library.amdsmi_get_gpu_ecc_enabled);
  card.ecc = blocks ? Reading<bool>((static_cast<uint64_t>(*blocks) & kMemoryBlock) != 0)
                    : Reading<bool>(Error{Code::kUnavailable, blocks.reason});
  ErrorCount count{};
  if (reader.ask(error, library.amdsmi_get_gpu_total_ecc_count, &count)) {
    card.ecc_corrected = static_cast<int64_t>(count.correctable);
    card.ecc_uncorrected = static_cast<int64_t>(count.uncorrectable);
  } else {
    card.ecc_corrected = card.ecc_uncorrected = error;
  }
}

void read_mode(const Library& library, Reader& reader, Card& card) {
  card.performance_level = performance_level_of(reader.number<uint32_t>(library.amdsmi_get_gpu_perf_level));
  card.partition = reader.text(library.amdsmi_get_gpu_compute_partition);
}

void read_link(const Library& library, Reader& reader, Card& card) {
  Error error;
  PcieInfo info{};
  if (!reader.ask(error, library.amdsmi_get_pcie_info, &info)) {
    card.pcie_generation = card.pcie_generation_max = card.pcie_width = card.pcie_width_max = card.pcie_replays = error;
    return;
  }
  const Error untold{Code::kUnsupported, "amdsmi_get_pcie_info: this card does not tell it"};
  auto lanes = [&](uint16_t value) {
    return value == 0 || value == kUntoldShort ? Reading<int64_t>(untold) : Reading<int64_t>(int64_t{value});
  };
  auto generation = [&](uint32_t speed) {
    return speed == 0 || speed == kUntold ? Reading<int64_t>(untold) : Reading<int64_t>(pcie_generation(speed * 1e6));
  };
  card.pcie_width = lanes(info.lanes);
  card.pcie_width_max = lanes(info.most_lanes);
  card.pcie_generation = generation(info.speed);
  card.pcie_generation_max = generation(info.most_speed);
  card.pcie_replays = info.replays == ~uint64_t{0} ? Reading<int64_t>(untold) : static_cast<int64_t>(info.replays);
}

// The documentation says microwatt; versions before 25 fill in watts. No card has a limit of less than a tenth of a
// watt or more than a hundred kilowatt.
int64_t milliwatts(uint64_t limit) { return static_cast<int64_t>(limit < 100000 ? limit * 1000 : limit / 1000); }

void read_heat_and_power(const Library& library, Reader& reader, const AmdMetrics& metrics, Card& card) {
  auto temperature = [&](TemperatureMetric metric) {
    Reading<int64_t> hottest;
    for (TemperatureSensor sensor : {kHotspot, kEdge})
      if (!hottest)
        hottest = reader.number<int64_t>(library.amdsmi_get_temp_metric, uint32_t{sensor}, uint32_t{metric});
    return hottest;
  };
  card.temperature_c = temperature(kTemperatureNow);
  card.slowdown_temperature_c = temperature(kTemperatureCritical);
  uint16_t power_w = metrics.socket_power_w != kUntoldShort ? metrics.socket_power_w : metrics.average_power_w;
  card.power_mw = power_w != kUntoldShort ? Reading<int64_t>(int64_t{power_w} * 1000)
                                          : Error{Code::kUnsupported, "the metrics of this card tell no power"};
  Error error;
  PowerCaps caps{};
  bool capped = reader.ask(error, library.amdsmi_get_power_cap_info, 0U, &caps);
  if (capped && caps.now == 0) error = {Code::kUnsupported, "amdsmi_get_power_cap_info: this card tells no limit"};
  if (capped && caps.now > 0) {
    card.power_limit_mw = milliwatts(caps.now);
    card.power_limit_default_mw = milliwatts(caps.by_default);
    card.power_limit_min_mw = milliwatts(caps.least);
    card.power_limit_max_mw = milliwatts(caps.most);
  } else {
    card.power_limit_mw = card.power_limit_default_mw = card.power_limit_min_mw = card.power_limit_max_mw = error;
  }
  card.power_limit_set_mw = card.power_limit_mw;
  card.energy_mj = energy_mj(reader, library.amdsmi_get_energy_count);
}

void read_clock(const Library& library, Reader& reader, ClockType clock, Reading<int64_t>& now,
                Reading<int64_t>& most) {
  Error error;
  ClockInfo info{};
  if (!reader.ask(error, library.amdsmi_get_clock_info, uint32_t{clock}, &info)) {
    now = most = error;
    return;
  }
  const Error untold{Code::kUnsupported, "amdsmi_get_clock_info: this card does not tell this clock"};
  bool known = info.now != kUntold && info.now != kUntoldShort;
  now = known ? Reading<int64_t>(int64_t{info.now}) : Reading<int64_t>(untold);
  most = info.most != kUntold ? Reading<int64_t>(int64_t{info.most}) : Reading<int64_t>(untold);
}

void read_processes(const Library& library, Reader& reader, Card& card) {
  Error error;
  uint32_t count = 0;
  auto* none = static_cast<void*>(nullptr);
  if (!reader.ask(error, library.amdsmi_get_gpu_process_list, &count, none) || count == 0) return;
  count += 16;  // room for those that start meanwhile
  std::vector<unsigned char> buffer(count * library.process.size);
  const uint32_t room = count;
  if (!reader.ask(error, library.amdsmi_get_gpu_process_list, &count, static_cast<void*>(buffer.data()))) return;
  for (uint32_t i = 0; i < std::min(count, room); ++i) {
    const unsigned char* entry = buffer.data() + i * library.process.size;
    uint32_t pid = 0;
    uint64_t memory = 0;
    std::memcpy(&pid, entry + library.process.pid, sizeof pid);
    std::memcpy(&memory, entry + library.process.memory, sizeof memory);
    card.processes.push_back({pid, static_cast<int64_t>(memory)});
  }
}

Card read_card(const Library& library, size_t index, const AmdMetrics& before) {
  Card card;
  card.index = static_cast<int>(index);
  mark_untold("AMD SMI", card);
  Reader reader(library, library.cards[index]);
  Error error{Code::kUnavailable, ""};
  AmdMetrics metrics = look_at_metrics(reader, library.amdsmi_get_gpu_metrics_info, error);
  read_identity(library, reader, card);
  read_memory(library, reader, card);
  read_errors(library, reader, card);
  read_retired_pages(reader, library.amdsmi_get_gpu_memory_reserved_pages, card);
  read_mode(library, reader, card);
  read_link(library, reader, card);
  read_heat_and_power(library, reader, metrics, card);
  read_clock(library, reader, kSystemClock, card.sm_clock_mhz, card.sm_clock_max_mhz);
  read_clock(library, reader, kMemoryClock, card.memory_clock_mhz, card.memory_clock_max_mhz);
  read_processes(library, reader, card);
  card.slowdown_bits = slowdown_of(before, metrics, error);
  card.failure = failure_of(card, reader);
  return card;
}

// Sockets hold processors; those that are no GPUs are left out.
Status find_cards(Library& library) {
  uint32_t count = 0;
  uint32_t status = library.amdsmi_get_socket_handles(&count, nullptr);
  std::vector<Handle> sockets(count);
  if (status == kSuccess && count > 0) status = library.amdsmi_get_socket_handles(&count, sockets.data());
  if (status != kSuccess) return library.error("amdsmi_get_socket_handles", status);
  for (Handle socket : sockets) {
    uint32_t number = 0;
    if (library.amdsmi_get_processor_handles(socket, &number, nullptr) != kSuccess) continue;
    std::vector<Handle> processors(number);
    if (library.amdsmi_get_processor_handles(socket, &number, processors.data()) != kSuccess) continue;
    for (Handle processor : processors) {
      uint32_t type = kGpu;
      const auto& ask = library.amdsmi_get_processor_type;
      if (ask == nullptr || ask(processor, &type) != kSuccess || type == kGpu) library.cards.push_back(processor);
    }
  }
  return {};
}

Status start(Library& library) {
  if (uint32_t status = library.amdsmi_init(kGpus); status != kSuccess) {
    Error error = library.error("amdsmi_init", status);
    if (status == kDriverNotLoaded) error.message += "; load the amdgpu kernel module and look at the kernel log";
    return Error{Code::kUnavailable, error.message};
  }
  alignas(8) unsigned char version[64] = {};
  uint32_t first = kFirstWithLongTexts;
  if (library.amdsmi_get_lib_version(version) == kSuccess) std::memcpy(&first, version, sizeof first);
  library.process = first < kFirstWithLongTexts ? kProcessOf24 : kProcessSince25;
  return {};
}

void read_system(const Library& library, CardSystem& system) {
  std::vector<AmdMetrics> before;
  Error ignored;
  for (Handle card : library.cards) {
    Reader reader(library, card);
    before.push_back(look_at_metrics(reader, library.amdsmi_get_gpu_metrics_info, ignored));
    if (!system.driver_version) system.driver_version = first_text(reader, library.amdsmi_get_gpu_driver_info);
  }
  if (!before.empty()) std::this_thread::sleep_for(kBetweenLooks);
  for (size_t i = 0; i < library.cards.size(); ++i) system.cards.push_back(read_card(library, i, before[i]));
}

}  // namespace
}  // namespace ridge::gpu::amd_smi

namespace ridge::gpu {

AmdSmi::AmdSmi(std::unique_ptr<amd_smi::Library> library) : library_(std::move(library)) {}
AmdSmi::AmdSmi(AmdSmi&& other) noexcept = default;
AmdSmi& AmdSmi::operator=(AmdSmi&& other) noexcept {
  std::swap(library_, other.library_);
  return *this;
}
AmdSmi::~AmdSmi() {
  if (library_) library_->amdsmi_shut_down();
}

Result<AmdSmi> AmdSmi::open(const std::string& library) {
  RIDGE_ASSIGN(auto table, open_table<amd_smi::Library>(library, "RIDGE_AMD_SMI", amd_smi::kFiles, "ROCm"));
  RIDGE_TRY(amd_smi::start(*table));
  AmdSmi opened(std::move(table));
  RIDGE_TRY(amd_smi::find_cards(*opened.library_));
  return opened;
}

int AmdSmi::count() const { return static_cast<int>(library_->cards.size()); }

CardSystem AmdSmi::system() const {
  CardSystem system;
  system.library = library_->file.path();
  system.cuda_version = Error{Code::kUnsupported, "a notion of NVIDIA's"};
  system.driver_version = Error{Code::kNotFound, "there is no card to ask for its driver"};
  amd_smi::read_system(*library_, system);
  return system;
}

Result<CardSystem> amd_cards() {
  auto names = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
  };
  Error first{Code::kNotFound, ""};
  if (names("RIDGE_ROCM_SMI") || !names("RIDGE_AMD_SMI")) {
    Result<RocmSmi> library = RocmSmi::open();
    if (library) return library->system();
    if (library.error().code == Code::kUnavailable) return library.error();
    first = library.error();
  }
  Result<AmdSmi> successor = AmdSmi::open();
  if (successor) return successor->system();
  if (first.message.empty() || successor.error().code == Code::kUnavailable) return successor.error();
  return Error{first.code, first.message + "; " + successor.error().message};
}

}  // namespace ridge::gpu
