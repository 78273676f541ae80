// What figure_json.cc wrote, read back.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "limits/accelerator/figure.h"

namespace ridge::limits::accelerator {
namespace {

Result<Share> share_from_json(const Json& json) {
  Share share;
  RIDGE_ASSIGN(share.of, json_member<std::string>(json, "of"));
  RIDGE_ASSIGN(share.value, json_member<double>(json, "value"));
  RIDGE_ASSIGN(const std::string origin, json_member<std::string>(json, "origin"));
  RIDGE_ASSIGN(share.origin, origin_from_name(origin));
  RIDGE_ASSIGN(share.percent, json_member<double>(json, "percent"));
  return share;
}

Status read_observed(const Json& json, Observed& observed) {
  RIDGE_TRY(read_optional(json, "clock_hz", observed.clock_hz));
  RIDGE_TRY(read_optional(json, "memory_clock_hz", observed.memory_clock_hz));
  RIDGE_TRY(read_optional(json, "power_w", observed.power_w));
  RIDGE_TRY(read_optional(json, "temperature_c", observed.temperature_c));
  RIDGE_TRY(read_strings(json, "slowdowns", observed.slowdowns));
  RIDGE_ASSIGN(observed.clocks_set, json_member<bool>(json, "clocks_set"));
  RIDGE_ASSIGN(const int64_t samples, json_member<int64_t>(json, "samples"));
  observed.samples = static_cast<int>(samples);
  return {};
}

// `unit`: as add_figure has it.
Result<Figure> figure_from_json(const Json& json, const std::string& unit) {
  Figure figure;
  RIDGE_TRY(read_optional(json, unit.c_str(), figure.best));
  RIDGE_TRY(read_optional(json, ("typical_" + unit).c_str(), figure.typical));
  if (!figure.best) {
    RIDGE_ASSIGN(figure.reason, json_member<std::string>(json, "reason"));
    return figure;
  }
  RIDGE_ASSIGN(figure.spread_percent, json_member<double>(json, "spread_percent"));
  RIDGE_ASSIGN(const int64_t bursts, json_member<int64_t>(json, "bursts"));
  figure.bursts = static_cast<int>(bursts);
  RIDGE_ASSIGN(figure.burst_seconds, json_member<double>(json, "burst_seconds"));
  RIDGE_ASSIGN(figure.clock_hz, json_member_or<double>(json, "clock_counted_hz", 0));
  RIDGE_ASSIGN(figure.conditions, json_member<std::string>(json, "kernel"));
  RIDGE_TRY(read_array(json, "shares", [&](const Json& element) -> Status {
    RIDGE_ASSIGN(Share share, share_from_json(element));
    figure.shares.push_back(std::move(share));
    return {};
  }));
  if (auto observed = json.find("observed"); observed != json.end())
    RIDGE_TRY(read_observed(*observed, figure.observed));
  return figure;
}

Status read_peaks(const Json& json, std::vector<PeakRow>& rows) {
  return read_array(json, "peaks", [&](const Json& element) -> Status {
    PeakRow row;
    RIDGE_ASSIGN(const std::string precision, json_member<std::string>(element, "precision"));
    RIDGE_ASSIGN(row.precision, precision_from_name(precision));
    RIDGE_ASSIGN(row.way, json_member<std::string>(element, "way"));
    RIDGE_ASSIGN(row.figure, figure_from_json(element, "flops_per_s"));
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
    RIDGE_ASSIGN(row.figure, figure_from_json(element, "bytes_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

Status read_links(const Json& json, std::vector<LinkRow>& rows) {
  return read_array(json, "links", [&](const Json& element) -> Status {
    LinkRow row;
    RIDGE_ASSIGN(const std::string way, json_member<std::string>(element, "way"));
    RIDGE_ASSIGN(row.way, gpu::way_from_name(way));
    RIDGE_ASSIGN(const std::string memory, json_member<std::string>(element, "memory"));
    RIDGE_ASSIGN(row.memory, gpu::host_memory_from_name(memory));
    RIDGE_ASSIGN(row.bytes, json_member<int64_t>(element, "copy_bytes"));
    RIDGE_ASSIGN(row.figure, figure_from_json(element, "bytes_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

Status read_starts(const Json& json, std::vector<StartRow>& rows) {
  return read_array(json, "starts", [&](const Json& element) -> Status {
    StartRow row;
    RIDGE_ASSIGN(row.what, json_member<std::string>(element, "what"));
    RIDGE_ASSIGN(row.meaning, json_member<std::string>(element, "meaning"));
    RIDGE_ASSIGN(row.figure, figure_from_json(element, "starts_per_s"));
    rows.push_back(std::move(row));
    return {};
  });
}

}  // namespace

Result<Measured> measured_from_json(const Json& json) {
  Measured measured;
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
