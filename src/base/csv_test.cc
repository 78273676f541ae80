#include "base/csv.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace ridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, KeepsCommasQuotesAndLineBreaksInsideQuotes) {
  Result<Csv> csv = parse_csv("name,notes\r\n\"A, B\",\"said \"\"x\"\"\nand y\"\n", "t");
  ASSERT_TRUE(csv) << csv.error().message;
  EXPECT_THAT(csv->columns, ElementsAre("name", "notes"));
  EXPECT_THAT(csv->rows, ElementsAre(ElementsAre("A, B", "said \"x\"\nand y")));
}

TEST(Csv, EmptyFieldsCountAndEmptyLinesDoNot) {
  Result<Csv> csv = parse_csv("a,b,c\n,,\n\n1,,3", "t");
  ASSERT_TRUE(csv);
  EXPECT_THAT(csv->rows, ElementsAre(ElementsAre("", "", ""), ElementsAre("1", "", "3")));
}

TEST(Csv, NamesTheRowThatHasAnotherLength) {
  Result<Csv> csv = parse_csv("a,b\n1,2\n1,2,3\n", "peaks");
  ASSERT_FALSE(csv);
  EXPECT_THAT(csv.error().message, HasSubstr("table peaks: row 3 has 3 fields, the header has 2"));
}

TEST(Csv, RefusesAnOpenQuoteAndAnEmptyText) {
  EXPECT_FALSE(parse_csv("a\n\"x", "t"));
  EXPECT_FALSE(parse_csv("", "t"));
}

TEST(Csv, FieldsReadBackAsWritten) {
  for (std::string text : {"plain", "a,b", "say \"x\"", "two\nlines", ""}) {
    Result<Csv> csv = parse_csv("h,i\n" + csv_field(text) + ",1\n", "t");
    ASSERT_TRUE(csv);
    EXPECT_EQ(csv->rows[0][0], text);
  }
}

TEST(Csv, ColumnsAreMembersOfTheRows) {
  const Json rows = {{{"name", "A, B"}, {"ms", {{"fast", 0.25}}}, {"bytes", 51539607552}, {"fits", false}},
                     {{"name", "C"}, {"ms", nullptr}, {"words", {"a", "b"}}}};
  EXPECT_EQ(csv_table("device=/name fast=/ms/fast bytes fits words", rows),
            "device,fast,bytes,fits,words\n"
            "\"A, B\",0.25,51539607552,false,\n"
            "C,,,,a b\n");
}

TEST(Csv, FindsAColumnByName) {
  Result<Csv> csv = parse_csv("a,b\n1,2\n", "t");
  EXPECT_EQ(csv->column("b"), 1);
  EXPECT_EQ(csv->column("c"), -1);
}

}  // namespace
}  // namespace ridge
