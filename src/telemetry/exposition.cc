#include "telemetry/exposition.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace ridge::telemetry {
namespace {

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

void append_line(std::string& text, std::string_view name, const Series& series, std::string_view value,
                 std::string_view bound = {}) {
  text += name;
  std::string labels;
  for (const auto& [label, of_label] : series.labels)
    labels += (labels.empty() ? "" : ",") + label_name(label) + "=\"" + escaped(of_label, true) + "\"";
  if (!bound.empty()) labels += (labels.empty() ? "" : ",") + ("le=\"" + std::string(bound)) + "\"";
  if (!labels.empty()) text += "{" + labels + "}";
  text.append(" ").append(value).append("\n");
}

void append_histogram(std::string& text, const std::string& name, const Series& series) {
  for (size_t i = 0; i < series.counts.size(); ++i)
    append_line(text, name + "_bucket", series, std::to_string(series.counts[i]), number_text(series.bounds.at(i)));
  append_line(text, name + "_sum", series, number_text(series.value));
  append_line(text, name + "_count", series, std::to_string(series.counts.empty() ? 0 : series.counts.back()));
}

const char* type_name(MetricType type) {
  switch (type) {
    case MetricType::kCounter: return "counter";
    case MetricType::kGauge: return "gauge";
    case MetricType::kHistogram: return "histogram";
  }
  return "untyped";
}

}  // namespace

std::string exposition_text(std::span<const MetricFamily> families) {
  std::string text;
  for (const MetricFamily& family : families) {
    text += "# HELP " + family.name + " " + escaped(family.help, false) + "\n";
    text += "# TYPE " + family.name + " " + type_name(family.type) + "\n";
    for (const Series& series : family.series) {
      if (family.type == MetricType::kHistogram)
        append_histogram(text, family.name, series);
      else
        append_line(text, family.name, series, number_text(series.value));
    }
  }
  return text;
}

}  // namespace ridge::telemetry
