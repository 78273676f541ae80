#include "gpu/rocm_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "gpu/amd_metrics.h"
#include "gpu/rocm_smi_abi.h"
#include "gpu/slowdown.h"
#include "gpu/test_fakes.h"

namespace ridge::gpu::rocm_smi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kLibrary = "librocm_smi64.so.1";

std::string ask(const std::string& script, const std::string& library = kLibrary) {
  return answer_of<RocmSmi>(library, "rocm_smi", "RIDGE_FAKE_ROCM_SMI", script);
}

CardSystem system_of(const std::string& script, const std::string& library = kLibrary) {
  return system_from(ask(script, library));
}

std::vector<std::string> slowdowns(const Card& card) {
  std::vector<std::string> names;
  for (const Slowdown& slowdown : decode_slowdown(static_cast<uint64_t>(*card.slowdown_bits)))
    names.emplace_back(slowdown.name);
  return names;
}

// Sizes and offsets as a C++ compiler gives them for rocm_smi.h of ROCm 6.3 (library 7.3; x86-64), the V5 ones for that
// of ROCm 5.7.
static_assert(sizeof(Frequencies) == 280 && offsetof(Frequencies, supported) == 4 &&
              offsetof(Frequencies, frequency) == 16);
static_assert(sizeof(PcieBandwidth) == 416 && offsetof(PcieBandwidth, lanes) == 280);
static_assert(sizeof(FrequenciesV5) == 264 && sizeof(PcieBandwidthV5) == 392);
static_assert(sizeof(ErrorCount) == 16);
static_assert(sizeof(RetiredPage) == 24 && offsetof(RetiredPage, status) == 16);
static_assert(sizeof(ProcessInfo) == 32 && offsetof(ProcessInfo, memory_bytes) == 8);
static_assert(offsetof(AmdMetrics, graphics_clock_mhz) == 54 && offsetof(AmdMetrics, throttle_status) == 68);
static_assert(offsetof(AmdMetrics, pcie_lanes) == 74 && offsetof(AmdMetrics, pcie_speed) == 76);
static_assert(offsetof(AmdMetrics, firmware_time) == 96 && offsetof(AmdMetrics, independent_throttle_status) == 112);
static_assert(offsetof(AmdMetrics, accumulations) == 424 && offsetof(AmdMetrics, held_by_signal) == 432);
static_assert(offsetof(AmdMetrics, held_by_memory_heat) == 464 && sizeof(AmdMetrics) == 472);

TEST(RocmSmi, ReadsAHealthyCardInTheCommonUnits) {
  CardSystem system = system_of("healthy");
  EXPECT_EQ(*system.driver_version, "6.12.12");
  ASSERT_EQ(system.cards.size(), 1u);
  const Card& card = system.cards[0];
  EXPECT_EQ(card.failure, "");
  EXPECT_EQ(*card.name, "AMD Instinct MI300X");
  EXPECT_EQ(*card.uuid, "0x5c2a3f0e11d04b27");
  EXPECT_EQ(*card.pci_address, "0000:18:00.0");
  EXPECT_EQ(*card.memory_total_bytes, 206141652992);
  EXPECT_EQ(*card.temperature_c, 41);
  EXPECT_EQ(*card.slowdown_temperature_c, 100);
  EXPECT_EQ(*card.power_mw, 139000);
  EXPECT_EQ(*card.power_limit_max_mw, 750000);
  EXPECT_EQ(*card.energy_mj, 812345678);
  EXPECT_EQ(*card.sm_clock_mhz, 132);
  EXPECT_EQ(*card.sm_clock_max_mhz, 2100);
  EXPECT_EQ(*card.memory_clock_max_mhz, 1300);
  EXPECT_EQ(*card.pcie_generation, 5);
  EXPECT_EQ(*card.pcie_width_max, 16);
  EXPECT_TRUE(*card.ecc);
  EXPECT_EQ(*card.performance_level, "auto");
  EXPECT_EQ(*card.partition, "SPX");
  EXPECT_EQ(*card.slowdown_bits, 0);
  EXPECT_THAT(card.mig.reason, HasSubstr("NVIDIA"));
}

TEST(RocmSmi, ThrottlingIsDecodedFromCountersAndFromTheStatus) {
  CardSystem system = system_of("throttling");
  ASSERT_EQ(system.cards.size(), 2u);
  EXPECT_THAT(slowdowns(system.cards[0]), testing::ElementsAre("power limit", "heat"));
  EXPECT_THAT(slowdowns(system.cards[1]), testing::ElementsAre("hot signal"));
}

TEST(RocmSmi, ErrorsAreSummedOverTheBlocksThatCountThem) {
  const Card card = system_of("ecc").cards.at(0);
  EXPECT_EQ(*card.ecc_corrected, 7);
  EXPECT_EQ(*card.ecc_uncorrected, 2);
  EXPECT_EQ(*card.rows_remapped, 1);
  EXPECT_TRUE(*card.row_remap_pending);
}

TEST(RocmSmi, ProcessesBelongToTheCardsTheyUse) {
  CardSystem system = system_of("busy");
  ASSERT_EQ(system.cards.size(), 2u);
  ASSERT_EQ(system.cards[0].processes.size(), 2u);
  EXPECT_EQ(system.cards[0].processes[0].memory_bytes, 64424509440);
  ASSERT_EQ(system.cards[1].processes.size(), 1u);
  EXPECT_EQ(system.cards[1].processes[0].pid, 4711);
  EXPECT_EQ(system.cards[1].processes[0].memory_bytes, 1073741824);
}

TEST(RocmSmi, LostCardIsNamedAndTheOthersStillAnswer) {
  CardSystem system = system_of("lost");
  ASSERT_EQ(system.cards.size(), 2u);
  EXPECT_EQ(system.cards[0].failure, "");
  EXPECT_THAT(system.cards[1].failure, HasSubstr("file error"));
  EXPECT_EQ(*system.cards[1].pci_address, "0000:3b:00.0");
}

TEST(RocmSmi, MissingPermissionIsAReasonAndNotALostCard) {
  const Card card = system_of("no-permission").cards.at(0);
  EXPECT_EQ(card.failure, "");
  EXPECT_THAT(card.memory_used_bytes.reason, AllOf(HasSubstr("permission denied"), HasSubstr("groups render")));
  EXPECT_FALSE(card.slowdown_bits);
}

// ROCm 5: clocks and links lie elsewhere in their structures, metrics end before what tells throttling.
TEST(RocmSmi, OlderLibraryIsReadInItsOwnLayout) {
  const Card card = system_of("healthy", "librocm_smi64-old.so.1").cards.at(0);
  EXPECT_EQ(*card.sm_clock_max_mhz, 2100);
  EXPECT_EQ(*card.sm_clock_mhz, 132);
  EXPECT_EQ(*card.pcie_generation_max, 5);
  EXPECT_EQ(*card.pcie_width, 16);
  EXPECT_EQ(*card.power_mw, 139000);
  EXPECT_FALSE(card.slowdown_bits);
  EXPECT_THAT(card.partition.reason, HasSubstr("too old"));
}

TEST(RocmSmi, LibraryThatCannotBeUsedSaysWhy) {
  EXPECT_THAT(ask("no-driver"), AllOf(StartsWith("error: rsmi_init"), HasSubstr("amdgpu")));
  EXPECT_THAT(ask("healthy", "librocm_smi64-ancient.so.1"),
              AllOf(HasSubstr("rsmi_dev_memory_total_get"), HasSubstr("too old")));
  EXPECT_THAT(ask("healthy", "no-such-library.so"), StartsWith("error: open library"));
}

TEST(AmdMetrics, LinkIsToldOrNot) {
  AmdMetrics metrics = metrics_from(std::vector<unsigned char>(kAmdMetricsBytes, 0xFF));
  int64_t lanes = 0, generation = 0;
  EXPECT_FALSE(link_of(metrics, lanes, generation));
  metrics.pcie_lanes = 8;
  metrics.pcie_speed = 160;
  EXPECT_TRUE(link_of(metrics, lanes, generation));
  EXPECT_EQ(lanes, 8);
  EXPECT_EQ(generation, 4);
  EXPECT_THAT(slowdown_of(metrics, metrics, {}).reason, HasSubstr("does not tell"));
}

}  // namespace
}  // namespace ridge::gpu::rocm_smi
