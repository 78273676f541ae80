#include "front/access.h"

#include <gtest/gtest.h>

namespace ridge::front {
namespace {

constexpr const char* kFile =
    "# who may do what\r\n"
    "\n"
    "inference          inference-key-01\n"
    "  inference,metrics\tboth-groups-key-2  \r\n"
    "control            control-key-0003\n"
    "all                every-group-key4";

KeyTable table_of(const char* text) {
  Result<KeyTable> table = KeyTable::parse(text);
  if (!table) ADD_FAILURE() << table.error().message;
  return *table;
}

Code code_of(const Status& status) { return status ? Code::kFailed : status.error().code; }

TEST(Access, AKeyOpensTheCallsOfItsGroups) {
  const KeyTable table = table_of(kFile);
  EXPECT_TRUE(table.check(kInferenceCalls, {.authorization = "Bearer inference-key-01"}));
  EXPECT_TRUE(table.check(kInferenceCalls, {.authorization = "bEARER   inference-key-01 "}));
  EXPECT_TRUE(table.check(kInferenceCalls, {.api_key = "inference-key-01"}));
  EXPECT_TRUE(table.check(kDescribingCalls, {.api_key = "inference-key-01"}));
  EXPECT_TRUE(table.check(kStatisticsCalls, {.api_key = "inference-key-01"}));
  EXPECT_TRUE(table.check(kMetricsCalls, {.api_key = "both-groups-key-2"}));
  EXPECT_TRUE(table.check(kOperatorCalls, {.api_key = "control-key-0003"}));
  for (const Groups groups : {kInferenceCalls, kDescribingCalls, kStatisticsCalls, kMetricsCalls, kOperatorCalls})
    EXPECT_TRUE(table.check(groups, {.api_key = "every-group-key4"}));
}

TEST(Access, AKeyOfOtherGroupsIsForbidden) {
  const KeyTable table = table_of(kFile);
  EXPECT_EQ(code_of(table.check(kOperatorCalls, {.api_key = "inference-key-01"})), Code::kForbidden);
  EXPECT_EQ(code_of(table.check(kMetricsCalls, {.api_key = "inference-key-01"})), Code::kForbidden);
  EXPECT_EQ(code_of(table.check(kInferenceCalls, {.api_key = "control-key-0003"})), Code::kForbidden);
}

TEST(Access, NoKeyOrAnUnknownOneIsUnauthenticated) {
  const KeyTable table = table_of(kFile);
  EXPECT_EQ(code_of(table.check(kInferenceCalls, {})), Code::kUnauthenticated);
  for (const char* field : {"", "Bearer", "Bearer ", "Bearer inference-key-0", "Bearer inference-key-011",
                            "inference-key-01", "Basic inference-key-01", "Bearer Inference-Key-01", "Bearer *"})
    EXPECT_EQ(code_of(table.check(kInferenceCalls, {.authorization = field})), Code::kUnauthenticated) << field;
}

TEST(Access, AnotherSchemeLeavesTheKeyToItsOwnField) {
  const KeyTable table = table_of(kFile);
  EXPECT_TRUE(table.check(kInferenceCalls, {.authorization = "Basic YTpi", .api_key = "inference-key-01"}));
}

TEST(Access, AStarOpensGroupsToAll) {
  const KeyTable table = table_of("metrics *\ncontrol control-key-0003\n");
  EXPECT_TRUE(table.check(kMetricsCalls, {}));
  EXPECT_TRUE(table.check(kMetricsCalls, {.api_key = "unknown"}));
  EXPECT_FALSE(table.check(kOperatorCalls, {}));
  EXPECT_FALSE(table.check(kInferenceCalls, {}));
}

TEST(Access, AKeyMayHaveANameWhichIsNoPartOfIt) {
  const KeyTable table = table_of("inference  inference-key-01  name=shop\ncontrol control-key-0003\n");
  EXPECT_TRUE(table.check(kInferenceCalls, {.api_key = "inference-key-01"}));
  EXPECT_EQ(table.name_of({.authorization = "Bearer inference-key-01"}), "shop");
  EXPECT_EQ(table.name_of({.api_key = "control-key-0003"}), "");
  EXPECT_EQ(table.name_of({.api_key = "unknown-key-00004"}), "");
  EXPECT_EQ(table.name_of({}), "");
}

TEST(Access, CallsAndTokensAreCountedByTheNamesOfKeys) {
  const auto use = std::make_shared<KeyUse>();
  const auto table = KeyTable::parse(
      "inference key-of-the-shop-1 name=shop\ninference key-of-the-shop-2 name=shop\ninference key-without-name\n"
      "control key-of-operators name=operator",
      use);
  for (const char* key : {"key-of-the-shop-1", "key-of-the-shop-2", "key-without-name"})
    EXPECT_TRUE(table->check(kInferenceCalls, {.api_key = key}));
  EXPECT_FALSE(table->check(kInferenceCalls, {.api_key = "key-of-operators"}));
  EXPECT_TRUE(table->check(kDescribingCalls, {.api_key = "key-of-the-shop-1"}));
  count_tokens(&*table, "shop", 7, 5);
  count_tokens(&*table, "shop", 1, 2);
  const std::map<std::string, KeyUse::Counts> counts = use->counts();
  ASSERT_EQ(counts.size(), 2u) << "refused calls and those of operators are not counted";
  EXPECT_EQ(counts.at("shop").calls, 2u);
  EXPECT_EQ(counts.at("shop").prompt_tokens, 8u);
  EXPECT_EQ(counts.at("shop").generated_tokens, 7u);
  EXPECT_EQ(counts.at("unnamed").calls, 1u);
  for (int i = 0; i < 300; ++i) use->add(std::to_string(i), {.calls = 1});
  EXPECT_EQ(use->counts().size(), 201u);
  EXPECT_EQ(use->counts().at("others").calls, 102u);
}

TEST(Access, ErrorsNameTheLineAndNoKey) {
  for (const char* line : {"secretsecretsecret", "inference secret", "infer secretsecretsecret",
                           ",inference secretsecretsecret", "inference secretsecret secretsecret",
                           "inference secretsecretsecret name=", "inference secretsecret name=secretsecret",
                           "inference s\xc3\xa9"
                           "cretsecretsecret"}) {
    const Result<KeyTable> table = KeyTable::parse(std::string("\n# comment\n") + line + "\n");
    ASSERT_FALSE(table) << line;
    EXPECT_NE(table.error().message.find("line 3"), std::string::npos) << table.error().message;
    EXPECT_EQ(table.error().message.find("secret"), std::string::npos) << table.error().message;
  }
  EXPECT_FALSE(KeyTable::parse(""));
  EXPECT_FALSE(KeyTable::parse("# nothing\nmetrics *\n"));
}

TEST(Access, RefusalsHoldNoKey) {
  const KeyTable table = table_of(kFile);
  const Status unknown = table.check(kInferenceCalls, {.authorization = "Bearer a-secret-of-others"});
  const Status other = table.check(kOperatorCalls, {.api_key = "inference-key-01"});
  EXPECT_EQ(unknown.error().message.find("a-secret"), std::string::npos);
  EXPECT_EQ(other.error().message.find("inference-key"), std::string::npos);
}

TEST(Access, WithoutKeysEveryCallIsAllowedAndHealthAlwaysIs) {
  EXPECT_TRUE(check_access(nullptr, kOperatorCalls, {}));
  auto keys = Keys::open("keys", {}, [] { return KeyTable::parse(kFile); });
  ASSERT_TRUE(keys);
  EXPECT_TRUE(check_access(keys->get(), kHealthCalls, {}));
  EXPECT_FALSE(check_access(keys->get(), kOperatorCalls, {}));
}

}  // namespace
}  // namespace ridge::front
