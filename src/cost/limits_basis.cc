// Where limits come from, for showing.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cost/costs.h"

namespace ridge::cost {

const DeviceLimits::Basis* basis_of(const DeviceLimits& limits, std::string_view what) {
  const auto found =
      std::find_if(limits.bases.begin(), limits.bases.end(), [&](const auto& one) { return one.what == what; });
  return found == limits.bases.end() ? nullptr : &*found;
}

Origin origin_at(const DeviceLimits& limits, Precision precision) {
  if (limits.bases.empty()) return limits.origin;
  auto measured = [&](std::string_view what) {
    const DeviceLimits::Basis* basis = basis_of(limits, what);
    return basis && basis->origin == Origin::kMeasured;
  };
  // Where no rate is known, memory alone bounds; where the device has no such units, FP32's rate does.
  if (std::find(limits.unknown.begin(), limits.unknown.end(), precision) != limits.unknown.end())
    return measured("DRAM") ? Origin::kMeasured : Origin::kDatasheet;
  const bool own = own_rate(limits, precision) > 0;
  const bool both = measured("DRAM") && measured(precision_name(own ? precision : Precision::kFp32));
  return both ? Origin::kMeasured : Origin::kDatasheet;
}

Json to_json(const DeviceLimits::Basis& basis) {
  Json json{{"what", basis.what}, {"per_s", basis.per_s}, {"origin", origin_name(basis.origin)}};
  if (basis.origin != Origin::kMeasured) return json;
  json["spread_percent"] = basis.spread_percent;
  json["by"] = basis.by;
  json["datasheet_per_s"] = basis.datasheet ? Json(*basis.datasheet) : Json();
  return json;
}

Result<DeviceLimits::Basis> basis_from_json(const Json& json) {
  DeviceLimits::Basis basis;
  RIDGE_ASSIGN(basis.what, json_member<std::string>(json, "what"));
  RIDGE_ASSIGN(basis.per_s, json_member<double>(json, "per_s"));
  RIDGE_ASSIGN(const std::string origin, json_member<std::string>(json, "origin"));
  RIDGE_ASSIGN(basis.origin, origin_from_name(origin));
  RIDGE_ASSIGN(basis.spread_percent, json_member_or<double>(json, "spread_percent", 0));
  RIDGE_ASSIGN(basis.by, json_member_or<std::string>(json, "by", ""));
  RIDGE_ASSIGN(const double datasheet, json_member_or<double>(json, "datasheet_per_s", 0));
  if (datasheet > 0) basis.datasheet = datasheet;
  return basis;
}

}  // namespace ridge::cost
