#include "explain/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::explain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kOne =
    "# A title for readers\n\n"
    "## ridge-point\n"
    "name: ridge point\n"
    "also: machine balance, balance point\n"
    "what: Where memory and\n"
    "  arithmetic take equally long.\n"
    "see: roofline\n"
    "match: first text | second * text\n"
    "codes: cuda 700, xid 31\n"
    "source: a book\n";

TEST(Entries, AreReadWithListsAndContinuedLines) {
  auto entries = parse_entries(kOne, "terms", Language::kEnglish);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 1u);
  const Entry& entry = entries->front();
  EXPECT_EQ(entry.id, "ridge-point");
  EXPECT_EQ(entry.subject, "terms");
  EXPECT_EQ(entry.in(Language::kEnglish).name, "ridge point");
  EXPECT_THAT(entry.in(Language::kEnglish).also, ElementsAre("machine balance", "balance point"));
  EXPECT_EQ(entry.in(Language::kEnglish).what, "Where memory and arithmetic take equally long.");
  EXPECT_THAT(entry.see, ElementsAre("roofline"));
  EXPECT_THAT(entry.match, ElementsAre("first text", "second * text"));
  EXPECT_THAT(entry.codes, ElementsAre("cuda 700", "xid 31"));
}

TEST(Entries, ALineBreakInsideChineseIsNoBlank) {
  auto entries = parse_entries("## a\nname: 甲\nwhat: 算术强度\n  决定上限\n", "terms", Language::kChinese);
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->front().in(Language::kChinese).what, "算术强度决定上限");
}

std::string error_of(std::string_view text, Language language = Language::kEnglish) {
  auto entries = parse_entries(text, "terms", language);
  return entries ? "" : entries.error().message;
}

TEST(Entries, AMistakeIsNamedWithItsLine) {
  EXPECT_THAT(error_of("## a\nname: x\nwaht: y\n"), HasSubstr("line 3: expected a field"));
  EXPECT_THAT(error_of("name: x\n"), HasSubstr("line 1: a field before the first"));
  EXPECT_THAT(error_of("## a\n\n  text\n"), HasSubstr("line 3: text that belongs to no field"));
  EXPECT_THAT(error_of("## a\nname: x\nname: y\n"), HasSubstr("'name' is given twice"));
  EXPECT_THAT(error_of("## a\nname: x\n## a\n"), HasSubstr("the id 'a' is given twice"));
}

TEST(Entries, WhatHasNoLanguageStandsInEnglishOnly) {
  EXPECT_THAT(error_of("## a\nsee: b\n", Language::kChinese), HasSubstr("keep it in the English file"));
}

}  // namespace
}  // namespace ridge::explain
