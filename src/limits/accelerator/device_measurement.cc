// JSON of what was measured, and back: docs/contracts.md, "Device bench". The members peaks, bandwidth and links are the contract
// of ridge bench device; what could not be measured is null, with the reason.
#include "limits/accelerator/device_measurement.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::limits::accelerator {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json utilisation_json(const std::vector<Utilisation>& shares) {
  Json json = Json::array();
  for (const Utilisation& share : shares)
    json.push_back(
        {{"of", share.of}, {"value", share.value}, {"origin", origin_name(share.origin)}, {"percent", share.percent}});
  return json;
}

Json conditions_json(const GpuConditions& conditions) {
  return {{"clock_hz", or_null(conditions.clock_hz)},
          {"memory_clock_hz", or_null(conditions.memory_clock_hz)},
          {"power_w", or_null(conditions.power_w)},
          {"temperature_c", or_null(conditions.temperature_c)},
          {"slowdowns", conditions.slowdowns},
          {"clocks_set", conditions.clocks_set},
          {"samples", conditions.samples}};
}

Json peaks_json(const std::vector<PeakRow>& rows) {
  Json json = Json::array();
  for (const PeakRow& row : rows) {
    Json one = {{"precision", precision_name(row.precision)}, {"way", row.way}};
    add_result(one, row.result, "flops_per_s");
    const std::optional<double> counted =
        row.result.clock_hz > 0 ? std::optional(row.result.clock_hz) : row.result.gpu.clock_hz;
    one["clock_hz"] = or_null(counted);
    one["clock_counted_hz"] = row.result.clock_hz > 0 ? Json(row.result.clock_hz) : Json(nullptr);
    json.push_back(std::move(one));
  }
  return json;
}

Json bandwidths_json(const std::vector<BandwidthRow>& rows) {
  Json json = Json::array();
  for (const BandwidthRow& row : rows) {
    Json one = {{"level", row.level}, {"access", row.access}, {"working_set_bytes", row.working_set_bytes}};
    add_result(one, row.result, "bytes_per_s");
    json.push_back(std::move(one));
  }
  return json;
}

Json links_json(const std::vector<LinkRow>& rows) {
  Json json = Json::array();
  for (const LinkRow& row : rows) {
    Json one = {{"way", way_name(row.way)}, {"memory", host_memory_name(row.memory)}, {"copy_bytes", row.bytes}};
    add_result(one, row.result, "bytes_per_s");
    json.push_back(std::move(one));
  }
  return json;
}

Json starts_json(const std::vector<StartRow>& rows) {
  Json json = Json::array();
  for (const StartRow& row : rows) {
    Json one = {{"what", row.what}, {"meaning", row.meaning}};
    add_result(one, row.result, "starts_per_s");
    one["seconds"] = row.result.best ? Json(1 / *row.result.best) : Json(nullptr);
    one["typical_seconds"] = row.result.typical ? Json(1 / *row.result.typical) : Json(nullptr);
    json.push_back(std::move(one));
  }
  return json;
}

Result<Utilisation> utilisation_from_json(const Json& json) {
  Utilisation share;
  RIDGE_ASSIGN(share.of, json_member<std::string>(json, "of"));
  RIDGE_ASSIGN(share.value, json_member<double>(json, "value"));
  RIDGE_ASSIGN(const std::string origin, json_member<std::string>(json, "origin"));
  RIDGE_ASSIGN(share.origin, origin_from_name(origin));
  RIDGE_ASSIGN(share.percent, json_member<double>(json, "percent"));
  return share;
}

Status read_conditions(const Json& json, GpuConditions& conditions) {
  RIDGE_TRY(read_optional(json, "clock_hz", conditions.clock_hz));
  RIDGE_TRY(read_optional(json, "memory_clock_hz", conditions.memory_clock_hz));
  RIDGE_TRY(read_optional(json, "power_w", conditions.power_w));
  RIDGE_TRY(read_optional(json, "temperature_c", conditions.temperature_c));
  RIDGE_TRY(read_strings(json, "slowdowns", conditions.slowdowns));
  RIDGE_ASSIGN(conditions.clocks_set, json_member<bool>(json, "clocks_set"));
  RIDGE_ASSIGN(const int64_t samples, json_member<int64_t>(json, "samples"));
  conditions.samples = static_cast<int>(samples);
  return {};
}

// `unit`: as add_result has it.
Result<MetricResult> result_from_json(const Json& json, const std::string& unit) {
  MetricResult result;
  RIDGE_TRY(read_optional(json, unit.c_str(), result.best));
  RIDGE_TRY(read_optional(json, ("typical_" + unit).c_str(), result.typical));
  if (!result.best) {
    RIDGE_ASSIGN(result.reason, json_member<std::string>(json, "reason"));
    return result;
  }
  RIDGE_ASSIGN(result.spread_percent, json_member<double>(json, "spread_percent"));
  RIDGE_ASSIGN(const int64_t bursts, json_member<int64_t>(json, "bursts"));
  result.bursts = static_cast<int>(bursts);
  RIDGE_ASSIGN(result.burst_seconds, json_member<double>(json, "burst_seconds"));
  RIDGE_ASSIGN(result.clock_hz, json_member_or<double>(json, "clock_counted_hz", 0));
  RIDGE_ASSIGN(result.conditions, json_member<std::string>(json, "kernel"));
  RIDGE_TRY(read_array(json, "shares", [&](const Json& element) -> Status {
    RIDGE_ASSIGN(Utilisation share, utilisation_from_json(element));
    result.utilisation.push_back(std::move(share));
    return {};
  }));
  if (auto conditions = json.find("observed"); conditions != json.end())
    RIDGE_TRY(read_conditions(*conditions, result.gpu));
  return result;
}

Status read_peaks(const Json& json, std::vector<PeakRow>& rows) {
  return read_array(json, "peaks", [&](const Json& element) -> Status {
    PeakRow row;
    RIDGE_ASSIGN(const std::string precision, json_member<std::string>(element, "precision"));
    RIDGE_ASSIGN(row.precision, precision_from_name(precision));
    RIDGE_ASSIGN(row.way, json_member<std::string>(element, "way"));
    RIDGE_ASSIGN(row.result, result_from_json(element, "flops_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

Status read_bandwidths(const Json& json, std::vector<BandwidthRow>& rows) {
  return read_array(json, "bandwidth", [&](const Json& element) -> Status {
    BandwidthRow row;
    RIDGE_ASSIGN(row.level, json_member<std::string>(element, "level"));
    RIDGE_ASSIGN(row.access, json_member<std::string>(element, "access"));
    RIDGE_ASSIGN(row.working_set_bytes, json_member<int64_t>(element, "working_set_bytes"));
    RIDGE_ASSIGN(row.result, result_from_json(element, "bytes_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

Status read_links(const Json& json, std::vector<LinkRow>& rows) {
  return read_array(json, "links", [&](const Json& element) -> Status {
    LinkRow row;
    RIDGE_ASSIGN(const std::string way, json_member<std::string>(element, "way"));
    RIDGE_ASSIGN(row.way, way_from_name(way));
    RIDGE_ASSIGN(const std::string memory, json_member<std::string>(element, "memory"));
    RIDGE_ASSIGN(row.memory, host_memory_from_name(memory));
    RIDGE_ASSIGN(row.bytes, json_member<int64_t>(element, "copy_bytes"));
    RIDGE_ASSIGN(row.result, result_from_json(element, "bytes_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

Status read_starts(const Json& json, std::vector<StartRow>& rows) {
  return read_array(json, "starts", [&](const Json& element) -> Status {
    StartRow row;
    RIDGE_ASSIGN(row.what, json_member<std::string>(element, "what"));
    RIDGE_ASSIGN(row.meaning, json_member<std::string>(element, "meaning"));
    RIDGE_ASSIGN(row.result, result_from_json(element, "starts_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

}  // namespace

std::string row_name(const PeakRow& row) { return fmt::format("{} {}", precision_name(row.precision), row.way); }
std::string row_name(const BandwidthRow& row) { return row.level + " " + row.access; }
std::string row_name(const LinkRow& row) {
  return fmt::format("{}, {}", way_name(row.way), host_memory_name(row.memory));
}
std::string row_name(const StartRow& row) { return row.what; }

void add_result(Json& json, const MetricResult& result, const std::string& unit) {
  json[unit] = or_null(result.best);
  json["typical_" + unit] = or_null(result.typical);
  json["origin"] = origin_name(Origin::kMeasured);
  if (!result.best) {
    json["reason"] = result.reason;
    return;
  }
  json["spread_percent"] = result.spread_percent;
  json["bursts"] = result.bursts;
  json["burst_seconds"] = result.burst_seconds;
  json["kernel"] = result.conditions;
  json["shares"] = utilisation_json(result.utilisation);
  if (result.gpu.samples > 0) json["observed"] = conditions_json(result.gpu);
}

Json to_json(const DeviceMeasurement& measured) {
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

Result<DeviceMeasurement> measurement_from_json(const Json& json) {
  DeviceMeasurement measured;
  RIDGE_ASSIGN(measured.measured_at, json_member<std::string>(json, "measured_at"));
  RIDGE_ASSIGN(measured.seconds, json_member<double>(json, "seconds"));
  RIDGE_ASSIGN(measured.datasheet, json_member<std::string>(json, "datasheet"));
  RIDGE_ASSIGN(measured.cpu_limits, json_member<std::string>(json, "processor_limits"));
  RIDGE_ASSIGN(measured.observer, json_member<std::string>(json, "observer"));
  RIDGE_ASSIGN(measured.setting, setting_from_json(json.contains("setting") ? json["setting"] : Json()));
  RIDGE_TRY(read_peaks(json, measured.peaks));
  RIDGE_TRY(read_bandwidths(json, measured.bandwidths));
  RIDGE_TRY(read_links(json, measured.links));
  RIDGE_TRY(read_starts(json, measured.starts));
  return measured;
}

}  // namespace ridge::limits::accelerator
