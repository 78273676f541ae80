#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doctor/memory_modules.h"
#include "doctor/test_facts.h"

namespace ridge::doctor {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string judged_memory(std::string_view text, std::string_view id) {
  return found(judge_memory(facts_of(text)), id);
}

MemoryModule module(const char* locator, int64_t gib, int64_t speed = 4800, int64_t rated = 4800) {
  return {locator, "", gib << 30, speed, rated, 64};
}

Facts with_modules(const std::vector<MemoryModule>& modules) {
  Facts facts = facts_of("");
  facts.tree.files[entry::kMemoryModules] = dump_json(json_of(modules));
  return facts;
}

// Type 17 with 40 bytes: 64 data bits, 16 GiB, "DIMM_A1" in "BANK 0", 4800 MT/s rated, 4400 configured.
std::string structure() {
  std::string raw(40, '\0');
  raw[0] = 17;
  raw[1] = 40;
  auto word = [&](size_t at, unsigned value) {
    raw[at] = static_cast<char>(value & 0xFF);
    raw[at + 1] = static_cast<char>(value >> 8);
  };
  word(0x0A, 64);
  word(0x0C, 16384);  // [MiB]
  raw[0x10] = 1;
  raw[0x11] = 2;
  word(0x15, 4800);
  word(0x20, 4400);
  return raw + std::string("DIMM_A1\0BANK 0\0\0", 16);
}

TEST(MemoryModule, ReadsSizeSpeedAndNamesOfTheFirmwareStructure) {
  std::optional<MemoryModule> module = parse_memory_module(structure());
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->size_bytes, int64_t{16} << 30);
  EXPECT_EQ(module->megatransfers_per_s, 4400);
  EXPECT_EQ(module->megatransfers_rated, 4800);
  EXPECT_EQ(module->data_bits, 64);
  EXPECT_EQ(module->locator, "DIMM_A1");
  EXPECT_EQ(module->bank, "BANK 0");
}

TEST(MemoryModule, LargeSizesStandInTheExtendedField) {
  std::string raw = structure();
  raw[0x0C] = '\xFF';
  raw[0x0D] = '\x7F';
  raw[0x1E] = 1;  // 65536 MiB
  EXPECT_EQ(parse_memory_module(raw)->size_bytes, int64_t{64} << 30);
}

TEST(MemoryModule, CutOffOrOtherStructuresAreRefused) {
  EXPECT_FALSE(parse_memory_module("").has_value());
  EXPECT_FALSE(parse_memory_module(structure().substr(0, 20)).has_value());
  std::string other = structure();
  other[0] = 16;
  EXPECT_FALSE(parse_memory_module(other).has_value());
  std::string no_strings = structure().substr(0, 40);
  EXPECT_EQ(parse_memory_module(no_strings)->locator, "");
}

TEST(MemoryChannel, IsReadFromTheNamesThatBoardsUse) {
  auto channel = [](const char* locator, const char* bank) {
    return channel_of({locator, bank, 1, 0, 0, 64}).value_or("none");
  };
  EXPECT_EQ(channel("DIMM 0", "P0 CHANNEL A"), "P0 CHANNEL A");
  EXPECT_EQ(channel("ChannelB-DIMM0", "BANK 2"), "ChannelB");
  EXPECT_EQ(channel("CPU1_DIMM_C2", "NODE 1"), "CPU1_DIMM_C");
  EXPECT_EQ(channel("slot 3", "bank"), "none");
}

// Two channels of DDR5-4800: 2 × 4800e6 × 8 bytes = 76.8 GB/s.
TEST(MemoryPlatform, BandwidthIsChannelsTimesTransfersTimesEightBytes) {
  MemoryPlatform platform =
      platform_of({module("DIMM_A1", 16), module("DIMM_A2", 16), module("DIMM_B1", 16), module("DIMM_B2", 0)});
  EXPECT_EQ(platform.modules, 3);
  EXPECT_EQ(platform.slots, 4);
  EXPECT_EQ(platform.channels, 2);
  EXPECT_DOUBLE_EQ(platform.bytes_per_s, 76.8e9);
  EXPECT_FALSE(platform.channels_assumed);
}

TEST(MemoryChannels, EmptyChannelAndLowClockWarn) {
  EXPECT_THAT(found(judge_memory(with_modules({module("DIMM_A1", 16), module("DIMM_B1", 0)})), "memory.channels"),
              StartsWith("warn: 1 modules in 2 slots, 1 of 2 channels filled"));
  EXPECT_THAT(found(judge_memory(with_modules({module("DIMM_A1", 16, 3600, 4800), module("DIMM_B1", 16, 3600, 4800)})),
                    "memory.channels"),
              HasSubstr("3600 MT/s (rated 4800)"));
  EXPECT_THAT(found(judge_memory(with_modules({module("DIMM_A1", 16), module("DIMM_B1", 16)})), "memory.channels"),
              StartsWith("ok: "));
}

TEST(MemoryBandwidth, StandsBesideThePlatformsAndWarnsBelowHalf) {
  Facts facts = with_modules({module("DIMM_A1", 16), module("DIMM_B1", 16)});
  facts.machine->bandwidths = {{"DRAM", 4, 60e9, 0, 0, "avx2 load", Origin::kMeasured, 2, 1 << 28}};
  EXPECT_THAT(found(judge_memory(facts), "memory.bandwidth"),
              StartsWith("ok: 60.0 GB/s read by 4 threads (measured, spread 2 %), 78 % of 2 channels × 4800 MT/s × 8 "
                         "bytes = 76.8 GB/s"));
  facts.machine->bandwidths[0].bytes_per_s = 20e9;
  EXPECT_THAT(found(judge_memory(facts), "memory.bandwidth"), StartsWith("warn: 20.0 GB/s"));
  facts.machine->cpu.physical_cores = 64;
  EXPECT_THAT(found(judge_memory(facts), "memory.bandwidth"), StartsWith("ok: 20.0 GB/s"));
  facts.tree.files.clear();
  EXPECT_THAT(found(judge_memory(facts), "memory.bandwidth"), StartsWith("not_applicable: 20.0 GB/s"));
}

TEST(MemorySwap, UseWarns) {
  EXPECT_THAT(judged_memory("=== proc/meminfo\nSwapTotal: 8388608 kB\nSwapFree: 4194304 kB\n", "memory.swap"),
              StartsWith("warn: 4.00 GiB of 8.00 GiB"));
  EXPECT_THAT(judged_memory("=== proc/meminfo\nSwapTotal: 0 kB\nSwapFree: 0 kB\n", "memory.swap"),
              StartsWith("ok: there is no swap"));
}

TEST(MemoryFree, LittleLeftWarns) {
  EXPECT_THAT(judged_memory("=== proc/meminfo\nMemTotal: 16777216 kB\nMemAvailable: 524288 kB\n", "memory.free"),
              StartsWith("warn: 512 MiB of 16.0 GiB"));
}

TEST(MemoryErrors, UncorrectedFailAndCorrectedWarn) {
  const std::string folder = "=== sys/devices/system/edac/mc/mc0/";
  EXPECT_THAT(judged_memory(folder + "ue_count: 1\n" + folder + "ce_count: 5\n", "memory.errors"),
              StartsWith("fail: 5 corrected, 1 uncorrected"));
  EXPECT_THAT(judged_memory(folder + "ue_count: 0\n" + folder + "ce_count: 5\n", "memory.errors"),
              StartsWith("warn: "));
  EXPECT_THAT(judged_memory("", "memory.errors"), StartsWith("not_applicable: "));
}

TEST(MemoryKilled, CountOfTheGroupWarns) {
  EXPECT_THAT(judged_memory("=== sys/fs/cgroup/memory.events\nlow 0\noom 2\noom_kill 2\n", "memory.killed"),
              StartsWith("warn: 2 so far"));
}

}  // namespace
}  // namespace ridge::doctor
