#include "cli/paragraph.h"

#include <gtest/gtest.h>

namespace ridge::cli {
namespace {

TEST(Paragraph, BreaksBetweenWordsAndIndentsEveryLine) {
  EXPECT_EQ(paragraph("what", "one two three four", 6, 16), "what  one two\n      three four\n");
}

TEST(Paragraph, ChineseBreaksBetweenCharactersAndTakesTwoColumnsEach) {
  EXPECT_EQ(columns_of("算术强度 a"), 10u);
  EXPECT_EQ(paragraph("", "算术强度决定上限", 2, 10), "  算术强度\n  决定上限\n");
}

TEST(Paragraph, ALineDoesNotBeginWithClosingPunctuation) {
  EXPECT_EQ(paragraph("", "算术强度，上限", 0, 8), "算术强\n度，上限\n");
}

TEST(Paragraph, AWordInsideChineseStaysWhole) {
  EXPECT_EQ(paragraph("", "按 GPU 型号选择", 0, 8), "按 GPU\n型号选择\n");
  EXPECT_EQ(paragraph("", "用cudaMalloc分配", 0, 12), "用cudaMalloc\n分配\n");
}

TEST(Paragraph, AWordWiderThanALineStandsAlone) {
  EXPECT_EQ(paragraph("", "a incomprehensibilities b", 0, 10), "a\nincomprehensibilities\nb\n");
}

TEST(Paragraph, BrokenUtf8IsTakenByteByByteAndEnds) {
  EXPECT_EQ(paragraph("", "\xE4\xB8", 0, 10), "\xE4\xB8\n");
  EXPECT_EQ(columns_of("\xFF\xFE"), columns_of("\xFF\xFE"));
}

}  // namespace
}  // namespace ridge::cli
