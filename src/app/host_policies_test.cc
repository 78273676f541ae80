#include "app/host_policies.h"

#include <gtest/gtest.h>

namespace ridge::app {
namespace {

const HostParts kHost{.cores = {0, 1, 2, 3, 6}, .numa_nodes = {0, 1}};

std::string refusal(const std::vector<std::string>& texts) {
  const auto policies = parse_host_policies(texts, kHost);
  return policies ? "" : policies.error().message;
}

TEST(HostPolicies, SettingsOfANameBelongTogether) {
  const std::vector<std::string> texts = {"a,cpu-cores=0-2,6", "cpu,numa-node=1", "a,numa-node=0"};
  const auto policies = parse_host_policies(texts, kHost);
  ASSERT_TRUE(policies.ok()) << policies.error().message;
  ASSERT_EQ(policies->size(), 2u);
  EXPECT_EQ((*policies)[0].name, "a");
  EXPECT_EQ((*policies)[0].cores, (std::vector<int>{0, 1, 2, 6}));
  EXPECT_EQ((*policies)[0].numa_node, 0);
  EXPECT_EQ((*policies)[1].name, "cpu");
  EXPECT_TRUE((*policies)[1].cores.empty());
  EXPECT_EQ((*policies)[1].numa_node, 1);
}

TEST(HostPolicies, CoresAndNodesThatAreNotThereAreRefusedWithThoseThatAre) {
  EXPECT_NE(refusal({"a,cpu-cores=2-5"}).find("may not use the cores 4-5, only 0-3,6"), std::string::npos);
  EXPECT_NE(refusal({"a,numa-node=2"}).find("no NUMA node 2, only 0-1"), std::string::npos);
}

TEST(HostPolicies, MalformedTextsAreRefused) {
  for (const char* text : {"", "a", "a,", "a,cpu-cores", ",cpu-cores=0", "cpu-cores=0", "a,cpu-cores=", "a,cpu-cores=x",
                           "a,cpu-cores=3-1", "a,numa-node=", "a,numa-node=0x", "a,numa-node=-1", "a,gpu=0"})
    EXPECT_NE(refusal({text}), "") << text;
  EXPECT_NE(refusal({"a,cpu-cores=0", "a,cpu-cores=1"}), "");
  EXPECT_NE(refusal({"a,numa-node=0", "a,numa-node=1"}), "");
}

}  // namespace
}  // namespace ridge::app
