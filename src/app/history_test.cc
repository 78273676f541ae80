#include "app/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::app {
namespace {

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() : folder_(*TemporaryFolder::make()) {}
  std::string file() const { return folder_.path() + "/history/here.jsonl"; }
  static PastResult past(const std::string& model, const std::string& digest, double rows_per_s) {
    measure::Measurement m;
    m.model = model;
    m.model_digest = digest;
    m.throughput_per_s = rows_per_s;
    m.latency_ms.p99 = 7;
    m.disturbance.emplace();
    m.disturbance->seconds = m.disturbance->cpus = 2;
    m.disturbance->steal_share = 0.9;
    About about;
    about.command = {"bench", "ridge bench " + model, "2026-11-23T12:00:00Z"};
    return *past_result_of(document(about, to_json(m)));
  }
  TemporaryFolder folder_;
};

TEST_F(HistoryTest, RecallsWhatWasRememberedTheOldestFirst) {
  EXPECT_TRUE(recall_history(file()).empty());
  ASSERT_TRUE(remember(past("a.onnx", "1", 10), file()));
  ASSERT_TRUE(remember(past("b.onnx", "2", 20), file()));
  const std::vector<PastResult> all = recall_history(file());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].model, "a.onnx");
  EXPECT_EQ(all[0].throughput_per_s, 10);
  EXPECT_EQ(all[0].p99_ms, 7);
  EXPECT_TRUE(all[0].disturbed);
  EXPECT_EQ(all[1].about.command.line, "ridge bench b.onnx");
}

TEST_F(HistoryTest, ALineThatAnotherProgramSpoiledIsLeftOut) {
  ASSERT_TRUE(remember(past("a.onnx", "1", 10), file()));
  ASSERT_TRUE(write_file_atomically(file(), *read_file(file()) + "{\"model\n"));
  ASSERT_TRUE(remember(past("b.onnx", "2", 20), file()));
  EXPECT_EQ(recall_history(file()).size(), 2u);
}

TEST_F(HistoryTest, TheFileStaysBelowItsBoundAndKeepsTheNewest) {
  const std::string line = dump_json(json_of(past("old.onnx", "1", 10))) + "\n";
  std::string full;
  while (full.size() <= kMostHistoryBytes) full += line;
  ASSERT_TRUE(write_file_atomically(file(), full));
  ASSERT_TRUE(remember(past("new.onnx", "2", 20), file()));
  EXPECT_LT(std::filesystem::file_size(file()), kMostHistoryBytes * 6 / 10);
  const std::vector<PastResult> all = recall_history(file());
  EXPECT_GT(all.size(), full.size() / line.size() / 3);
  EXPECT_EQ(all.back().model, "new.onnx");
}

TEST_F(HistoryTest, AResultBelongsToAModelByItsContentElseByItsName) {
  const PastResult one = past("models/a.onnx", "1", 10);
  EXPECT_TRUE(is_of(one, "moved/b.onnx", "1"));
  EXPECT_FALSE(is_of(one, "models/a.onnx", "2")) << "the file has changed";
  EXPECT_TRUE(is_of(one, "elsewhere/a.onnx", ""));
  EXPECT_FALSE(is_of(one, "b.onnx", ""));
}

TEST_F(HistoryTest, NothingIsKeptWithoutAFile) { EXPECT_TRUE(remember(past("a.onnx", "1", 10), "")); }

}  // namespace
}  // namespace ridge::app
