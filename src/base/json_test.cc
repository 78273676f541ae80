#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge {
namespace {

TEST(ParseJson, KeepsTheOrderOfMembers) {
  auto json = parse_json(R"({"b":1,"a":2})", "test");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(dump_json(*json), R"({"b":1,"a":2})");
}

TEST(ParseJson, NamesTheDocumentInItsError) {
  auto json = parse_json("{", "cache /tmp/x.json");
  ASSERT_FALSE(json.ok());
  EXPECT_NE(json.error().message.find("cache /tmp/x.json"), std::string::npos);
}

TEST(ParseJson, RefusesDeepNestingWithoutRecursion) {
  EXPECT_FALSE(parse_json(std::string(1000000, '['), "deep").ok());
  std::string closed = std::string(300, '[') + std::string(300, ']');
  EXPECT_FALSE(parse_json(closed, "deep").ok());
  std::string fine = std::string(100, '[') + std::string(100, ']');
  EXPECT_TRUE(parse_json(fine, "fine").ok());
}

TEST(JsonMember, ReportsMissingAndMistypedMembersByName) {
  Json json = {{"n", 3}, {"s", "x"}};
  EXPECT_EQ(*json_member<int64_t>(json, "n"), 3);
  EXPECT_EQ(*json_member<double>(json, "n"), 3.0);
  EXPECT_FALSE(json_member<bool>(json, "n").ok());
  auto missing = json_member<std::string>(json, "t");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("'t'"), std::string::npos);
  EXPECT_EQ(*json_member_or<std::string>(json, "t", "d"), "d");
  EXPECT_FALSE(json_member_or<int64_t>(json, "s", 1).ok());
}

TEST(DumpJson, ReplacesInvalidUtf8InsteadOfThrowing) {
  Json json = {{"s", std::string("\xff", 1)}};
  EXPECT_NE(dump_json(json).find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace ridge
