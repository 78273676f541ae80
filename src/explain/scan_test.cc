#include "explain/scan.h"

#include <gtest/gtest.h>

#include "base/letter_case.h"
#include "explain/plain.h"

namespace ridge::explain {
namespace {

constexpr CodeTables kTables = {
    "domain,code,name,alias,likely_cause,first_action,class,source\n"
    "cuda,12,cudaErrorInvalidPitchValue,,a,b,app,s\n"
    "cuda,700,CUDA_ERROR_ILLEGAL_ADDRESS,cudaErrorIllegalAddress,a,b,app,s\n"
    "xid,12,X12,,a,b,app,s\n"
    "xid,79,X79,,a,b,hw,s\n"
    "tool,some-words,left out,,a,b,env,s\n",
    "domain,code,cause,action\n", "domain,code,text\ncuda,700,an illegal memory access was encountered\n"};

class Scan : public testing::Test {
 protected:
  void SetUp() override {
    auto made = make_book({}, kTables, {});
    ASSERT_TRUE(made) << made.error().message;
    book_ = std::move(made).value();
  }
  std::string seen(std::string_view text) {
    std::string all;
    for (const CodeMention& code : codes_in(book_, lower_case(message_text(text))))
      all += book_.codes[code.code].family + std::to_string(book_.codes[code.code].number) + " ";
    return all;
  }
  Book book_;
};

TEST_F(Scan, FindsIdentifiersNumbersAndSentencesInTheOrderOfTheText) {
  EXPECT_EQ(seen("Xid (PCI:0000:65:00): 79\nthen cudaErrorIllegalAddress"), "xid79 cuda700 ");
  EXPECT_EQ(seen("CUDA error: an illegal memory access was encountered"), "cuda700 ");
}

TEST_F(Scan, ACodeIsNamedOnce) { EXPECT_EQ(seen("cuda error 700, CUDA_ERROR_ILLEGAL_ADDRESS"), "cuda700 "); }

TEST_F(Scan, ANumberNeedsAWordThatMakesItACode) {
  EXPECT_EQ(seen("cuda 12 is installed"), "");
  EXPECT_EQ(seen("cuda error 12"), "cuda12 ");
  EXPECT_EQ(seen("cuda error 12.8"), "");
  EXPECT_EQ(seen("xid 12"), "xid12 ");
  EXPECT_EQ(seen("cuda error in file.cu line 700"), "");
}

TEST_F(Scan, HugeNumbersAndCutAddressesAreNoCodes) {
  EXPECT_EQ(seen("xid 99999999999999999999"), "");
  EXPECT_EQ(seen("xid (pci:0000"), "");
  EXPECT_EQ(seen("xid"), "");
}

TEST_F(Scan, AQueryOfANumberTakesAllFamilies) {
  EXPECT_EQ(codes_by_number(book_, "12").size(), 2u);
  EXPECT_EQ(codes_by_number(book_, "xid-12").size(), 1u);
  EXPECT_TRUE(codes_by_number(book_, "area 12").empty());
}

}  // namespace
}  // namespace ridge::explain
