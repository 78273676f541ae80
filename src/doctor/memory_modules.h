// Memory modules as listed by the firmware (SMBIOS structure type 17), and their expected bandwidth.
// Source: DMTF DSP0134, System Management BIOS, 7.18 "Memory Device".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"

namespace ridge::doctor {

struct MemoryModule {
  std::string locator;              // "DIMM_A1", as the board's vendor names the slot
  std::string bank;                 // "P0 CHANNEL A"
  int64_t size_bytes = 0;           // 0: the slot is empty
  int64_t megatransfers_per_s = 0;  // as configured; 0: unknown
  int64_t megatransfers_rated = 0;  // the module's own; 0: unknown
  int data_bits = 0;                // without error correction bits
};
void visit_fields(auto& visit, Is<MemoryModule> auto& module) {
  visit.optional("locator", module.locator);
  visit.optional("bank", module.bank);
  visit("size_bytes", module.size_bytes);
  visit.optional("megatransfers_per_s", module.megatransfers_per_s);
  visit.optional("megatransfers_rated", module.megatransfers_rated);
  visit.optional("data_bits", module.data_bits);
}

// One structure: formatted part and strings, as /sys/firmware/dmi/entries/17-*/raw has it. Absent: not of type 17, or
// too short.
std::optional<MemoryModule> parse_memory_module(std::string_view raw);

// The memory channel of a slot: the letter or number in its names, nullopt without one.
std::optional<std::string> channel_of(const MemoryModule& module);

struct MemoryPlatform {
  int modules = 0, slots = 0;
  int channels = 0;                 // that have a module
  int channels_total = 0;           // identified by slot names
  bool channels_assumed = false;    // not identified by names: each module counts as a channel
  int64_t megatransfers_per_s = 0;  // the slowest configured
  int64_t megatransfers_rated = 0;  // the slowest rated
  double bytes_per_s = 0;           // channels × transfers × 8 bytes; 0: unknown
};
MemoryPlatform platform_of(const std::vector<MemoryModule>& modules);

}  // namespace ridge::doctor
