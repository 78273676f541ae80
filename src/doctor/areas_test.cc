// The smaller areas: limits, network, log, engines, clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doctor/clocks.h"
#include "doctor/doctor.h"
#include "doctor/engines.h"
#include "doctor/probes.h"
#include "doctor/test_facts.h"

namespace ridge::doctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Limits, OpenFilesSharedMemoryAndProcessesWarnWhenSmall) {
  Facts facts = facts_of(
      "=== proc/self/limits\n"
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max processes             500                  96365                processes\n"
      "Max open files            1024                 1048576              files\n"
      "Max locked memory         65536                65536                bytes\n"
      "=== tools/file_systems: /dev/shm 67108864 67108864\n"
      "=== sys/class/infiniband/mlx5_0/ports/1/state: 4: ACTIVE\n");
  Findings findings = judge_limits(facts);
  EXPECT_THAT(found(findings, "limits.open_files"), StartsWith("warn: 1024, can be raised to 1048576"));
  EXPECT_THAT(found(findings, "limits.processes"), StartsWith("warn: 500"));
  EXPECT_THAT(found(findings, "limits.locked_memory"), StartsWith("warn: 64.0 KiB with an RDMA device"));
  EXPECT_THAT(found(findings, "limits.shared_memory"), AllOf(StartsWith("warn: 64.0 MiB"), HasSubstr("--shm-size")));
}

TEST(Limits, EnoughIsOk) {
  Findings findings = judge_limits(
      facts_of("=== proc/self/limits\nMax processes             unlimited            unlimited            processes\n"
               "Max open files            65536                1048576              files\n"
               "Max locked memory         unlimited            unlimited            bytes\n"
               "=== tools/file_systems: /dev/shm 8589934592 8589934592\n"));
  for (const Finding& finding : findings) EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.id << finding.evidence;
}

std::string link(const std::string& lines) {
  std::string text = "=== sys/class/net/eth0/device/uevent: DRIVER=ixgbe\n=== sys/class/net/eth0/operstate: up\n";
  return found(judge_network(facts_of(text + lines)), "network.eth0");
}

TEST(Network, SlowHalfDuplexAndFaultyLinksWarn) {
  EXPECT_THAT(link("=== sys/class/net/eth0/speed: 10000\n"), StartsWith("ok: up, 10 Gbit/s"));
  EXPECT_THAT(link("=== sys/class/net/eth0/speed: 100\n"), StartsWith("warn: up, 100 Mbit/s"));
  EXPECT_THAT(link("=== sys/class/net/eth0/speed: 1000\n=== sys/class/net/eth0/duplex: half\n"),
              AllOf(StartsWith("warn: "), HasSubstr("half duplex")));
  EXPECT_THAT(
      link(
          "=== sys/class/net/eth0/statistics/rx_packets: 1000000\n=== sys/class/net/eth0/statistics/rx_errors: 5000\n"),
      AllOf(StartsWith("warn: "), HasSubstr("5000 of 1000000 packets with errors")));
}

TEST(Network, DownLinkIsNotInUse) {
  std::string text = "=== sys/class/net/eth1/device/uevent: DRIVER=ixgbe\n=== sys/class/net/eth1/operstate: down\n";
  EXPECT_THAT(found(judge_network(facts_of(text)), "network.eth1"), StartsWith("not_applicable: down"));
}

TEST(Network, RdmaPortThatIsNotActiveWarns) {
  const std::string folder = "=== sys/class/infiniband/mlx5_0/ports/1/";
  std::string text =
      folder + "state: 2: INIT\n" + folder + "phys_state: 5: LinkUp\n" + folder + "rate: 400 Gb/sec (4X NDR)\n";
  EXPECT_THAT(found(judge_network(facts_of(text)), "network.rdma.mlx5_0.1"),
              AllOf(StartsWith("warn: 2: INIT, 400 Gb/sec"), HasSubstr("subnet manager")));
}

TEST(KernelLog, NamesTheCauseOfAnXid) {
  Findings findings =
      judge_kernel_log(facts_of("=== tools/kernel_log\n[  100.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, "
                                "name=python, GPU has fallen off the bus.\n"
                                "[  101.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.\n"
                                "[  102.5] NVRM: Xid (PCI:0000:3b:00): 31, pid=99, MMU Fault\n"));
  EXPECT_THAT(found(findings, "log.xid.79"),
              AllOf(StartsWith("fail: 2 times: The GPU no longer answers on PCIe"), HasSubstr("reboot")));
  EXPECT_THAT(found(findings, "log.xid.31"), StartsWith("warn: 1 time: "));
}

TEST(KernelLog, EachFaultHasItsKind) {
  Findings findings = judge_kernel_log(
      facts_of("=== tools/kernel_log\n"
               "[1.0] pcieport 0000:00:1c.0: AER: Corrected error received: 0000:03:00.0\n"
               "[2.0] pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: 0000:03:00.0\n"
               "[3.0] Out of memory: Killed process 4711 (python) total-vm:1kB\n"
               "[4.0] mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 5: b200000000070005\n"
               "[4.5] mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 9c00000000010092\n"
               "[5.0] blk_update_request: I/O error, dev sda, sector 2048\n"
               "[6.0] CPU2: Core temperature above threshold, cpu clock throttled (total events = 1)\n"
               "[7.0] INFO: task python:77 blocked for more than 120 seconds.\n"
               "[8.0] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable\n"
               "[9.0] amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n"));
  EXPECT_THAT(found(findings, "log.pcie_corrected"), StartsWith("warn: 1 line, the last: [1.0]"));
  EXPECT_THAT(found(findings, "log.pcie_fatal"), StartsWith("fail: "));
  EXPECT_THAT(found(findings, "log.oom"), StartsWith("warn: "));
  EXPECT_THAT(found(findings, "log.mce_fatal"), StartsWith("fail: 1 line"));
  EXPECT_THAT(found(findings, "log.mce"), StartsWith("warn: 1 line"));
  EXPECT_THAT(found(findings, "log.disk"), StartsWith("fail: "));
  EXPECT_THAT(found(findings, "log.heat"), StartsWith("warn: "));
  EXPECT_THAT(found(findings, "log.hang"), StartsWith("warn: "));
  EXPECT_THAT(found(findings, "log.clock"), StartsWith("warn: "));
  EXPECT_THAT(found(findings, "log.gpu_hang"), StartsWith("warn: "));
}

TEST(KernelLog, CleanOrUnreadableLogIsNoFault) {
  EXPECT_THAT(found(judge_kernel_log(facts_of("=== tools/kernel_log: [0.0] Linux version 6.1\n")), "log.kernel"),
              StartsWith("ok: 1 lines"));
  EXPECT_THAT(
      found(judge_kernel_log(facts_of("=== missing/tools/kernel_log: dmesg: Operation not permitted\n")), "log.kernel"),
      StartsWith("not_applicable: dmesg: Operation not permitted"));
}

TEST(KernelLog, RecordsOfTheKernelBecomeLines) {
  EXPECT_EQ(kernel_log_from_records("6,1,5678901,-;hello; world\n SUBSYSTEM=pci\n3,2,99,-,caller=T1;bad\nbroken\n"),
            "[    5.678901] hello; world\n[    0.000099] bad\n");
}

Facts with_engine(EngineFacts engine) {
  Facts facts = facts_of("");
  facts.tree.files[entry::kEngines] = dump_json(json_of(std::vector<EngineFacts>{std::move(engine)}));
  return facts;
}

TEST(Engines, ProviderThatIsAskedForAndDoesNotRunFails) {
  EngineFacts engine{"onnxruntime", "1.31.1", "/x/libonnxruntime.so", "", {}, 0};
  engine.providers = {
      {"CPUExecutionProvider", false, true, true, ""},
      {"CUDAExecutionProvider", true, false, true, "libcudnn.so.9: cannot open shared object file"},
      {"TensorrtExecutionProvider", false, false, true, "libnvinfer.so.10: cannot open shared object file"}};
  Findings findings = judge_engines(with_engine(engine));
  EXPECT_THAT(found(findings, "engines.onnxruntime"), StartsWith("ok: 1.31.1"));
  EXPECT_THAT(found(findings, "engines.onnxruntime.CPUExecutionProvider"), StartsWith("ok: "));
  EXPECT_THAT(found(findings, "engines.onnxruntime.CUDAExecutionProvider"), StartsWith("fail: libcudnn.so.9"));
  EXPECT_THAT(found(findings, "engines.onnxruntime.TensorrtExecutionProvider"), StartsWith("not_applicable: "));
}

TEST(Engines, AProviderThatStartsSlowlyIsSlowAndDoesNotHang) {
  EngineFacts engine{"onnxruntime", "1.31.1", "/x/libonnxruntime.so", "", {}, 0};
  engine.providers = {{"CUDAExecutionProvider", true, true, true, "", 14.0}};
  EXPECT_THAT(found(judge_engines(with_engine(engine)), "engines.onnxruntime.CUDAExecutionProvider"),
              StartsWith("ok: "));
  engine.providers.front().seconds = 31;
  EXPECT_THAT(found(judge_engines(with_engine(engine)), "engines.onnxruntime.CUDAExecutionProvider"),
              AllOf(StartsWith("warn: "), HasSubstr("slow: 31 s")));
  EXPECT_GE(GatherOptions().engine_limit, std::chrono::seconds(60));
}

TEST(Engines, CompiledInProviderFailsWhereItsGpuIs) {
  EngineFacts engine{"onnxruntime", "1.31.1", "/x/libonnxruntime.so", "", {}, 0};
  engine.providers = {{"CUDAExecutionProvider", false, false, true, "libcudart.so.12: cannot open"}};
  Facts facts = with_engine(engine);
  facts.tree.files["sys/bus/pci/devices/0000:18:00.0/class"] = "0x030200";
  facts.tree.files["sys/bus/pci/devices/0000:18:00.0/vendor"] = "0x10de";
  EXPECT_THAT(found(judge_engines(facts), "engines.onnxruntime.CUDAExecutionProvider"), StartsWith("fail: "));
}

TEST(Engines, RateAboveHalfOfThePeakProvesTheWideUnits) {
  EngineFacts engine{"onnxruntime", "1.31.1", "/x", "", {}, 80e9};
  Facts facts = with_engine(engine);
  EXPECT_THAT(found(judge_engines(facts), "engines.onnxruntime.isa"), StartsWith("not_applicable: "));
  facts.machine->peaks = {{Precision::kFp32, 1, 100e9, "avx512f fma", Origin::kMeasured, 1, 3e9}};
  EXPECT_THAT(found(judge_engines(facts), "engines.onnxruntime.isa"),
              StartsWith("ok: matrix multiplication 80.0 GFLOP/s, 80 % of the peak 100 GFLOP/s"));
  facts.machine->peaks[0].flops_per_s = 200e9;
  EXPECT_THAT(found(judge_engines(facts), "engines.onnxruntime.isa"), StartsWith("warn: "));
}

TEST(Engines, EngineThatDoesNotLoadFails) {
  EXPECT_THAT(found(judge_engines(with_engine({"onnxruntime", "", "", "no library", {}, 0})), "engines.onnxruntime"),
              StartsWith("fail: no library"));
}

TEST(Engines, AnEngineThatIsNotNeededMayBeAbsentAndSaysWhichPrecisionsRun) {
  EngineFacts absent{"openvino", "", "", "OpenVINO's library was not found", {}, 0, true};
  EXPECT_THAT(found(judge_engines(with_engine(absent)), "engines.openvino"),
              StartsWith("not_applicable: OpenVINO's library"));
  EngineFacts engine{"openvino", "2026.4.1", "/x/libopenvino.so.2641", "", {}, 0, true};
  engine.providers = {{"bf16", false, true, true, ""},
                      {"fp16", false, false, true, "this CPU has neither AVX512_FP16 nor AMX-FP16"}};
  Findings findings = judge_engines(with_engine(engine));
  EXPECT_THAT(found(findings, "engines.openvino.bf16"), StartsWith("ok: "));
  EXPECT_THAT(found(findings, "engines.openvino.fp16"), StartsWith("not_applicable: "));
}

std::string clock_source(const std::string& current, const std::string& available) {
  const std::string folder = "=== sys/devices/system/clocksource/clocksource0/";
  return found(judge_clock(facts_of(folder + "current_clocksource: " + current + "\n" + folder +
                                    "available_clocksource: " + available + "\n")),
               "clock.source");
}

TEST(Clock, SlowSourcesWarn) {
  EXPECT_THAT(clock_source("tsc", "tsc hpet acpi_pm"), StartsWith("ok: tsc"));
  EXPECT_THAT(clock_source("kvm-clock", "kvm-clock tsc"), StartsWith("ok: "));
  EXPECT_THAT(clock_source("hpet", "tsc hpet acpi_pm"), AllOf(StartsWith("warn: hpet"), HasSubstr("echo tsc")));
  EXPECT_THAT(clock_source("acpi_pm", "acpi_pm"), AllOf(StartsWith("warn: "), HasSubstr("kernel log")));
}

Findings judged_clock(const ClockFacts& clocks) {
  Facts facts;
  facts.tree.files[entry::kTime] = dump_json(json_of(clocks));
  return judge_clock(facts);
}

TEST(Clock, StepsBackFailAndUnsetClocksWarn) {
  ClockFacts clocks{true, true, 1500, 1000000, 25, 0, 0.1, 0.001};
  EXPECT_THAT(found(judged_clock(clocks), "clock.network_time"), StartsWith("ok: synchronised, may be off by 1.50 ms"));
  EXPECT_THAT(found(judged_clock(clocks), "clock.reading"), StartsWith("ok: 25 ns per read"));
  clocks.synchronised = false;
  clocks.steps_back = 1;
  EXPECT_THAT(found(judged_clock(clocks), "clock.network_time"), StartsWith("warn: not synchronised"));
  EXPECT_THAT(found(judged_clock(clocks), "clock.reading"), StartsWith("fail: "));
  clocks.steps_back = 0;
  clocks.ns_per_read = 900;
  EXPECT_THAT(found(judged_clock(clocks), "clock.reading"), StartsWith("warn: 900 ns per read"));
}

TEST(Clock, MeasuresThisMachine) {
  ClockFacts clocks = measure_clocks(std::chrono::milliseconds(5));
  EXPECT_GT(clocks.reads, 0);
  EXPECT_GT(clocks.ns_per_read, 0);
  EXPECT_EQ(clocks.steps_back, 0);
}

TEST(Doctor, WorstComesFirstWithinItsAreaAndTheSummaryNamesIt) {
  Facts facts = facts_of(
      "=== sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: powersave\n"
      "=== sys/devices/system/cpu/cpu0/cpufreq/scaling_driver: acpi-cpufreq\n"
      "=== sys/kernel/mm/transparent_hugepage/enabled: always madvise [never]\n");
  Diagnosis diagnosis = judge(facts, {"cpu"});
  EXPECT_FALSE(diagnosis.ready);
  EXPECT_EQ(diagnosis.fails, 1);
  EXPECT_EQ(diagnosis.warnings, 1);
  EXPECT_EQ(diagnosis.findings[0].id, "cpu.governor");
  EXPECT_EQ(diagnosis.findings[1].id, "cpu.transparent_huge_pages");
  EXPECT_THAT(diagnosis.summary, StartsWith("This machine is not ready: clock governor (cpu)."));
  EXPECT_THAT(diagnosis.summary, HasSubstr("Also 1 warning: transparent huge pages (cpu)"));
}

TEST(Doctor, UnknownAreaIsRefusedWithTheNamesOfAll) {
  EXPECT_TRUE(check_areas({"cpu", "gpu"}).ok());
  Status wrong = check_areas({"cpus"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message,
              HasSubstr("cpu, memory, limits, storage, network, gpu, log, versions, engines, clock"));
}

// Every area handles a machine without any facts, and reports no failure for it.
TEST(Doctor, EmptyFactsHoldNoFault) {
  Diagnosis diagnosis = judge(Facts{});
  for (const Finding& finding : diagnosis.findings)
    EXPECT_NE(finding.verdict, Verdict::kFail) << finding.id << ": " << finding.evidence;
}

}  // namespace
}  // namespace ridge::doctor
