#include "front/model_metrics.h"

#include <utility>

#include "front/text_metrics.h"
#include "text/unicode.h"

namespace ridge::front {
namespace {

using Model = const serve::ModelStatistics&;
using telemetry::MetricFamily;
using telemetry::MetricType;
using telemetry::Series;
using enum MetricType;
using enum MetricScale;

// Members as in the statistics extension, in its order. Names of families, their meaning and units as Triton's (its
// docs/user_guide/metrics.md).
constexpr ModelMetric kModelMetrics[] = {
    {"/last_inference", "", "", kGauge, kAsIs, [](Model m) { return m.last_inference_ms; }},
    {"/inference_count", "nv_inference_count", "Number of inferences performed (rows, not requests)", kCounter, kAsIs,
     [](Model m) { return m.inference_count; }},
    {"/execution_count", "nv_inference_exec_count", "Number of engine runs (batches)", kCounter, kAsIs,
     [](Model m) { return m.execution_count; }},
    {"/inference_stats/success/count", "nv_inference_request_success", "Number of successful inference requests",
     kCounter, kAsIs, [](Model m) { return m.success.count; }},
    {"/inference_stats/success/ns", "nv_inference_request_duration_us",
     "Cumulative time of successful requests in the server, microseconds", kCounter, kMicroseconds,
     [](Model m) { return m.success.ns; }},
    {"/inference_stats/fail/count", "", "", kCounter, kAsIs, [](Model m) { return m.fail.count; }},
    {"/inference_stats/fail/ns", "", "", kCounter, kAsIs, [](Model m) { return m.fail.ns; }},
    {"/inference_stats/queue/count", "", "", kCounter, kAsIs, [](Model m) { return m.queue.count; }},
    {"/inference_stats/queue/ns", "nv_inference_queue_duration_us",
     "Cumulative time of requests in the queue, microseconds", kCounter, kMicroseconds,
     [](Model m) { return m.queue.ns; }},
    {"/inference_stats/compute_input/count", "", "", kCounter, kAsIs, [](Model m) { return m.compute_input.count; }},
    {"/inference_stats/compute_input/ns", "nv_inference_compute_input_duration_us",
     "Cumulative time spent on inputs, microseconds", kCounter, kMicroseconds,
     [](Model m) { return m.compute_input.ns; }},
    {"/inference_stats/compute_infer/count", "", "", kCounter, kAsIs, [](Model m) { return m.compute_infer.count; }},
    {"/inference_stats/compute_infer/ns", "nv_inference_compute_infer_duration_us",
     "Cumulative time spent in the engine, microseconds", kCounter, kMicroseconds,
     [](Model m) { return m.compute_infer.ns; }},
    {"/inference_stats/compute_output/count", "", "", kCounter, kAsIs, [](Model m) { return m.compute_output.count; }},
    {"/inference_stats/compute_output/ns", "nv_inference_compute_output_duration_us",
     "Cumulative time spent on outputs, microseconds", kCounter, kMicroseconds,
     [](Model m) { return m.compute_output.ns; }},
    {"/inference_stats/cache_hit/count", "nv_cache_num_hits_per_model",
     "Number of requests that the response cache answered", kCounter, kAsIs, [](Model m) { return m.cache_hit.count; }},
    {"/inference_stats/cache_hit/ns", "nv_cache_hit_duration_per_model",
     "Cumulative time of look-ups in the response cache that found the answer, microseconds", kCounter, kMicroseconds,
     [](Model m) { return m.cache_hit.ns; }},
    {"/inference_stats/cache_miss/count", "nv_cache_num_misses_per_model",
     "Number of requests that the response cache did not answer", kCounter, kAsIs,
     [](Model m) { return m.cache_miss.count; }},
    {"/inference_stats/cache_miss/ns", "nv_cache_miss_duration_per_model",
     "Cumulative time of look-ups in the response cache that found nothing, and of keeping answers, microseconds",
     kCounter, kMicroseconds, [](Model m) { return m.cache_miss.ns; }},
    {"", "nv_inference_pending_request_count", "Number of requests waiting for an instance", kGauge, kAsIs,
     [](Model m) { return m.pending; }},
    {"", "nv_model_load_duration_secs", "Time that the last load of the model took, seconds", kGauge, kSeconds,
     [](Model m) { return m.load_ns; }},
    {"/ridge_busy_ns", "ridge_model_busy_seconds",
     "Time that the model's instances were at work, summed over them, seconds", kCounter, kSeconds,
     [](Model m) { return m.busy_ns; }},
    {"", "ridge_model_file_bytes", "Size of the model's file and its external data", kGauge, kAsIs,
     [](Model m) { return m.file_bytes; }},
    {"", "nv_inference_request_failure", "Number of failed inference requests, by reason", kCounter, kAsIs,
     [](Model m) { return m.rejected; }, "REJECTED"},
    {"", "nv_inference_request_failure", "", kCounter, kAsIs, [](Model m) { return m.cancelled; }, "CANCELED"},
    {"", "nv_inference_request_failure", "", kCounter, kAsIs, [](Model m) { return m.backend_failed; }, "BACKEND"},
    {"", "nv_inference_request_failure", "", kCounter, kAsIs, [](Model m) { return m.other_failed; }, "OTHER"},
    {"", "ridge_inference_request_rejected", "Number of requests among those of reason REJECTED, by what refused them",
     kCounter, kAsIs, [](Model m) { return m.queue_full; }, "QUEUE_FULL"},
    {"", "ridge_inference_request_rejected", "", kCounter, kAsIs, [](Model m) { return m.predicted_late; },
     "PREDICTED_LATE"},
    {"", "ridge_inference_request_rejected", "", kCounter, kAsIs, [](Model m) { return m.queue_timeout; },
     "QUEUE_TIMEOUT"},
};

double shown(const ModelMetric& metric, uint64_t value) {
  switch (metric.shown) {
    case kAsIs: return static_cast<double>(value);
    case kMicroseconds: return static_cast<double>(value / 1000);
    case kSeconds: return static_cast<double>(value) / 1e9;
  }
  return 0;
}

Series series_of(Model model) {
  Series series{{{"model", text::to_utf8(model.name)}, {"version", std::to_string(model.version)}}};
  for (const auto& [key, value] : model.metric_tags) series.labels.push_back({"_" + key, text::to_utf8(value)});
  return series;
}

struct Durations {
  const char* name;
  const char* help;
  serve::Histogram serve::ModelStatistics::*of;
};

constexpr Durations kDurations[] = {
    {"nv_inference_request_latency_seconds", "Time of successful requests in the server, seconds",
     &serve::ModelStatistics::latency},
    {"ridge_inference_queue_seconds", "Of it, time in the queue, seconds", &serve::ModelStatistics::queue_time},
    {"ridge_inference_compute_input_seconds", "Of it, time spent on the batch's inputs, seconds",
     &serve::ModelStatistics::input_time},
    {"ridge_inference_compute_infer_seconds", "Of it, time of the batch in the engine, seconds",
     &serve::ModelStatistics::infer_time},
    {"ridge_inference_compute_output_seconds", "Of it, time spent on the batch's outputs, seconds",
     &serve::ModelStatistics::output_time},
};

void set_histogram(Series& series, const serve::Histogram& found) {
  series.value = found.sum_s;
  series.bounds = found.bounds_s;
  series.counts = found.counts;
}

MetricFamily histogram(const Durations& durations, std::span<const serve::ModelStatistics> models) {
  MetricFamily family{durations.name, durations.help, kHistogram};
  for (Model model : models) {
    const serve::Histogram& found = model.*durations.of;
    if (found.counts.empty()) continue;
    set_histogram(family.series.emplace_back(series_of(model)), found);
  }
  return family;
}

// No series of versions whose bound is not known.
MetricFamily bounds(std::span<const serve::ModelStatistics> models) {
  MetricFamily family{
      "ridge_model_bound_seconds",
      "Least time that this machine needs, with all CPUs, for the batches that ran, seconds; its rate is the share of "
      "the physical limit",
      kCounter};
  for (Model model : models)
    if (model.bound_ns) family.series.emplace_back(series_of(model)).value = static_cast<double>(*model.bound_ns) / 1e9;
  return family;
}

MetricFamily model_counts(const char* name, const char* help, const ModelCounts& counts) {
  MetricFamily family{name, help, kCounter};
  for (const auto& [model, count] : counts) {
    Series& series = family.series.emplace_back(Series{{{"model", text::to_utf8(model)}}});
    series.value = static_cast<double>(count);
  }
  return family;
}

MetricFamily span_family(const SpanCounts& spans) {
  MetricFamily family{"ridge_trace_spans", "Number of spans of traces, by whether the collector took them", kCounter};
  family.series.emplace_back(Series{{{"outcome", "sent"}}}).value = static_cast<double>(spans.sent);
  family.series.emplace_back(Series{{{"outcome", "dropped"}}}).value = static_cast<double>(spans.dropped);
  return family;
}

std::vector<MetricFamily> shadow_families(std::span<const serve::ShadowStatistics> shadows) {
  MetricFamily requests{
      "ridge_shadow_requests",
      "Number of requests of other versions that this one was to be judged by, by what became of the copy", kCounter};
  MetricFamily difference{"ridge_shadow_difference",
                          "Relative distance of this version's outputs from those that the client got", kHistogram};
  MetricFamily times{"ridge_shadow_seconds",
                     "Time of the compared requests in the version that answered, and in this one, seconds",
                     kHistogram};
  for (const serve::ShadowStatistics& shadow : shadows) {
    const Series series{{{"model", text::to_utf8(shadow.model)}, {"version", std::to_string(shadow.version)}}};
    const auto with = [&](MetricFamily& family, const char* label, const char* value) -> Series& {
      Series& added = family.series.emplace_back(series);
      if (*label != 0) added.labels.push_back({label, value});
      return added;
    };
    for (const auto& [result, count] :
         {std::pair("compared", shadow.compared), {"failed", shadow.failed}, {"left_out", shadow.skipped}})
      with(requests, "result", result).value = static_cast<double>(count);
    set_histogram(with(difference, "", ""), shadow.difference);
    set_histogram(with(times, "by", "answering"), shadow.answered_time);
    set_histogram(with(times, "by", "shadow"), shadow.shadow_time);
  }
  return {requests, difference, times};
}

std::vector<MetricFamily> key_families(const std::map<std::string, KeyUse::Counts>& keys) {
  MetricFamily calls{"ridge_key_requests", "Number of allowed calls with tensors or texts, by the name of their key",
                     kCounter};
  MetricFamily tokens{"ridge_key_tokens", "Number of tokens of prompts and of answers, by the name of the key",
                      kCounter};
  for (const auto& [name, counts] : keys) {
    calls.series.push_back({{{"key", name}}, static_cast<double>(counts.calls)});
    tokens.series.push_back({{{"key", name}, {"kind", "prompt"}}, static_cast<double>(counts.prompt_tokens)});
    tokens.series.push_back({{{"key", name}, {"kind", "generated"}}, static_cast<double>(counts.generated_tokens)});
  }
  return {calls, tokens};
}

void append(std::vector<MetricFamily>& families, std::vector<MetricFamily> more) {
  for (MetricFamily& family : more) families.push_back(std::move(family));
}

}  // namespace

std::span<const ModelMetric> model_metrics() { return kModelMetrics; }

std::vector<MetricFamily> model_families(std::span<const serve::ModelStatistics> models) {
  std::vector<MetricFamily> families;
  for (const ModelMetric& metric : kModelMetrics) {
    if (metric.name.empty()) continue;
    if (families.empty() || families.back().name != metric.name)
      families.push_back({std::string(metric.name), std::string(metric.help), metric.type});
    for (Model model : models) {
      Series& series = families.back().series.emplace_back(series_of(model));
      if (!metric.reason.empty()) series.labels.push_back({"reason", std::string(metric.reason)});
      series.value = shown(metric, metric.value(model));
    }
  }
  for (const Durations& durations : kDurations) families.push_back(histogram(durations, models));
  families.push_back(bounds(models));
  return families;
}

std::string metrics_text(std::span<const serve::ModelStatistics> models, const telemetry::HostSample& host,
                         const ServerFigures& server) {
  std::vector<MetricFamily> families = model_families(models);
  families.push_back(model_counts("nv_model_load_failure", "Number of failed loads of the model", server.failed_loads));
  families.push_back(model_counts("ridge_model_given_up",
                                  "Number of versions of the model that serve no more, as a run of theirs did not end",
                                  server.given_up));
  if (server.spans) families.push_back(span_family(*server.spans));
  if (!server.shadows.empty()) append(families, shadow_families(server.shadows));
  if (!server.texts.empty()) append(families, text_families(server.texts));
  if (!server.keys.empty()) append(families, key_families(server.keys));
  append(families, telemetry::host_families(host));
  if (!server.gpus.empty()) append(families, telemetry::gpu_families(server.gpus));
  return telemetry::exposition_text(families);
}

}  // namespace ridge::front
