#include "gpu/amd_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "gpu/amd_smi_abi.h"
#include "gpu/slowdown.h"
#include "gpu/test_fakes.h"

namespace ridge::gpu::amd_smi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kLibrary = "libamd_smi.so.1";

std::string ask(const std::string& script, const std::string& library = kLibrary) {
  return answer_of<AmdSmi>(library, "rocm_smi", "RIDGE_FAKE_AMD_SMI", script);
}

CardSystem system_of(const std::string& script, const std::string& library = kLibrary) {
  return system_from(ask(script, library));
}

// Sizes and offsets as a C++ compiler gives them for amdsmi.h of library 24.7 (ROCm 6.3; x86-64) and as the Python
// package amdsmi 6.4.3 and 7.0.2 declares them for 25 and 26.
static_assert(sizeof(EngineUsage) == 64 && sizeof(PowerCaps) == 64 && sizeof(ClockInfo) == 32);
static_assert(sizeof(PcieInfo) == 512 && offsetof(PcieInfo, most_speed) == 4 && offsetof(PcieInfo, lanes) == 96 &&
              offsetof(PcieInfo, speed) == 100 && offsetof(PcieInfo, replays) == 112);
static_assert(sizeof(ErrorCount) == 64 && sizeof(RetiredPage) == 24);

TEST(AmdSmi, TellsWhatRocmSmiTells) {
  CardSystem system = system_of("healthy");
  EXPECT_EQ(*system.driver_version, "6.12.12");
  ASSERT_EQ(system.cards.size(), 1u) << "a processor that is no card is left out";
  const Card& card = system.cards[0];
  EXPECT_EQ(card.failure, "");
  EXPECT_EQ(*card.name, "AMD Instinct MI300X");
  EXPECT_EQ(*card.pci_address, "0000:18:00.0");
  EXPECT_EQ(*card.memory_used_bytes, 296185856);
  EXPECT_EQ(*card.temperature_c, 41);
  EXPECT_EQ(*card.power_mw, 139000);
  EXPECT_EQ(*card.power_limit_mw, 750000);
  EXPECT_EQ(*card.energy_mj, 812345678);
  EXPECT_EQ(*card.sm_clock_max_mhz, 2100);
  EXPECT_EQ(*card.pcie_generation, 5);
  EXPECT_EQ(*card.pcie_width_max, 16);
  EXPECT_EQ(*card.slowdown_bits, 0);
  EXPECT_EQ(*card.performance_level, "auto");
}

TEST(AmdSmi, ThrottlingAndErrorsAreDecoded) {
  CardSystem system = system_of("throttling");
  ASSERT_EQ(system.cards.size(), 2u);
  EXPECT_EQ(decode_slowdown(static_cast<uint64_t>(*system.cards[0].slowdown_bits)).size(), 2u);
  EXPECT_EQ(decode_slowdown(static_cast<uint64_t>(*system.cards[1].slowdown_bits)).at(0).name, "hot signal");
  const Card card = system_of("ecc").cards.at(0);
  EXPECT_EQ(*card.ecc_uncorrected, 2);
  EXPECT_TRUE(*card.row_remap_pending);
}

// Until ROCm 6.3 the entries of the list are shorter, and the limits are watts.
TEST(AmdSmi, BothLayoutsOfProcessesAndLimitsAreRead) {
  for (const char* library : {kLibrary, "libamd_smi-old.so.1"}) {
    const Card card = system_of("busy", library).cards.at(0);
    ASSERT_EQ(card.processes.size(), 2u) << library;
    EXPECT_EQ(card.processes[1].pid, 4712) << library;
    EXPECT_EQ(card.processes[1].memory_bytes, 38654705664) << library;
    EXPECT_EQ(*card.power_limit_mw, 750000) << library;
  }
}

TEST(AmdSmi, LostCardMissingPermissionAndRefusalAreSaid) {
  EXPECT_THAT(system_of("lost").cards.at(1).failure, HasSubstr("AMD SMI status 14"));
  EXPECT_THAT(system_of("no-permission").cards.at(0).memory_used_bytes.reason, HasSubstr("no permission"));
  EXPECT_THAT(ask("no-driver"), AllOf(StartsWith("error: amdsmi_init"), HasSubstr("amdgpu")));
  EXPECT_THAT(ask("healthy", "libamd_smi-ancient.so.1"), HasSubstr("too old"));
}

}  // namespace
}  // namespace ridge::gpu::amd_smi
