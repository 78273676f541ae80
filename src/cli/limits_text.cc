#include "cli/limits_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace ridge::cli {
namespace {

std::string one_limit(std::string_view what, double per_s, const cost::DeviceLimits::Source* source, double percent) {
  std::string text = fmt::format("{} {}", what, what == "DRAM" ? format_bandwidth(per_s) : format_flops_rate(per_s));
  std::vector<std::string> about;
  if (source != nullptr) text += " " + std::string(origin_name(source->origin));
  if (source != nullptr && source->origin == Origin::kMeasured) {
    text += " ± " + format_percent(source->spread_percent);
    about.push_back(source->by);
  }
  if (percent < 99.5) about.push_back(format_percent(percent));
  return about.empty() ? text : fmt::format("{} ({})", text, fmt::join(about, ", "));
}

}  // namespace

std::string limits_text(std::span<const cost::BoundShare> arithmetic,
                        std::span<const cost::DeviceLimits::Source> sources) {
  std::vector<std::string> texts;
  for (const cost::BoundShare& one : arithmetic) {
    const std::string_view peak = precision_name(one.peak);
    const auto source = std::ranges::find(sources, peak, &cost::DeviceLimits::Source::what);
    if (one.percent >= 1)
      texts.push_back(one_limit(peak, one.flops_per_s, source == sources.end() ? nullptr : &*source, one.percent));
  }
  for (const cost::DeviceLimits::Source& source : sources)
    if (source.what == "DRAM") texts.push_back(one_limit(source.what, source.per_s, &source, 100));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string limits_text(std::span<const cost::DeviceLimits::Source> sources) {
  std::vector<std::string> texts;
  for (const cost::DeviceLimits::Source& source : sources)
    texts.push_back(one_limit(source.what, source.per_s, &source, 100));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace ridge::cli
