// The counters of a served model version, one row each: the source of the protocol's statistics and Prometheus' text. A
// new metric is a row here, its counter in serve::ModelStatistics and its entry in data/explain/*/metrics.md. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "front/access.h"
#include "front/tracer.h"
#include "serve/service.h"
#include "serve/text_figures.h"
#include "telemetry/exposition.h"
#include "telemetry/gpus.h"
#include "telemetry/host.h"

namespace ridge::front {

// A value's form in Prometheus.
enum class MetricScale : uint8_t {
  kAsIs,
  kMicroseconds,  // of nanoseconds, whole ones
  kSeconds,       // of nanoseconds
};

struct ModelMetric {
  std::string_view member;  // of the protocol's statistics of a model, as a JSON pointer; empty: not reported there
  std::string_view name;    // of the family in Prometheus' text; empty: not reported there
  std::string_view help;
  telemetry::MetricType type = telemetry::MetricType::kCounter;
  MetricScale shown = MetricScale::kAsIs;
  uint64_t (*value)(const serve::ModelStatistics& model);
  std::string_view reason = {};  // label that distinguishes rows of one family, which are consecutive
};
std::span<const ModelMetric> model_metrics();

// One family per name, with one series per model version; the histograms of durations, and the bounds.
std::vector<telemetry::MetricFamily> model_families(std::span<const serve::ModelStatistics> models);

using ModelCounts = std::vector<std::pair<std::string, uint64_t>>;  // per model

// Figures of the server as a whole.
struct ServerFigures {
  std::vector<telemetry::GpuSample> gpus = {};
  ModelCounts failed_loads = {}, given_up = {};
  std::optional<SpanCounts> spans = {};
  std::vector<serve::ShadowStatistics> shadows = {};
  std::vector<serve::TextFigures> texts = {};  // of language models
  std::map<std::string, KeyUse::Counts> keys = {};
};

// Everything that /metrics answers. Without GPUs there are no families of GPUs, without traces none of spans,
// without language models none of those.
std::string metrics_text(std::span<const serve::ModelStatistics> models, const telemetry::HostSample& host,
                         const ServerFigures& server = {});

}  // namespace ridge::front
