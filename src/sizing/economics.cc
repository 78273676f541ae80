#include "sizing/economics.h"

#include <fmt/format.h>

#include <cmath>

namespace ridge::sizing {
namespace {

constexpr double kHoursPerYear = 8760, kHoursPerMonth = kHoursPerYear / 12;

double per_million(double usd_per_hour, const Economics& e) {
  return usd_per_hour * 1e6 / (e.rows_per_s * 3600 * e.inputs.utilisation.value);
}

// Draw of the device alone, averaged over busy and idle time [W].
double mean_power_w(const EconomicInputs& in) {
  double busy = in.utilisation.value;
  return in.power_w.value * (in.load_factor.value * busy + in.idle_factor.value * (1 - busy));
}

void own(double price_usd, Economics& e) {
  const EconomicInputs& in = e.inputs;
  e.depreciation_usd_per_hour = price_usd / (in.years.value * kHoursPerYear);
  e.staff_usd_per_hour = price_usd * in.staff_share.value / kHoursPerYear;
  e.owning_usd_per_hour = e.depreciation_usd_per_hour + e.staff_usd_per_hour + e.electricity_usd_per_hour;
  e.owning_usd_per_million = per_million(*e.owning_usd_per_hour, e);
}

void rent(double hour_usd, Economics& e) {
  e.renting_usd_per_hour = hour_usd * e.inputs.rented_share.value;
  e.renting_usd_per_million = per_million(*e.renting_usd_per_hour, e);
}

void compare(Economics& e) {
  double running = e.electricity_usd_per_hour + e.staff_usd_per_hour;
  double saved_per_month = (*e.renting_usd_per_hour - running) * kHoursPerMonth;
  double years = e.inputs.years.value;
  if (saved_per_month <= 0) {
    e.verdict = fmt::format("renting is always cheaper: running your own machine costs {}/h, renting {}/h",
                            format_usd(running), format_usd(*e.renting_usd_per_hour));
    return;
  }
  double months = e.inputs.price_usd->value / saved_per_month;
  e.break_even_months = months;
  e.verdict = months <= 12 * years
                  ? fmt::format("owning is cheaper from month {:.0f} on", std::ceil(months))
                  : fmt::format(
                        "renting is cheaper: owning would be from month {:.0f} on, after the {:g} years of "
                        "its depreciation",
                        std::ceil(months), years);
}

}  // namespace

Economics economics(const EconomicInputs& inputs) {
  Economics e;
  e.inputs = inputs;
  e.rows_per_s = 1e3 * inputs.batch / inputs.batch_ms;
  e.joules_per_row = inputs.power_w.value * inputs.load_factor.value / e.rows_per_s;
  double meter_kw = mean_power_w(inputs) * inputs.pue.value / 1e3;
  e.electricity_usd_per_hour = meter_kw * inputs.kwh_usd.value;
  e.kwh_per_million = per_million(meter_kw, e);
  if (inputs.price_usd) own(inputs.price_usd->value, e);
  if (inputs.hour_usd) rent(inputs.hour_usd->value, e);
  if (inputs.price_usd && inputs.hour_usd) compare(e);
  return e;
}

}  // namespace ridge::sizing
