#include "predict/verify.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace ridge::predict {
namespace {

Verification entry(const std::string& model, double predicted_ms, double measured_ms) {
  Verification v;
  v.machine = "m";
  v.engine_version = "1.31.1";
  v.model = model;
  v.at = "2026-11-21T17:00:00Z";
  v.predicted_ms = predicted_ms;
  v.measured_ms = measured_ms;
  return v;
}

TEST(Ledger, KeepsWhatWasAppendedAndPassesOverDamagedLines) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string file = ledger_file(folder->path() + "/new", "m");
  EXPECT_TRUE(read_ledger(file).empty());
  ASSERT_TRUE(append_to_ledger(file, entry("a.onnx", 11, 10)).ok());
  std::ofstream(file, std::ios::app) << "{\"at\": cut off\n{\"model\": 3}\n";
  ASSERT_TRUE(append_to_ledger(file, entry("b.onnx", 9, 10)).ok());
  const std::vector<Verification> ledger = read_ledger(file);
  ASSERT_EQ(ledger.size(), 2U);
  EXPECT_EQ(ledger[1].model, "b.onnx");
  EXPECT_EQ(ledger[1].predicted_ms, 9);
}

// Errors 1, 2, 3, 4 and 10 %: at rank 0.68 · 4 = 2.72 between 3 and 4 %.
TEST(Ledger, ErrorIsWhatTwoOfThreePredictionsStayWithin) {
  std::vector<Verification> ledger;
  for (double error : {0.01, 0.02, 0.03, 0.04}) ledger.push_back(entry(std::to_string(error), 1 + error, 1));
  EXPECT_FALSE(ledger_error(ledger, "1.31.1"));
  ledger.push_back(entry("last", 0.9, 1));
  EXPECT_NEAR(*ledger_error(ledger, "1.31.1"), 0.0372, 1e-9);
  EXPECT_FALSE(ledger_error(ledger, "1.32.0"));
}

TEST(Ledger, ComparisonsOnADisturbedMachineDoNotCount) {
  std::vector<Verification> ledger;
  for (const char* name : {"a", "b", "c", "d", "e"}) ledger.push_back(entry(name, 1, 1));
  ledger.push_back(entry("disturbed", 1, 3));
  ledger.back().machine_change = 3;
  EXPECT_EQ(*ledger_error(ledger, "1.31.1"), 0);
}

TEST(Ledger, OfOneModelTheNewestPredictionCounts) {
  std::vector<Verification> ledger;
  for (int i = 0; i < 10; ++i) ledger.push_back(entry("same", 2, 1));
  EXPECT_FALSE(ledger_error(ledger, "1.31.1"));
  for (const char* name : {"a", "b", "c", "d"}) ledger.push_back(entry(name, 1, 1));
  ledger.push_back(entry("same", 1, 1));
  EXPECT_EQ(*ledger_error(ledger, "1.31.1"), 0);
}

}  // namespace
}  // namespace ridge::predict
