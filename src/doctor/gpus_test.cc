#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "doctor/test_facts.h"
#include "gpu/gpu.h"
#include "gpu/nvml/abi.h"
#include "gpu/slowdown.h"
#include "machine/pci_gpus.h"

namespace ridge::doctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string device(const std::string& vendor, const std::string& lines = "",
                   const std::string& address = "0000:18:00.0") {
  const std::string folder = "=== sys/bus/pci/devices/" + address + "/";
  std::string text = folder + "class: 0x030200\n" + folder + "vendor: " + vendor + "\n" + folder + "device: 0x2330\n";
  size_t begin = 0;
  while (begin < lines.size()) {
    size_t end = lines.find('\n', begin);
    text += folder + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string judged_gpus(const std::string& text, std::string_view id) { return found(judge_gpus(facts_of(text)), id); }

// PCIe 4.0 x16: 16 lanes × 16 GT/s × 128/130 / 8 = 31.5 GB/s; 1.0 x1: 2.5 GT/s × 8/10 / 8 = 250 MB/s.
TEST(PciLink, BandwidthIsLanesTimesTransfersTimesCoding) {
  EXPECT_NEAR(machine::link_bytes_per_s(16, 16), 31.5e9, 0.02e9);
  EXPECT_DOUBLE_EQ(machine::link_bytes_per_s(1, 2.5), 250e6);
}

TEST(PciGpus, FindsAcceleratorsOfThreeVendorsOnly) {
  Facts facts = facts_of(device("0x10de") + device("0x1002", "", "0000:19:00.0") +
                         device("0x8086", "", "0000:00:02.0") + device("0x1af4", "", "0000:1b:00.0"));
  facts.tree.files["sys/bus/pci/devices/0000:1c:00.0/class"] = "0x020000";
  facts.tree.files["sys/bus/pci/devices/0000:1c:00.0/vendor"] = "0x10de";
  std::vector<machine::PciGpu> gpus = machine::pci_gpus(facts.tree);
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_TRUE(gpus[0].display_only);
  EXPECT_EQ(gpus[1].vendor, machine::GpuVendor::kNvidia);
  EXPECT_EQ(gpus[1].id, "10de:2330");
  EXPECT_EQ(gpus[2].vendor, machine::GpuVendor::kAmd);
}

TEST(GpuDriver, MissingOrWrongDriverFails) {
  EXPECT_THAT(judged_gpus(device("0x10de"), "gpu.0000:18:00.0.driver"),
              AllOf(StartsWith("fail: no driver"), HasSubstr("modprobe nvidia")));
  EXPECT_THAT(judged_gpus(device("0x10de", "uevent: DRIVER=nouveau\n"), "gpu.0000:18:00.0.driver"),
              StartsWith("fail: nouveau"));
  EXPECT_THAT(judged_gpus(device("0x10de", "uevent: DRIVER=vfio-pci\n"), "gpu.0000:18:00.0.driver"),
              StartsWith("not_applicable: "));
  EXPECT_THAT(judged_gpus(device("0x1002", "uevent: DRIVER=amdgpu\n"), "gpu.0000:18:00.0.driver"),
              StartsWith("ok: amdgpu"));
}

TEST(GpuLink, NarrowLinkWarnsAndSlowIdleLinkDoesNot) {
  const std::string full = "max_link_width: 16\nmax_link_speed: 16.0 GT/s PCIe\n";
  EXPECT_THAT(judged_gpus(device("0x10de", full + "current_link_width: 4\ncurrent_link_speed: 16.0 GT/s PCIe\n"),
                          "gpu.0000:18:00.0.link"),
              StartsWith("warn: x4 at 16 GT/s (7.88 GB/s), could be x16"));
  EXPECT_THAT(judged_gpus(device("0x10de", full + "current_link_width: 16\ncurrent_link_speed: 2.5 GT/s PCIe\n"),
                          "gpu.0000:18:00.0.link"),
              AllOf(StartsWith("ok: "), HasSubstr("idle")));
  EXPECT_THAT(judged_gpus(device("0x10de", "current_link_width: 0\nmax_link_width: 255\n"), "gpu.0000:18:00.0.link"),
              StartsWith("not_applicable: "));
}

TEST(GpuLink, CountedErrorsWarnAndFatalOnesFail) {
  auto errors = [](int corrected, int fatal) {
    Facts facts = facts_of(device("0x10de"));
    const std::string folder = "sys/bus/pci/devices/0000:18:00.0/";
    facts.tree.files[folder + "aer_dev_correctable"] = "RxErr 0\nTOTAL_ERR_COR " + std::to_string(corrected) + "\n";
    facts.tree.files[folder + "aer_dev_fatal"] = "DLP 0\nTOTAL_ERR_FATAL " + std::to_string(fatal) + "\n";
    return found(judge_gpus(facts), "gpu.0000:18:00.0.aer");
  };
  EXPECT_THAT(errors(0, 0), StartsWith("ok: 0 corrected"));
  EXPECT_THAT(errors(5000, 0), StartsWith("warn: 5000 corrected"));
  EXPECT_THAT(errors(0, 1), StartsWith("fail: 0 corrected, 0 uncorrected, 1 fatal"));
  EXPECT_THAT(judged_gpus(device("0x10de"), "gpu.0000:18:00.0.aer"), StartsWith("not_applicable: "));
}

TEST(GpuNode, CpusFarFromTheGpuWarn) {
  Facts facts = facts_of(device("0x10de", "numa_node: 1\n"));
  facts.machine->cpu.numa = {{0, int64_t{32} << 30, 4}, {1, int64_t{32} << 30, 0}};
  EXPECT_THAT(found(judge_gpus(facts), "gpu.0000:18:00.0.numa"),
              AllOf(StartsWith("warn: node 1"), HasSubstr("--cpunodebind=1")));
  facts.machine->cpu.numa[1].cpus = 2;
  EXPECT_THAT(found(judge_gpus(facts), "gpu.0000:18:00.0.numa"), StartsWith("ok: node 1"));
}

gpu::Gpu gpu() {
  gpu::Gpu gpu;
  gpu.name = std::string("NVIDIA H100 80GB HBM3");
  gpu.memory_total_bytes = int64_t{80} << 30;
  gpu.memory_used_bytes = int64_t{1} << 20;
  gpu.utilization_percent = int64_t{0};
  gpu.persistence = true;
  gpu.slowdown_bits = int64_t{1};
  gpu.compute_mode = int64_t{0};
  gpu.mig = false;
  gpu.ecc_uncorrected = gpu.ecc_corrected = int64_t{0};
  gpu.pcie_width = gpu.pcie_width_max = int64_t{16};
  gpu.pcie_generation = gpu.pcie_generation_max = int64_t{5};
  gpu.power_limit_mw = gpu.power_limit_default_mw = int64_t{700000};
  return gpu;
}

Findings judged_gpu(const gpu::Gpu& gpu, const std::string& environment = "") {
  gpu::GpuSystem system;
  system.gpus = {gpu};
  Facts facts = facts_of(environment.empty() ? "" : "=== tools/environment: " + environment + "\n");
  facts.tree.files[entry::kNvml] = dump_json(json_of(system));
  return judge_gpus(facts);
}

TEST(NvidiaGpu, HealthyGpuHasNothingBad) {
  for (const Finding& finding : judged_gpu(gpu()))
    EXPECT_TRUE(finding.verdict == Verdict::kOk || finding.verdict == Verdict::kNotApplicable)
        << finding.id << finding.evidence;
}

TEST(NvidiaGpu, SlowdownIsDecodedAndJudgedByItsKind) {
  auto throttle = [](uint64_t bits) {
    gpu::Gpu hot = gpu();
    hot.slowdown_bits = static_cast<int64_t>(bits);
    hot.temperature_c = int64_t{88};
    return found(judged_gpu(hot), "gpu.0.throttle");
  };
  EXPECT_THAT(throttle(gpu::nvml::kHardwarePowerBrake),
              AllOf(StartsWith("fail: power brake"), HasSubstr("power supplies")));
  EXPECT_THAT(throttle(gpu::nvml::kHardwareThermal), AllOf(StartsWith("fail: heat (hardware)"), HasSubstr("88 °C")));
  EXPECT_THAT(throttle(gpu::nvml::kSoftwareThermal), StartsWith("warn: heat"));
  EXPECT_THAT(throttle(gpu::nvml::kSoftwarePowerCap), StartsWith("ok: power limit"));
  EXPECT_THAT(throttle(gpu::nvml::kGpuIdle), StartsWith("ok: idle"));
}

TEST(NvidiaGpu, EveryFaultHasItsFinding) {
  gpu::Gpu bad = gpu();
  bad.ecc_uncorrected = int64_t{2};
  bad.persistence = false;
  bad.compute_mode = int64_t{2};
  bad.mig = true;
  bad.mig_instances = int64_t{0};
  bad.pcie_width = int64_t{4};
  bad.memory_used_bytes = int64_t{40} << 30;
  bad.processes = {{4711, int64_t{39} << 30}};
  bad.power_limit_mw = int64_t{400000};
  Findings findings = judged_gpu(bad);
  EXPECT_THAT(found(findings, "gpu.0.ecc"), StartsWith("fail: "));
  EXPECT_THAT(found(findings, "gpu.0.persistence"), StartsWith("warn: off"));
  EXPECT_THAT(found(findings, "gpu.0.compute_mode"), StartsWith("fail: prohibited"));
  EXPECT_THAT(found(findings, "gpu.0.mig"), StartsWith("fail: on, without instances"));
  EXPECT_THAT(found(findings, "gpu.0.link"), StartsWith("warn: generation 5 x4, could be 5 x16"));
  EXPECT_THAT(found(findings, "gpu.0.use"),
              AllOf(StartsWith("warn: 40.0 GiB of 80.0 GiB"), HasSubstr("process 4711 with 39.0 GiB")));
  EXPECT_THAT(found(findings, "gpu.0.power_limit"), StartsWith("warn: 400 W, by default 700 W"));
}

TEST(NvidiaGpu, LostGpuIsOneFailure) {
  gpu::Gpu lost;
  lost.failure = "nvmlDeviceGetName: GPU is lost (NVML code 15)";
  Findings findings = judged_gpu(lost);
  EXPECT_THAT(found(findings, "gpu.0.state"),
              AllOf(StartsWith("fail: nvmlDeviceGetName: GPU is lost"), HasSubstr("XID 79")));
  EXPECT_EQ(found(findings, "gpu.0.throttle"), "not found");
}

// Links 0 to 5; `down` and `faulty` are one of them, or -1.
gpu::Gpu with_links(int down, int faulty, int64_t replays = 3) {
  gpu::Gpu linked = gpu();
  for (int i = 0; i < 6; ++i) {
    gpu::PeerLink link;
    link.index = i;
    link.up = i != down;
    link.remote = std::string("0000:9b:00.0");
    link.replays = i == faulty ? replays : 0;
    link.recoveries = int64_t{0};
    link.crc_errors = int64_t{i == faulty ? 99 : 0};
    linked.links.push_back(link);
  }
  linked.peer_links = int64_t{6};
  return linked;
}

std::string judged_links(const std::vector<gpu::Gpu>& gpus) {
  gpu::GpuSystem system;
  system.gpus = gpus;
  Facts facts = facts_of("");
  facts.tree.files[entry::kNvml] = dump_json(json_of(system));
  return found(judge_gpus(facts), "gpu.0.nvlink");
}

TEST(PeerLinks, DownLinksAndErrorsWarn) {
  EXPECT_THAT(judged_links({with_links(-1, -1)}), StartsWith("ok: 6 of 6 up, to 1 other device"));
  EXPECT_THAT(judged_links({with_links(2, -1)}), AllOf(StartsWith("warn: 5 of 6 up"), HasSubstr("down: 2")));
  EXPECT_THAT(judged_links({with_links(2, -1), with_links(-1, -1)}), HasSubstr("another GPU of its kind has 6"));
  EXPECT_THAT(judged_links({with_links(-1, 4)}),
              AllOf(StartsWith("warn: 6 of 6 up"), HasSubstr("link 4: 3 replays"), HasSubstr("XID 74")));
  EXPECT_THAT(judged_links({with_links(-1, 4, 0)}), StartsWith("ok: ")) << "99 checksum errors alone are no rate";
}

TEST(PeerLinks, GpuWithoutABridgeIsNoFault) {
  gpu::Gpu alone = with_links(-1, -1);
  for (gpu::PeerLink& link : alone.links) link.up = false;
  EXPECT_THAT(judged_links({alone}), StartsWith("not_applicable: 0 of 6 up"));
  EXPECT_THAT(judged_links({alone, with_links(-1, -1)}), StartsWith("warn: 0 of 6 up"));
  EXPECT_THAT(judged_links({gpu()}), StartsWith("not_applicable: it has none"));
}

// tests/machines/doctor-amd.tree with other texts of its GPU's files.
Findings judged_amd(const std::map<std::string, std::string>& changes = {}) {
  Facts facts = facts_of("");
  Result<machine::Tree> tree = machine::read_tree(std::string(RIDGE_SOURCE_DIR) + "/tests/machines/doctor-amd.tree");
  EXPECT_TRUE(tree.ok());
  facts.tree = tree ? *tree : machine::Tree{};
  for (const auto& [file, text] : changes) facts.tree.files["sys/bus/pci/devices/0000:05:00.0/" + file] = text;
  return judge_gpus(facts);
}

size_t count_of(const Findings& findings, std::string_view id) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.id == id; }));
}

TEST(KernelGpuChecks, EveryMatterHasOneFinding) {
  const Findings findings = judged_amd();
  for (const char* matter : {"state", "ecc", "link", "driver", "throttle", "use", "power_limit", "level"}) {
    const std::string id = std::string("gpu.0000:05:00.0.") + matter;
    EXPECT_EQ(count_of(findings, id), 1u) << matter;
    EXPECT_THAT(found(findings, id), StartsWith("ok: ")) << matter;
  }
  EXPECT_THAT(found(findings, "gpu.amd.runtime"), AllOf(StartsWith("warn: open library"), HasSubstr("HIP")));
}

TEST(KernelGpuChecks, EveryFaultHasItsFinding) {
  const std::string id = "gpu.0000:05:00.0.";
  auto verdict = [&](const char* matter, const std::map<std::string, std::string>& changes) {
    return found(judged_amd(changes), id + matter);
  };
  EXPECT_THAT(verdict("state", {{"hwmon/hwmon4/temp2_input", "97000"}}),
              AllOf(StartsWith("warn: "), HasSubstr("critical 100 °C")));
  EXPECT_THAT(verdict("ecc", {{"ras/umc_err_count", "ue: 2\nce: 7\n"}}),
              AllOf(StartsWith("fail: 7 corrected and 2 uncorrected"), HasSubstr("--gpureset -d 0")));
  EXPECT_THAT(verdict("ecc", {{"ras/gpu_vram_bad_pages", "0x1 : 0x1000 : P\n"}}), StartsWith("warn: "));
  EXPECT_THAT(verdict("ecc", {{"ras/gpu_vram_bad_pages", "0x1 : 0x1000 : F\n"}}), StartsWith("fail: "));
  EXPECT_THAT(verdict("link", {{"current_link_width", "8"}}), StartsWith("warn: generation 5 x8"));
  EXPECT_THAT(verdict("use", {{"mem_info_vram_used", "107374182400"}}), StartsWith("warn: 100 GiB of 192 GiB"));
  EXPECT_THAT(verdict("use", {{"gpu_busy_percent", "99"}}), StartsWith("warn: "));
  EXPECT_THAT(verdict("power_limit", {{"hwmon/hwmon4/power1_cap", "400000000"}}),
              AllOf(StartsWith("warn: 400 W, by default 750 W"), HasSubstr("--setpoweroverdrive 750")));
  EXPECT_THAT(verdict("level", {{"power_dpm_force_performance_level", "low"}}), StartsWith("warn: low"));
}

TEST(KernelGpuChecks, GpuThatDoesNotAnswerHasNoOtherFinding) {
  Facts facts = facts_of(device("0x1002", "uevent: DRIVER=amdgpu\n"));
  const Findings findings = judge_gpus(facts);
  EXPECT_THAT(found(findings, "gpu.0000:18:00.0.state"), AllOf(StartsWith("fail: "), HasSubstr("reboot")));
  EXPECT_EQ(found(findings, "gpu.0000:18:00.0.ecc"), "not found");
}

TEST(KernelGpuChecks, IntelsUseIsJudgedWithoutItsMemorysSize) {
  Facts facts = facts_of("");
  Result<machine::Tree> tree = machine::read_tree(std::string(RIDGE_SOURCE_DIR) + "/tests/machines/doctor-intel.tree");
  ASSERT_TRUE(tree.ok());
  facts.tree = *tree;
  EXPECT_THAT(found(judge_gpus(facts), "gpu.0000:03:00.0.use"),
              StartsWith("warn: 6.00 GiB in use, 96 % busy, process 4711 with 6.00 GiB"));
  EXPECT_THAT(found(judge_gpus(facts), "gpu.0000:07:00.0.use"), StartsWith("ok: 64.0 MiB in use, 6 % busy"));
}

TEST(NvidiaGpu, HiddenGpusFail) {
  EXPECT_THAT(found(judged_gpu(gpu(), "CUDA_VISIBLE_DEVICES=-1"), "gpu.visible"),
              StartsWith("fail: CUDA_VISIBLE_DEVICES='-1'"));
  EXPECT_THAT(found(judged_gpu(gpu(), "CUDA_VISIBLE_DEVICES=0"), "gpu.visible"), StartsWith("ok: "));
  EXPECT_THAT(found(judged_gpu(gpu()), "gpu.visible"), StartsWith("ok: all 1"));
}

TEST(NvidiaLibrary, MissingIsAFaultOnlyWithAGpu) {
  const std::string missing =
      "=== missing/tools/nvml: open library libnvidia-ml.so.1: cannot open shared object file\n";
  EXPECT_THAT(judged_gpus(missing, "gpu.nvml"), StartsWith("not_applicable: "));
  EXPECT_THAT(judged_gpus(missing + device("0x10de", "uevent: DRIVER=nvidia\n"), "gpu.nvml"),
              AllOf(StartsWith("fail: "), HasSubstr("--gpus all")));
  EXPECT_THAT(judged_gpus("=== timeout/tools/nvml: no answer\n", "gpu.nvml"), StartsWith("fail: "));
  EXPECT_THAT(
      judged_gpus("=== missing/tools/nvml: nvmlInit_v2: Driver/library version mismatch (NVML code 18)\n", "gpu.nvml"),
      StartsWith("fail: "));
}

TEST(NvidiaSmi, ToolThatHangsFails) {
  EXPECT_THAT(judged_gpus("=== timeout/tools/nvidia-smi: no answer\n", "gpu.nvidia-smi"),
              AllOf(StartsWith("fail: "), HasSubstr("the driver hangs")));
  EXPECT_THAT(judged_gpus(device("0x10de") + "=== missing/tools/nvidia-smi: no such tool\n", "gpu.nvidia-smi"),
              StartsWith("not_applicable: "));
  EXPECT_THAT(
      judged_gpus(device("0x10de") + "=== failed/tools/nvidia-smi: a library is not on PATH\n", "gpu.nvidia-smi"),
      StartsWith("fail: "));
  EXPECT_THAT(judged_gpus("=== tools/nvidia-smi: GPU 0: NVIDIA H100 (UUID: GPU-1)\n", "gpu.nvidia-smi"),
              StartsWith("ok: answers, 1 line"));
}

}  // namespace
}  // namespace ridge::doctor
