#include "gpu/rocm_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "gpu/amd_card.h"
#include "gpu/card_reader.h"
#include "gpu/library_function.h"
#include "gpu/pcie.h"
#include "gpu/rocm_smi_abi.h"

namespace ridge::gpu::rocm_smi {

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
#define RIDGE_MEMBER(name, ...) Function<__VA_ARGS__> name{file, #name, complete};
  RIDGE_ROCM_SMI_REQUIRED(RIDGE_MEMBER)
#undef RIDGE_MEMBER
#define RIDGE_MEMBER(name, ...) Function<__VA_ARGS__> name{file, #name};
  RIDGE_ROCM_SMI_OPTIONAL(RIDGE_MEMBER)
#undef RIDGE_MEMBER

  using CardHandle = uint32_t;
  using StatusCode = uint32_t;
  static constexpr uint32_t kOk = kSuccess, kAbsent = kFunctionNotFound;
  static bool broken(uint32_t status) {
    return status == kFileError || status == kInitError || status == kNotFound || status == kBusy;
  }
  Error error(const char* function, uint32_t status) const {
    if (status == kFunctionNotFound)
      return {Code::kUnsupported, fmt::format("{}: this ROCm SMI library is too old for this question", function)};
    const char* words = nullptr;
    rsmi_status_string(status, &words);
    std::string text = fmt::format("{}: {} (ROCm SMI status {})", function, words ? words : "unknown error", status);
    if (status == kPermission) text += "; no permission: add the user to the groups render and video";
    bool unsupported = status == kNotSupported || status == kNotYetImplemented;
    return {unsupported ? Code::kUnsupported : Code::kUnavailable, std::move(text)};
  }
};

namespace {

using Reader = CardReader<Library>;

constexpr uint32_t kTextSize = 256;

using ProcessesOfCards = std::map<uint32_t, std::vector<CardProcess>>;

template <typename Number>
Reading<int64_t> scaled(Reading<Number> reading, int64_t divisor) {
  if (reading) *reading.value /= divisor;
  return reading;
}

void read_identity(const Library& library, Reader& reader, Card& card) {
  Error error;
  card.name = reader.text(library.rsmi_dev_market_name_get);
  if (!card.name) card.name = reader.text(library.rsmi_dev_name_get);
  uint64_t id = 0;
  if (reader.ask(error, library.rsmi_dev_unique_id_get, &id))
    card.uuid = fmt::format("{:#018x}", id);
  else
    card.uuid = error;
  // Domain, bus, device and function in bits 63–32, 15–8, 7–3 and 2–0.
  if (reader.ask(error, library.rsmi_dev_pci_id_get, &id))
    card.pci_address = pci_address(id >> 32, id >> 8 & 0xFF, id >> 3 & 0x1F, id & 7);
  else
    card.pci_address = error;
}

void read_memory(const Library& library, Reader& reader, Card& card) {
  card.memory_total_bytes = reader.number<uint64_t>(library.rsmi_dev_memory_total_get, uint32_t{kVideoMemory});
  card.memory_used_bytes = reader.number<uint64_t>(library.rsmi_dev_memory_usage_get, uint32_t{kVideoMemory});
  card.utilization_percent = reader.number<uint32_t>(library.rsmi_dev_busy_percent_get);
}

// Sums over the blocks of the chip whose errors are counted.
void read_errors(const Library& library, Reader& reader, Card& card) {
  Error error;
  uint64_t blocks = 0;
  if (!reader.ask(error, library.rsmi_dev_ecc_enabled_get, &blocks)) {
    card.ecc = error;
    card.ecc_corrected = card.ecc_uncorrected = error;
  } else {
    card.ecc = (blocks & kMemoryBlock) != 0;
    int64_t corrected = 0, uncorrected = 0, counted = 0;
    for (uint64_t block = kMemoryBlock; block <= kLastBlock; block <<= 1) {
      ErrorCount errors{};
      if ((blocks & block) == 0 || !reader.ask(error, library.rsmi_dev_ecc_count_get, block, &errors)) continue;
      ++counted;
      corrected += static_cast<int64_t>(errors.correctable);
      uncorrected += static_cast<int64_t>(errors.uncorrectable);
    }
    if (blocks == 0) error = {Code::kUnsupported, "this card counts the errors of no block"};
    card.ecc_corrected = counted > 0 ? Reading<int64_t>(corrected) : Reading<int64_t>(error);
    card.ecc_uncorrected = counted > 0 ? Reading<int64_t>(uncorrected) : Reading<int64_t>(error);
  }
}

void read_mode(const Library& library, Reader& reader, Card& card) {
  card.partition = reader.text(library.rsmi_dev_compute_partition_get);
  card.performance_level = performance_level_of(reader.number<uint32_t>(library.rsmi_dev_perf_level_get));
}

void read_heat_and_power(const Library& library, Reader& reader, Card& card) {
  auto temperature = [&](TemperatureMetric metric) {
    Reading<int64_t> hottest;
    for (TemperatureSensor sensor : {kJunction, kEdge})
      if (!hottest)
        hottest = reader.number<int64_t>(library.rsmi_dev_temp_metric_get, uint32_t{sensor}, uint32_t{metric});
    return scaled(hottest, 1000);
  };
  card.temperature_c = temperature(kTemperatureNow);
  card.slowdown_temperature_c = temperature(kTemperatureCritical);
  Error error;
  uint64_t power = 0, most = 0, least = 0;
  uint32_t type = 0;
  if (reader.ask(error, library.rsmi_dev_power_get, &power, &type))
    card.power_mw = static_cast<int64_t>(power / 1000);
  else
    card.power_mw = scaled(reader.number<uint64_t>(library.rsmi_dev_power_ave_get, 0U), 1000);
  card.power_limit_mw = scaled(reader.number<uint64_t>(library.rsmi_dev_power_cap_get, 0U), 1000);
  card.power_limit_set_mw = card.power_limit_mw;
  card.power_limit_default_mw = scaled(reader.number<uint64_t>(library.rsmi_dev_power_cap_default_get), 1000);
  if (reader.ask(error, library.rsmi_dev_power_cap_range_get, 0U, &most, &least)) {
    card.power_limit_min_mw = static_cast<int64_t>(least / 1000);
    card.power_limit_max_mw = static_cast<int64_t>(most / 1000);
  } else {
    card.power_limit_min_mw = card.power_limit_max_mw = error;
  }
  card.energy_mj = energy_mj(reader, library.rsmi_dev_energy_count_get);
}

// Both layouts in the newer form.
PcieBandwidth widened(const PcieBandwidthV5& old) {
  PcieBandwidth wide{};
  wide.transfer_rate.supported = old.transfer_rate.supported;
  wide.transfer_rate.current = old.transfer_rate.current;
  std::copy(std::begin(old.transfer_rate.frequency), std::end(old.transfer_rate.frequency),
            wide.transfer_rate.frequency);
  std::copy(std::begin(old.lanes), std::end(old.lanes), wide.lanes);
  return wide;
}

bool ask_levels(const Library& library, Reader& reader, Error& error, PcieBandwidth& levels,
                std::optional<ClockType> clock) {
  const bool newer = library.rsmi_dev_metrics_header_info_get != nullptr;
  PcieBandwidthV5 old{};
  void* buffer = newer ? static_cast<void*>(&levels) : &old;
  bool told = clock ? reader.ask(error, library.rsmi_dev_gpu_clk_freq_get, uint32_t{*clock}, buffer)
                    : reader.ask(error, library.rsmi_dev_pci_bandwidth_get, buffer);
  if (told && !newer) levels = widened(old);
  levels.transfer_rate.supported = std::min(levels.transfer_rate.supported, kMostFrequencies);
  return told;
}

void read_clock(const Library& library, Reader& reader, ClockType clock, Reading<int64_t>& now,
                Reading<int64_t>& most) {
  Error error;
  PcieBandwidth levels{};
  const Frequencies& clocks = levels.transfer_rate;
  if (!ask_levels(library, reader, error, levels, clock)) {
    now = most = error;
    return;
  }
  now = most = Error{Code::kUnavailable, "rsmi_dev_gpu_clk_freq_get tells no clock"};
  if (clocks.current < clocks.supported) now = static_cast<int64_t>(clocks.frequency[clocks.current] / 1000000);
  if (clocks.supported > 0)
    most = static_cast<int64_t>(*std::max_element(clocks.frequency, clocks.frequency + clocks.supported) / 1000000);
}

// The levels tell what link there can be and at which of them it is; not every card has them, then the metrics tell
// what it is now.
void read_link(const Library& library, Reader& reader, const AmdMetrics& metrics, Card& card) {
  Error error;
  PcieBandwidth levels{};
  const Frequencies& rates = levels.transfer_rate;
  bool told = ask_levels(library, reader, error, levels, std::nullopt);
  if (told && rates.supported == 0) error = {Code::kUnavailable, "rsmi_dev_pci_bandwidth_get tells no link"};
  card.pcie_generation = card.pcie_generation_max = card.pcie_width = card.pcie_width_max = error;
  if (told && rates.supported > 0) {
    card.pcie_generation_max =
        pcie_generation(static_cast<double>(*std::max_element(rates.frequency, rates.frequency + rates.supported)));
    card.pcie_width_max = int64_t{*std::max_element(levels.lanes, levels.lanes + rates.supported)};
  }
  if (told && rates.current < rates.supported) {
    card.pcie_generation = pcie_generation(static_cast<double>(rates.frequency[rates.current]));
    card.pcie_width = int64_t{levels.lanes[rates.current]};
  }
  if (int64_t lanes = 0, generation = 0; link_of(metrics, lanes, generation)) {
    card.pcie_width = lanes;
    card.pcie_generation = generation;
  }
  card.pcie_replays = reader.number<uint64_t>(library.rsmi_dev_pci_replay_counter_get);
}

// Which process computes on which cards; empty where that is not told.
ProcessesOfCards processes_of_cards(const Library& library) {
  ProcessesOfCards result;
  uint32_t count = 0;
  const auto& list = library.rsmi_compute_process_info_get;
  const auto& cards_of = library.rsmi_compute_process_gpus_get;
  if (!list || !cards_of || list(nullptr, &count) != kSuccess) return result;
  std::vector<ProcessInfo> processes(count += 16);  // room for those that start meanwhile
  if (list(processes.data(), &count) != kSuccess) return result;
  processes.resize(std::min<size_t>(count, processes.size()));
  for (const ProcessInfo& process : processes) {
    uint32_t cards[64] = {}, used = std::size(cards);
    if (cards_of(process.process_id, cards, &used) != kSuccess) continue;
    for (uint32_t i = 0; i < std::min<uint32_t>(used, std::size(cards)); ++i) {
      ProcessInfo here{};
      const auto& ask = library.rsmi_compute_process_info_by_device_get;
      bool told = ask && ask(process.process_id, cards[i], &here) == kSuccess;
      result[cards[i]].push_back({process.process_id, told ? static_cast<int64_t>(here.memory_bytes) : -1});
    }
  }
  return result;
}

Card read_card(const Library& library, uint32_t index, const AmdMetrics& before) {
  Card card;
  card.index = static_cast<int>(index);
  mark_untold("ROCm SMI", card);
  Reader reader(library, index);
  Error error{Code::kUnavailable, ""};
  AmdMetrics metrics = look_at_metrics(reader, library.rsmi_dev_gpu_metrics_info_get, error);
  read_identity(library, reader, card);
  read_memory(library, reader, card);
  read_errors(library, reader, card);
  read_retired_pages(reader, library.rsmi_dev_memory_reserved_pages_get, card);
  read_mode(library, reader, card);
  read_link(library, reader, metrics, card);
  read_heat_and_power(library, reader, card);
  read_clock(library, reader, kSystemClock, card.sm_clock_mhz, card.sm_clock_max_mhz);
  read_clock(library, reader, kMemoryClock, card.memory_clock_mhz, card.memory_clock_max_mhz);
  card.slowdown_bits = slowdown_of(before, metrics, error);
  card.failure = failure_of(card, reader);
  return card;
}

// .1: Debian's and the newest builds; 7, 6, 5: as ROCm's own packages count.
const std::vector<std::string> kFiles = {
    "librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
    "librocm_smi64.so.1", "librocm_smi64.so",   "/opt/rocm/lib/librocm_smi64.so",
};

Status start(const Library& library) {
  uint32_t status = library.rsmi_init(0);
  if (status == kSuccess) return {};
  Error error = library.error("rsmi_init", status);
  if (status == kInitError) error.message += "; load the amdgpu kernel module and look at the kernel log";
  return Error{Code::kUnavailable, error.message};
}

Reading<std::string> driver_version(const Library& library) {
  char driver[kTextSize] = "";
  const auto& ask = library.rsmi_version_str_get;
  uint32_t status = ask ? ask(kDriver, driver, kTextSize) : uint32_t{kFunctionNotFound};
  if (status != kSuccess) return library.error(ask.name(), status);
  return std::string(driver, strnlen(driver, kTextSize));
}

std::vector<Card> read_cards(const Library& library, uint32_t count) {
  std::vector<AmdMetrics> before;
  Error ignored;
  for (uint32_t i = 0; i < count; ++i) {
    Reader reader(library, i);
    before.push_back(look_at_metrics(reader, library.rsmi_dev_gpu_metrics_info_get, ignored));
  }
  if (count > 0) std::this_thread::sleep_for(kBetweenLooks);
  ProcessesOfCards processes = processes_of_cards(library);
  std::vector<Card> cards;
  for (uint32_t i = 0; i < count; ++i) {
    cards.push_back(read_card(library, i, before[i]));
    cards.back().processes = processes[i];
  }
  return cards;
}

}  // namespace
}  // namespace ridge::gpu::rocm_smi

namespace ridge::gpu {

RocmSmi::RocmSmi(std::unique_ptr<rocm_smi::Library> library) : library_(std::move(library)) {}
RocmSmi::RocmSmi(RocmSmi&& other) noexcept = default;
RocmSmi& RocmSmi::operator=(RocmSmi&& other) noexcept {
  std::swap(library_, other.library_);
  return *this;
}
RocmSmi::~RocmSmi() {
  if (library_) library_->rsmi_shut_down();
}

Result<RocmSmi> RocmSmi::open(const std::string& library) {
  RIDGE_ASSIGN(auto table, open_table<rocm_smi::Library>(library, "RIDGE_ROCM_SMI", rocm_smi::kFiles, "ROCm"));
  RIDGE_TRY(rocm_smi::start(*table));
  return RocmSmi(std::move(table));
}

Result<int> RocmSmi::count() const {
  uint32_t count = 0;
  uint32_t status = library_->rsmi_num_monitor_devices(&count);
  if (status != rocm_smi::kSuccess) return library_->error("rsmi_num_monitor_devices", status);
  return static_cast<int>(count);
}

CardSystem RocmSmi::system() const {
  CardSystem system;
  system.library = library_->file.path();
  system.cuda_version = Error{Code::kUnsupported, "a notion of NVIDIA's"};
  system.driver_version = rocm_smi::driver_version(*library_);
  Result<int> cards = count();
  if (cards) system.cards = rocm_smi::read_cards(*library_, static_cast<uint32_t>(*cards));
  return system;
}

}  // namespace ridge::gpu
