// The output of tools as their users have it; limits by hand.
#include "doctor/tool_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doctor/test_facts.h"
#include "gpu/gpu.h"

namespace ridge::doctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string fio(const std::string& rw, const std::string& rate, const std::string& median_ns) {
  return R"({"fio version": "fio-3.33", "jobs": [{"jobname": "load", "job options": {"rw": ")" + rw +
         R"(", "bs": "1M", "direct": "1"}, "read": {"bw_bytes": )" + rate +
         R"(, "iops": 878.1, "clat_ns": {"percentile": {"50.000000": )" + median_ns +
         R"(, "99.000000": 5210112}}}, "write": {"bw_bytes": 0}}], "disk_util": [{"name": "nvme0n1"}]})";
}

constexpr const char* kIperf =
    R"({"start": {"connected": [{"local_host": "10.0.0.1", "remote_host": "10.0.0.2"}],
                  "test_start": {"num_streams": 1, "reverse": 0}},
        "end": {"sum_sent": {"retransmits": 46}, "sum_received": {"bits_per_second": 2.4e9}}})";

constexpr const char* kPerftest = R"(
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 32768      5000             11000.00            10990.00		   0.351700
 65536      5000             11720.93            11718.95		   0.187503
---------------------------------------------------------------------------------------
)";

std::string nccl(const std::string& algorithm, const std::string& bus) {
  std::string text = "# nThread 1 nGpus 4 minBytes 8 maxBytes 134217728 step: 2(factor)\n# Using devices\n";
  for (const char* address : {"0x07", "0x0f", "0x47", "0x4e"})
    text += std::string("#  Rank  0 Group  0 Pid    322 on server device  0 [") + address + "] NVIDIA A100-SXM4-40GB\n";
  return text +
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
         "busbw "
         "#wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)\n"
         "           8             2     float     sum      -1    14.10    0.00    0.00      0    13.87    0.00    "
         "0.00 "
         "     0\n"
         "   134217728      33554432     float     sum      -1   876.20  " +
         algorithm + "  " + bus + "      0   890.10  0.66  1.00      0\n# Avg bus bandwidth    : 115.2\n";
}

constexpr const char* kNvbandwidth = R"(nvbandwidth Version: v0.4
Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
          0         1         2         3
0     24.94     12.10     24.95     24.96

SUM host_to_device_memcpy_ce 86.95

Running host_to_device_bidirectional_memcpy_ce.
memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)
          0         1         2         3
0      5.64     11.16      5.64      5.64

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
          0         1         2         3
0       N/A     93.10     93.20     93.20
1     93.10       N/A     93.20     93.20
)";

// Four A100, each joined to each other one by four NVLinks of 25 GB/s, on PCIe 4.0 x16.
Facts four_gpus() {
  gpu::GpuSystem system;
  const std::vector<std::string> addresses = {"0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0"};
  for (const std::string& address : addresses) {
    gpu::Gpu& gpu = system.gpus.emplace_back();
    gpu.pci_address = address;
    gpu.compute_capability = std::string("8.0");
    gpu.pcie_generation_max = int64_t{4};
    gpu.pcie_width_max = int64_t{16};
    for (const std::string& other : addresses)
      for (int link = 0; other != address && link < 4; ++link) {
        gpu.links.emplace_back().up = true;
        gpu.links.back().remote = other;
      }
  }
  Facts facts;
  facts.tree.files[entry::kNvml] = dump_json(json_of(system));
  return facts;
}

Findings judged(Facts facts, const std::string& output, std::string_view area) {
  facts.tree.files[std::string(entry::kOutputs) + "/0"] = output;
  const Result<std::string_view> its = area_of_output(output);
  EXPECT_TRUE(its.ok() && *its == area);
  return judge_outputs(facts, area);
}

// PCIe 4.0 x4: 4 · 16 GT/s · 128/130 / 8 = 7.88 GB/s.
TEST(ToolOutput, FioIsBesideThePcieLinkOfTheDisk) {
  const std::string nvme = "=== sys/class/nvme/nvme0/device/current_link_";
  const Facts facts = facts_of(nvme + "speed: 16.0 GT/s PCIe\n" + nvme + "width: 4\n");
  EXPECT_THAT(found(judged(facts, fio("read", "3939000000", "978944"), "storage"), "storage.fio.load read"),
              AllOf(StartsWith("ok: 3.94 GB/s, 878 per second, median 979 µs"),
                    HasSubstr("50.0 % of the 7.88 GB/s that the PCIe link of nvme0n1 carries")));
  EXPECT_THAT(found(judged(Facts{}, fio("read", "100000000", "978944"), "storage"), "storage.fio.load read"),
              AllOf(StartsWith("warn: 100 MB/s"), HasSubstr("10.0 s")));
  EXPECT_THAT(found(judged(Facts{}, fio("randread", "512000", "8000000"), "storage"), "storage.fio.load read"),
              StartsWith("warn: 512 kB/s"));
}

TEST(ToolOutput, IperfFarBelowTheLinkWarns) {
  const Facts facts = facts_of("=== sys/class/net/eth0/speed: 10000\n");
  EXPECT_THAT(found(judged(facts, kIperf, "network"), "network.iperf3.10.0.0.2"),
              AllOf(StartsWith("warn: 300 MB/s, 46 segments sent again, 24.0 % of the 1.25 GB/s that the fastest link"),
                    HasSubstr("tcp_rmem")));
  EXPECT_THAT(found(judged(Facts{}, kIperf, "network"), "network.iperf3.10.0.0.2"),
              AllOf(StartsWith("ok: "), HasSubstr("its limit is not known: no link reports its speed")));
  EXPECT_THAT(
      found(judged(facts, R"({"start": {}, "end": {}, "error": "unable to connect"})", "network"), "network.iperf3."),
      StartsWith("fail: unable to connect"));
}

// 11718.95 MiB/s are 12.29 GB/s, of 12.5.
TEST(ToolOutput, PerftestIsBesideThePort) {
  const std::string port = "=== sys/class/infiniband/mlx5_0/ports/1/rate: ";
  EXPECT_THAT(found(judged(facts_of(port + "100 Gb/sec (4X EDR)\n"), kPerftest, "network"), "network.perftest.mlx5_0"),
              StartsWith("ok: 12.3 GB/s at 64.0 KiB, 98.3 % of the 12.5 GB/s that port 1 of mlx5_0 carries"));
  EXPECT_THAT(found(judged(facts_of(port + "200 Gb/sec (4X HDR)\n"), kPerftest, "network"), "network.perftest.mlx5_0"),
              AllOf(StartsWith("warn: "), HasSubstr("49.2 %")));
}

// 300 GB/s of each GPU, of which NVIDIA's developers expect 240 and see 230 (nccl-tests#149).
TEST(ToolOutput, NcclTestsAreBesideTheLinksBetweenTheGpus) {
  EXPECT_THAT(found(judged(four_gpus(), nccl("153.18", "229.77"), "gpu"), "gpu.nccl.all-reduce"),
              AllOf(StartsWith("ok: 230 GB/s of bus bandwidth at 128 MiB (usual: 240 GB/s"), HasSubstr("76.6 %")));
  EXPECT_THAT(found(judged(four_gpus(), nccl("80.00", "120.00"), "gpu"), "gpu.nccl.all-reduce"),
              AllOf(StartsWith("warn: 120 GB/s"), HasSubstr("topo -p2p")));
  EXPECT_THAT(found(judged(Facts{}, nccl("153.18", "229.77"), "gpu"), "gpu.nccl.all-reduce"),
              AllOf(StartsWith("ok: "), HasSubstr("not known: 4 ranks, and NVML shows 0 GPUs here")));
  std::string damaged = nccl("153.18", "229.77");
  damaged.replace(damaged.find("1.00      0"), 11, "1.00      7");
  EXPECT_THAT(found(judged(four_gpus(), damaged, "gpu"), "gpu.nccl.all-reduce"), HasSubstr("7 values wrong"));
}

TEST(ToolOutput, NvbandwidthShowsTheSlowestCopyOfEachKind) {
  const Findings findings = judged(four_gpus(), kNvbandwidth, "gpu");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(found(findings, "gpu.nvbandwidth.host_to_device_memcpy_ce"),
              StartsWith("warn: slowest 12.1 GB/s by GPU 1, 38.4 % of the 31.5 GB/s that PCIe 4.0 x16 carries"));
  EXPECT_THAT(found(findings, "gpu.nvbandwidth.device_to_device_memcpy_read_ce"),
              StartsWith("ok: slowest 93.1 GB/s by GPU 0 and GPU 1, 93.1 % of the 100 GB/s that NVLink"));
}

TEST(ToolOutput, OfNoToolIsRefusedWithTheCommandsThatAreRead) {
  const Result<std::string_view> area = area_of_output("hello");
  ASSERT_FALSE(area.ok());
  EXPECT_THAT(area.error().message, AllOf(HasSubstr("iperf3 -c PEER --json"), HasSubstr("nccl-tests")));
  EXPECT_THAT(found(judge_outputs(Facts{}, "storage"), "storage.measured"),
              AllOf(StartsWith("not_applicable: not measured: fio "), HasSubstr("| ridge doctor --from -")));
}

// Cut anywhere, or with another byte, an output is judged or refused.
TEST(ToolOutput, DamagedNeverFails) {
  for (std::string text : {fio("read", "1e9", "1"), std::string(kIperf), std::string(kPerftest), nccl("1.0", "1.5"),
                           std::string(kNvbandwidth)})
    for (size_t at = 0; at < text.size(); at += 17)
      for (std::string damaged : {text.substr(0, at), text.substr(at), text.substr(0, at) + "9 -" + text.substr(at)}) {
        Facts facts = four_gpus();
        facts.tree.files[std::string(entry::kOutputs) + "/0"] = damaged;
        for (const char* area : {"storage", "network", "gpu"})
          for (const Finding& finding : judge_outputs(facts, area)) EXPECT_FALSE(finding.evidence.empty());
      }
}

}  // namespace
}  // namespace ridge::doctor
