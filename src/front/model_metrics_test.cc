#include "front/model_metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <sstream>

namespace ridge::front {
namespace {

serve::ModelStatistics statistics_of(std::string model) {
  serve::ModelStatistics statistics;
  statistics.name = std::move(model);
  statistics.version = 2;
  return statistics;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, SeriesExistAtZero) {
  std::string text = metrics_text(std::vector{statistics_of("m")}, {});
  for (const ModelMetric& metric : model_metrics()) {
    if (metric.name.empty()) continue;
    const std::string reason = metric.reason.empty() ? "" : ",reason=\"" + std::string(metric.reason) + "\"";
    EXPECT_TRUE(has_line(text, std::string(metric.name) + R"({model="m",version="2")" + reason + "} 0")) << text;
  }
}

TEST(Metrics, DurationsAreMicrosecondsAndNumbersHaveNoExponent) {
  serve::ModelStatistics model = statistics_of("m");
  model.success.ns = 85'000'000'000'000'999;
  model.load_ns = 10'000;
  std::string text = metrics_text(std::vector{model}, {});
  EXPECT_TRUE(has_line(text, R"(nv_inference_request_duration_us{model="m",version="2"} 85000000000000)")) << text;
  EXPECT_TRUE(has_line(text, R"(nv_model_load_duration_secs{model="m",version="2"} 0.00001)")) << text;
}

TEST(Metrics, FamiliesAreDeclaredOnceAndContiguous) {
  std::string text = metrics_text(std::vector{statistics_of("a"), statistics_of("b")}, {});
  std::set<std::string> declared;
  std::string line, family;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(declared.insert(family).second) << family;
    } else if (!line.starts_with("#")) {
      EXPECT_TRUE(line.starts_with(family)) << line;
    }
  }
}

TEST(Metrics, TagsBecomeLabelsAndValuesAreEscaped) {
  serve::ModelStatistics model = statistics_of("m\"\\\n");
  model.metric_tags = {{"team", "a"}, {"my key", "b"}};
  std::string text = metrics_text(std::vector{model}, {});
  EXPECT_NE(text.find(R"(nv_inference_count{model="m\"\\\n",version="2",_team="a",_my_key="b"} 0)"), std::string::npos)
      << text;
}

TEST(Metrics, AreUtf8WhateverAFolderIsCalled) {
  std::string text = metrics_text(std::vector{statistics_of("m\xff\xc3\xa9")}, {});
  EXPECT_TRUE(has_line(text, "nv_inference_count{model=\"m\xef\xbf\xbd\xc3\xa9\",version=\"2\"} 0")) << text;
}

TEST(Metrics, HistogramIsCumulativeAndEndsAtInfinity) {
  serve::ModelStatistics model = statistics_of("m");
  model.latency.bounds_s = {0.0005, 1, std::numeric_limits<double>::infinity()};
  model.latency.counts = {1, 3, 4};
  model.latency.sum_s = 2.5;
  std::string text = metrics_text(std::vector{model}, {});
  EXPECT_NE(text.find("# TYPE nv_inference_request_latency_seconds histogram\n"
                      "nv_inference_request_latency_seconds_bucket{model=\"m\",version=\"2\",le=\"0.0005\"} 1\n"
                      "nv_inference_request_latency_seconds_bucket{model=\"m\",version=\"2\",le=\"1\"} 3\n"
                      "nv_inference_request_latency_seconds_bucket{model=\"m\",version=\"2\",le=\"+Inf\"} 4\n"
                      "nv_inference_request_latency_seconds_sum{model=\"m\",version=\"2\"} 2.5\n"
                      "nv_inference_request_latency_seconds_count{model=\"m\",version=\"2\"} 4\n"),
            std::string::npos)
      << text;
}

TEST(Metrics, AMachineWithoutGpusHasNoneOfThem) {
  EXPECT_EQ(metrics_text({}, {}).find("_gpu_"), std::string::npos);
  EXPECT_NE(metrics_text({}, {}, {.gpus = {telemetry::GpuSample{}}}).find("ridge_gpu_up"), std::string::npos);
}

TEST(Metrics, RowsOfOneNameFollowOneAnotherAndDifferInTheirReason) {
  std::set<std::string_view> names, members;
  std::string_view last;
  for (const ModelMetric& metric : model_metrics()) {
    EXPECT_FALSE(metric.name.empty() && metric.member.empty());
    EXPECT_TRUE(metric.member.empty() || members.insert(metric.member).second) << metric.member;
    if (metric.name.empty()) continue;
    if (metric.name != last) {
      EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
      EXPECT_FALSE(metric.help.empty()) << metric.name;
    } else {
      EXPECT_FALSE(metric.reason.empty()) << metric.name;
    }
    last = metric.name;
  }
}

TEST(Metrics, HostGaugesHaveNoLabels) {
  telemetry::HostSample host{0.25, telemetry::Memory{85'000'000'000, 5'000'000'000}, 4096};
  std::string text = metrics_text({}, host);
  EXPECT_TRUE(has_line(text, "nv_cpu_utilization 0.25"));
  EXPECT_TRUE(has_line(text, "nv_cpu_memory_total_bytes 85000000000"));
  EXPECT_TRUE(has_line(text, "nv_cpu_memory_used_bytes 80000000000"));
  EXPECT_TRUE(has_line(text, "process_resident_memory_bytes 4096"));
}

}  // namespace
}  // namespace ridge::front
