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

TEST(Paragraph, ANumberKeepsItsUnit) {
  EXPECT_EQ(paragraph("", "at most 12.4 ms, 65.9 k rows/s", 0, 14), "at most\n12.4 ms,\n65.9 k rows/s\n");
  EXPECT_EQ(paragraph("", "all 224 devices", 0, 10), "all 224\ndevices\n");
}

TEST(Paragraph, AWordWiderThanATablesColumnIsBroken) {
  EXPECT_EQ(paragraph("", "a /layer4/conv2", 0, 6, LongWord::kBreaks), "a\n/layer\n4/conv\n2\n");
}

TEST(Paragraph, ColoursTakeNoColumns) {
  EXPECT_EQ(columns_of("\x1b[1;31mFAIL\x1b[0m"), 4u);
  EXPECT_EQ(widest_word("\x1b[31mdoes\x1b[0m not"), 4u);
}

TEST(Cut, LeavesWhatFitsAndMarksWhatWasCut) {
  EXPECT_EQ(cut("12345", 5), "12345");
  EXPECT_EQ(cut("123456", 5), "1234…");
  EXPECT_EQ(cut("算术强度", 5), "算术…");
  EXPECT_EQ(cut("123", 0), "");
}

TEST(Fitted, ALineContinuesBelowItsOwnText) {
  EXPECT_EQ(fitted("short\n\n  warn  title: one two three\n", 20), "short\n\n  warn  title: one\n        two three\n");
  EXPECT_EQ(fitted("note: one two three four", 16), "note: one two\n      three four\n");
  EXPECT_EQ(fitted("one two three four five", 12), "one two\n  three four\n  five\n");
}

TEST(Fitted, WithoutAWidthNothingChanges) {
  const std::string text = "a  very long line with two  blanks\n  x\n";
  EXPECT_EQ(fitted(text, kUnbounded), text);
}

TEST(FittedCommand, IsBrokenSoThatItCanBePasted) {
  EXPECT_EQ(fitted_command("ridge bench m.onnx --layers", 2, 80), "  ridge bench m.onnx --layers\n");
  EXPECT_EQ(fitted_command("ridge bench m.onnx --layers", 2, 24), "  ridge bench m.onnx \\\n      --layers\n");
  EXPECT_EQ(fitted_command("curl -d '{\"a\": [1, 2, 3]}' host", 2, 20),
            "  curl -d \\\n      '{\"a\": [1, 2, 3]}' \\\n      host\n");
}

TEST(Paragraph, BrokenUtf8IsTakenByteByByteAndEnds) {
  EXPECT_EQ(paragraph("", "\xE4\xB8", 0, 10), "\xE4\xB8\n");
  EXPECT_EQ(columns_of("\xFF\xFE"), columns_of("\xFF\xFE"));
}

}  // namespace
}  // namespace ridge::cli
