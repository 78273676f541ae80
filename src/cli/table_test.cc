#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/paragraph.h"

namespace ridge::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

TEST(Table, AlignsColumnsByCharactersNotBytes) {
  EXPECT_EQ(table_text({"stage", "time"}, {{"load", "41.0 ms"}, {"input", "3.10 µs"}}, "lr", kUnbounded),
            "stage     time\nload   41.0 ms\ninput  3.10 µs\n");
  EXPECT_EQ(table_text({}, {{"算术", "1"}, {"a", "22"}}, "lr", kUnbounded), "算术   1\na     22\n");
}

TEST(Table, LeavesNoBlanksAtTheEndOfALine) {
  EXPECT_EQ(table_text({}, {{"a", ""}, {"bb", "c"}}, "ll", kUnbounded), "a\nbb  c\n");
}

TEST(Table, TextBreaksInsideItsColumnAndNumbersStayWhole) {
  EXPECT_EQ(table_text({"what", "time"}, {{"one two three four five six seven", "41.0 ms"}, {"b", "3 s"}}, "lr", 33),
            "what                         time\none two three four five   41.0 ms\nsix seven\nb                        "
            "     3 s\n");
}

TEST(Table, AHeadingBreaksBetweenItsWordsAndStandsAboveItsColumn) {
  EXPECT_EQ(table_text({"a", "share of the limit"}, {{"x", "12.0 %"}}, "lr", 12),
            "    share of\na  the limit\nx     12.0 %\n");
}

TEST(Table, ColumnsLeaveInTheirOrderAndAreNamed) {
  const Rows rows = {{"some name", "100 GB/s", "5.0 %", "kernel_name"}};
  EXPECT_EQ(table_text({"name", "rate", "spread", "kernel"}, rows, "lrr2l1", 60),
            "name           rate  spread  kernel\nsome name  100 GB/s   5.0 %  kernel_name\n");
  EXPECT_EQ(table_text({"name", "rate", "spread", "kernel"}, rows, "lrr2l1", 30),
            "name           rate  spread\nsome name  100 GB/s   5.0 %\nleft out at this width: kernel\n");
  EXPECT_EQ(table_text({"name", "rate", "spread", "kernel"}, rows, "lrr2l1", 24),
            "name           rate\nsome name  100 GB/s\nleft out at this width:\n  spread, kernel\n");
}

TEST(Table, WithoutAnOrderTheOtherColumnsFollowBelow) {
  EXPECT_EQ(table_text({"", "A100", "H100"}, {{"memory", "80.0 GiB", "80.0 GiB"}}, "lrr", 20),
            "            A100\nmemory  80.0 GiB\n\n            H100\nmemory  80.0 GiB\n");
}

TEST(Table, ARemarkStandsBelowItsRowWhereItHasNoPlaceBesideIt) {
  const Rows rows = {{"A100", "1.00 ms", "most per dollar: bound by memory"}, {"T4", "9.00 ms", ""}};
  EXPECT_EQ(table_text({"device", "run", "why"}, rows, "lrn", 80),
            "device      run  why\nA100    1.00 ms  most per dollar: bound by memory\nT4      9.00 ms\n");
  EXPECT_EQ(table_text({"device", "run", "why"}, rows, "lrn", 30),
            "device      run\nA100    1.00 ms\n    why: most per dollar:\n    bound by memory\nT4      9.00 ms\n");
}

TEST(Table, NoLineIsWiderThanTheWidth) {
  const Rows rows = {
      {"/layer4.2/conv1/Relu_1_output_0_nchwc", "Conv", "12.4 ms", "98.7 GFLOP/s", "a reason that has a few words"}};
  for (size_t width = 30; width < 120; ++width) {
    const std::string text = table_text({"layer", "operator", "time", "reached", "why"}, rows, "llrrl", width);
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      EXPECT_LE(columns_of(text.substr(at, text.find('\n', at) - at)), width) << text;
  }
}

}  // namespace
}  // namespace ridge::cli
