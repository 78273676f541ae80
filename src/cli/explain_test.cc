// Checks only possible in this folder: the metrics that the server exports beside the book and the dashboard, and the
// options that the verbs document beside the book.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "cli/help.h"
#include "explain/find.h"
#include "front/model_metrics.h"
#include "front/text_metrics.h"

namespace ridge::cli {
namespace {

explain::Book book_with(std::vector<explain::Flag> flags) {
  auto book = explain::open_book(std::move(flags));
  EXPECT_TRUE(book) << book.error().message;
  return book ? std::move(book).value() : explain::Book{};
}

std::vector<std::string> exported_metrics() {
  serve::ModelStatistics model;
  model.name = "m";
  model.version = 1;
  for (serve::Histogram* histogram :
       {&model.latency, &model.queue_time, &model.input_time, &model.infer_time, &model.output_time})
    *histogram = {{1.0}, {0}};
  model.bound_ns = 1;
  telemetry::HostSample host;
  host.cpu_utilization = 0.5;
  host.memory.emplace();
  host.resident_bytes = 1;
  std::istringstream lines(front::metrics_text(
      std::vector{model}, host, {.gpus = {telemetry::GpuSample{}}, .shadows = {serve::ShadowStatistics{}}}));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kType = "# TYPE ";
    if (line.starts_with(kType))
      names.push_back(line.substr(kType.size(), line.find(' ', kType.size()) - kType.size()));
  }
  return names;
}

TEST(Explain, KnowsEveryMetricThatTheServerExports) {
  const explain::Book book = book_with({});
  const std::vector<std::string> names = exported_metrics();
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names) {
    const explain::Match found = explain::find(book, name);
    ASSERT_FALSE(found.hits.empty()) << name;
    EXPECT_EQ(book.entries[found.hits.front().position].subject, "metrics") << name;
  }
}

TEST(Explain, FindsAVerbAndEveryOptionThatItDocuments) {
  const std::vector<explain::Flag> flags = explain::flags_in("serve", cli_help("serve"));
  EXPECT_GE(flags.size(), 20u);
  const explain::Book book = book_with(flags);
  for (const explain::Flag& flag : flags) {
    const std::string query = flag.name.empty() ? flag.verb : flag.name;
    const explain::Match found = explain::find(book, query);
    ASSERT_FALSE(found.hits.empty()) << query;
    EXPECT_EQ(found.hits.front().kind, explain::HitKind::kFlag) << query;
  }
}

// The names that a text asks for; a histogram's without the ending of its series.
std::set<std::string> metrics_in(const std::string& text) {
  const std::regex name(R"(\b(?:(?:nv|ridge|process)_|vllm:)[a-z_]+)");
  const std::regex series("_(bucket|sum)$");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
    names.insert(std::regex_replace(at->str(), series, ""));
  return names;
}

TEST(Dashboard, AndAlertsAskOnlyForMetricsThatTheServerExports) {
  std::vector<std::string> exported = exported_metrics();
  for (const front::TextMetric& metric : front::text_metrics()) exported.emplace_back(metric.name);
  for (const char* file : {"grafana.json", "alerts.yml"}) {
    auto text = read_file(std::string(RIDGE_SOURCE_DIR "/deploy/") + file);
    ASSERT_TRUE(text) << text.error().message;
    const std::set<std::string> asked = metrics_in(*text);
    EXPECT_GE(asked.size(), 3u) << file;
    for (const std::string& name : asked)
      EXPECT_NE(std::find(exported.begin(), exported.end(), name), exported.end()) << file << ": " << name;
  }
}

TEST(Dashboard, IsJsonWhosePanelsHaveTargets) {
  auto text = read_file(RIDGE_SOURCE_DIR "/deploy/grafana.json");
  ASSERT_TRUE(text) << text.error().message;
  auto json = parse_json(*text, "grafana.json");
  ASSERT_TRUE(json) << json.error().message;
  for (const Json& panel : json->at("panels")) {
    const bool heading = panel.at("type") == "row";
    EXPECT_TRUE(heading || !panel.at("targets").empty()) << panel.at("title");
  }
}

}  // namespace
}  // namespace ridge::cli
