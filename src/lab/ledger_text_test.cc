#include "lab/ledger_text.h"

#include <gtest/gtest.h>

namespace ridge::lab {
namespace {

TEST(LabText, ComparisonsOfOneClaimThatLackTheSameHaveOneLine) {
  LedgerRow row;
  row.claim.id = "L05";
  row.claim.statement = "blocks of 32";
  row.verdict = measure::Judgement::kNotMeasured;
  row.explanation = "there was no time";
  LedgerRow other = row;
  other.explanation = "interrupted";
  Ledger ledger;
  ledger.rows = {row, row, other, row};
  const std::string text = ledger_text(ledger);
  size_t times = 0;
  for (size_t at = text.find("there was no time"); at != std::string::npos; at = text.find("there was no time", at + 1))
    ++times;
  EXPECT_EQ(times, 1);
  EXPECT_NE(text.find("interrupted"), std::string::npos);
}

}  // namespace
}  // namespace ridge::lab
