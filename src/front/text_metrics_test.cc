#include "front/text_metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "front/model_metrics.h"

namespace ridge::front {
namespace {

serve::TextFigures figures_of(std::string model) {
  serve::TextFigures figures;
  figures.model = std::move(model);
  figures.version = 3;
  return figures;
}

bool text_has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(TextMetrics, EveryRowIsSomethingOfItsOwn) {
  std::set<std::pair<std::string_view, std::string_view>> rows;
  for (const TextMetric& metric : text_metrics()) {
    EXPECT_TRUE(rows.insert({metric.name, metric.label_value}).second) << metric.name;
    EXPECT_EQ(metric.type == telemetry::MetricType::kHistogram, metric.histogram != nullptr) << metric.name;
    EXPECT_NE(metric.value == nullptr, metric.histogram == nullptr) << metric.name;
  }
}

TEST(TextMetrics, CountersAndGaugesHaveTheLabelsOfTheirKind) {
  serve::TextFigures figures = figures_of("m");
  figures.metric_tags = {{"team", "a"}};
  figures.scheduler.running = 2;
  figures.scheduler.blocks_used = 1;
  figures.scheduler.blocks_total = 4;
  figures.ends.full = 7;
  figures.running_step_s = 0.5;
  figures.scheduler.drafts = 3;
  const std::string text = metrics_text({}, {}, {.texts = {figures}});
  EXPECT_TRUE(text_has_line(text, R"(vllm:num_requests_running{model_name="m",version="3",_team="a"} 2)")) << text;
  EXPECT_TRUE(text_has_line(text, R"(vllm:kv_cache_usage_perc{model_name="m",version="3",_team="a"} 0.25)"));
  EXPECT_TRUE(text_has_line(
      text, R"(vllm:request_success_total{model_name="m",version="3",_team="a",finished_reason="length"} 7)"));
  EXPECT_TRUE(text_has_line(
      text, R"(vllm:request_success_total{model_name="m",version="3",_team="a",finished_reason="stop"} 0)"));
  EXPECT_TRUE(text_has_line(text, R"(ridge_llm_running_step_seconds{model="m",version="3",_team="a"} 0.5)"));
  EXPECT_TRUE(text_has_line(text, R"(vllm:spec_decode_num_drafts_total{model_name="m",version="3",_team="a"} 3)"));
}

TEST(TextMetrics, WithoutKnownLimitsThereAreNoSharesOfThem) {
  serve::TextFigures known = figures_of("known");
  known.bound_known = true;
  known.decode_bound = {.bounds_s = {0.5, std::numeric_limits<double>::infinity()}, .counts = {1, 1}, .sum_s = 0.25};
  known.last_step_s = 0.5;
  known.last_step_bound_s = 0.125;
  const std::string text = metrics_text({}, {}, {.texts = {known, figures_of("unknown")}});
  EXPECT_TRUE(text_has_line(text, R"(ridge_llm_share_of_limit{model="known",version="3"} 0.25)")) << text;
  EXPECT_TRUE(
      text_has_line(text, R"(ridge_llm_step_limit_seconds_sum{model="known",version="3",phase="decode"} 0.25)"));
  EXPECT_EQ(text.find(R"(ridge_llm_share_of_limit{model="unknown")"), std::string::npos);
  EXPECT_EQ(text.find(R"(ridge_llm_step_limit_seconds_count{model="unknown")"), std::string::npos);
}

TEST(TextMetrics, HistogramsKeepTheirBounds) {
  serve::TextFigures figures = figures_of("m");
  figures.first_token = {.bounds_s = {0.5, std::numeric_limits<double>::infinity()}, .counts = {1, 3}, .sum_s = 2.5};
  const std::string text = metrics_text({}, {}, {.texts = {figures}});
  EXPECT_TRUE(text_has_line(text, R"(vllm:time_to_first_token_seconds_bucket{model_name="m",version="3",le="0.5"} 1)"));
  EXPECT_TRUE(
      text_has_line(text, R"(vllm:time_to_first_token_seconds_bucket{model_name="m",version="3",le="+Inf"} 3)"));
  EXPECT_TRUE(text_has_line(text, R"(vllm:time_to_first_token_seconds_sum{model_name="m",version="3"} 2.5)"));
}

TEST(TextMetrics, AServerWithoutLanguageModelsHasNone) {
  EXPECT_EQ(metrics_text({}, {}).find("vllm:"), std::string::npos);
}

}  // namespace
}  // namespace ridge::front
