#include "gpu/level_zero_card.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "gpu/pcie.h"
#include "gpu/slowdown.h"
#include "gpu/uuid.h"

namespace ridge::gpu::level_zero {
namespace {

constexpr uint64_t kMemoryErrorCategories[] = {kComputeErrors, kNonComputeErrors, kCacheErrors};

// The library itself has no words for its codes; these are those of its specification, shortened.
const char* words_of(uint32_t code) {
  switch (code) {
    case kDeviceLost: return "the card is lost";
    case kRequiresReset: return "the card needs a reset";
    case kSurvivabilityMode: return "the card's firmware is broken, it only waits to be repaired";
    case kNoPermission: return "no permission: add the user to the groups render and video";
    case kNotAvailable: return "not available now";
    case kDependencyUnavailable: return "a library or driver that it needs is missing";
    case kUninitialized: return "not started: there is no driver that it knows";
    case kUnsupportedVersion: return "the driver is of another version";
    case kUnsupportedFeature: return "not supported";
    case kFunctionNotFound: return "the Level Zero loader is too old for this question";
    default: return "error";
  }
}

// The domain that stands for the whole card.
Handle power_domain(const Library& library, Reader& reader, Error& error) {
  std::vector<Handle> domains = list_of(reader, error, library.zesDeviceEnumPowerDomains, reader.card());
  for (Handle domain : domains) {
    PowerProperties properties{};
    if (reader.ask_of(error, library.zesPowerGetProperties, domain, &properties) && !properties.on_subdevice)
      return domain;
  }
  return domains.empty() ? nullptr : domains.front();
}

Handle engine_group(const Library& library, Reader& reader, Error& error) {
  Handle compute = nullptr;
  for (Handle group : list_of(reader, error, library.zesDeviceEnumEngineGroups, reader.card())) {
    EngineProperties properties{};
    if (!reader.ask_of(error, library.zesEngineGetProperties, group, &properties) || properties.on_subdevice) continue;
    if (properties.type == kAllEngines) return group;
    if (properties.type == kAllComputeEngines) compute = group;
  }
  return compute;
}

void read_growth(const Look& before, const Look& now, Card& card) {
  const Error standing{Code::kUnavailable, "the counter did not move between two looks"};
  card.energy_mj = card.power_mw = now.power_error;
  if (now.power_told) card.energy_mj = static_cast<int64_t>(now.energy.energy_uj / 1000);
  if (now.power_told && before.power_told) {
    auto time_us = static_cast<double>(now.energy.timestamp_us - before.energy.timestamp_us);
    auto energy_uj = static_cast<double>(now.energy.energy_uj - before.energy.energy_uj);
    card.power_mw = time_us > 0 ? Reading<int64_t>(std::llround(energy_uj / time_us * 1000)) : standing;
  }
  card.utilization_percent = now.use_error;
  if (now.use_told && before.use_told) {
    auto time = static_cast<double>(now.engines.timestamp - before.engines.timestamp);
    auto active = static_cast<double>(now.engines.active - before.engines.active);
    card.utilization_percent =
        time > 0 ? Reading<int64_t>(std::min<int64_t>(100, std::llround(active / time * 100))) : standing;
  }
}

void read_identity(const Library& library, Reader& reader, Card& card) {
  Error error;
  DeviceProperties properties{};
  if (reader.ask(error, library.zesDeviceGetProperties, &properties)) {
    std::string name = text_of(properties.core.name);
    card.name = name.empty() ? text_of(properties.model) : name;
    card.uuid = uuid_text(properties.core.uuid);
  } else {
    card.name = card.uuid = error;
  }
  PciProperties pci{};
  if (reader.ask(error, library.zesDevicePciGetProperties, &pci))
    card.pci_address = pci_address(pci.address.domain, pci.address.bus, pci.address.device, pci.address.function);
  else
    card.pci_address = error;
  DeviceState state{};
  if (!reader.ask(error, library.zesDeviceGetState, &state)) return;
  if ((state.reset_reasons & kWedged) != 0) reader.fail("zesDeviceGetState: the card hangs and needs a reset");
  card.row_remap_pending = (state.reset_reasons & kRepair) != 0;
}

// Sums over the memories on the card; their health is that of the worst.
void read_memory(const Library& library, Reader& reader, Card& card) {
  Error error;
  int64_t total = 0, free = 0;
  uint32_t worst = kHealthUnknown;
  for (Handle memory : list_of(reader, error, library.zesDeviceEnumMemoryModules, reader.card())) {
    MemoryProperties properties{};
    MemoryState state{};
    bool told = reader.ask_of(error, library.zesMemoryGetProperties, memory, &properties) &&
                properties.location == kOnDevice && reader.ask_of(error, library.zesMemoryGetState, memory, &state);
    if (!told) continue;
    total += static_cast<int64_t>(state.size_bytes);
    free += static_cast<int64_t>(state.free_bytes);
    worst = std::max(worst, state.health);
  }
  if (total == 0 && error.message.empty()) error = {Code::kUnsupported, "this card has no memory of its own"};
  card.memory_total_bytes = total > 0 ? Reading<int64_t>(total) : Reading<int64_t>(error);
  card.memory_used_bytes = total > 0 ? Reading<int64_t>(total - free) : Reading<int64_t>(error);
  constexpr const char* kHealth[] = {"", "ok", "degraded", "critical", "replace"};
  if (worst == kHealthUnknown || worst >= std::size(kHealth))
    card.memory_health = Error{Code::kUnsupported, "the card does not tell the health of its memory"};
  else
    card.memory_health = std::string(kHealth[worst]);
}

void read_errors(const Library& library, Reader& reader, Card& card) {
  Error error;
  EccProperties ecc{};
  if (reader.ask(error, library.zesDeviceGetEccState, &ecc) && ecc.current != kEccUnavailable)
    card.ecc = ecc.current == kEccEnabled;
  else
    card.ecc = error.message.empty() ? Error{Code::kUnsupported, "this card has no ECC"} : error;
  card.ecc_corrected = card.ecc_uncorrected = Error{Code::kUnsupported, "this card counts no errors"};
  for (Handle errors : list_of(reader, error, library.zesDeviceEnumRasErrorSets, reader.card())) {
    RasProperties properties{};
    RasState state{};
    if (!reader.ask_of(error, library.zesRasGetProperties, errors, &properties)) continue;
    Reading<int64_t>& count = properties.type == kCorrectable ? card.ecc_corrected : card.ecc_uncorrected;
    if (!reader.ask_of(error, library.zesRasGetState, errors, uint8_t{0}, &state)) {
      if (!count) count = error;
      continue;
    }
    int64_t sum = count ? *count : 0;
    for (uint64_t category : kMemoryErrorCategories) sum += static_cast<int64_t>(state.category[category]);
    count = sum;
  }
  card.ecc_corrected_ever = card.ecc_uncorrected_ever = Error{Code::kUnsupported, "Level Zero keeps no such count"};
}

Reading<int64_t> known(int64_t value, const char* what) {
  if (value > 0) return value;
  return Error{Code::kUnsupported, fmt::format("the card does not tell its {}", what)};
}

void read_link(const Library& library, Reader& reader, Card& card) {
  Error error;
  PciProperties pci{};
  card.pcie_generation_max = card.pcie_width_max = Error{Code::kUnavailable, "the card does not tell its link"};
  if (reader.ask(error, library.zesDevicePciGetProperties, &pci)) {
    card.pcie_generation_max = known(pci.most.generation, "highest PCIe generation");
    card.pcie_width_max = known(pci.most.lanes, "highest number of lanes");
  }
  PciState state{};
  if (reader.ask(error, library.zesDevicePciGetState, &state)) {
    card.pcie_generation = known(state.now.generation, "PCIe generation");
    card.pcie_width = known(state.now.lanes, "number of lanes");
  } else {
    card.pcie_generation = card.pcie_width = error;
  }
  PciStatistics statistics{};
  if (!reader.ask(error, library.zesDevicePciGetStats, &statistics))
    card.pcie_replays = error;
  else if (pci.has_replays)
    card.pcie_replays = static_cast<int64_t>(statistics.replays);
  else
    card.pcie_replays = Error{Code::kUnsupported, "the card does not count replays"};
}

void read_temperature(const Library& library, Reader& reader, Card& card) {
  Error error;
  double hottest = 0, most = 0;
  for (Handle sensor : list_of(reader, error, library.zesDeviceEnumTemperatureSensors, reader.card())) {
    TemperatureProperties properties{};
    double celsius = 0;
    if (!reader.ask_of(error, library.zesTemperatureGetProperties, sensor, &properties)) continue;
    if (properties.type != kWholeCard && properties.type != kChip) continue;
    if (!reader.ask_of(error, library.zesTemperatureGetState, sensor, &celsius)) continue;
    if (celsius < hottest) continue;
    hottest = celsius;
    most = properties.most_c;
  }
  card.temperature_c = hottest > 0 ? Reading<int64_t>(std::llround(hottest)) : Reading<int64_t>(error);
  card.slowdown_temperature_c = known(std::llround(most), "highest temperature");
}

// The lasting limit: by the list of newer drivers, else by the older function.
Reading<int64_t> sustained_limit(const Library& library, Reader& reader, Handle domain) {
  Error error;
  uint32_t count = 0;
  if (reader.ask_of(error, library.zesPowerGetLimitsExt, domain, &count, static_cast<PowerLimit*>(nullptr))) {
    std::vector<PowerLimit> limits(count);
    if (reader.ask_of(error, library.zesPowerGetLimitsExt, domain, &count, limits.data()))
      for (const PowerLimit& limit : limits)
        if (limit.level == kSustained && limit.unit == kMilliwatt && limit.limit > 0) return int64_t{limit.limit};
  }
  SustainedLimit sustained{};
  BurstLimit burst{};
  PeakLimit peak{};
  if (!reader.ask_of(error, library.zesPowerGetLimits, domain, &sustained, &burst, &peak)) return error;
  return known(sustained.power_mw, "power limit");
}

void read_power_limits(const Library& library, Reader& reader, Card& card) {
  Error error;
  Handle domain = power_domain(library, reader, error);
  PowerProperties properties{};
  if (domain == nullptr || !reader.ask_of(error, library.zesPowerGetProperties, domain, &properties)) {
    card.power_limit_set_mw = error;
    card.power_limit_mw = card.power_limit_default_mw = card.power_limit_min_mw = card.power_limit_max_mw = error;
    return;
  }
  card.power_limit_mw = card.power_limit_set_mw = sustained_limit(library, reader, domain);
  card.power_limit_default_mw = known(properties.default_mw, "default power limit");
  card.power_limit_min_mw = known(properties.least_mw, "lowest power limit");
  card.power_limit_max_mw = known(properties.most_mw, "highest power limit");
}

// Of several tiles the fastest clock, and every reason.
void read_clocks(const Library& library, Reader& reader, Card& card) {
  Error error;
  card.sm_clock_mhz = card.sm_clock_max_mhz = card.memory_clock_mhz = card.memory_clock_max_mhz =
      Error{Code::kUnsupported, "the card does not tell this clock"};
  std::optional<uint32_t> reasons;
  for (Handle clock : list_of(reader, error, library.zesDeviceEnumFrequencyDomains, reader.card())) {
    FrequencyProperties properties{};
    FrequencyState state{};
    if (!reader.ask_of(error, library.zesFrequencyGetProperties, clock, &properties)) continue;
    if (properties.type != kChipClock && properties.type != kMemoryClock) continue;
    if (!reader.ask_of(error, library.zesFrequencyGetState, clock, &state)) continue;
    bool chip = properties.type == kChipClock;
    Reading<int64_t>& now = chip ? card.sm_clock_mhz : card.memory_clock_mhz;
    Reading<int64_t>& most = chip ? card.sm_clock_max_mhz : card.memory_clock_max_mhz;
    if (state.actual_mhz >= 0) now = std::max(now ? *now : 0, int64_t{std::llround(state.actual_mhz)});
    if (properties.most_mhz > 0) most = std::max(most ? *most : 0, int64_t{std::llround(properties.most_mhz)});
    if (chip) reasons = reasons.value_or(0) | state.throttle_reasons;
  }
  if (reasons)
    card.slowdown_bits = static_cast<int64_t>(slowdown_of_level_zero(*reasons));
  else
    card.slowdown_bits = error;
}

void read_processes(const Library& library, Reader& reader, Card& card) {
  Error error;
  uint32_t count = 0;
  auto* none = static_cast<ProcessState*>(nullptr);
  if (!reader.ask(error, library.zesDeviceProcessesGetState, &count, none) || count == 0) return;
  std::vector<ProcessState> processes(count += 16);  // room for those that start meanwhile
  if (!reader.ask(error, library.zesDeviceProcessesGetState, &count, processes.data())) return;
  processes.resize(std::min<size_t>(count, processes.size()));
  for (const ProcessState& process : processes)
    card.processes.push_back({process.pid, static_cast<int64_t>(process.memory_bytes)});
}

}  // namespace

Error Library::error(const char* function, uint32_t code) {
  bool unsupported = code == kUnsupportedFeature || code == kFunctionNotFound;
  return {unsupported ? Code::kUnsupported : Code::kUnavailable,
          fmt::format("{}: {} (Level Zero result {:#x})", function, words_of(code), code)};
}

Look look(const Library& library, Reader& reader) {
  Look result;
  if (Handle domain = power_domain(library, reader, result.power_error))
    result.power_told = reader.ask_of(result.power_error, library.zesPowerGetEnergyCounter, domain, &result.energy);
  if (Handle group = engine_group(library, reader, result.use_error))
    result.use_told = reader.ask_of(result.use_error, library.zesEngineGetActivity, group, &result.engines);
  return result;
}

Card read_card(const Library& library, size_t index, const Look& before) {
  Card card;
  card.index = static_cast<int>(index);
  Reader reader(library, library.devices[index]);
  const Error foreign{Code::kUnsupported, "Level Zero has no such notion"};
  card.cores = card.memory_bus_bits = foreign;
  card.architecture = card.compute_capability = card.performance_level = card.partition = foreign;
  card.persistence = card.mig = card.row_remap_pending = card.row_remap_failed = foreign;
  card.compute_mode = card.performance_state = card.mig_instances = card.peer_links = card.rows_remapped = foreign;
  read_identity(library, reader, card);
  read_memory(library, reader, card);
  read_errors(library, reader, card);
  read_link(library, reader, card);
  read_temperature(library, reader, card);
  read_power_limits(library, reader, card);
  read_clocks(library, reader, card);
  read_processes(library, reader, card);
  read_growth(before, look(library, reader), card);
  card.failure = reader.failure();
  return card;
}

}  // namespace ridge::gpu::level_zero
