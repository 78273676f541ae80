#include "cli/bench_device_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

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

std::string shares_text(const std::vector<Utilisation>& shares) {
  std::string text;
  for (const Utilisation& share : shares)
    text += fmt::format("{}{} of {} ({})", text.empty() ? "" : "; ", format_percent(share.percent), share.of,
                        origin_name(share.origin));
  return text;
}

template <typename Row>
std::string list_text(const char* list, const std::vector<Row>& rows) {
  OwnColumn shares{"share", {}, "n"};
  for (const Row& row : rows) shares.cells.push_back(shares_text(row.result.utilisation));
  return "\n" + figure_table("bench-device-gpu", list, json_of(rows), {}, {.last = {std::move(shares)}});
}

}  // namespace

std::string accelerator_text(const DeviceMeasurement& measured) {
  return facts_text(measured) + list_text("peaks", measured.peaks) + list_text("bandwidth", measured.bandwidths) +
         list_text("links", measured.links) + list_text("starts", measured.starts);
}

}  // namespace ridge::cli
