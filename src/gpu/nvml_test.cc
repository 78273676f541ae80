#include "gpu/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gpu/slowdown.h"

namespace ridge::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The cards of tests/support/nvml/<script>.txt. The stand-in reads its script once per process, as each test of this
// program runs in a process of its own under ctest; run all at once, the first script would stay: so the tests ask in a
// child that ends.
std::string ask(const std::string& script, const std::string& library = "libnvidia-ml.so.1") {
  int channel[2];
  if (pipe(channel) != 0) return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    setenv("RIDGE_FAKE_NVML", (std::string(RIDGE_SOURCE_DIR) + "/tests/support/nvml/" + script + ".txt").c_str(), 1);
    Result<Nvml> nvml = Nvml::open(std::string(RIDGE_TEST_SUPPORT) + "/" + library);
    std::string answer = nvml ? dump_json(to_json(nvml->system())) : "error: " + nvml.error().message;
    bool whole = write(channel[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(whole ? 0 : 1);
  }
  close(channel[1]);
  std::string answer;
  char block[4096];
  for (ssize_t got = 0; (got = read(channel[0], block, sizeof block)) > 0;)
    answer.append(block, static_cast<size_t>(got));
  close(channel[0]);
  waitpid(child, nullptr, 0);
  return answer;
}

NvidiaSystem system_of(const std::string& script, const std::string& library = "libnvidia-ml.so.1") {
  std::string answer = ask(script, library);
  Result<Json> json = parse_json(answer, script);
  EXPECT_TRUE(json.ok()) << answer;
  Result<NvidiaSystem> system = json ? nvidia_system_from_json(*json) : Result<NvidiaSystem>(json.error());
  EXPECT_TRUE(system.ok());
  return system ? *system : NvidiaSystem{};
}

TEST(Nvml, ReadsAHealthyCard) {
  NvidiaSystem system = system_of("healthy");
  EXPECT_EQ(*system.driver_version, "580.95.05");
  EXPECT_EQ(*system.cuda_version, "13.0");
  ASSERT_EQ(system.cards.size(), 1u);
  const Card& card = system.cards[0];
  EXPECT_EQ(card.failure, "");
  EXPECT_EQ(*card.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(*card.pci_address, "0000:18:00.0");
  EXPECT_EQ(*card.compute_capability, "9.0");
  EXPECT_EQ(*card.memory_total_bytes, 85520809984);
  EXPECT_TRUE(*card.ecc);
  EXPECT_EQ(*card.slowdown_bits, 1);
  EXPECT_EQ(*card.pcie_width_max, 16);
  EXPECT_EQ(*card.power_limit_max_mw, 700000);
  EXPECT_EQ(*card.memory_clock_mhz, 2619);
}

TEST(Nvml, WhatTheCardDoesNotTellIsAReasonAndNotZero) {
  NvidiaSystem system = system_of("v100");
  ASSERT_EQ(system.cards.size(), 1u);
  const Card& card = system.cards[0];
  EXPECT_EQ(card.failure, "");
  EXPECT_FALSE(card.power_mw);
  EXPECT_THAT(card.power_mw.reason, HasSubstr("Not Supported"));
  EXPECT_THAT(card.power_mw.reason, HasSubstr("nvmlDeviceGetPowerUsage"));
}

TEST(Nvml, OlderLibraryStillTellsTheSlowdownByItsFormerName) {
  NvidiaSystem system = system_of("thermal", "libnvidia-ml-old.so.1");
  ASSERT_EQ(system.cards.size(), 1u);
  EXPECT_EQ(*system.cards[0].slowdown_bits, 0x68);
  EXPECT_FALSE(system.cards[0].mig);
  EXPECT_THAT(system.cards[0].mig.reason, HasSubstr("too old"));
}

TEST(Nvml, LostCardIsNamedAndTheOthersStillAnswer) {
  NvidiaSystem system = system_of("lost");
  ASSERT_EQ(system.cards.size(), 2u);
  EXPECT_EQ(system.cards[0].failure, "");
  EXPECT_THAT(system.cards[1].failure, HasSubstr("GPU is lost"));
  EXPECT_FALSE(system.cards[1].name);
}

TEST(Nvml, CountsMigInstances) {
  EXPECT_EQ(*system_of("mig").cards.at(0).mig_instances, 3);
  EXPECT_EQ(*system_of("mig-empty").cards.at(0).mig_instances, 0);
  EXPECT_TRUE(*system_of("mig-empty").cards.at(0).mig);
}

TEST(Nvml, ListsTheProcessesOfTheRightCard) {
  NvidiaSystem system = system_of("four");
  ASSERT_EQ(system.cards.size(), 4u);
  EXPECT_TRUE(system.cards[0].processes.empty());
  ASSERT_EQ(system.cards[2].processes.size(), 1u);
  EXPECT_EQ(system.cards[2].processes[0].pid, 4711);
  EXPECT_EQ(system.cards[2].processes[0].memory_bytes, 21474836480);
}

TEST(Nvml, RefusalToStartSaysWhatToDo) {
  EXPECT_THAT(ask("mismatch"), HasSubstr("reboot"));
  EXPECT_THAT(ask("healthy", "no-such-library.so"), StartsWith("error: open library"));
}

TEST(SysfsPciAddress, ShortensTheDomainUnlessItNeedsAllDigits) {
  EXPECT_EQ(sysfs_pci_address("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(sysfs_pci_address("00010000:3B:00.0"), "00010000:3b:00.0");
  EXPECT_EQ(sysfs_pci_address("0000:3B:00.0"), "0000:3b:00.0");
}

std::vector<std::string> names(uint64_t bits) {
  std::vector<std::string> result;
  for (const Slowdown& slowdown : decode_slowdown(bits)) result.emplace_back(slowdown.name);
  return result;
}

TEST(Slowdown, EveryBitHasAName) {
  EXPECT_THAT(names(0), ElementsAre());
  EXPECT_THAT(names(0x1), ElementsAre("idle"));
  EXPECT_THAT(names(0x68), ElementsAre("hardware slowdown", "heat", "heat (hardware)"));
  EXPECT_THAT(names(0x88), ElementsAre("hardware slowdown", "power brake"));
  EXPECT_THAT(names(uint64_t{1} << 40), ElementsAre("other"));
}

TEST(Card, MissingReadingsKeepTheirReasonThroughJson) {
  Card card;
  card.name = std::string("card");
  card.ecc = Error{Code::kUnsupported, "no such thing"};
  Result<Card> back = card_from_json(to_json(card));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back->name, "card");
  EXPECT_FALSE(back->ecc);
  EXPECT_EQ(back->ecc.reason, "no such thing");
}

}  // namespace
}  // namespace ridge::gpu
