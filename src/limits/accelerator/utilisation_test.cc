#include "limits/accelerator/utilisation.h"

#include <gtest/gtest.h>

namespace ridge::limits::accelerator {
namespace {

MetricResult result_with(double value) {
  MetricResult result;
  result.best = value;
  return result;
}

gpu::DeviceFacts named(const std::string& name, const std::string& capability, int64_t units, double gib,
                       double clock_mhz) {
  gpu::DeviceFacts facts;
  facts.name = name;
  facts.capability = capability;
  facts.compute_units = units;
  facts.memory_bytes = static_cast<int64_t>(gib * 1024 * 1024 * 1024);
  facts.clock_hz = clock_mhz * 1e6;
  return facts;
}

// Names from the driver, with the memory visible to programs.
TEST(Datasheet, IsFoundByWhatTheDriverTells) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices) << devices.error().message;
  auto name_of = [&](const gpu::DeviceFacts& facts) {
    auto found = datasheet_of(*devices, facts);
    return found ? found->name : found.error().message;
  };
  EXPECT_EQ(name_of(named("NVIDIA H100 80GB HBM3", "9.0", 132, 79.1, 1980)), "H100 SXM5 80GB");
  EXPECT_EQ(name_of(named("NVIDIA H100 PCIe", "9.0", 114, 79.1, 1755)), "H100 PCIe 80GB");
  EXPECT_EQ(name_of(named("NVIDIA H200", "9.0", 132, 139.8, 1980)), "H200 SXM 141GB");
  EXPECT_EQ(name_of(named("NVIDIA A100-SXM4-40GB", "8.0", 108, 39.4, 1410)), "A100 SXM4 40GB");
  EXPECT_EQ(name_of(named("NVIDIA GeForce RTX 4090", "8.9", 128, 23.6, 2520)), "GeForce RTX 4090");
  EXPECT_EQ(name_of(named("Tesla T4", "7.5", 40, 14.6, 1590)), "Tesla T4");
  EXPECT_EQ(name_of(named("NVIDIA GeForce RTX 4090", "8.9", 76, 15.6, 2040)),
            "the catalogue does not know NVIDIA GeForce RTX 4090")
      << "a laptop's GPU of that name is another one";
  EXPECT_EQ(name_of(named("pthread-AMD EPYC", "", 2, 23, 0)), "the catalogue does not know pthread-AMD EPYC");
}

// NVIDIA H100 PCIe data sheet: 2.04 TB/s (handbook's and catalogue's figure); 1.9 TB/s of it are 93.1 %.
TEST(Utilisation, AreOfTheDatasheetWhereItSpeaksOfTheSameUnits) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  References references;
  references.datasheet = *catalogue::find_device(*devices, "H100 PCIe 80GB");
  DeviceMeasurement measured;
  measured.bandwidths = {{"DRAM", "read", 0, result_with(*references.datasheet->bytes_per_s * 0.931)},
                         {"L2", "read", 0, result_with(5e12)}};
  measured.peaks = {{Precision::kFp32, "multiply-adds", result_with(40e12)},
                    {Precision::kFp16, "multiply-adds", result_with(80e12)},
                    {Precision::kFp16, "mma", result_with(400e12)},
                    {Precision::kFp64, "mma", result_with(40e12)}};
  add_utilisation(measured, references);
  ASSERT_EQ(measured.bandwidths[0].result.utilisation.size(), 1u);
  EXPECT_NEAR(measured.bandwidths[0].result.utilisation[0].percent, 93.1, 1e-9);
  EXPECT_EQ(measured.bandwidths[0].result.utilisation[0].of, "datasheet of NVIDIA H100 PCIe 80GB");
  EXPECT_TRUE(measured.bandwidths[1].result.utilisation.empty());
  EXPECT_EQ(measured.peaks[0].result.utilisation.size(), 1u);
  ASSERT_EQ(measured.peaks[1].result.utilisation.size(), 1u) << "the datasheet lists FP16 of tensor cores only";
  EXPECT_EQ(measured.peaks[1].result.utilisation[0].of, "best here: mma");
  EXPECT_DOUBLE_EQ(measured.peaks[1].result.utilisation[0].percent, 20);
  ASSERT_EQ(measured.peaks[3].result.utilisation.size(), 1u);
  EXPECT_NEAR(measured.peaks[3].result.utilisation[0].percent, 100 * 40 / 51.2, 0.1)
      << "51 by the datasheet, of tensor cores";
}

// Datasheets: A100 19.5, A30 10.3, H100 SXM 67, HGX B200 37 TFLOP/s by tensor cores.
TEST(Datasheet, HasFp64OfTensorCoresWhereTheyMultiplyIt) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  const auto teraflops = [&](const std::string& name, std::string_view way) {
    const auto peak = datasheet_peak(*catalogue::find_device(*devices, name), Precision::kFp64, way);
    return peak ? peak->flops_per_s / 1e12 : 0;
  };
  for (const char* way : {"mma", "cuBLASLt"}) {
    EXPECT_NEAR(teraflops("A100 SXM4 80GB", way), 19.5, 0.05);
    EXPECT_NEAR(teraflops("A30", way), 10.3, 0.05);
    EXPECT_NEAR(teraflops("H100 SXM5 80GB", way), 67, 0.2);
    EXPECT_NEAR(teraflops("H200 SXM 141GB", way), 67, 0.2);
    EXPECT_NEAR(teraflops("B200 SXM 180GB", way), 37, 0.3);
    EXPECT_EQ(teraflops("H800 SXM5 80GB", way), 0) << "less than its chip, and not listed";
    EXPECT_NEAR(teraflops("B300 SXM 288GB", way), 1.2, 0.05) << "by its lanes: its tensor cores have no FP64";
  }
  EXPECT_NEAR(teraflops("H100 SXM5 80GB", "multiply-adds"), 33.5, 0.1);
}

TEST(Utilisation, Fp64OfTensorCoresAboveTheDatasheetIsNotBelieved) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  References references;
  references.datasheet = *catalogue::find_device(*devices, "H200 SXM 141GB");
  DeviceMeasurement measured;
  measured.peaks = {{Precision::kFp64, "mma", result_with(60e12)}, {Precision::kFp64, "cuBLASLt", result_with(90e12)}};
  add_utilisation(measured, references);
  EXPECT_TRUE(measured.peaks[0].result.best);
  EXPECT_FALSE(measured.peaks[1].result.best);
}

TEST(Utilisation, MemoryFasterThanTheDatasheetIsNotBelieved) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  References references;
  references.datasheet = *catalogue::find_device(*devices, "H100 SXM5 80GB");
  const double listed = *references.datasheet->bytes_per_s;
  DeviceMeasurement measured;
  measured.bandwidths = {{"DRAM", "read", 0, result_with(1.01 * listed)},
                         {"DRAM", "copy", 0, result_with(1.03 * listed)},
                         {"last cache", "read", 0, result_with(2 * listed)}};
  add_utilisation(measured, references);
  EXPECT_TRUE(measured.bandwidths[0].result.best);
  EXPECT_FALSE(measured.bandwidths[1].result.best);
  EXPECT_NE(measured.bandwidths[1].result.reason.find("103 %"), std::string::npos)
      << measured.bandwidths[1].result.reason;
  EXPECT_TRUE(measured.bandwidths[2].result.best) << "a cache is faster";
}

TEST(Utilisation, APeakAboveTheDatasheetIsNotBelieved) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  References references;
  references.datasheet = *catalogue::find_device(*devices, "GeForce RTX 4090");
  const double listed = datasheet_peak(*references.datasheet, Precision::kFp16, "mma")->flops_per_s;
  DeviceMeasurement measured;
  measured.peaks = {{Precision::kFp16, "mma", result_with(1.04 * listed)},
                    {Precision::kFp16, "cuBLASLt", result_with(1.08 * listed)},
                    {Precision::kFp16, "overclocked", result_with(1.08 * listed)}};
  measured.peaks[2].result.clock_hz = 1.1 * *references.datasheet->boost_hz;
  add_utilisation(measured, references);
  EXPECT_TRUE(measured.peaks[0].result.best) << "within the reading of a clock";
  EXPECT_FALSE(measured.peaks[1].result.best);
  EXPECT_NE(measured.peaks[1].result.reason.find("108 %"), std::string::npos) << measured.peaks[1].result.reason;
  EXPECT_TRUE(measured.peaks[2].result.best);
}

TEST(Utilisation, OfTheBestHereAreAtMostAll) {
  DeviceMeasurement measured;
  measured.links = {{Way::kToDevice, gpu::MemoryKind::kHost, 1, result_with(8e9)},
                    {Way::kToDevice, gpu::MemoryKind::kPinned, 1, result_with(25e9)},
                    {Way::kBoth, gpu::MemoryKind::kPinned, 1, result_with(40e9)}};
  References references;
  references.link_bytes_per_s = pcie_bytes_per_s(4, 16);
  references.link = "PCIe 4.0 x16";
  add_utilisation(measured, references);
  ASSERT_EQ(measured.links[0].result.utilisation.size(), 2u);
  EXPECT_EQ(measured.links[0].result.utilisation[1].of, "best here: pinned");
  EXPECT_DOUBLE_EQ(measured.links[0].result.utilisation[1].percent, 32);
  ASSERT_EQ(measured.links[2].result.utilisation.size(), 1u);
  EXPECT_NEAR(measured.links[2].result.utilisation[0].percent, 100 * 40 / 63.0, 0.1) << "both ways of 31.5 GB/s";
}

// 16 lanes of 16 GT/s with 128b/130b: 31.5 GB/s; 8 lanes of 5 GT/s with 8b/10b: 4 GB/s (PCIe Base Specification 6.0,
// 1.2).
TEST(PcieLink, CarriesWhatItsGenerationAndLanesAllow) {
  EXPECT_NEAR(*pcie_bytes_per_s(4, 16), 31.5e9, 0.02e9);
  EXPECT_DOUBLE_EQ(*pcie_bytes_per_s(2, 8), 4e9);
  EXPECT_FALSE(pcie_bytes_per_s(0, 16));
  EXPECT_FALSE(pcie_bytes_per_s(9, 16));
}

// OpenCL on this machine's CPU is compared with the CPU's limits.
TEST(Utilisation, OfACpuAreOfItsOwnMeasuredLimit) {
  machine::Machine machine;
  machine.cpu.model = "EPYC";
  machine.cpu.allowed_cores = 2;
  machine.cpu.caches = {{1, 48 << 10, 2}, {2, 1 << 20, 2}, {3, 32 << 20, 1}};
  machine.peaks = {{Precision::kFp32, 1, 100e9, "k", Origin::kMeasured, 0, 0},
                   {Precision::kFp32, 2, 200e9, "k", Origin::kMeasured, 0, 0}};
  machine::Bandwidth dram, last;
  dram.level = "DRAM";
  dram.threads = 2;
  dram.bytes_per_s = 40e9;
  last = dram;
  last.level = "L3";
  last.bytes_per_s = 80e9;
  machine.bandwidths = {dram, last};
  References references;
  references.cpu = machine;
  DeviceMeasurement measured;
  measured.facts.kind = "cpu";
  measured.facts.compute_units = 2;
  measured.peaks = {{Precision::kFp32, "multiply-adds", result_with(150e9)}};
  measured.bandwidths = {{"DRAM", "read", 0, result_with(30e9)},
                         {"DRAM", "copy", 0, result_with(45e9)},
                         {"last cache", "read", 0, result_with(60e9)}};
  add_utilisation(measured, references);
  ASSERT_EQ(measured.peaks[0].result.utilisation.size(), 1u);
  EXPECT_DOUBLE_EQ(measured.peaks[0].result.utilisation[0].percent, 75);
  EXPECT_DOUBLE_EQ(measured.bandwidths[0].result.utilisation[0].percent, 75);
  EXPECT_TRUE(measured.bandwidths[1].result.utilisation.empty())
      << "reading is no limit of copying, which is the best here";
  EXPECT_DOUBLE_EQ(measured.bandwidths[2].result.utilisation[0].percent, 75);
  EXPECT_EQ(measured.cpu_limits, "");
  measured.peaks[0].result = result_with(210e9);
  add_utilisation(measured, references);
  EXPECT_NE(measured.cpu_limits.find("105.0 %"), std::string::npos)
      << "more than a limit is impossible: " << measured.cpu_limits;
}

}  // namespace
}  // namespace ridge::limits::accelerator
