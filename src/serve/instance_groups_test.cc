#include "serve/instance_groups.h"

#include <gtest/gtest.h>

#include "model_config.pb.h"

namespace ridge::serve {
namespace {

// "cuda:0 cuda:1": the instances' devices on a machine with these GPUs.
std::string places(const std::string& groups, const std::vector<int>& gpus) {
  auto config = parse_config_text(groups, "f");
  std::string text;
  for (const plan::Device& device : devices_of(*place_instances(**config, gpus)))
    text += (text.empty() ? "" : " ") + plan::device_name(device);
  return text;
}

TEST(InstanceGroups, OfKindGpuAreOnTheGpusThatTheyListOrOnAll) {
  EXPECT_EQ(places("instance_group { kind: KIND_GPU count: 2 gpus: [ 1, 0 ] }", {0, 1, 2}),
            "cuda:1 cuda:1 cuda:0 cuda:0");
  EXPECT_EQ(places("instance_group { kind: KIND_GPU }", {0, 2}), "cuda:0 cuda:2");
  EXPECT_EQ(places("instance_group { kind: KIND_GPU }", {}), "cuda:0") << "which then says why it cannot be used";
  EXPECT_EQ(places("instance_group { kind: KIND_GPU gpus: 7 }", {0, 1}), "cuda:7") << "never another one";
  EXPECT_EQ(places("instance_group { kind: KIND_CPU count: 2 } instance_group { kind: KIND_GPU gpus: 0 }", {0}),
            "cpu cpu cuda:0");
}

TEST(InstanceGroups, OfKindAutoAreOnGpusOnlyIfTheirGpusAreThere) {
  EXPECT_EQ(places("", {0, 1}), "cuda:0 cuda:1");
  EXPECT_EQ(places("", {}), "cpu");
  EXPECT_EQ(places("instance_group { count: 2 }", {}), "cpu cpu");
  EXPECT_EQ(places("instance_group { count: 2 gpus: 1 }", {1}), "cuda:1 cuda:1");
  EXPECT_EQ(places("instance_group { count: 2 gpus: [ 0, 1 ] }", {1}), "cpu cpu");
}

// "pair  gpu_1": the instances' host policies, of which `policies` are set; where there is none, nothing.
std::string hosts(const std::string& groups, const std::vector<std::string>& policies) {
  auto config = parse_config_text(groups, "f");
  std::vector<HostPolicy> set;
  for (const std::string& name : policies) set.push_back({.name = name, .cores = {0}, .numa_node = {}});
  std::string text;
  for (const HostPolicy& host : host_policies_of(*place_instances(**config, std::vector<int>{0, 1}), set))
    text += host.name + " ";
  return text;
}

TEST(InstanceGroups, InstancesHaveTheHostPolicyThatTheirGroupNamesOrTheirKinds) {
  EXPECT_EQ(hosts("instance_group { count: 2 kind: KIND_CPU host_policy: \"pair\" } instance_group { kind: KIND_CPU }",
                  {"cpu", "pair"}),
            "pair pair cpu ");
  EXPECT_EQ(hosts("instance_group { kind: KIND_GPU } instance_group { kind: KIND_MODEL }", {"gpu_1", "model"}),
            " gpu_1 model ");
  EXPECT_EQ(hosts("instance_group { kind: KIND_CPU host_policy: \"other\" }", {"cpu"}), " ") << "not the kind's";
}

}  // namespace
}  // namespace ridge::serve
