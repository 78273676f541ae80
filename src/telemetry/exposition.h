// Metric families → Prometheus' text exposition format 0.0.4. Pure.
//
// prometheus-cpp has a writer of its own, which prints large and small values with exponents; perf_analyzer reads
// 8.5e10 as 8.5. Here no value ever has one.
#pragma once

#include <span>
#include <string>

namespace prometheus {
struct MetricFamily;
}

namespace ridge::telemetry {

// Families without a series keep their HELP and TYPE lines.
std::string exposition_text(std::span<const prometheus::MetricFamily> families);

}  // namespace ridge::telemetry
