#include "telemetry/metrics.h"

#include <prometheus/metric_family.h>

#include <functional>

#include "telemetry/exposition.h"

namespace ridge::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::vector<ClientMetric::Label> labels_of(const ModelSample& sample) {
  std::vector<ClientMetric::Label> labels{{"model", sample.model}, {"version", sample.version}};
  for (const auto& [key, value] : sample.tags) labels.push_back({"_" + key, value});
  return labels;
}

// A family with one series per model version.
struct PerModel {
  const char* name;
  const char* help;
  MetricType type;
  std::function<double(const ModelSample&)> value;
};

double microseconds(uint64_t ns) { return static_cast<double>(ns / 1000); }
double number(uint64_t count) { return static_cast<double>(count); }

// Names, meaning and units as Triton's (its docs/user_guide/metrics.md).
const std::vector<PerModel>& per_model_families() {
  using Sample = const ModelSample&;
  static const std::vector<PerModel> kFamilies = {
      {"nv_inference_request_success", "Number of successful inference requests", MetricType::Counter,
       [](Sample s) { return number(s.success); }},
      {"nv_inference_count", "Number of inferences performed (rows, not requests)", MetricType::Counter,
       [](Sample s) { return number(s.inferences); }},
      {"nv_inference_exec_count", "Number of engine runs (batches)", MetricType::Counter,
       [](Sample s) { return number(s.executions); }},
      {"nv_inference_request_duration_us", "Cumulative time of successful requests in the server, microseconds",
       MetricType::Counter, [](Sample s) { return microseconds(s.request_ns); }},
      {"nv_inference_queue_duration_us", "Cumulative time of requests in the queue, microseconds", MetricType::Counter,
       [](Sample s) { return microseconds(s.queue_ns); }},
      {"nv_inference_compute_input_duration_us", "Cumulative time spent on inputs, microseconds", MetricType::Counter,
       [](Sample s) { return microseconds(s.compute_input_ns); }},
      {"nv_inference_compute_infer_duration_us", "Cumulative time spent in the engine, microseconds",
       MetricType::Counter, [](Sample s) { return microseconds(s.compute_infer_ns); }},
      {"nv_inference_compute_output_duration_us", "Cumulative time spent on outputs, microseconds", MetricType::Counter,
       [](Sample s) { return microseconds(s.compute_output_ns); }},
      {"nv_inference_pending_request_count", "Number of requests waiting for an instance now", MetricType::Gauge,
       [](Sample s) { return number(s.pending); }},
      {"nv_model_load_duration_secs", "Time that the last load of the model took, seconds", MetricType::Gauge,
       [](Sample s) { return s.load_seconds; }},
  };
  return kFamilies;
}

void set_value(ClientMetric& metric, MetricType type, double value) {
  if (type == MetricType::Counter)
    metric.counter.value = value;
  else
    metric.gauge.value = value;
}

MetricFamily per_model(const PerModel& row, std::span<const ModelSample> models) {
  MetricFamily family{row.name, row.help, row.type, {}};
  for (const ModelSample& sample : models) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = labels_of(sample);
    set_value(metric, row.type, row.value(sample));
  }
  return family;
}

MetricFamily failures(std::span<const ModelSample> models) {
  MetricFamily family{
      "nv_inference_request_failure", "Number of failed inference requests, by reason", MetricType::Counter, {}};
  for (const ModelSample& sample : models)
    for (auto [reason, count] :
         {std::pair("REJECTED", sample.rejected), std::pair("CANCELED", sample.cancelled),
          std::pair("BACKEND", sample.backend_failed), std::pair("OTHER", sample.other_failed)}) {
      ClientMetric& metric = family.metric.emplace_back();
      metric.label = labels_of(sample);
      metric.label.push_back({"reason", reason});
      metric.counter.value = number(count);
    }
  return family;
}

MetricFamily latencies(std::span<const ModelSample> models) {
  MetricFamily family{"nv_inference_request_latency_seconds",
                      "Time of successful requests in the server, seconds",
                      MetricType::Histogram,
                      {}};
  for (const ModelSample& sample : models) {
    if (sample.latency_counts.empty()) continue;
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = labels_of(sample);
    metric.histogram.sample_count = sample.latency_counts.back();
    metric.histogram.sample_sum = sample.latency_sum_s;
    for (size_t i = 0; i < sample.latency_counts.size() && i < sample.latency_bounds_s.size(); ++i)
      metric.histogram.bucket.push_back({sample.latency_counts[i], sample.latency_bounds_s[i]});
  }
  return family;
}

void add_gauge(std::vector<MetricFamily>& families, const char* name, const char* help, double value) {
  MetricFamily& family = families.emplace_back(MetricFamily{name, help, MetricType::Gauge, {}});
  family.metric.emplace_back().gauge.value = value;
}

void add_host(std::vector<MetricFamily>& families, const HostSample& host) {
  if (host.cpu_utilization)
    add_gauge(families, "nv_cpu_utilization", "Share of all CPUs' time that was busy since the last scrape, 0 to 1",
              *host.cpu_utilization);
  if (host.memory) {
    add_gauge(families, "nv_cpu_memory_total_bytes", "Memory of the machine, bytes", number(host.memory->total_bytes));
    add_gauge(families, "nv_cpu_memory_used_bytes", "Memory of the machine that is in use, bytes",
              number(host.memory->total_bytes - host.memory->available_bytes));
  }
  if (host.resident_bytes)
    add_gauge(families, "process_resident_memory_bytes", "Memory of this process, bytes", number(*host.resident_bytes));
}

}  // namespace

std::string prometheus_text(std::span<const ModelSample> models, const HostSample& host,
                            const std::vector<CardSample>& cards) {
  std::vector<MetricFamily> families;
  for (const PerModel& row : per_model_families()) families.push_back(per_model(row, models));
  families.push_back(failures(models));
  families.push_back(latencies(models));
  add_host(families, host);
  if (!cards.empty())
    for (MetricFamily& family : card_families(cards)) families.push_back(std::move(family));
  return exposition_text(families);
}

}  // namespace ridge::telemetry
