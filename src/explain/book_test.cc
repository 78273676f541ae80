#include "explain/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "explain/plain.h"

namespace ridge::explain {
namespace {

using testing::HasSubstr;

constexpr CodeTables kNoCodes = {"domain,code,name,alias,likely_cause,first_action,class,source\n",
                                 "domain,code,cause,action\n", "domain,code,text\n"};

std::string error_of(std::string_view english, std::string_view chinese, const CodeTables& tables = kNoCodes) {
  const SubjectText subjects[] = {{"terms", english, chinese}};
  auto book = make_book(subjects, tables, {});
  return book ? "" : book.error().message;
}

TEST(Book, AnEntryMustStandInBothLanguages) {
  EXPECT_EQ(error_of("## a\nname: A\n", "## a\nname: 甲\n"), "");
  EXPECT_THAT(error_of("## a\nname: A\n", ""), HasSubstr("'a' stands in the English file only"));
  EXPECT_THAT(error_of("", "## a\nname: 甲\n"), HasSubstr("'a' stands in the Chinese file only"));
}

TEST(Book, AReferenceMustLeadSomewhere) {
  EXPECT_THAT(error_of("## a\nname: A\nsee: b\n", "## a\nname: 甲\n"), HasSubstr("'a' refers to 'b'"));
  EXPECT_THAT(error_of("## a\nname: A\ncodes: cuda 2\n", "## a\nname: 甲\n"), HasSubstr("code 'cuda 2'"));
}

TEST(Book, ARowOfACodeThatDoesNotExistIsAnError) {
  CodeTables tables = kNoCodes;
  tables.chinese = "domain,code,cause,action\ncuda,2,甲,乙\n";
  EXPECT_THAT(error_of("", "", tables), HasSubstr("there is no code cuda 2"));
}

// The embedded texts.
class TheBook : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_book({});
    ASSERT_TRUE(opened) << opened.error().message;
    book_ = std::move(opened).value();
  }
  Book book_;
};

TEST_F(TheBook, EveryEntryIsWrittenInBothLanguages) {
  for (const Entry& entry : book_.entries) {
    const Wording& english = entry.in(Language::kEnglish);
    const Wording& chinese = entry.in(Language::kChinese);
    for (auto field : {&Wording::what, &Wording::why, &Wording::first, &Wording::deeper, &Wording::hurts,
                       &Wording::wrong, &Wording::ridge})
      EXPECT_EQ((english.*field).empty(), (chinese.*field).empty())
          << entry.id << ": a part exists in one language only";
    EXPECT_FALSE(english.what.empty()) << entry.id;
    EXPECT_FALSE(entry.source.empty()) << entry.id << " names no source";
    EXPECT_FALSE(entry.see.empty()) << entry.id << " leads nowhere";
  }
}

TEST_F(TheBook, ChineseIsChineseAndEnglishIsNot) {
  auto is_wide = [](char c) { return static_cast<unsigned char>(c) >= 0xE4 && static_cast<unsigned char>(c) <= 0xE9; };
  for (const Entry& entry : book_.entries) {
    const std::string& chinese = entry.in(Language::kChinese).what;
    EXPECT_TRUE(std::any_of(chinese.begin(), chinese.end(), is_wide)) << entry.id;
    const std::string& english = entry.in(Language::kEnglish).what;
    EXPECT_FALSE(std::any_of(english.begin(), english.end(), is_wide)) << entry.id;
  }
}

TEST_F(TheBook, HasTheTermsOfTheFieldAndEachIsExplained) {
  size_t terms = 0;
  for (const Entry& entry : book_.entries)
    terms += entry.subject == "terms" || entry.subject == "hardware" || entry.subject == "serving" ||
             entry.subject == "distributed";
  EXPECT_GE(terms, 120u);
}

TEST_F(TheBook, EveryCodeHasAChineseActionAndACauseOrSaysThatThereIsNone) {
  EXPECT_GE(book_.codes.size(), 230u);
  for (const ErrorCode& code : book_.codes) {
    EXPECT_FALSE(code.in(Language::kChinese).action.empty()) << code.family << " " << code.number;
    EXPECT_EQ(code.in(Language::kChinese).cause.empty(), code.only_label) << code.family << " " << code.number;
  }
}

TEST_F(TheBook, TwoEntriesHaveNotTheSameTitle) {
  std::set<std::string> english;
  std::set<std::string> chinese;
  for (const Entry& entry : book_.entries) {
    EXPECT_TRUE(english.insert(plain(entry.in(Language::kEnglish).name)).second) << entry.id;
    EXPECT_TRUE(chinese.insert(plain(entry.in(Language::kChinese).name)).second) << entry.id;
  }
}

TEST_F(TheBook, ANameLeadsToFewEntries) {
  for (const auto& [name, positions] : book_.entry_names) EXPECT_LE(positions.size(), 3u) << name;
}

TEST_F(TheBook, SourcesAreNoPathsOfAMachine) {
  for (const Entry& entry : book_.entries) EXPECT_FALSE(entry.source.starts_with("/")) << entry.id;
}

}  // namespace
}  // namespace ridge::explain
