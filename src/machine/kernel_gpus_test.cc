#include "machine/kernel_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fake_clock.h"
#include "base/temporary_folder.h"
#include "gpu/slowdown.h"
#include "machine/amd_metrics.h"
#include "machine/gpu_counters.h"
#include "machine/pci_names.h"

namespace ridge::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kAmd = "sys/bus/pci/devices/0000:05:00.0/";
const std::string kArc = "sys/bus/pci/devices/0000:03:00.0/";
const std::string kXe = "sys/bus/pci/devices/0000:07:00.0/";

// tests/machines/<name>.tree.
Tree machine(const std::string& name) {
  Result<Tree> tree = read_tree(std::string(RIDGE_SOURCE_DIR) + "/tests/machines/" + name + ".tree");
  EXPECT_TRUE(tree.ok());
  return tree ? *tree : Tree{};
}

gpu::Gpu only(const Tree& tree, GpuVendor vendor) {
  std::vector<gpu::Gpu> gpus = kernel_gpus(tree, vendor);
  EXPECT_EQ(gpus.size(), 1u);
  return gpus.empty() ? gpu::Gpu{} : gpus.front();
}

// {name: value} of the known readings, as JSON.
Json known(const gpu::Gpu& gpu) {
  Json json = Json::object(), all = json_of(gpu);
  gpu::visit_readings(gpu, [&](const char* name, const auto& reading, const auto&...) {
    if (reading) json[name] = all[name];
  });
  return json;
}

std::vector<std::string> slowdowns(const gpu::Gpu& gpu) {
  std::vector<std::string> names;
  if (gpu.slowdown_bits)
    for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*gpu.slowdown_bits)))
      names.emplace_back(slowdown.name);
  return names;
}

TEST(KernelGpus, AmdgpuTellsEveryReadingInItsUnit) {
  const gpu::Gpu gpu = only(machine("doctor-amd"), GpuVendor::kAmd);
  const Json expected = {{"name", "AMD Instinct MI300X OAM"},
                         {"uuid", "0x5c2a3f0e11d04b27"},
                         {"pci_address", "0000:05:00.0"},
                         {"memory_total_bytes", 206141652992},
                         {"memory_used_bytes", 299565056},
                         {"utilization_percent", 0},
                         {"ecc", true},
                         {"ecc_corrected", 3},
                         {"ecc_uncorrected", 0},
                         {"rows_remapped", 1},
                         {"row_remap_pending", false},
                         {"row_remap_failed", false},
                         {"performance_level", "auto"},
                         {"slowdown_bits", 0},
                         {"partition", "SPX"},
                         {"pcie_generation", 5},
                         {"pcie_generation_max", 5},
                         {"pcie_width", 16},
                         {"pcie_width_max", 16},
                         {"pcie_replays", 0},
                         {"temperature_c", 41},
                         {"slowdown_temperature_c", 100},
                         {"power_mw", 139000},
                         {"power_limit_mw", 750000},
                         {"power_limit_set_mw", 750000},
                         {"power_limit_default_mw", 750000},
                         {"power_limit_min_mw", 0},
                         {"power_limit_max_mw", 750000},
                         {"energy_mj", 5013900},  // (65536 · 5000 + ⌊65536 · 13.9⌋) · 2^-16 J
                         {"sm_clock_mhz", 132},
                         {"sm_clock_max_mhz", 2100},
                         {"memory_clock_mhz", 900},
                         {"memory_clock_max_mhz", 1300}};
  EXPECT_EQ(known(gpu), expected) << Json::diff(known(gpu), expected).dump(1);
  EXPECT_EQ(gpu.failure, "");
  ASSERT_EQ(gpu.processes.size(), 1u);
  EXPECT_EQ(gpu.processes[0].pid, 4711);
  EXPECT_EQ(gpu.processes[0].memory_bytes, 4 << 20);
  EXPECT_TRUE(kernel_gpus(machine("doctor-amd"), GpuVendor::kIntel).empty());
}

// 95 W: 9.5 J in a tenth of a second. Two descriptors of one client count once.
TEST(KernelGpus, I915TellsPowerAndUseByTwoLooks) {
  const std::vector<gpu::Gpu> gpus = kernel_gpus(machine("doctor-intel"), GpuVendor::kIntel);
  ASSERT_EQ(gpus.size(), 2u);
  const Json expected = {{"name", "Intel DG2 [Arc A770]"},
                         {"pci_address", "0000:03:00.0"},
                         {"memory_used_bytes", int64_t{6} << 30},
                         {"utilization_percent", 96},
                         {"slowdown_bits", 0},
                         {"pcie_generation", 1},
                         {"pcie_generation_max", 1},
                         {"pcie_width", 1},
                         {"pcie_width_max", 1},
                         {"temperature_c", 62},
                         {"power_mw", 95000},
                         {"power_limit_mw", 190000},
                         {"power_limit_set_mw", 190000},
                         {"power_limit_default_mw", 225000},
                         {"energy_mj", 5009500},
                         {"sm_clock_mhz", 2350},
                         {"sm_clock_max_mhz", 2400}};
  EXPECT_EQ(known(gpus[0]), expected) << Json::diff(known(gpus[0]), expected).dump(1);
  ASSERT_EQ(gpus[0].processes.size(), 1u);
  EXPECT_EQ(gpus[0].processes[0].memory_bytes, int64_t{6} << 30);
}

// 1.4 J in a tenth of a second by the GPU's counter, not the package's; 480,000 of 1,920,000 cycles on one of four
// engines; the clock of the faster of two units; a limit of 0 is none.
TEST(KernelGpus, XeTellsCyclesTilesAndNoLimit) {
  const gpu::Gpu gpu = kernel_gpus(machine("doctor-intel"), GpuVendor::kIntel).at(1);
  EXPECT_EQ(gpu.index, 1);
  EXPECT_EQ(*gpu.name, "Intel Battlemage G21 [Arc B580]");
  EXPECT_EQ(*gpu.power_mw, 14000);
  EXPECT_EQ(*gpu.energy_mj, 700000);
  EXPECT_EQ(*gpu.utilization_percent, 6);
  EXPECT_EQ(*gpu.memory_used_bytes, 64 << 20);
  EXPECT_EQ(*gpu.temperature_c, 38);
  EXPECT_EQ(*gpu.sm_clock_mhz, 400);
  EXPECT_EQ(*gpu.sm_clock_max_mhz, 2850);
  EXPECT_FALSE(gpu.power_limit_mw);
  EXPECT_FALSE(gpu.power_limit_set_mw);
  EXPECT_EQ(*gpu.power_limit_default_mw, 190000);
  EXPECT_EQ(gpu.failure, "");
}

TEST(KernelGpus, EveryReasonOfIntelsDriversIsTranslated) {
  Tree tree = machine("doctor-intel");
  auto with = [&](const std::string& path) {
    Tree changed = tree;
    changed.files[path] = "1\n";
    return kernel_gpus(changed, GpuVendor::kIntel);
  };
  const std::string i915 = kArc + "drm/card0/gt/gt0/throttle_reason_", xe = kXe + "tile0/gt0/freq0/throttle/reason_";
  const std::pair<const char*, const char*> reasons[] = {
      {"pl1", "power limit"},   {"pl2", "power limit"},
      {"pl4", "current limit"}, {"vr_tdc", "current limit"},
      {"thermal", "heat"},      {"prochot", "hot signal"},
      {"ratl", "heat"},         {"vr_thermalert", "heat (voltage regulator)"}};
  for (const auto& [reason, name] : reasons) {
    EXPECT_THAT(slowdowns(with(i915 + reason)[0]), ElementsAre(name)) << reason;
    EXPECT_THAT(slowdowns(with(xe + reason)[1]), ElementsAre(name)) << reason;
  }
  EXPECT_THAT(slowdowns(with(kXe + "tile1/gt2/freq0/throttle/reason_mem_thermal")[1]), ElementsAre("heat (memory)"));
}

TEST(KernelGpus, OfOldKernelsOnlySomeReadingsAreMissing) {
  Tree tree = machine("doctor-intel");
  std::erase_if(tree.files, [](const auto& file) {
    return file.first.find("/gt/") != std::string::npos || file.first.ends_with("temp1_input");
  });
  const gpu::Gpu gpu = kernel_gpus(tree, GpuVendor::kIntel)[0];
  EXPECT_EQ(*gpu.sm_clock_mhz, 2350) << "gt_act_freq_mhz";
  EXPECT_FALSE(gpu.slowdown_bits);
  EXPECT_FALSE(gpu.temperature_c);
  EXPECT_EQ(gpu.failure, "");
}

TEST(KernelGpus, WithoutRootsRightsAnUnseenUseIsNotCalledNone) {
  Tree tree = machine("doctor-intel");
  tree.files[kGpuCounters] = R"({"elapsed_ns": 1e8, "complete": false, "before": {}, "after": {}})";
  EXPECT_THAT(kernel_gpus(tree, GpuVendor::kIntel)[0].utilization_percent.reason, HasSubstr("root"));
  tree.files[kGpuCounters] = R"({"elapsed_ns": 1e8, "complete": true, "before": {}, "after": {}})";
  EXPECT_EQ(*kernel_gpus(tree, GpuVendor::kIntel)[0].utilization_percent, 0);
  tree.files[kGpuCounters] = "not JSON";
  EXPECT_FALSE(kernel_gpus(tree, GpuVendor::kIntel)[0].utilization_percent);
  EXPECT_EQ(kernel_gpus(tree, GpuVendor::kIntel)[0].failure, "");
}

TEST(KernelGpus, LostOrHangingGpuIsAFailure) {
  Tree lost = machine("doctor-amd");
  std::erase_if(lost.files, [](const auto& file) {
    return file.first.starts_with(kAmd) &&
           (file.first.find("hwmon") != std::string::npos || file.first.find("mem_info") != std::string::npos ||
            file.first.ends_with("busy_percent"));
  });
  lost.files.erase(kGpuCounters);
  EXPECT_NE(only(lost, GpuVendor::kAmd).failure, "");
  Tree hangs = machine("doctor-amd");
  hangs.missing[kAmd + "gpu_busy_percent"] = {Code::kTimeout, "reading it"};
  EXPECT_EQ(only(hangs, GpuVendor::kAmd).failure, "reading it");
  Tree samples = machine("doctor-amd");
  samples.files.erase(kGpuCounters);
  samples.missing[kGpuCounters] = {Code::kTimeout, "reading the counters"};
  EXPECT_EQ(only(samples, GpuVendor::kAmd).failure, "reading the counters");
}

TEST(KernelGpus, GpusOfOtherDriversAndIntegratedGraphicsAreLeftOut) {
  Tree tree = machine("doctor-amd");
  tree.files[kAmd + "uevent"] = "DRIVER=vfio-pci\n";
  EXPECT_TRUE(kernel_gpus(tree, GpuVendor::kAmd).empty());
  Tree graphics = machine("doctor-intel");
  for (const char* file : {"class", "vendor", "device", "uevent"})
    graphics.files[std::string("sys/bus/pci/devices/0000:00:02.0/") + file] = graphics.files[kArc + file];
  EXPECT_EQ(kernel_gpus(graphics, GpuVendor::kIntel).size(), 2u);
}

TEST(KernelGpus, PagesAreCountedByTheirState) {
  Tree tree = machine("doctor-amd");
  tree.files[kAmd + "ras/gpu_vram_bad_pages"] =
      "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : F\n";
  gpu::Gpu gpu = only(tree, GpuVendor::kAmd);
  EXPECT_EQ(*gpu.rows_remapped, 3);
  EXPECT_TRUE(*gpu.row_remap_pending);
  EXPECT_TRUE(*gpu.row_remap_failed);
  tree.files[kAmd + "ras/gpu_vram_bad_pages"] = "";
  gpu = only(tree, GpuVendor::kAmd);
  EXPECT_EQ(*gpu.rows_remapped, 0);
  EXPECT_FALSE(*gpu.row_remap_pending);
}

TEST(KernelGpus, NameIsThatOfTheBoardElseOfTheListElseTheNumbers) {
  Tree tree = machine("doctor-amd");
  tree.files.erase(kAmd + "product_name");
  EXPECT_EQ(*only(tree, GpuVendor::kAmd).name, "AMD 1002:74a1");
  tree.files[kPciNames] = "1002:74a1 Aqua Vanjaram [Instinct MI300X]\n";
  EXPECT_EQ(*only(tree, GpuVendor::kAmd).name, "AMD Aqua Vanjaram [Instinct MI300X]");
}

TEST(KernelGpus, DriverVersionIsAmdgpusOwnOrTheKernels) {
  Tree tree = machine("doctor-amd");
  EXPECT_EQ(*kernel_driver_version(tree, GpuVendor::kAmd), "Linux 6.8.0-45-generic");
  tree.files["sys/module/amdgpu/version"] = "6.10.5\n";
  EXPECT_EQ(*kernel_driver_version(tree, GpuVendor::kAmd), "6.10.5");
}

TEST(PciNames, AreThoseOfTheDevicesAskedFor) {
  const std::string list =
      "# comment\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n\t74a1  Aqua Vanjaram [Instinct MI300X]\n"
      "\t\t1002 74a1  A subsystem\n\t74a2  Other\n10de  NVIDIA Corporation\n\t74a1  Not this one\n";
  EXPECT_EQ(pci_names(list, {"1002:74a1", "8086:0001"}), "1002:74a1 Aqua Vanjaram [Instinct MI300X]\n");
}

// A table of `size` bytes, all bits set except the header and `fields` {offset, {value, bytes}}.
std::string table(uint16_t size, uint8_t content, const std::map<size_t, std::pair<uint64_t, int>>& fields) {
  std::vector<uint8_t> bytes(size, 0xFF);
  auto put = [&](size_t offset, uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes[offset + static_cast<size_t>(i)] = static_cast<uint8_t>(value >> (8 * i));
  };
  put(0, size, 2);
  put(2, 1, 1);
  put(3, content, 1);
  for (const auto& [offset, field] : fields) put(offset, field.first, field.second);
  std::string digits;
  for (uint8_t byte : bytes) digits += std::string(1, "0123456789abcdef"[byte >> 4]) + "0123456789ABCDEF"[byte & 15];
  return digits;
}

std::vector<std::string> names(const gpu::Reading<int64_t>& bits) {
  gpu::Gpu gpu;
  gpu.slowdown_bits = bits;
  return slowdowns(gpu);
}

TEST(AmdMetrics, OlderTablesTellTheStateItself) {
  const std::string status = table(120, 3, {{112, {uint64_t{1} << 45 | 1, 8}}, {24, {77, 8}}});
  EXPECT_THAT(names(amd_metrics("", status).slowdown_bits), ElementsAre("power limit", "hot signal"));
  EXPECT_FALSE(amd_metrics("", status).energy_mj) << "its unit differs from GPU to GPU";
  EXPECT_FALSE(amd_metrics("", table(120, 3, {})).slowdown_bits) << "all bits set: not reported";
}

TEST(AmdMetrics, NewerTablesTellWhatHeldTheClock) {
  auto at = [](uint64_t checks, uint64_t power, uint64_t memory_heat) {
    return table(2208, 7,
                 {{24, {65536 * 3, 8}},
                  {40, {checks, 4}},
                  {44, {0, 4}},
                  {48, {power, 4}},
                  {52, {0, 4}},
                  {56, {0, 4}},
                  {60, {memory_heat, 4}}});
  };
  AmdMetrics metrics = amd_metrics(at(10, 5, 1), at(20, 9, 1));
  EXPECT_THAT(names(metrics.slowdown_bits), ElementsAre("power limit"));
  EXPECT_EQ(*metrics.energy_mj, 3000);
  EXPECT_THAT(names(amd_metrics(at(10, 5, 1), at(20, 5, 2)).slowdown_bits), ElementsAre("heat (memory)"));
  EXPECT_EQ(*amd_metrics(at(10, 5, 1), at(20, 5, 1)).slowdown_bits, 0);
  EXPECT_FALSE(amd_metrics(at(10, 5, 1), at(10, 5, 1)).slowdown_bits) << "nothing was checked in between";
}

TEST(AmdMetrics, UnknownVersionsAndDamagedTablesAreNotRead) {
  EXPECT_FALSE(amd_metrics("", table(120, 99, {{112, {1, 8}}})).slowdown_bits);
  EXPECT_FALSE(amd_metrics("", "").energy_mj);
  EXPECT_FALSE(amd_metrics("zz", table(120, 3, {{112, {1, 8}}}).substr(0, 60)).slowdown_bits);
}

TEST(GpuCounterSamples, ReadsCountersTablesAndClientsTwice) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string root = folder->path();
  auto save = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + "/" + path).parent_path());
    std::ofstream(root + "/" + path, std::ios::binary) << text;
  };
  save(kArc + "hwmon/hwmon3/energy1_input", "12\n");
  save(kAmd + "gpu_metrics", std::string("\x00\x2a\xff", 3));
  save("proc/42/fdinfo/3", "pos:\t0\ndrm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\n");
  save("proc/42/fdinfo/4", "drm-driver:\tnot a DRM file by its link\n");
  std::filesystem::create_directories(root + "/proc/42/fd");
  std::filesystem::create_symlink("/dev/dri/renderD128", root + "/proc/42/fd/3");
  std::filesystem::create_symlink("/tmp/file", root + "/proc/42/fd/4");
  FakeClock clock;
  Result<std::string> text = take_gpu_counters(root, clock);
  ASSERT_TRUE(text.ok());
  Result<GpuCounterSamples> samples = parse_gpu_counters(*text);
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(samples->elapsed_ns, 1e8);
  EXPECT_TRUE(samples->complete);
  EXPECT_EQ(samples->before, samples->after);
  EXPECT_EQ(samples->after.size(), 3u);
  EXPECT_EQ(samples->after[kAmd + "gpu_metrics"], "002aff");
  EXPECT_EQ(samples->after["proc/42/fdinfo/3"], "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\n");
  ASSERT_EQ(samples->clients_after.size(), 1u);
  EXPECT_EQ(samples->clients_after[0].process, 42);
}

}  // namespace
}  // namespace ridge::machine
