// The metrics of a language model, one row each, with vLLM's names where vLLM has them. A new one is a row here, its
// figure in serve::TextFigures and its entry in data/explain/*/metrics.md. Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "serve/service.h"
#include "serve/text_figures.h"
#include "telemetry/exposition.h"

namespace ridge::front {

struct TextMetric {
  std::string_view name;  // of the family
  std::string_view help;
  telemetry::MetricType type = telemetry::MetricType::kCounter;
  double (*value)(const serve::TextFigures& model) = nullptr;       // of a counter or gauge
  const serve::Histogram serve::TextFigures::*histogram = nullptr;  // of a histogram
  bool (*known)(const serve::TextFigures& model) = nullptr;  // null: always; else models without it have no series
  std::string_view label = {}, label_value = {};  // which distinguishes rows of one family; they are consecutive
};
std::span<const TextMetric> text_metrics();

// Figures of all language models that serve.
std::vector<serve::TextFigures> text_figures(const serve::Service& service);

// One family per name, with one series per model version. vLLM's have its label model_name, so that its dashboards show
// them; ridge's have model, as the others.
std::vector<telemetry::MetricFamily> text_families(std::span<const serve::TextFigures> models);

}  // namespace ridge::front
