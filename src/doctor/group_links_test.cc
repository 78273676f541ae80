// Link limits between GPUs, computed by hand.
#include "doctor/group_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::doctor {
namespace {

using gpu::Gpu;
using testing::Each;

constexpr Collective kCollectives[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                       Collective::kBroadcast};

Gpu joined_gpu(int capability, const std::string& address, const std::vector<std::string>& ends, int64_t generation = 4,
               int64_t lanes = 16) {
  Gpu gpu;
  gpu.compute_capability = std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  gpu.pci_address = address;
  gpu.pcie_generation_max = generation;
  gpu.pcie_width_max = lanes;
  for (const std::string& end : ends) {
    gpu::PeerLink link;
    link.up = end != "down";
    if (link.up && end != "hidden") link.remote = end;
    gpu.links.push_back(link);
  }
  return gpu;
}

std::vector<std::string> times(int count, const std::string& end) {
  return std::vector<std::string>(static_cast<size_t>(count), end);
}

// All joined to each other, with this many links.
std::vector<Gpu> mesh(int gpus, int capability, int links) {
  std::vector<Gpu> all;
  for (int i = 0; i < gpus; ++i) {
    std::vector<std::string> ends;
    for (int j = 0; j < gpus; ++j)
      for (int k = 0; i != j && k < links; ++k) ends.push_back(std::to_string(j));
    all.push_back(joined_gpu(capability, std::to_string(i), ends));
  }
  return all;
}

std::set<std::string> addresses_of(const std::vector<Gpu>& gpus) {
  std::set<std::string> all;
  for (const Gpu& gpu : gpus) all.insert(*gpu.pci_address);
  return all;
}

double limit_of(const std::vector<Gpu>& gpus, Collective collective) {
  Result<double> limit = bus_limit(links_of(gpus, addresses_of(gpus)), collective);
  EXPECT_TRUE(limit.ok());
  return limit ? *limit : 0;
}

// Eight H100 reached a sum of 275 GB/s, 480 GB/s of bus bandwidth in NCCL's tests (NVIDIA/nccl#2140).
TEST(BusFactor, IsOfNcclTests) {
  EXPECT_NEAR(bus_factor(Collective::kAllReduce, 8) * 275e9, 480e9, 2e9);
  EXPECT_EQ(bus_factor(Collective::kAllReduce, 2), 1);
  EXPECT_EQ(bus_factor(Collective::kAllGather, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::kReduceScatter, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::kBroadcast, 4), 1);
}

// Four A100 with twelve links of 25 GB/s each: 300 GB/s, of which NVIDIA's developers expect 240 (nccl-tests#149).
TEST(BusLimit, OfGpusThatAreAllJoinedIsWhatTheLinksOfOneCarry) {
  const std::vector<Gpu> gpus = mesh(4, 80, 4);
  for (Collective collective : kCollectives) EXPECT_DOUBLE_EQ(limit_of(gpus, collective), 300e9);
  const GroupLinks links = links_of(gpus, addresses_of(gpus));
  EXPECT_EQ(links.text, "NVLink, 300 GB/s of each GPU");
  EXPECT_DOUBLE_EQ(usual_bus_bandwidth(links, Collective::kAllReduce).bytes_per_s, 240e9);
}

// Two of the four: only the four links between them count; the links to the others lead to no switch.
TEST(BusLimit, CountsNoLinksToGpusOutsideTheGroup) {
  const std::vector<Gpu> all = mesh(4, 80, 4), two = {all[0], all[1]};
  const GroupLinks links = links_of(two, addresses_of(all));
  EXPECT_THAT(links.nvlink_bytes_per_s, Each(100e9));
  EXPECT_FALSE(links.by_switch);
}

// Eight H100 on reducing switches: 18 links of 25 GB/s; 2 · 7 / 9 · 450 = 700 GB/s for all-reduce, 450 for the others.
// 480 GB/s were measured (NVIDIA/nccl#1442).
TEST(BusLimit, OfASwitchThatReducesIsHigherForAllReduce) {
  std::vector<Gpu> gpus;
  for (int i = 0; i < 8; ++i) gpus.push_back(joined_gpu(90, std::to_string(i), times(18, "switch"), 5));
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllReduce), 700e9);
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllGather), 450e9);
  const GroupLinks links = links_of(gpus, addresses_of(gpus));
  EXPECT_EQ(links.text, "NVLink by switch, 450 GB/s of each GPU");
  EXPECT_NEAR(usual_bus_bandwidth(links, Collective::kAllReduce).bytes_per_s, 468e9, 1e9);
  gpus.resize(2);
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllReduce), 450e9) << "of two GPUs it saves nothing";
}

// A100 switches do not reduce. One GPU has two of its twelve links down: the mean of 300 and 250 GB/s.
TEST(BusLimit, FallsWithLinksThatAreDown) {
  std::vector<Gpu> gpus = {joined_gpu(80, "0", times(12, "switch")), joined_gpu(80, "1", times(10, "switch"))};
  gpus[1].links.push_back(gpu::PeerLink{});
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllReduce), 250e9) << "at most its own data, of two GPUs";
  for (int i = 2; i < 8; ++i) gpus.push_back(joined_gpu(80, std::to_string(i), times(12, "switch")));
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllReduce), (7 * 300e9 + 250e9) / 8);
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllGather), 250e9);
}

TEST(BusLimit, TakesASwitchThatIsHiddenForOneThatAllShare) {
  const std::vector<Gpu> gpus = {joined_gpu(80, "0", times(12, "hidden")), joined_gpu(80, "1", times(12, "hidden"))};
  EXPECT_DOUBLE_EQ(limit_of(gpus, Collective::kAllReduce), 300e9);
}

// PCIe Base Specification 6.0, 1.2: 31.5 GB/s of 4.0 x16.
TEST(BusLimit, WithoutNvlinkIsThatOfPcie) {
  std::vector<Gpu> gpus = {joined_gpu(89, "0", {}), joined_gpu(89, "1", {})};
  for (Collective collective : kCollectives) EXPECT_NEAR(limit_of(gpus, collective), 31.5e9, 0.02e9);
  const GroupLinks links = links_of(gpus, addresses_of(gpus));
  EXPECT_EQ(links.text, "PCIe 4.0 x16");
  EXPECT_NEAR(usual_bus_bandwidth(links, Collective::kBroadcast).bytes_per_s, 23.9e9, 0.1e9);
  gpus[1].pcie_width_max = Error{Code::kNotFound, "hidden"};
  EXPECT_FALSE(bus_limit(links_of(gpus, addresses_of(gpus)), Collective::kAllReduce).ok()) << "not known";
}

// Two pairs with bridges (4 links of 14.0625 GB/s): all-gather enters a pair over its two PCIe links, 3 / 2 · 63.0 GB/s
// = 94.5 of bus bandwidth; a GPU receives 56.25 + 31.5 = 87.8.
TEST(BusLimit, OfPairsIsThatOfThePcieBetweenThem) {
  std::vector<Gpu> gpus;
  for (int i = 0; i < 4; ++i) gpus.push_back(joined_gpu(86, std::to_string(i), times(4, std::to_string(i ^ 1))));
  const GroupLinks links = links_of(gpus, addresses_of(gpus));
  EXPECT_EQ(links.parts, 2u);
  EXPECT_EQ(links.text, "NVLink in 2 parts, PCIe 4.0 x16 between them");
  EXPECT_NEAR(limit_of(gpus, Collective::kAllGather), 87.8e9, 0.1e9);
  EXPECT_NEAR(limit_of(gpus, Collective::kBroadcast), 63.0e9, 0.1e9);
}

}  // namespace
}  // namespace ridge::doctor
