// The answers to the questions beside a plan: load, cost.
#include <fmt/format.h>

#include "base/units.h"
#include "cli/plan_text.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

std::string capacity_table(const app::LoadPlan& load) {
  const sizing::Capacity& c = load.capacity;
  std::vector<std::vector<std::string>> rows = {
      {"service", format_ms(c.service.ms),
       fmt::format("one run of {} ({})", counted(c.service.batch, "row"), c.service.basis)}};
  if (c.met) {
    rows.push_back({"instances", std::to_string(c.instances),
                    fmt::format("busy {} of the time (derived)", format_percent(100 * c.utilisation))});
    rows.push_back({"machines", std::to_string(c.machines),
                    fmt::format("{} each: {}", counted(c.instances_per_machine, "instance"), load.instances_reason)});
    if (c.service.batch > 1)
      rows.push_back({"fill", format_ms(c.fill_ms), "average wait of the first row of a batch (derived)"});
    rows.push_back(
        {"wait", format_ms(c.mean_wait_ms),
         fmt::format("average wait for an instance; 99th percentile {} (derived)", format_ms(c.p99_wait_ms))});
    rows.push_back({"p99", format_ms(c.p99_ms), "99th percentile of the time in the system (derived)"});
  }
  return table({}, rows, "lrl");
}

std::string load_text(const app::LoadPlan& load) {
  std::string goal = load.goal.p99_ms ? fmt::format(", p99 within {}", format_ms(*load.goal.p99_ms)) : "";
  std::string text = fmt::format("load of {} rows/s{}\n", load.goal.rows_per_s, goal) + capacity_table(load);
  if (!load.capacity.met) text += "not met: " + load.capacity.reason + "\n";
  return text + fmt::format(
                    "assumed: random arrivals (Poisson), one queue, all runs take the same time ({}); "
                    "instances at most {:g} % busy\n",
                    load.capacity.service.batch > 1 ? "E_b/D/c, of full batches" : "M/D/c",
                    100 * load.goal.most_utilisation);
}

std::string usd(const std::optional<double>& value) { return value ? format_usd(*value) : "-"; }

std::string economics_table(const app::CostPlan& plan) {
  const sizing::Economics& e = plan.economics;
  const std::string& unit = plan.unit;
  std::vector<std::vector<std::string>> rows = {
      {"energy", format_energy(e.joules_per_row), "per " + unit + " (derived)"},
      {"at the meter", format_count(e.kwh_per_million) + " kWh",
       "per million " + unit + "s, including idle power and the building (derived)"}};
  if (e.renting_usd_per_hour)
    rows.push_back({"renting", usd(e.renting_usd_per_million),
                    fmt::format("per million {}s; {} per hour (derived)", unit, usd(e.renting_usd_per_hour))});
  if (const std::optional<double> all = plan.renting_usd_per_hour())
    rows.push_back(
        {"  for the load", usd(all), fmt::format("per hour for {} (derived)", counted(*plan.machines, "machine"))});
  if (e.owning_usd_per_hour)
    rows.push_back({"owning", usd(e.owning_usd_per_million),
                    fmt::format("per million {}s; {} per hour: depreciation {}, electricity {}, staff {} (derived)",
                                unit, usd(e.owning_usd_per_hour), usd(e.depreciation_usd_per_hour),
                                usd(e.electricity_usd_per_hour), usd(e.staff_usd_per_hour))});
  else
    rows.push_back(
        {"electricity", format_usd(e.kwh_per_million * e.inputs.kwh_usd.value), "per million " + unit + "s (derived)"});
  if (e.break_even_months)
    rows.push_back({"break-even", fmt::format("{:.1f} months", *e.break_even_months), e.verdict + " (derived)"});
  return table({}, rows, "lrl");
}

std::string assumptions_table(const sizing::EconomicInputs& in) {
  std::vector<std::vector<std::string>> rows;
  auto add = [&](const sizing::Assumption& a) {
    // Shows inputs exactly as given or published; a result has three digits.
    const double shown =
        a.origin == Origin::kDerived ? std::strtod(fmt::format("{:.3g}", a.value).c_str(), nullptr) : a.value;
    const bool money = a.unit.starts_with('$');
    const std::string value = money ? fmt::format("${}{}", shown, a.unit.substr(1))
                                    : fmt::format("{}{}{}", shown, a.unit.empty() ? "" : " ", a.unit);
    // An option's value is as good as the user knows it; its origin says nothing.
    constexpr std::string_view kGiven = "given, ";
    const bool given = a.source.starts_with(kGiven);
    rows.push_back({"  " + a.name, value, given ? "given" : std::string(origin_name(a.origin)),
                    given ? a.source.substr(kGiven.size()) : a.source});
  };
  for (const sizing::Assumption* a :
       {&in.power_w, &in.load_factor, &in.idle_factor, &in.utilisation, &in.pue, &in.kwh_usd})
    add(*a);
  if (in.hour_usd) {
    add(*in.hour_usd);
    add(in.rented_share);
  }
  if (in.price_usd) {
    add(*in.price_usd);
    add(in.years);
    add(in.staff_share);
  }
  return table({}, rows, "lrll");
}

}  // namespace

std::string cost_text(const app::CostPlan& plan) {
  const sizing::Economics& e = plan.economics;
  std::string text = fmt::format("cost on one device at {} while busy: batch {}, {} per run ({})\n",
                                 format_rate(e.rows_per_s, plan.unit + "s"), plan.service.batch,
                                 format_ms(plan.service.ms), plan.service.basis);
  text += economics_table(plan);
  if (!e.break_even_months && !e.verdict.empty()) text += e.verdict + "\n";
  if (!e.inputs.price_usd) text += "owning: not computed; give the price of the machine with --price-usd\n";
  if (!e.inputs.hour_usd) text += "renting: not computed; give the hourly price with --hour-usd\n";
  return text + "with\n" + assumptions_table(e.inputs);
}

std::string answers_text(const app::ModelPlan& plan) {
  std::string text;
  if (plan.load) text += "\n" + load_text(*plan.load);
  if (plan.cost) text += "\n" + cost_text(*plan.cost);
  if (plan.memory) text += "\n" + memory_text(plan);
  if (plan.training) text += "\n" + training_text(*plan.training);
  return text;
}

}  // namespace ridge::cli
