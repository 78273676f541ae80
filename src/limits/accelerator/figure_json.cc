// JSON of what was measured: docs/contracts.md, "Device bench". The members peaks, bandwidth and links are the contract of
// ridge bench device; what could not be measured is null, with the reason.
#include <nlohmann/json.hpp>

#include "limits/accelerator/figure.h"

namespace ridge::limits::accelerator {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json shares_json(const std::vector<Share>& shares) {
  Json json = Json::array();
  for (const Share& share : shares)
    json.push_back(
        {{"of", share.of}, {"value", share.value}, {"origin", origin_name(share.origin)}, {"percent", share.percent}});
  return json;
}

Json observed_json(const Observed& observed) {
  return {{"clock_hz", or_null(observed.clock_hz)},
          {"memory_clock_hz", or_null(observed.memory_clock_hz)},
          {"power_w", or_null(observed.power_w)},
          {"temperature_c", or_null(observed.temperature_c)},
          {"slowdowns", observed.slowdowns},
          {"clocks_set", observed.clocks_set},
          {"samples", observed.samples}};
}

Json peaks_json(const std::vector<PeakRow>& rows) {
  Json json = Json::array();
  for (const PeakRow& row : rows) {
    Json one = {{"precision", precision_name(row.precision)}, {"way", row.way}};
    add_figure(one, row.figure, "flops_per_s");
    const std::optional<double> counted =
        row.figure.clock_hz > 0 ? std::optional(row.figure.clock_hz) : row.figure.observed.clock_hz;
    one["clock_hz"] = or_null(counted);
    one["clock_counted_hz"] = row.figure.clock_hz > 0 ? Json(row.figure.clock_hz) : Json(nullptr);
    json.push_back(std::move(one));
  }
  return json;
}

Json bandwidths_json(const std::vector<BandwidthRow>& rows) {
  Json json = Json::array();
  for (const BandwidthRow& row : rows) {
    Json one = {{"level", row.level}, {"access", row.access}, {"working_set_bytes", row.working_set_bytes}};
    add_figure(one, row.figure, "bytes_per_s");
    json.push_back(std::move(one));
  }
  return json;
}

Json links_json(const std::vector<LinkRow>& rows) {
  Json json = Json::array();
  for (const LinkRow& row : rows) {
    Json one = {
        {"way", gpu::way_name(row.way)}, {"memory", gpu::host_memory_name(row.memory)}, {"copy_bytes", row.bytes}};
    add_figure(one, row.figure, "bytes_per_s");
    json.push_back(std::move(one));
  }
  return json;
}

Json starts_json(const std::vector<StartRow>& rows) {
  Json json = Json::array();
  for (const StartRow& row : rows) {
    Json one = {{"what", row.what}, {"meaning", row.meaning}};
    add_figure(one, row.figure, "starts_per_s");
    one["seconds"] = row.figure.best ? Json(1 / *row.figure.best) : Json(nullptr);
    one["typical_seconds"] = row.figure.typical ? Json(1 / *row.figure.typical) : Json(nullptr);
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

void add_figure(Json& json, const Figure& figure, const std::string& unit) {
  json[unit] = or_null(figure.best);
  json["typical_" + unit] = or_null(figure.typical);
  json["origin"] = origin_name(Origin::kMeasured);
  if (!figure.best) {
    json["reason"] = figure.reason;
    return;
  }
  json["spread_percent"] = figure.spread_percent;
  json["bursts"] = figure.bursts;
  json["burst_seconds"] = figure.burst_seconds;
  json["kernel"] = figure.conditions;
  json["shares"] = shares_json(figure.shares);
  if (figure.observed.samples > 0) json["observed"] = observed_json(figure.observed);
}

Json to_json(const Measured& measured) {
  return {{"device", measured.facts.name},
          {"kind", measured.facts.kind},
          {"facts", to_json(measured.facts)},
          {"setting", to_json(measured.setting)},
          {"measured_at", measured.measured_at},
          {"seconds", measured.seconds},
          {"recalled", measured.recalled},
          {"kept", measured.kept},
          {"datasheet", measured.datasheet},
          {"processor_limits", measured.cpu_limits},
          {"observer", measured.observer},
          {"peaks", peaks_json(measured.peaks)},
          {"bandwidth", bandwidths_json(measured.bandwidths)},
          {"links", links_json(measured.links)},
          {"starts", starts_json(measured.starts)}};
}

}  // namespace ridge::limits::accelerator
