#include "front/text_metrics.h"

#include <algorithm>
#include <string>

#include "serve/text_model.h"
#include "text/unicode.h"

namespace ridge::front {
namespace {

using TextModelFigures = const serve::TextFigures&;
using serve::TextFigures;
using telemetry::MetricType;

constexpr auto kTextGauge = MetricType::kGauge;
constexpr auto kTextCounter = MetricType::kCounter;
constexpr auto kTextHistogram = MetricType::kHistogram;

bool bound_known(TextModelFigures m) { return m.bound_known; }

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Names, meaning and units as vLLM 0.32's (vllm/v1/metrics/loggers.py), in its order, then ridge's.
constexpr TextMetric kTextMetrics[] = {
    {"vllm:num_requests_running", "Number of answers that are being generated", kTextGauge,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.running); }},
    {"vllm:num_requests_waiting", "Number of answers that wait for their first step", kTextGauge,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.waiting); }},
    {"vllm:kv_cache_usage_perc", "Share of the cache's blocks that are in use, 1 is all", kTextGauge,
     [](TextModelFigures m) {
       return share(static_cast<double>(m.scheduler.blocks_used), static_cast<double>(m.scheduler.blocks_total));
     }},
    {"vllm:prefix_cache_queries_total", "Number of tokens of prompts that were looked up in the prefix cache",
     kTextCounter, [](TextModelFigures m) { return static_cast<double>(m.scheduler.queried_tokens); }},
    {"vllm:prefix_cache_hits_total", "Number of them that were found", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.reused_tokens); }},
    {"vllm:num_preemptions_total", "Number of times that an answer gave its blocks back to go on later", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.preemptions); }},
    {"vllm:prompt_tokens_total", "Number of tokens of prompts that were computed", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.prompt_tokens); }},
    {"vllm:generation_tokens_total", "Number of tokens generated", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.generated_tokens); }},
    {"vllm:prompt_tokens_cached_total", "Number of tokens of prompts that the prefix cache had", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.reused_tokens); }},
    {"vllm:admission_rejections_total",
     "Number of requests that were not taken: they would have come too late, or too many wait", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.refused); }},
    {"vllm:request_success_total", "Number of answers that ended, by what ended them", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.ends.stopped); }, nullptr, nullptr, "finished_reason",
     "stop"},
    {"vllm:request_success_total", "", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.ends.full); }, nullptr, nullptr, "finished_reason",
     "length"},
    {"vllm:request_success_total", "", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.ends.cancelled); }, nullptr, nullptr, "finished_reason",
     "abort"},
    {"vllm:request_success_total", "", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.ends.failed); }, nullptr, nullptr, "finished_reason",
     "error"},
    {"vllm:request_success_total", "", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.ends.late); }, nullptr, nullptr, "finished_reason",
     "deadline"},
    {"vllm:spec_decode_num_drafts_total", "Number of times that tokens were guessed ahead", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.drafts); }},
    {"vllm:spec_decode_num_draft_tokens_total", "Number of tokens that were guessed ahead", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.drafted_tokens); }},
    {"vllm:spec_decode_num_accepted_tokens_total", "Number of them that the model drew, too", kTextCounter,
     [](TextModelFigures m) { return static_cast<double>(m.scheduler.accepted_tokens); }},
    {"vllm:time_to_first_token_seconds", "Time from a request's arrival to its first token, seconds", kTextHistogram,
     nullptr, &TextFigures::first_token},
    {"vllm:inter_token_latency_seconds", "Time between two tokens of an answer, seconds", kTextHistogram, nullptr,
     &TextFigures::between_tokens},
    {"vllm:request_time_per_output_token_seconds", "Of each answer the mean time between its tokens, seconds",
     kTextHistogram, nullptr, &TextFigures::per_output_token},
    {"vllm:e2e_request_latency_seconds", "Time from a request's arrival to the end of its answer, seconds",
     kTextHistogram, nullptr, &TextFigures::whole},
    {"vllm:request_queue_time_seconds", "Of it, time before the step that computes its first tokens, seconds",
     kTextHistogram, nullptr, &TextFigures::queue},
    {"vllm:request_prefill_time_seconds", "Of it, time from there to the first token, seconds", kTextHistogram, nullptr,
     &TextFigures::prefill},
    {"vllm:request_decode_time_seconds", "Of it, time from the first token to the end, seconds", kTextHistogram,
     nullptr, &TextFigures::decode},
    {"vllm:request_inference_time_seconds", "Of it, the latter two together, seconds", kTextHistogram, nullptr,
     &TextFigures::inference},
    {"vllm:request_prompt_tokens", "Tokens of the prompts of answers that ended", kTextHistogram, nullptr,
     &TextFigures::prompt_tokens},
    {"vllm:request_generation_tokens", "Tokens of answers that ended", kTextHistogram, nullptr,
     &TextFigures::generation_tokens},
    {"vllm:iteration_tokens_total", "Tokens that were new in a step", kTextHistogram, nullptr,
     &TextFigures::step_tokens},
    {"ridge_llm_step_seconds", "Time of a step, seconds: with tokens of prompts, or of answers only", kTextHistogram,
     nullptr, &TextFigures::prefill_step, nullptr, "phase", "prefill"},
    {"ridge_llm_step_seconds", "", kTextHistogram, nullptr, &TextFigures::decode_step, nullptr, "phase", "decode"},
    {"ridge_llm_step_limit_seconds", "The least time that this machine needs for a step, seconds", kTextHistogram,
     nullptr, &TextFigures::prefill_bound, bound_known, "phase", "prefill"},
    {"ridge_llm_step_limit_seconds", "", kTextHistogram, nullptr, &TextFigures::decode_bound, bound_known, "phase",
     "decode"},
    {"ridge_llm_share_of_limit", "Of the last step its limit over its time, 1 is the limit", kTextGauge,
     [](TextModelFigures m) { return m.last_step_bound_s / m.last_step_s; }, nullptr,
     [](TextModelFigures m) { return m.last_step_bound_s > 0 && m.last_step_s > 0; }},
    {"ridge_llm_last_step_seconds", "Time of the last step, seconds", kTextGauge,
     [](TextModelFigures m) { return m.last_step_s; }},
    {"ridge_llm_last_step_predicted_seconds", "What the step line predicted for it, seconds", kTextGauge,
     [](TextModelFigures m) { return m.last_step_predicted_s; }},
    {"ridge_llm_running_step_seconds", "How long the step under way has taken until now, seconds; 0: none runs",
     kTextGauge, [](TextModelFigures m) { return m.running_step_s; }},
    {"ridge_llm_preempted_tokens_total", "Number of tokens that had to be computed again after a preemption",
     kTextCounter, [](TextModelFigures m) { return static_cast<double>(m.scheduler.preempted_tokens); }},
};

telemetry::Series text_series_of(TextModelFigures model, const TextMetric& metric) {
  const char* label = metric.name.starts_with("vllm:") ? "model_name" : "model";
  telemetry::Series series{{{label, text::to_utf8(model.model)}, {"version", std::to_string(model.version)}}};
  for (const auto& [key, value] : model.metric_tags) series.labels.push_back({"_" + key, text::to_utf8(value)});
  if (!metric.label.empty()) series.labels.push_back({std::string(metric.label), std::string(metric.label_value)});
  if (metric.value != nullptr) {
    series.value = metric.value(model);
    return series;
  }
  const serve::Histogram& found = model.*metric.histogram;
  series.value = found.sum_s;
  series.bounds = found.bounds_s;
  series.counts = found.counts;
  return series;
}

}  // namespace

std::span<const TextMetric> text_metrics() { return kTextMetrics; }

std::vector<serve::TextFigures> text_figures(const serve::Service& service) {
  std::vector<serve::TextFigures> figures;
  for (const serve::TextModelPtr& model : service.text_models()) figures.push_back(model->figures());
  // Work that an older load of the same version still does counts as that version's; its totals have been reported.
  for (const serve::TextModelPtr& model : service.retired_text_models()) {
    const serve::TextFigures old = model->figures();
    const auto same = std::ranges::find_if(
        figures, [&](const auto& each) { return each.model == old.model && each.version == old.version; });
    if (same == figures.end()) {
      figures.push_back(old);
      continue;
    }
    same->scheduler.running += old.scheduler.running;
    same->scheduler.waiting += old.scheduler.waiting;
  }
  return figures;
}

std::vector<telemetry::MetricFamily> text_families(std::span<const serve::TextFigures> models) {
  std::vector<telemetry::MetricFamily> families;
  for (const TextMetric& metric : kTextMetrics) {
    if (families.empty() || families.back().name != metric.name)
      families.push_back({std::string(metric.name), std::string(metric.help), metric.type});
    for (TextModelFigures model : models)
      if (metric.known == nullptr || metric.known(model))
        families.back().series.push_back(text_series_of(model, metric));
  }
  return families;
}

}  // namespace ridge::front
