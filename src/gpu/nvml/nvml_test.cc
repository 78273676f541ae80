#include "gpu/nvml/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/pcie.h"
#include "gpu/slowdown.h"
#include "gpu/test_fakes.h"

namespace ridge::gpu::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The GPUs of tests/support/nvml/<script>.txt.
std::string ask(const std::string& script, const std::string& library = "libnvidia-ml.so.1") {
  return answer_of<Nvml>(library, "nvml", "RIDGE_FAKE_NVML", script);
}

GpuSystem system_of(const std::string& script, const std::string& library = "libnvidia-ml.so.1") {
  return system_from(ask(script, library));
}

TEST(Nvml, ReadsAHealthyGpu) {
  GpuSystem system = system_of("healthy");
  EXPECT_EQ(*system.driver_version, "580.95.05");
  EXPECT_EQ(*system.cuda_version, "13.0");
  ASSERT_EQ(system.gpus.size(), 1u);
  const Gpu& gpu = system.gpus[0];
  EXPECT_EQ(gpu.failure, "");
  EXPECT_EQ(*gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(*gpu.pci_address, "0000:18:00.0");
  EXPECT_EQ(*gpu.compute_capability, "9.0");
  EXPECT_EQ(*gpu.memory_total_bytes, 85520809984);
  EXPECT_TRUE(*gpu.ecc);
  EXPECT_EQ(*gpu.slowdown_bits, 1);
  EXPECT_EQ(*gpu.pcie_width_max, 16);
  EXPECT_EQ(*gpu.power_limit_max_mw, 700000);
  EXPECT_EQ(*gpu.memory_clock_mhz, 2619);
}

TEST(Nvml, PowerIsThatOfTheMomentAndNotTheMeanOfASecond) {
  EXPECT_EQ(*system_of("power-now").gpus.at(0).power_mw, 71200);
  EXPECT_EQ(*system_of("thermal").gpus.at(0).power_mw, 412000) << "without the field: the mean";
}

TEST(Nvml, WhatTheGpuDoesNotTellIsAReasonAndNotZero) {
  GpuSystem system = system_of("v100");
  ASSERT_EQ(system.gpus.size(), 1u);
  const Gpu& gpu = system.gpus[0];
  EXPECT_EQ(gpu.failure, "");
  EXPECT_FALSE(gpu.power_mw);
  EXPECT_THAT(gpu.power_mw.reason, HasSubstr("Not Supported"));
  EXPECT_THAT(gpu.power_mw.reason, HasSubstr("nvmlDeviceGetPowerUsage"));
}

TEST(Nvml, OlderLibraryStillTellsTheSlowdownByItsFormerName) {
  GpuSystem system = system_of("thermal", "libnvidia-ml-old.so.1");
  ASSERT_EQ(system.gpus.size(), 1u);
  EXPECT_EQ(*system.gpus[0].slowdown_bits, 0x68);
  EXPECT_FALSE(system.gpus[0].mig);
  EXPECT_THAT(system.gpus[0].mig.reason, HasSubstr("too old"));
}

TEST(Nvml, LostGpuIsNamedAndTheOthersStillAnswer) {
  GpuSystem system = system_of("lost");
  ASSERT_EQ(system.gpus.size(), 2u);
  EXPECT_EQ(system.gpus[0].failure, "");
  EXPECT_THAT(system.gpus[1].failure, HasSubstr("GPU is lost"));
  EXPECT_FALSE(system.gpus[1].name);
}

TEST(Nvml, CountsMigInstances) {
  EXPECT_EQ(*system_of("mig").gpus.at(0).mig_instances, 3);
  EXPECT_EQ(*system_of("mig-empty").gpus.at(0).mig_instances, 0);
  EXPECT_TRUE(*system_of("mig-empty").gpus.at(0).mig);
}

TEST(Nvml, TellsEachSliceOfADividedGpu) {
  const GpuSystem system = system_of("mig");
  const std::vector<GpuSlice>& slices = system.gpus.at(0).slices;
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(*slices[0].uuid, "MIG-5b1c0d00-0000-0000-0000-000000000001");
  EXPECT_EQ(*slices[1].gpu_instance, 2);
  EXPECT_EQ(*slices[1].gpu_slices, 2);
  EXPECT_EQ(*slices[2].multiprocessors, 16);
  EXPECT_EQ(*slices[2].memory_total_bytes, 10468982784);
}

TEST(Nvml, TellsHowGpusMeetOnTheBus) {
  const GpuSystem system = system_of("four");
  ASSERT_EQ(system.pairs.size(), 6u);
  EXPECT_EQ(*system.pairs[0].level, "PHB");
  EXPECT_EQ(*system.pairs[5].level, "NODE");
  EXPECT_THAT(system_of("lost").pairs.at(0).level.reason, HasSubstr("GPU is lost"));
}

std::string code_text(Code code) {
  return code == Code::kInvalid       ? "invalid"
         : code == Code::kUnavailable ? "unavailable"
         : code == Code::kUnsupported ? "unsupported"
                                      : "other";
}

// The answers of a scripted GPU to changes, and its limit and clock afterwards.
std::string changed(const std::string& script, const std::function<Status(const Nvml&)>& change) {
  return answer_of<Nvml>("libnvidia-ml.so.1", "nvml", "RIDGE_FAKE_NVML", script, [&](const Nvml& nvml) {
    Status status = change(nvml);
    Gpu gpu = nvml.gpu(0);
    return (status ? "done" : code_text(status.error().code) + ": " + status.error().message) + " | " +
           std::to_string(gpu.power_limit_set_mw ? *gpu.power_limit_set_mw / 1000 : -1) + " W " +
           std::to_string(gpu.sm_clock_mhz ? *gpu.sm_clock_mhz : -1) + " MHz";
  });
}

TEST(Nvml, ChangesTheLimit) {
  EXPECT_EQ(changed("healthy", [](const Nvml& nvml) { return nvml.set_power_limit(0, 300000); }),
            "done | 300 W 345 MHz");
}

TEST(Nvml, VitalsLeaveTheRestUnasked) {
  const std::string told =
      answer_of<Nvml>("libnvidia-ml.so.1", "nvml", "RIDGE_FAKE_NVML", "thermal", [](const Nvml& nvml) {
        Gpu gpu = nvml.vitals(0);
        return std::to_string(gpu.power_mw ? *gpu.power_mw : -1) + " " + (gpu.ecc ? "asked" : gpu.ecc.reason);
      });
  EXPECT_EQ(told, "412000 not asked");
}

TEST(Nvml, RefusalsOfChangesSayWhatWasTriedAndTheAnswer) {
  EXPECT_THAT(changed("healthy", [](const Nvml& nvml) { return nvml.set_power_limit(0, 900000); }),
              StartsWith("invalid: set the power limit of GPU 0 to 900 W: nvmlDeviceSetPowerManagementLimit: Invalid "
                         "Argument (NVML code 2) | 700 W"));
  EXPECT_THAT(changed("no-permission", [](const Nvml& nvml) { return nvml.set_power_limit(0, 300000); }),
              StartsWith("unavailable: set the power limit of GPU 0 to 300 W: nvmlDeviceSetPowerManagementLimit: "
                         "Insufficient Permissions (NVML code 4); the driver lets only an administrator"));
  EXPECT_THAT(changed("v100", [](const Nvml& nvml) { return nvml.set_power_limit(0, 200000); }),
              StartsWith("unsupported: "));
  EXPECT_THAT(changed("lost-later",
                      [](const Nvml& nvml) {
                        Status first = nvml.set_power_limit(0, 300000);
                        return first ? nvml.set_power_limit(0, 700000) : first;
                      }),
              HasSubstr("GPU is lost"));
}

TEST(Nvml, ListsTheProcessesOfTheRightGpu) {
  GpuSystem system = system_of("four");
  ASSERT_EQ(system.gpus.size(), 4u);
  EXPECT_TRUE(system.gpus[0].processes.empty());
  ASSERT_EQ(system.gpus[2].processes.size(), 1u);
  EXPECT_EQ(system.gpus[2].processes[0].pid, 4711);
  EXPECT_EQ(system.gpus[2].processes[0].memory_bytes, 21474836480);
}

TEST(Nvml, ReadsEveryLinkToAPeerWithItsErrors) {
  GpuSystem system = system_of("nvlink");
  ASSERT_EQ(system.gpus.size(), 3u);
  ASSERT_EQ(system.gpus[0].links.size(), 18u);
  EXPECT_EQ(*system.gpus[0].peer_links, 18);
  EXPECT_EQ(*system.gpus[0].links[1].remote, "0000:3b:00.0");
  EXPECT_FALSE(system.gpus[1].links[4].up);
  EXPECT_THAT(system.gpus[1].links[4].remote.reason, HasSubstr("down"));
  EXPECT_EQ(*system.gpus[2].links[7].replays, 12);
  EXPECT_EQ(*system.gpus[2].links[7].recoveries, 1);
  EXPECT_EQ(*system.gpus[2].links[7].crc_errors, 340);
  GpuSystem without = system_of("healthy");
  EXPECT_TRUE(without.gpus.at(0).links.empty());
  EXPECT_THAT(without.gpus.at(0).peer_links.reason, HasSubstr("Not Supported"));
}

TEST(Nvml, ReadsTheRecoveriesOfNvLink5AsAField) {
  const GpuSystem system = system_of("nvlink5");
  ASSERT_EQ(system.gpus.size(), 1u);
  ASSERT_EQ(system.gpus[0].links.size(), 1u);
  EXPECT_FALSE(system.gpus[0].links[0].replays);
  EXPECT_EQ(*system.gpus[0].links[0].recoveries, 3);
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

// amdgpu_smu.h: PPT0 is bit 0, TDC_GFX 16, TEMP_GPU 32, TEMP_MEM 34, TEMP_VR_GFX 38, VRHOT0 44, PROCHOT_GFX 47.
TEST(Slowdown, BitsOfAmdBecomeTheCommonOnes) {
  auto amd = [](std::initializer_list<int> bits) {
    uint64_t status = 0;
    for (int bit : bits) status |= uint64_t{1} << bit;
    return names(slowdown_of_amd(status));
  };
  EXPECT_THAT(amd({}), ElementsAre());
  EXPECT_THAT(amd({0, 32}), ElementsAre("power limit", "heat"));
  EXPECT_THAT(amd({16, 34, 38}), ElementsAre("current limit", "heat (memory)", "heat (voltage regulator)"));
  EXPECT_THAT(amd({44}), ElementsAre("hot signal"));
  EXPECT_THAT(amd({47}), ElementsAre("hot signal"));
  EXPECT_THAT(amd({62}), ElementsAre("other"));
}

TEST(Pcie, GenerationIsThatOfTheTransferRate) {
  EXPECT_EQ(pcie_generation(16e9), 4);
  EXPECT_EQ(pcie_generation(2.5e9), 1);
  EXPECT_EQ(pcie_generation(64e9), 6);
  EXPECT_EQ(pcie_generation(0), 0);
  EXPECT_EQ(pci_address(0, 0x3b, 0, 1), "0000:3b:00.1");
}

TEST(Gpu, MissingReadingsKeepTheirReasonThroughJson) {
  Gpu gpu;
  gpu.name = std::string("gpu");
  gpu.ecc = Error{Code::kUnsupported, "no such thing"};
  Result<Gpu> back = from_json<Gpu>(json_of(gpu));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back->name, "gpu");
  EXPECT_FALSE(back->ecc);
  EXPECT_EQ(back->ecc.reason, "no such thing");
}

}  // namespace
}  // namespace ridge::gpu::nvml
