#include "gpu/level_zero.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "gpu/level_zero_abi.h"
#include "gpu/slowdown.h"
#include "gpu/test_fakes.h"

namespace ridge::gpu::level_zero {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kLoader = "libze_loader.so.1";

std::string ask(const std::string& script, const std::string& library = kLoader) {
  return answer_of<LevelZero>(library, "level_zero", "RIDGE_FAKE_LEVEL_ZERO", script);
}

CardSystem system_of(const std::string& script, const std::string& library = kLoader) {
  return system_from(ask(script, library));
}

// Sizes and offsets as a C++ compiler gives them for ze_api.h and zes_api.h of Level Zero 1.17 (x86-64).
static_assert(sizeof(CoreDeviceProperties) == 368 && offsetof(CoreDeviceProperties, flags) == 28 &&
              offsetof(CoreDeviceProperties, uuid) == 96 && offsetof(CoreDeviceProperties, name) == 112);
static_assert(sizeof(DeviceProperties) == 776 && offsetof(DeviceProperties, core) == 16 &&
              offsetof(DeviceProperties, model) == 580 && offsetof(DeviceProperties, driver_version) == 708);
static_assert(sizeof(DeviceState) == 24);
static_assert(sizeof(PciProperties) == 56 && offsetof(PciProperties, most) == 32);
static_assert(sizeof(PciState) == 48 && offsetof(PciState, now) == 32 && sizeof(PciStatistics) == 56);
static_assert(sizeof(MemoryProperties) == 48 && offsetof(MemoryProperties, location) == 28);
static_assert(sizeof(MemoryState) == 40 && offsetof(MemoryState, free_bytes) == 24);
static_assert(sizeof(TemperatureProperties) == 48 && offsetof(TemperatureProperties, most_c) == 32);
static_assert(sizeof(PowerProperties) == 40 && offsetof(PowerProperties, default_mw) == 28);
static_assert(sizeof(EnergyCounter) == 16 && sizeof(SustainedLimit) == 12);
static_assert(sizeof(PowerLimit) == 48 && offsetof(PowerLimit, limit) == 40);
static_assert(sizeof(FrequencyProperties) == 48 && offsetof(FrequencyProperties, most_mhz) == 40);
static_assert(sizeof(FrequencyState) == 64 && offsetof(FrequencyState, actual_mhz) == 48 &&
              offsetof(FrequencyState, throttle_reasons) == 56);
static_assert(sizeof(EngineProperties) == 32 && sizeof(EngineActivity) == 16);
static_assert(sizeof(RasProperties) == 32 && sizeof(RasState) == 72 && offsetof(RasState, category) == 16);
static_assert(sizeof(EccProperties) == 32);
static_assert(sizeof(ProcessState) == 48 && offsetof(ProcessState, memory_bytes) == 24);

TEST(LevelZero, ReadsAHealthyCardInTheCommonUnits) {
  CardSystem system = system_of("healthy");
  EXPECT_EQ(*system.driver_version, "1.6.32413");
  ASSERT_EQ(system.cards.size(), 1u) << "the graphics of the processor is no card";
  const Card& card = system.cards[0];
  EXPECT_EQ(card.failure, "");
  EXPECT_EQ(*card.name, "Intel(R) Data Center GPU Max 1550");
  EXPECT_EQ(*card.uuid, "00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(*card.pci_address, "0000:4d:00.0");
  EXPECT_EQ(*card.memory_total_bytes, 137438953472) << "the sum of both tiles";
  EXPECT_EQ(*card.memory_used_bytes, 67108864);
  EXPECT_EQ(*card.memory_health, "ok");
  EXPECT_EQ(*card.temperature_c, 38);
  EXPECT_EQ(*card.slowdown_temperature_c, 105);
  EXPECT_EQ(*card.power_limit_mw, 600000);
  EXPECT_EQ(*card.power_limit_min_mw, 300000);
  EXPECT_EQ(*card.sm_clock_mhz, 900);
  EXPECT_EQ(*card.sm_clock_max_mhz, 1600);
  EXPECT_EQ(*card.memory_clock_mhz, 3200);
  EXPECT_EQ(*card.pcie_generation_max, 5);
  EXPECT_EQ(*card.pcie_width, 16);
  EXPECT_EQ(*card.slowdown_bits, 0);
  EXPECT_TRUE(*card.ecc);
}

// The stand-in's energy grows by its power, its activity by its share of the time; 2 mW are the rounding of 0.1 s.
TEST(LevelZero, PowerAndUseAreTheGrowthOfCounters) {
  const Card card = system_of("throttling").cards.at(0);
  EXPECT_NEAR(static_cast<double>(*card.power_mw), 210000, 2);
  EXPECT_EQ(*card.utilization_percent, 97);
}

TEST(LevelZero, ThrottlingIsDecoded) {
  CardSystem system = system_of("throttling");
  ASSERT_EQ(system.cards.size(), 2u);
  EXPECT_EQ(decode_slowdown(static_cast<uint64_t>(*system.cards[0].slowdown_bits)).at(0).name, "heat");
  EXPECT_EQ(decode_slowdown(static_cast<uint64_t>(*system.cards[1].slowdown_bits)).at(0).name, "power brake");
}

TEST(LevelZero, ErrorsOfTheMemoryAreCountedAndResetsAreNot) {
  const Card card = system_of("ecc").cards.at(0);
  EXPECT_EQ(*card.ecc_corrected, 12);
  EXPECT_EQ(*card.ecc_uncorrected, 3);
  EXPECT_EQ(*card.memory_health, "degraded") << "of the worse tile";
}

TEST(LevelZero, LostAndHangingCardsAreNamed) {
  CardSystem system = system_of("lost");
  ASSERT_EQ(system.cards.size(), 2u);
  EXPECT_EQ(system.cards[0].failure, "");
  EXPECT_THAT(system.cards[1].failure, AllOf(HasSubstr("lost"), HasSubstr("0x70000001")));
  EXPECT_THAT(system_of("wedged").cards.at(0).failure, HasSubstr("needs a reset"));
}

TEST(LevelZero, ListsProcesses) {
  const Card card = system_of("busy").cards.at(0);
  ASSERT_EQ(card.processes.size(), 1u);
  EXPECT_EQ(card.processes[0].memory_bytes, 68702699520);
}

TEST(LevelZero, MissingPermissionIsAReason) {
  const Card card = system_of("no-permission").cards.at(0);
  EXPECT_EQ(card.failure, "");
  EXPECT_EQ(*card.pci_address, "0000:4d:00.0");
  EXPECT_THAT(card.memory_used_bytes.reason, HasSubstr("no permission"));
  EXPECT_THAT(card.power_mw.reason, HasSubstr("no permission"));
  EXPECT_THAT(card.slowdown_bits.reason, HasSubstr("no permission"));
}

// Before 1.5 there is no zesInit: the environment switches system management on, and newer functions are missing.
TEST(LevelZero, OlderLoaderIsStartedByTheEnvironment) {
  const Card card = system_of("healthy", "libze_loader-old.so.1").cards.at(0);
  EXPECT_EQ(*card.temperature_c, 38);
  EXPECT_EQ(*card.power_limit_mw, 600000);
  EXPECT_THAT(card.ecc.reason, HasSubstr("too old"));
}

TEST(LevelZero, LoaderThatCannotBeUsedSaysWhy) {
  EXPECT_THAT(ask("no-driver"), AllOf(StartsWith("error: zesInit"), HasSubstr("no driver")));
  EXPECT_THAT(ask("healthy", "librocm_smi64.so.1"), AllOf(HasSubstr("zeInit"), HasSubstr("too old")));
  EXPECT_THAT(ask("healthy", "no-such-library.so"), StartsWith("error: open library"));
}

}  // namespace
}  // namespace ridge::gpu::level_zero
