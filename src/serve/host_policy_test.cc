#include "serve/host_policy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace ridge::serve {
namespace {

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  return cores;
}

TEST(HostPolicy, KeepsTheWorkAndTheThreadsThatItStartsOnItsCores) {
  const std::vector<int> before = own_cores();
  const HostPolicy last{.name = "last", .cores = {before.back()}, .numa_node = {}};
  std::vector<int> seen, inherited;
  ASSERT_TRUE(run_on_host(last, [&]() -> Status {
                seen = own_cores();
                std::thread([&] { inherited = own_cores(); }).join();
                return {};
              }).ok());
  EXPECT_EQ(seen, last.cores);
  EXPECT_EQ(inherited, last.cores);
  EXPECT_EQ(own_cores(), before);
}

TEST(HostPolicy, ErrorOfTheWorkIsReturned) {
  const HostPolicy policy{.name = "all", .cores = own_cores(), .numa_node = {}};
  const Status status = run_on_host(policy, [] { return Status(invalid("no")); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "no");
}

TEST(HostPolicy, CoresThatDoNotExistAreRefusedByTheSystem) {
  const Status status = run_on_host({.name = "far", .cores = {4000}, .numa_node = {}}, [] { return Status(); });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kFailed);
  EXPECT_NE(status.error().message.find("'far'"), std::string::npos);
}

}  // namespace
}  // namespace ridge::serve
