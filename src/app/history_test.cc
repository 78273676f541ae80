#include "app/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "client/server_measurement.h"

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
    return past_results_of(document(about, to_json(m)))->front();
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

About about_bench_server() {
  About about;
  about.command = {"bench server", "ridge bench http://127.0.0.1:8000/v2/models/copy", "2026-11-23T12:00:00Z"};
  return about;
}

TEST_F(HistoryTest, OfAServedModelTheLoadIsKeptThatTheVerbNames) {
  client::ServerMeasurement m;
  m.url = "http://127.0.0.1:8000/v2/models/copy";
  m.model = "copy";
  for (const auto& [callers, rows_per_s] : {std::pair(1, 100.0), {4, 390.0}, {16, 400.0}}) {
    client::Point& point = m.points.emplace_back();
    point.concurrency = callers;
    point.rows_per_s = rows_per_s;
    point.samples = 10;
  }
  const auto kept = [&] { return past_results_of(document(about_bench_server(), json_of(m))); };
  ASSERT_TRUE(kept()) << kept().error().message;
  ASSERT_EQ(kept()->size(), 1U);
  EXPECT_EQ(kept()->front().callers, 4) << "within 5 % of the highest throughput";
  EXPECT_TRUE(is_of(kept()->front(), "models/copy.onnx", "7")) << "by the name under which it is served";
  EXPECT_FALSE(is_of(kept()->front(), "models/other.onnx", "7"));
  for (client::Point& point : m.points) point.samples = 0;
  EXPECT_TRUE(kept()->empty()) << "no request was answered";
}

TEST_F(HistoryTest, OfModelsTunedTogetherEachIsKeptWithThoseBesideIt) {
  Json json;
  for (const char* name : {"a", "b"}) {
    measure::Measurement m;
    m.model = std::string(name) + ".onnx";
    json["models"].push_back({{"name", name}, {"baseline", to_json(m)}, {"best", to_json(m)}});
  }
  About about;
  about.command = {"tune", "ridge tune a.onnx b.onnx --share", "2026-11-23T12:00:00Z"};
  const auto kept = past_results_of(document(about, json));
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_EQ(kept->size(), 2U);
  EXPECT_EQ((*kept)[1].model, "b.onnx");
  EXPECT_EQ((*kept)[1].beside, std::vector<std::string>{"a"});
}

TEST_F(HistoryTest, NothingIsKeptWithoutAFile) { EXPECT_TRUE(remember(past("a.onnx", "1", 10), "")); }

}  // namespace
}  // namespace ridge::app
