#include "catalogue/capability.h"

#include <gtest/gtest.h>

namespace ridge::catalogue {
namespace {

std::vector<Capability> all_capabilities() {
  auto read = capabilities();
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : std::vector<Capability>{};
}

TEST(Capabilities, ReadEveryRowWithASource) {
  std::vector<Capability> rows = all_capabilities();
  EXPECT_EQ(rows.size(), 31u);
  for (const Capability& row : rows) EXPECT_FALSE(row.source.empty()) << row.version;
}

// Guides give upper bounds that are too low (handbook, section 4): Maxwell to Volta compile up to 12.9, Turing still
// does.
TEST(Capabilities, KnowTheFirstAndTheLastToolkit) {
  std::vector<Capability> rows = all_capabilities();
  for (auto [version, first, last] : {std::tuple("3.5", "5.0", "11.8"),
                                      {"5.0", "6.0", "12.9"},
                                      {"7.0", "9.0", "12.9"},
                                      {"7.5", "10.0", ""},
                                      {"8.9", "11.8", ""},
                                      {"9.0", "11.8", ""},
                                      {"10.0", "12.8", ""}}) {
    auto row = find_capability(rows, version);
    ASSERT_TRUE(row) << version;
    EXPECT_EQ(row->first_cuda, first) << version;
    EXPECT_EQ(row->last_cuda, last) << version;
  }
}

TEST(Capabilities, KnowTheLimitsOfAMultiprocessor) {
  auto row = find_capability(all_capabilities(), "8.9");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->threads, 1536);
  EXPECT_EQ(row->registers, 65536);
  EXPECT_DOUBLE_EQ(*row->shared_bytes, 100.0 * 1024);
  EXPECT_EQ(row->chips.front(), "AD102");
  EXPECT_EQ(row->tensor_precisions.front(), "tf32");
  EXPECT_FALSE(find_capability(all_capabilities(), "1.0")->threads) << "not sourced";
}

TEST(Capabilities, AreFoundAsCompilersWriteThem) {
  EXPECT_EQ(find_capability(all_capabilities(), "sm_89")->version, "8.9");
  EXPECT_EQ(find_capability(all_capabilities(), "120")->version, "12.0");
  auto none = find_capability(all_capabilities(), "8.4");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("known: 1.0, "), std::string::npos);
}

}  // namespace
}  // namespace ridge::catalogue
