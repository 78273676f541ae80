// The cost of inference: energy, price per million rows, renting by the hour against owning, and the month from which
// owning is cheaper. Pure.
//
// Formulas (handbook, section 2, TCO; every figure an input with its origin):
//   energy per row        J    = power · load factor · time / batch
//   electricity per hour  $/h  = power / 1000 · (load · utilisation + idle · (1 − utilisation)) · PUE · $/kWh
//   owning per hour       $/h  = price / (years · 8760) + price · staff share / 8760 + electricity
//   renting per hour      $/h  = hourly price · share of time rented
//   price per million     $    = $/h · 10⁶ / (rows per second · 3600 · utilisation)
//   break-even            months m with price + m · running costs = m · rent
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/units.h"

namespace ridge::sizing {

// An input figure, its origin, and the option that replaces it.
struct Assumption {
  std::string name = {};  // "power"
  double value = 0;
  std::string unit = {};  // "W"
  Origin origin = Origin::kAssumed;
  std::string source = {};  // "datasheet of …", "--kwh-usd"
};
void visit_fields(auto& visit, Is<Assumption> auto& assumption) {
  visit("value", assumption.value);
  visit("unit", assumption.unit);
  visit("origin", assumption.origin);
  visit("source", assumption.source);
}

struct EconomicInputs {
  Assumption power_w;      // of the device under full load
  Assumption load_factor;  // share of it used by inference
  Assumption idle_factor;  // share of it when idle
  Assumption pue;          // power of the building over power of the machines
  Assumption kwh_usd;
  Assumption years;                     // of depreciation
  Assumption utilisation;               // busy share of the time, 0 < … ≤ 1
  Assumption staff_share;               // of the price, per year
  Assumption rented_share;              // billed share of the time of a rented machine
  std::optional<Assumption> price_usd;  // of the machine; absent: owning is not computed
  std::optional<Assumption> hour_usd;   // of renting one; absent: renting is not computed
  double batch_ms = 0;                  // time of one run
  double batch = 1;                     // rows of it
};
void visit_fields(auto& visit, Is<EconomicInputs> auto& in) {
  visit("power", in.power_w);
  visit("load_factor", in.load_factor);
  visit("idle_factor", in.idle_factor);
  visit("pue", in.pue);
  visit("electricity", in.kwh_usd);
  visit("years", in.years);
  visit("utilisation", in.utilisation);
  visit("staff_share", in.staff_share);
  visit("rented_share", in.rented_share);
  visit.unless_empty("price", in.price_usd);
  visit.unless_empty("hour", in.hour_usd);
}

struct Economics {
  EconomicInputs inputs;
  double rows_per_s = 0;  // while busy
  double joules_per_row = 0;
  double kwh_per_million = 0;  // at the meter: with PUE and idle time between
  std::optional<double> owning_usd_per_hour, owning_usd_per_million;
  std::optional<double> renting_usd_per_hour, renting_usd_per_million;
  double electricity_usd_per_hour = 0;
  double depreciation_usd_per_hour = 0;
  double staff_usd_per_hour = 0;
  std::optional<double> break_even_months;  // absent: not both prices, or never
  std::string verdict;                      // one sentence; empty if only one of the two is known
};
void visit_fields(auto& visit, Is<Economics> auto& e) {
  visit("rows_per_s", e.rows_per_s, means("while busy").in("rows/s"));
  visit("joules_per_row", e.joules_per_row);
  visit("kwh_per_million", e.kwh_per_million, means("rows, at the meter: with PUE and idle time between").in("kWh"));
  visit("electricity_usd_per_hour", e.electricity_usd_per_hour);
  visit("depreciation_usd_per_hour", e.depreciation_usd_per_hour);
  visit("staff_usd_per_hour", e.staff_usd_per_hour);
  visit("owning_usd_per_hour", e.owning_usd_per_hour, means("null: the price of the machine is not known").in("$"));
  visit("owning_usd_per_million", e.owning_usd_per_million);
  visit("renting_usd_per_hour", e.renting_usd_per_hour, means("null: no hourly price is known").in("$"));
  visit("renting_usd_per_million", e.renting_usd_per_million);
  visit("break_even_months", e.break_even_months, means("null: not both prices, or never"));
  visit("verdict", e.verdict, means("one sentence; empty if only one of the two is known"));
  visit("inputs", e.inputs, means("by name"));
}

// Times and shares are above 0.
Economics economics(const EconomicInputs& inputs);

}  // namespace ridge::sizing
