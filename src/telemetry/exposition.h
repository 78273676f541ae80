// Metrics as Prometheus' text exposition format 0.0.4. Pure.
//
// Unlike other writers, never uses an exponent: perf_analyzer reads 8.5e10 as 8.5.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ridge::telemetry {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

using Label = std::pair<std::string, std::string>;  // name, value

struct Series {
  std::vector<Label> labels;
  double value = 0;  // of a histogram: the sum of the observations
  // A histogram's upper bounds, the last infinite, and the number of observations up to each.
  std::vector<double> bounds = {};
  std::vector<uint64_t> counts = {};
};

struct MetricFamily {
  std::string name;
  std::string help;
  MetricType type = MetricType::kGauge;
  std::vector<Series> series = {};
};

// Families without a series keep their HELP and TYPE lines.
std::string exposition_text(std::span<const MetricFamily> families);

}  // namespace ridge::telemetry
