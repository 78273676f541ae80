#include "doctor/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doctor/facts.h"

namespace ridge::doctor {
namespace {

using testing::ElementsAre;

gpu::Gpu inventory_gpu(int index, const std::string& address, const std::vector<std::string>& remotes) {
  gpu::Gpu gpu;
  gpu.index = index;
  gpu.name = std::string("NVIDIA H100 80GB HBM3");
  gpu.compute_capability = std::string("9.0");
  gpu.cores = int64_t{16896};
  gpu.pci_address = address;
  for (const std::string& remote : remotes) {
    gpu::PeerLink link;
    link.up = remote != "down";
    link.remote = remote;
    gpu.links.push_back(link);
  }
  return gpu;
}

machine::Tree tree_with(const std::vector<gpu::Gpu>& gpus, const std::vector<gpu::GpuPair>& pairs = {}) {
  gpu::GpuSystem system;
  system.gpus = gpus;
  system.pairs = pairs;
  machine::Tree tree;
  tree.files[entry::kNvml] = dump_json(json_of(system));
  return tree;
}

TEST(GpuInventory, CountsDirectLinksAndThoseThroughASwitch) {
  const std::string a = "0000:01:00.0", b = "0000:02:00.0", c = "0000:03:00.0", sw = "0000:c4:00.0";
  Inventory inventory = inventory_of(
      tree_with({inventory_gpu(0, a, {b, b, "down", sw}), inventory_gpu(1, b, {a, a}), inventory_gpu(2, c, {sw, sw})}));
  EXPECT_THAT(inventory.matrix[0], ElementsAre("X", "NV2", "NV1"));
  EXPECT_THAT(inventory.matrix[1], ElementsAre("NV2", "X", "-"));
  EXPECT_THAT(inventory.matrix[2], ElementsAre("NV1", "-", "X"));
}

TEST(GpuInventory, WithoutLinksTheBusDecides) {
  machine::Tree tree = tree_with({inventory_gpu(0, "0000:01:00.0", {}), inventory_gpu(1, "0000:02:00.0", {}),
                                  inventory_gpu(2, "0000:03:00.0", {})},
                                 {{0, 1, std::string("PIX")}});
  tree.files["sys/bus/pci/devices/0000:01:00.0/numa_node"] = "0\n";
  tree.files["sys/bus/pci/devices/0000:01:00.0/local_cpulist"] = "0-31\n";
  tree.files["sys/bus/pci/devices/0000:03:00.0/numa_node"] = "1\n";
  Inventory inventory = inventory_of(tree);
  EXPECT_THAT(inventory.matrix[0], ElementsAre("X", "PIX", "SYS"));
  EXPECT_THAT(inventory.matrix[1], ElementsAre("PIX", "X", "-"));
  EXPECT_EQ(inventory.gpus[0].cpus, "0-31");
  EXPECT_EQ(inventory.gpus[1].numa_node, std::nullopt);
}

// H100 SXM: 16896 cores, 128 per multiprocessor: 132 (NVIDIA H100 Tensor Core GPU Architecture, table 1); 50 MB of L2.
TEST(GpuInventory, MultiprocessorsAreDerivedUnlessTheDriverTellsThem) {
  machine::Tree tree = tree_with({inventory_gpu(0, "0000:01:00.0", {})});
  EXPECT_EQ(inventory_of(tree).gpus[0].multiprocessors->value, 132);
  EXPECT_EQ(inventory_of(tree).gpus[0].multiprocessors->origin, Origin::kDerived);
  tree.files[entry::kCuda] = R"([{"pci_address": "0000:01:00.0", "multiprocessors": 114, "l2_bytes": 52428800}])";
  EXPECT_EQ(inventory_of(tree).gpus[0].multiprocessors->value, 114);
  EXPECT_EQ(inventory_of(tree).gpus[0].l2_bytes->value, 52428800);
  EXPECT_EQ(inventory_of(tree).gpus[0].l2_bytes->origin, Origin::kMeasured);
}

TEST(GpuInventory, AMachineWithoutGpusHasAnEmptyOne) {
  EXPECT_TRUE(inventory_of(machine::Tree{}).gpus.empty());
  EXPECT_TRUE(inventory_of(machine::Tree{}).matrix.empty());
}

}  // namespace
}  // namespace ridge::doctor
