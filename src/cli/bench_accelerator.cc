#include "cli/bench_device_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using limits::MetricResult;
using limits::Utilisation;
using limits::accelerator::DeviceMeasurement;
using Rows = std::vector<std::vector<std::string>>;

std::string known_or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::string facts_text(const DeviceMeasurement& measured) {
  const gpu::DeviceFacts& facts = measured.facts;
  Rows rows = {{"device", fmt::format("{} {}", facts.device, facts.name)},
               {"software", facts.software},
               {"units", fmt::format("{}{}", facts.compute_units,
                                     facts.clock_hz > 0 ? " at up to " + format_hertz(facts.clock_hz) : "")},
               {"memory", format_bytes(static_cast<double>(facts.memory_bytes))},
               {"last cache",
                facts.last_cache_bytes > 0 ? format_bytes(static_cast<double>(facts.last_cache_bytes)) : "unknown"},
               {"PCI address", known_or_unknown(facts.pci_address)}};
  if (!facts.capability.empty()) rows.push_back({"compute capability", facts.capability});
  rows.push_back({"datasheet", measured.datasheet});
  if (!measured.cpu_limits.empty()) rows.push_back({"CPU's limits", measured.cpu_limits});
  rows.push_back({"watched by", measured.observer});
  rows.push_back({"measured", fmt::format("{}, in {:.0f} s{}", measured.measured_at, measured.seconds,
                                          measured.recalled ? " by an earlier run; --fresh measures again" : "")});
  rows.push_back({"for", describe(measured.setting)});
  rows.push_back({"limits", measured.kept});
  return table({}, rows, "ll");
}

std::string utilisation_text(const std::vector<Utilisation>& shares) {
  std::string text;
  for (const Utilisation& share : shares)
    text += fmt::format("{}{} of {} ({})", text.empty() ? "" : "; ", format_percent(share.percent), share.of,
                        origin_name(share.origin));
  return text.empty() ? "-" : text;
}

// The GPU's state during the measurement: "1.75 GHz, 612 W, slowed by power limit".
std::string seen_text(const MetricResult& result) {
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (result.gpu.clock_hz) add(format_hertz(*result.gpu.clock_hz));
  if (result.gpu.power_w) add(fmt::format("{:.0f} W", *result.gpu.power_w));
  if (result.gpu.temperature_c) add(fmt::format("{:.0f} C", *result.gpu.temperature_c));
  if (!result.gpu.slowdowns.empty()) add(fmt::format("slowed by {}", fmt::join(result.gpu.slowdowns, ", ")));
  return text.empty() ? "-" : text;
}

using Format = std::string (*)(double);

// The cells common to all figures: best, typical, spread, bursts.
void add_cells(std::vector<std::string>& row, const MetricResult& result, Format format) {
  row.push_back(result.best ? format(*result.best) : "-");
  row.push_back(result.typical ? format(*result.typical) : "-");
  row.push_back(result.best ? format_percent(result.spread_percent) : "-");
  row.push_back(std::to_string(result.bursts));
}

void add_end(std::vector<std::string>& row, const MetricResult& result) {
  row.push_back(seen_text(result));
  // A compiler's log has many lines; JSON has all of them.
  const std::string reason = result.reason.substr(0, result.reason.find('\n'));
  row.push_back(result.best ? result.conditions : "not measured: " + reason);
}

std::string seconds_text(double starts_per_s) { return format_ms(1e3 / starts_per_s); }

std::string peaks_text(const DeviceMeasurement& measured) {
  Rows rows;
  for (const auto& peak : measured.peaks) {
    std::vector<std::string> row = {std::string(precision_name(peak.precision)), peak.way};
    add_cells(row, peak.result, format_flops_rate);
    row.push_back(peak.result.clock_hz > 0 ? format_hertz(peak.result.clock_hz) : "-");
    add_end(row, peak.result);
    rows.push_back(std::move(row));
  }
  return table({"peak", "by", "best", "typical", "spread", "bursts", "clock counted", "seen", "how"}, rows,
               "llrr3r4r1r2nn");
}

std::string bandwidths_text(const DeviceMeasurement& measured) {
  Rows rows;
  for (const auto& bandwidth : measured.bandwidths) {
    std::vector<std::string> row = {bandwidth.level, bandwidth.access};
    add_cells(row, bandwidth.result, format_bandwidth);
    row.push_back(format_bytes(static_cast<double>(bandwidth.working_set_bytes)));
    add_end(row, bandwidth.result);
    rows.push_back(std::move(row));
  }
  return table({"level", "access", "best", "typical", "spread", "bursts", "working set", "seen", "how"}, rows,
               "llrr3r4r1r2nn");
}

std::string links_text(const DeviceMeasurement& measured) {
  Rows rows;
  for (const auto& link : measured.links) {
    std::vector<std::string> row = {std::string(limits::accelerator::way_name(link.way)),
                                    std::string(limits::accelerator::host_memory_name(link.memory))};
    add_cells(row, link.result, format_bandwidth);
    add_end(row, link.result);
    rows.push_back(std::move(row));
  }
  return table({"link", "host memory", "best", "typical", "spread", "bursts", "seen", "how"}, rows, "llrr3r4r1nn");
}

std::string starts_text(const DeviceMeasurement& measured) {
  Rows rows;
  for (const auto& start : measured.starts) {
    std::vector<std::string> row = {start.what};
    add_cells(row, start.result, seconds_text);
    add_end(row, start.result);
    rows.push_back(std::move(row));
  }
  return table({"start of", "best", "typical", "spread", "bursts", "seen", "how"}, rows, "lrr3r4r1nn");
}

// Each figure beside its reference.
std::string all_utilisation_text(const DeviceMeasurement& measured) {
  Rows rows;
  auto add = [&](std::string name, const MetricResult& result) {
    if (!result.utilisation.empty()) rows.push_back({std::move(name), utilisation_text(result.utilisation)});
  };
  for (const auto& peak : measured.peaks) add(row_name(peak), peak.result);
  for (const auto& bandwidth : measured.bandwidths) add(row_name(bandwidth), bandwidth.result);
  for (const auto& link : measured.links) add(row_name(link), link.result);
  return rows.empty() ? "" : "\n" + table({"figure", "share"}, rows, "ll");
}

}  // namespace

std::string accelerator_text(const DeviceMeasurement& measured) {
  return facts_text(measured) + "\n" + peaks_text(measured) + "\n" + bandwidths_text(measured) + "\n" +
         links_text(measured) + "\n" + starts_text(measured) + all_utilisation_text(measured);
}

}  // namespace ridge::cli
