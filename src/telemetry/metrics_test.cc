#include "telemetry/metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <sstream>

namespace ridge::telemetry {
namespace {

ModelSample sample_of(std::string model) {
  ModelSample sample;
  sample.model = std::move(model);
  sample.version = "2";
  return sample;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, SeriesExistAtZero) {
  std::string text = prometheus_text(std::vector{sample_of("m")}, {});
  for (const char* name :
       {"nv_inference_request_success", "nv_inference_count", "nv_inference_exec_count",
        "nv_inference_request_duration_us", "nv_inference_queue_duration_us", "nv_inference_compute_input_duration_us",
        "nv_inference_compute_infer_duration_us", "nv_inference_compute_output_duration_us",
        "nv_inference_pending_request_count", "nv_model_load_duration_secs"})
    EXPECT_TRUE(has_line(text, std::string(name) + R"({model="m",version="2"} 0)")) << name << "\n" << text;
  for (const char* reason : {"REJECTED", "CANCELED", "BACKEND", "OTHER"})
    EXPECT_TRUE(has_line(
        text, R"(nv_inference_request_failure{model="m",version="2",reason=")" + std::string(reason) + "\"} 0"))
        << text;
}

TEST(Metrics, DurationsAreMicrosecondsAndNumbersHaveNoExponent) {
  ModelSample sample = sample_of("m");
  sample.request_ns = 85'000'000'000'000'999;
  sample.load_seconds = 0.00001;
  std::string text = prometheus_text(std::vector{sample}, {});
  EXPECT_TRUE(has_line(text, R"(nv_inference_request_duration_us{model="m",version="2"} 85000000000000)")) << text;
  EXPECT_TRUE(has_line(text, R"(nv_model_load_duration_secs{model="m",version="2"} 0.00001)")) << text;
}

TEST(Metrics, FamiliesAreDeclaredOnceAndContiguous) {
  std::string text = prometheus_text(std::vector{sample_of("a"), sample_of("b")}, {});
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
  ModelSample sample = sample_of("m\"\\\n");
  sample.tags = {{"team", "a"}, {"my key", "b"}};
  std::string text = prometheus_text(std::vector{sample}, {});
  EXPECT_NE(text.find(R"(nv_inference_count{model="m\"\\\n",version="2",_team="a",_my_key="b"} 0)"), std::string::npos)
      << text;
}

TEST(Metrics, HistogramIsCumulativeAndEndsAtInfinity) {
  ModelSample sample = sample_of("m");
  sample.latency_bounds_s = {0.0005, 1, std::numeric_limits<double>::infinity()};
  sample.latency_counts = {1, 3, 4};
  sample.latency_sum_s = 2.5;
  std::string text = prometheus_text(std::vector{sample}, {});
  EXPECT_NE(text.find("# TYPE nv_inference_request_latency_seconds histogram\n"
                      "nv_inference_request_latency_seconds_bucket{model=\"m\",version=\"2\",le=\"0.0005\"} 1\n"
                      "nv_inference_request_latency_seconds_bucket{model=\"m\",version=\"2\",le=\"1\"} 3\n"
                      "nv_inference_request_latency_seconds_bucket{model=\"m\",version=\"2\",le=\"+Inf\"} 4\n"
                      "nv_inference_request_latency_seconds_sum{model=\"m\",version=\"2\"} 2.5\n"
                      "nv_inference_request_latency_seconds_count{model=\"m\",version=\"2\"} 4\n"),
            std::string::npos)
      << text;
}

TEST(Metrics, HostGaugesHaveNoLabels) {
  HostSample host{0.25, Memory{85'000'000'000, 5'000'000'000}, 4096};
  std::string text = prometheus_text({}, host);
  EXPECT_TRUE(has_line(text, "nv_cpu_utilization 0.25"));
  EXPECT_TRUE(has_line(text, "nv_cpu_memory_total_bytes 85000000000"));
  EXPECT_TRUE(has_line(text, "nv_cpu_memory_used_bytes 80000000000"));
  EXPECT_TRUE(has_line(text, "process_resident_memory_bytes 4096"));
}

}  // namespace
}  // namespace ridge::telemetry
