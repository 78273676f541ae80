#include "telemetry/exposition.h"

#include <prometheus/metric_family.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace ridge::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 400> digits;  // the longest double in fixed notation has 309 digits before the point
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed).ptr;
  return {digits.data(), end};
}

// Label values escape \ " and newlines, help texts \ and newlines.
std::string escaped(std::string_view text, bool quotes) {
  std::string result;
  for (char c : text) {
    if (c == '\n')
      result += "\\n";
    else if (c == '\\' || (quotes && c == '"'))
      result.append(1, '\\').append(1, c);
    else
      result += c;
  }
  return result;
}

std::string label_name(std::string_view name) {
  std::string result(name);
  for (char& c : result)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) c = '_';
  return result;
}

void append_series(std::string& text, std::string_view name, const ClientMetric& metric, std::string_view value,
                   std::string_view bound = {}) {
  text += name;
  std::string labels;
  for (const ClientMetric::Label& label : metric.label)
    labels += (labels.empty() ? "" : ",") + label_name(label.name) + "=\"" + escaped(label.value, true) + "\"";
  if (!bound.empty()) labels += (labels.empty() ? "" : ",") + ("le=\"" + std::string(bound)) + "\"";
  if (!labels.empty()) text += "{" + labels + "}";
  text.append(" ").append(value).append("\n");
}

void append_histogram(std::string& text, const std::string& name, const ClientMetric& metric) {
  for (const ClientMetric::Bucket& bucket : metric.histogram.bucket)
    append_series(text, name + "_bucket", metric, std::to_string(bucket.cumulative_count),
                  number_text(bucket.upper_bound));
  append_series(text, name + "_sum", metric, number_text(metric.histogram.sample_sum));
  append_series(text, name + "_count", metric, std::to_string(metric.histogram.sample_count));
}

const char* type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter: return "counter";
    case MetricType::Gauge: return "gauge";
    case MetricType::Histogram: return "histogram";
    default: return "untyped";
  }
}

}  // namespace

std::string exposition_text(std::span<const MetricFamily> families) {
  std::string text;
  for (const MetricFamily& family : families) {
    text += "# HELP " + family.name + " " + escaped(family.help, false) + "\n";
    text += "# TYPE " + family.name + " " + type_name(family.type) + "\n";
    for (const ClientMetric& metric : family.metric) {
      if (family.type == MetricType::Histogram)
        append_histogram(text, family.name, metric);
      else
        append_series(text, family.name, metric,
                      number_text(family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value));
    }
  }
  return text;
}

}  // namespace ridge::telemetry
