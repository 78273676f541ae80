#include "doctor/memory_modules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/proc_text.h"

namespace ridge::doctor {
namespace {

// Offsets in the formatted part, DSP0134 table 76.
constexpr size_t kType = 0x00, kLength = 0x01, kDataWidth = 0x0A, kSize = 0x0C, kLocator = 0x10, kBank = 0x11,
                 kSpeed = 0x15, kExtendedSize = 0x1C, kConfiguredSpeed = 0x20;
constexpr int kMemoryDevice = 17;

class Structure {
 public:
  explicit Structure(std::string_view raw) : raw_(raw) {}
  size_t length() const { return raw_.size() > kLength ? byte(kLength) : 0; }
  unsigned byte(size_t at) const { return static_cast<unsigned char>(raw_[at]); }
  // 0 if this structure, of an older version, ends before it.
  uint32_t word(size_t at) const { return at + 2 <= length() ? byte(at) | byte(at + 1) << 8 : 0; }
  uint32_t double_word(size_t at) const { return at + 4 <= length() ? word(at) | word(at + 2) << 16 : 0; }
  // Strings follow the formatted part, numbered from 1, each ended by a zero byte.
  std::string text(size_t at) const {
    if (at >= length()) return "";
    unsigned number = byte(at);
    std::string_view rest = raw_.substr(std::min(length(), raw_.size()));
    for (unsigned i = 1; i < number && !rest.empty(); ++i)
      rest.remove_prefix(std::min(rest.find('\0') + 1, rest.size()));
    return number == 0 ? "" : std::string(trim(rest.substr(0, rest.find('\0'))));
  }

 private:
  std::string_view raw_;
};

int64_t size_of(const Structure& structure) {
  uint32_t size = structure.word(kSize);
  if (size == 0 || size == 0xFFFF) return 0;  // empty, unknown
  if (size == 0x7FFF) return int64_t{structure.double_word(kExtendedSize) & 0x7FFFFFFFU} << 20;
  return (size & 0x8000) != 0 ? int64_t{size & 0x7FFF} << 10 : int64_t{size} << 20;
}

int64_t slowest(int64_t known, int64_t speed) { return speed > 0 && (known == 0 || speed < known) ? speed : known; }

}  // namespace

std::optional<MemoryModule> parse_memory_module(std::string_view raw) {
  Structure structure(raw);
  if (structure.length() < kSpeed || raw.size() < structure.length() || structure.byte(kType) != kMemoryDevice)
    return std::nullopt;
  MemoryModule module;
  module.locator = structure.text(kLocator);
  module.bank = structure.text(kBank);
  module.size_bytes = size_of(structure);
  module.data_bits = static_cast<int>(structure.word(kDataWidth));
  module.megatransfers_rated = structure.word(kSpeed);
  module.megatransfers_per_s = structure.word(kConfiguredSpeed);
  if (module.megatransfers_per_s == 0) module.megatransfers_per_s = module.megatransfers_rated;
  return module;
}

std::optional<std::string> channel_of(const MemoryModule& module) {
  // "P0 CHANNEL A", "ChannelB-DIMM0", "Controller1-ChannelA"; the node or controller before it counts too.
  static const std::regex by_word("^(.*channel[ _-]*[a-z0-9])", std::regex::icase);
  // "CPU1_DIMM_A2", "DIMM B1", "P1-DIMMC1": letter of the channel, number of the slot on it.
  static const std::regex by_letter("^(.*dimm[ _-]*[a-p])[ _-]?[0-9]$", std::regex::icase);
  for (const std::string* name : {&module.bank, &module.locator}) {
    std::smatch match;
    if (std::regex_search(*name, match, by_word) || std::regex_search(*name, match, by_letter)) return match[1].str();
  }
  return std::nullopt;
}

MemoryPlatform platform_of(const std::vector<MemoryModule>& modules) {
  MemoryPlatform platform;
  std::set<std::string> used, all;
  for (const MemoryModule& module : modules) {
    std::optional<std::string> channel = channel_of(module);
    platform.channels_assumed |= !channel;
    std::string name = channel.value_or(module.bank + "/" + module.locator);
    all.insert(name);
    ++platform.slots;
    if (module.size_bytes == 0) continue;
    used.insert(name);
    ++platform.modules;
    platform.megatransfers_per_s = slowest(platform.megatransfers_per_s, module.megatransfers_per_s);
    platform.megatransfers_rated = slowest(platform.megatransfers_rated, module.megatransfers_rated);
  }
  platform.channels = static_cast<int>(used.size());
  platform.channels_total = static_cast<int>(all.size());
  constexpr double kBytesPerTransfer = 8;  // 64 data bits per channel; DDR5 has two half-channels of 32 per module
  platform.bytes_per_s =
      platform.channels * 1e6 * static_cast<double>(platform.megatransfers_per_s) * kBytesPerTransfer;
  return platform;
}

}  // namespace ridge::doctor
