// Checks only possible in this folder: the metrics that the server exports, the options that the verbs document, and the book.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/help.h"
#include "explain/find.h"
#include "front/model_metrics.h"

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
  model.latency_bounds_s = {1.0};
  model.latency_counts = {0};
  telemetry::HostSample host;
  host.cpu_utilization = 0.5;
  host.memory.emplace();
  host.resident_bytes = 1;
  std::istringstream lines(front::metrics_text(std::vector{model}, host, {telemetry::GpuSample{}}));
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

TEST(Explain, FindsEveryOptionThatAVerbDocuments) {
  const std::vector<explain::Flag> flags = explain::flags_in("serve", cli_help("serve"));
  EXPECT_GE(flags.size(), 20u);
  const explain::Book book = book_with(flags);
  for (const explain::Flag& flag : flags) {
    const explain::Match found = explain::find(book, flag.name);
    ASSERT_FALSE(found.hits.empty()) << flag.name;
    EXPECT_EQ(found.hits.front().kind, explain::HitKind::kFlag) << flag.name;
  }
}

}  // namespace
}  // namespace ridge::cli
