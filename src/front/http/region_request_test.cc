#include "front/http/region_request.h"

#include <gtest/gtest.h>

#include "front/client_policy.h"

namespace ridge::front::http {
namespace {

using serve::RegionKind;

TEST(HttpRegionRequest, ReadsWhereTheRegionLies) {
  auto region = read_region_request(RegionKind::kSystem, "r",
                                    R"({"key":"/k","offset":4096,"byte_size":18446744073709551615,"other":1})");
  ASSERT_TRUE(region) << region.error().message;
  EXPECT_EQ(region->name, "r");
  EXPECT_EQ(region->key, "/k");
  EXPECT_EQ(region->offset, 4096u);
  EXPECT_EQ(region->byte_size, UINT64_MAX);
  EXPECT_EQ(read_region_request(RegionKind::kSystem, "r", R"({"key":"k","byte_size":1})")->offset, 0u);
}

TEST(HttpRegionRequest, RefusesWhatIsMissingOrOfAnotherType) {
  for (const char* body :
       {"", "[]", "{", R"({"byte_size":1})", R"({"key":"k"})", R"({"key":1,"byte_size":1})",
        R"({"key":"k","byte_size":-1})", R"({"key":"k","byte_size":1.5})", R"({"key":"k","byte_size":"1"})",
        R"({"key":"k","byte_size":18446744073709551616})", R"({"key":"k","byte_size":1,"offset":null})"})
    EXPECT_FALSE(read_region_request(RegionKind::kSystem, "r", body)) << body;
  for (const char* body : {R"({"byte_size":1,"device_id":0})", R"({"raw_handle":"AAAA","byte_size":1,"device_id":0})",
                           R"({"raw_handle":{},"byte_size":1,"device_id":0})",
                           R"({"raw_handle":{"b64":"AAAA"},"byte_size":1,"device_id":0})",
                           R"({"raw_handle":{"b64":"?"},"byte_size":1,"device_id":0})"})
    EXPECT_FALSE(read_region_request(RegionKind::kCuda, "r", body)) << body;
}

TEST(HttpClientPolicy, OnlyClientsOfThisMachineShareMemoryUnlessSaidOtherwise) {
  EXPECT_TRUE(check_regions_allowed(ClientPolicy::kThisMachine, true));
  EXPECT_TRUE(check_regions_allowed(ClientPolicy::kAll, false));
  for (auto [policy, local] : {std::pair(ClientPolicy::kThisMachine, false), {ClientPolicy::kNone, true}}) {
    Status refused = check_regions_allowed(policy, local);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnsupported);
    EXPECT_NE(refused.error().message.find("--allow-client-shm"), std::string::npos);
  }
}

}  // namespace
}  // namespace ridge::front::http
