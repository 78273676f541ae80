// A stand-in for the Level Zero loader (libze_loader.so.1) that plays the cards of a script. Loaded by
// RIDGE_LEVEL_ZERO=<this file>; the script is the text file that RIDGE_FAKE_LEVEL_ZERO names. How one is written:
// scripted_cards.h; its `fail` lines give Level Zero's result codes. Beside the names of src/gpu/card.h a card has:
//
//   throttle_reasons 0x8            of its clock
//   integrated true                 it is part of a processor
//   reset_reasons 1                 it hangs (1) or waits for a repair (2)
//
// Energy and activity grow with time as power_mw and utilization_percent say. With FAKE_LEVEL_ZERO_OLD defined it is
// one before 1.5, which starts by zeInit and only with ZES_ENABLE_SYSMAN=1.
#include <chrono>
#include <cstring>
#include <deque>

#include "gpu/level_zero_abi.h"
#include "scripted_cards.h"

using namespace ridge;
using namespace ridge::gpu::level_zero;
using fake::number_of, fake::Part, fake::Script, fake::says, fake::script_of;

namespace {

Script& script() { return script_of("RIDGE_FAKE_LEVEL_ZERO"); }
Handle handle_of(const Part& part) { return reinterpret_cast<Handle>(const_cast<Part*>(&part)); }
const Part& card(Handle device) { return *reinterpret_cast<Part*>(device); }

// A domain of a card: its clock, its memory, …
struct Domain {
  const Part* part;
  uint32_t type;
};
const Domain& domain(Handle handle) { return *reinterpret_cast<Domain*>(handle); }

uint32_t outcome(const Part& part, const char* function) { return fake::outcome(part, function, uint32_t{kSuccess}); }

// The domains with those types, if the card says the key.
uint32_t domains(Handle device, const char* function, const char* key, std::initializer_list<uint32_t> types,
                 uint32_t* count, Handle* handles) {
  static std::deque<Domain> made;
  if (uint32_t code = outcome(card(device), function); code != kSuccess) return code;
  *count = says(card(device), key) ? static_cast<uint32_t>(types.size()) : 0;
  if (handles == nullptr || *count == 0) return kSuccess;
  for (uint32_t type : types) *handles++ = reinterpret_cast<Handle>(&made.emplace_back(Domain{&card(device), type}));
  return kSuccess;
}

double microseconds() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(since).count();
}

template <size_t size>
void write(const std::string& text, char (&buffer)[size]) {
  std::memcpy(buffer, text.c_str(), std::min(size - 1, text.size()) + 1);
}

int32_t known(const Part& part, const char* key) {
  return says(part, key) ? static_cast<int32_t>(number_of(part, key)) : -1;
}

uint32_t list_drivers(uint32_t* count, Handle* drivers) {
  *count = 1;
  if (drivers != nullptr) *drivers = handle_of(script().system);
  return kSuccess;
}

uint32_t list_devices(uint32_t* count, Handle* devices) {
  *count = static_cast<uint32_t>(script().cards.size());
  for (uint32_t i = 0; devices != nullptr && i < *count; ++i) devices[i] = handle_of(script().cards[i]);
  return kSuccess;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT uint32_t zeInit(uint32_t) {
  const char* enabled = std::getenv("ZES_ENABLE_SYSMAN");
  if (enabled == nullptr || std::strcmp(enabled, "1") != 0) return kUninitialized;
  return outcome(script().system, "zeInit");
}
EXPORT uint32_t zeDriverGet(uint32_t* count, Handle* drivers) { return list_drivers(count, drivers); }
EXPORT uint32_t zeDeviceGet(Handle, uint32_t* count, Handle* devices) { return list_devices(count, devices); }

#ifndef FAKE_LEVEL_ZERO_OLD
EXPORT uint32_t zesInit(uint32_t) { return outcome(script().system, "zesInit"); }
EXPORT uint32_t zesDriverGet(uint32_t* count, Handle* drivers) { return list_drivers(count, drivers); }
EXPORT uint32_t zesDeviceGet(Handle, uint32_t* count, Handle* devices) { return list_devices(count, devices); }
EXPORT uint32_t zesDeviceGetEccState(Handle device, EccProperties* ecc) {
  if (says(card(device), "ecc")) ecc->current = number_of(card(device), "ecc") != 0 ? kEccEnabled : kEccDisabled;
  return outcome(card(device), "zesDeviceGetEccState");
}
EXPORT uint32_t zesPowerGetLimitsExt(Handle power, uint32_t* count, PowerLimit* limits) {
  *count = 1;
  if (limits != nullptr) limits->level = kSustained;
  if (limits != nullptr) limits->unit = kMilliwatt;
  if (limits != nullptr) limits->limit = known(*domain(power).part, "power_limit_mw");
  return outcome(*domain(power).part, "zesPowerGetLimitsExt");
}
#endif

EXPORT uint32_t zesDeviceGetProperties(Handle device, DeviceProperties* properties) {
  const Part& part = card(device);
  if (properties->kind != kDevicePropertiesKind || properties->core.kind != kCoreDevicePropertiesKind)
    return kInvalidArgument;
  properties->core.type = kGpu;
  properties->core.flags = number_of(part, "integrated") != 0 ? uint32_t{kIntegrated} : 0;
  write(text_of(part, "name"), properties->core.name);
  write(text_of(script().system, "driver_version"), properties->driver_version);
  properties->core.uuid[15] = static_cast<uint8_t>(number_of(part, "uuid"));
  return outcome(part, "zesDeviceGetProperties");
}
EXPORT uint32_t zesDeviceGetState(Handle device, DeviceState* state) {
  state->reset_reasons = static_cast<uint32_t>(number_of(card(device), "reset_reasons"));
  return outcome(card(device), "zesDeviceGetState");
}
EXPORT uint32_t zesDevicePciGetProperties(Handle device, PciProperties* pci) {
  fake::Address address = fake::address_of(card(device));
  pci->address = {address.domain, address.bus, address.device, address.function};
  pci->most = {known(card(device), "pcie_generation_max"), known(card(device), "pcie_width_max"), -1};
  pci->has_replays = says(card(device), "pcie_replays") ? 1 : 0;
  return outcome(card(device), "zesDevicePciGetProperties");
}
EXPORT uint32_t zesDevicePciGetState(Handle device, PciState* state) {
  state->now = {known(card(device), "pcie_generation"), known(card(device), "pcie_width"), -1};
  return outcome(card(device), "zesDevicePciGetState");
}
EXPORT uint32_t zesDevicePciGetStats(Handle device, PciStatistics* statistics) {
  statistics->replays = number_of(card(device), "pcie_replays");
  return outcome(card(device), "zesDevicePciGetStats");
}

EXPORT uint32_t zesDeviceEnumMemoryModules(Handle device, uint32_t* count, Handle* handles) {
  return domains(device, "zesDeviceEnumMemoryModules", "memory_total_bytes", {0, 1}, count, handles);  // two tiles
}
EXPORT uint32_t zesMemoryGetProperties(Handle memory, MemoryProperties* properties) {
  properties->location = kOnDevice;
  return outcome(*domain(memory).part, "zesMemoryGetProperties");
}
EXPORT uint32_t zesMemoryGetState(Handle memory, MemoryState* state) {
  const Part& part = *domain(memory).part;
  constexpr const char* kHealth[] = {"", "ok", "degraded", "critical", "replace"};
  for (uint32_t i = 0; i < std::size(kHealth); ++i)  // of the second tile; the first one is well
    if (text_of(part, "memory_health") == kHealth[i]) state->health = domain(memory).type == 0 && i > 0 ? 1 : i;
  state->size_bytes = number_of(part, "memory_total_bytes") / 2;
  state->free_bytes = (number_of(part, "memory_total_bytes") - number_of(part, "memory_used_bytes")) / 2;
  return outcome(part, "zesMemoryGetState");
}

EXPORT uint32_t zesDeviceEnumTemperatureSensors(Handle device, uint32_t* count, Handle* handles) {
  return domains(device, "zesDeviceEnumTemperatureSensors", "temperature_c", {kChip, 2}, count, handles);
}
EXPORT uint32_t zesTemperatureGetProperties(Handle sensor, TemperatureProperties* properties) {
  properties->type = domain(sensor).type;
  properties->most_c = known(*domain(sensor).part, "slowdown_temperature_c");
  return outcome(*domain(sensor).part, "zesTemperatureGetProperties");
}
EXPORT uint32_t zesTemperatureGetState(Handle sensor, double* celsius) {
  *celsius = static_cast<double>(number_of(*domain(sensor).part, "temperature_c"));
  return outcome(*domain(sensor).part, "zesTemperatureGetState");
}

EXPORT uint32_t zesDeviceEnumPowerDomains(Handle device, uint32_t* count, Handle* handles) {
  return domains(device, "zesDeviceEnumPowerDomains", "power_mw", {1, 0}, count, handles);  // a tile, the whole
}
EXPORT uint32_t zesPowerGetProperties(Handle power, PowerProperties* properties) {
  const Part& part = *domain(power).part;
  properties->on_subdevice = static_cast<uint8_t>(domain(power).type);
  properties->default_mw = known(part, "power_limit_default_mw");
  properties->least_mw = known(part, "power_limit_min_mw");
  properties->most_mw = known(part, "power_limit_max_mw");
  return outcome(part, "zesPowerGetProperties");
}
EXPORT uint32_t zesPowerGetEnergyCounter(Handle power, EnergyCounter* energy) {
  const Part& part = *domain(power).part;
  double now = microseconds();
  energy->timestamp_us = static_cast<uint64_t>(now);
  energy->energy_uj = static_cast<uint64_t>(now * static_cast<double>(number_of(part, "power_mw")) / 1000);
  return outcome(part, "zesPowerGetEnergyCounter");
}
EXPORT uint32_t zesPowerGetLimits(Handle power, SustainedLimit* sustained, BurstLimit*, PeakLimit*) {
  sustained->power_mw = known(*domain(power).part, "power_limit_mw");
  return outcome(*domain(power).part, "zesPowerGetLimits");
}

EXPORT uint32_t zesDeviceEnumFrequencyDomains(Handle device, uint32_t* count, Handle* handles) {
  return domains(device, "zesDeviceEnumFrequencyDomains", "sm_clock_mhz", {kChipClock, kMemoryClock}, count, handles);
}
EXPORT uint32_t zesFrequencyGetProperties(Handle clock, FrequencyProperties* properties) {
  const char* key = domain(clock).type == kMemoryClock ? "memory_clock_max_mhz" : "sm_clock_max_mhz";
  properties->type = domain(clock).type;
  properties->most_mhz = known(*domain(clock).part, key);
  return outcome(*domain(clock).part, "zesFrequencyGetProperties");
}
EXPORT uint32_t zesFrequencyGetState(Handle clock, FrequencyState* state) {
  const Part& part = *domain(clock).part;
  state->actual_mhz = known(part, domain(clock).type == kMemoryClock ? "memory_clock_mhz" : "sm_clock_mhz");
  state->throttle_reasons = static_cast<uint32_t>(number_of(part, "throttle_reasons"));
  return outcome(part, "zesFrequencyGetState");
}

EXPORT uint32_t zesDeviceEnumEngineGroups(Handle device, uint32_t* count, Handle* handles) {
  return domains(device, "zesDeviceEnumEngineGroups", "utilization_percent", {kAllComputeEngines, kAllEngines}, count,
                 handles);
}
EXPORT uint32_t zesEngineGetProperties(Handle engine, EngineProperties* properties) {
  properties->type = domain(engine).type;
  return outcome(*domain(engine).part, "zesEngineGetProperties");
}
EXPORT uint32_t zesEngineGetActivity(Handle engine, EngineActivity* activity) {
  const Part& part = *domain(engine).part;
  double now = microseconds();
  activity->timestamp = static_cast<uint64_t>(now);
  activity->active = static_cast<uint64_t>(now * static_cast<double>(number_of(part, "utilization_percent")) / 100);
  return outcome(part, "zesEngineGetActivity");
}

EXPORT uint32_t zesDeviceEnumRasErrorSets(Handle device, uint32_t* count, Handle* handles) {
  return domains(device, "zesDeviceEnumRasErrorSets", "ecc_uncorrected", {kCorrectable, kUncorrectable}, count,
                 handles);
}
EXPORT uint32_t zesRasGetProperties(Handle errors, RasProperties* properties) {
  properties->type = domain(errors).type;
  return outcome(*domain(errors).part, "zesRasGetProperties");
}
EXPORT uint32_t zesRasGetState(Handle errors, uint8_t clear, RasState* state) {
  if (clear != 0) return kInvalidArgument;  // it must only look
  const char* key = domain(errors).type == kCorrectable ? "ecc_corrected" : "ecc_uncorrected";
  state->category[0] = 1000;  // resets: no errors of the memory
  state->category[kNonComputeErrors] = number_of(*domain(errors).part, key);
  return outcome(*domain(errors).part, "zesRasGetState");
}

EXPORT uint32_t zesDeviceProcessesGetState(Handle device, uint32_t* count, ProcessState* processes) {
  *count = static_cast<uint32_t>(card(device).processes.size());
  for (const fake::Process& process : card(device).processes) {
    if (processes == nullptr) break;
    processes->pid = process.pid;
    processes->memory_bytes = process.bytes;
    ++processes;
  }
  return outcome(card(device), "zesDeviceProcessesGetState");
}

}  // extern "C"
