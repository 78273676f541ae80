#include "cli/plan_cost.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "catalogue/cloud_price.h"
#include "cli/plan_basis.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "sizing/economics.h"

namespace ridge::cli {
namespace {

using sizing::Assumption;

// Given by an option, or assumed with the reason in `source`.
Assumption assume(const char* name, const char* unit, const std::optional<double>& given, const char* option,
                  double otherwise, const char* source) {
  if (given) return {name, *given, unit, Origin::kAssumed, std::string("given, ") + option};
  return {name, otherwise, unit, Origin::kAssumed, fmt::format("{}; {} replaces it", source, option)};
}

// Intel lists 350 W for the 56 cores of a Xeon Platinum 8480+ (ark, 2023), AMD 360 W for 96 of an EPYC 9654.
constexpr double kWattsPerCore = 6.25;

Assumption power_of(const CostSubject& subject) {
  const std::optional<double>& given = subject.options.power_w;
  if (given) return {"power", *given, "W", Origin::kAssumed, "given, --power-w"};
  if (subject.device.gpu) {
    if (std::optional<double> watts = catalogue::power_per_gpu_w(*subject.device.gpu))
      return {"power", *watts, "W", Origin::kDatasheet, "board power of " + subject.device.gpu->name};
    return {"power", 0, "W", Origin::kAssumed, ""};
  }
  return {
      "power", kWattsPerCore * subject.threads, "W", Origin::kAssumed,
      fmt::format("{} cores at {:g} W, as server CPUs have it; --power-w replaces it", subject.threads, kWattsPerCore)};
}

Result<std::optional<Assumption>> hourly_price(const CostSubject& subject) {
  if (subject.options.hour_usd)
    return std::optional<Assumption>({"hour", *subject.options.hour_usd, "$/h", Origin::kAssumed, "given, --hour-usd"});
  if (!subject.device.gpu) return std::optional<Assumption>();
  RIDGE_ASSIGN(std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  RIDGE_ASSIGN(std::vector<catalogue::CloudPrice> prices, catalogue::cloud_prices(devices));
  std::optional<catalogue::CloudPrice> price = catalogue::price_of(prices, *subject.device.gpu);
  if (!price) return std::optional<Assumption>();
  return std::optional<Assumption>({"hour", price->usd_per_gpu_hour, "$/h", Origin::kDatasheet,
                                    fmt::format("{} {}, list of {}, per GPU; --hour-usd replaces it", price->provider,
                                                price->instance, price->date)});
}

Result<sizing::EconomicInputs> inputs_of(const CostSubject& subject) {
  const CostOptions& o = subject.options;
  sizing::EconomicInputs in;
  in.power_w = power_of(subject);
  if (in.power_w.value <= 0)
    return Error{Code::kInvalid, fmt::format("the power of {} has no source; give it by --power-w", subject.name)};
  in.load_factor = assume("load_factor", "", o.load_factor, "--load-factor", 0.8, "inference rarely draws all of it");
  in.idle_factor = assume("idle_factor", "", o.idle_factor, "--idle-factor", 0.2, "waiting for work");
  in.pue = assume("pue", "", o.pue, "--pue", 1.56, "average of Uptime Institute's survey of 2024");
  in.kwh_usd =
      assume("electricity", "$/kWh", o.kwh_usd, "--kwh-usd", 0.13, "about the US commercial average of 2024 (EIA)");
  in.years = assume("years", "years", o.years, "--years", 4, "of depreciation");
  in.utilisation = assume("utilisation", "", o.utilisation, "--utilisation", 0.5, "share of the time with work to do");
  std::optional<double> staff = o.staff_percent ? std::optional<double>(*o.staff_percent / 100) : std::nullopt;
  in.staff_share =
      assume("staff_share", "per year", staff, "--staff-percent", 0.1, "of the price, for those who run it");
  in.rented_share = assume("rented_share", "", o.rented, "--rented", 1, "rented all the time, also when idle");
  if (o.price_usd) in.price_usd = Assumption{"price", *o.price_usd, "$", Origin::kAssumed, "given, --price-usd"};
  RIDGE_ASSIGN(in.hour_usd, hourly_price(subject));
  return in;
}

std::string usd(const std::optional<double>& value) { return value ? fmt::format("{:.4g} $", *value) : "-"; }

std::string result_table(const sizing::Economics& e, const std::string& unit) {
  std::vector<std::vector<std::string>> rows = {
      {"energy", fmt::format("{:.3g} J", e.joules_per_row), "per " + unit + " (derived)"},
      {"at the meter", fmt::format("{:.3g} kWh", e.kwh_per_million),
       "per million " + unit + "s, with idling and the building (derived)"}};
  if (e.renting_usd_per_hour)
    rows.push_back({"renting", usd(e.renting_usd_per_million),
                    fmt::format("per million {}s; {} per hour (derived)", unit, usd(e.renting_usd_per_hour))});
  if (e.owning_usd_per_hour)
    rows.push_back({"owning", usd(e.owning_usd_per_million),
                    fmt::format("per million {}s; {} per hour: depreciation {}, electricity {}, staff {} (derived)",
                                unit, usd(e.owning_usd_per_hour), usd(e.depreciation_usd_per_hour),
                                usd(e.electricity_usd_per_hour), usd(e.staff_usd_per_hour))});
  else
    rows.push_back({"electricity", fmt::format("{:.4g} $", e.kwh_per_million * e.inputs.kwh_usd.value),
                    "per million " + unit + "s (derived)"});
  if (e.break_even_months)
    rows.push_back({"break-even", fmt::format("{:.1f} months", *e.break_even_months), e.verdict + " (derived)"});
  return table({}, rows, "lrl");
}

std::string inputs_table(const sizing::EconomicInputs& in) {
  std::vector<std::vector<std::string>> rows;
  auto add = [&](const Assumption& a) {
    rows.push_back(
        {"  " + a.name, fmt::format("{:g} {}", a.value, a.unit), std::string(origin_name(a.origin)), a.source});
  };
  for (const Assumption* a : {&in.power_w, &in.load_factor, &in.idle_factor, &in.utilisation, &in.pue, &in.kwh_usd})
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

std::string text_of(const sizing::Economics& e, const sizing::Service& service, const std::string& unit) {
  std::string text = fmt::format("cost on one device at {:.4g} {}s/s while at work: batch {}, {} per run ({})\n",
                                 e.rows_per_s, unit, service.batch, format_ms(service.ms), service.basis);
  text += result_table(e, unit);
  if (!e.break_even_months && !e.verdict.empty()) text += e.verdict + "\n";
  if (!e.inputs.price_usd) text += "owning: not computed; what does the machine cost? --price-usd\n";
  if (!e.inputs.hour_usd) text += "renting: not computed, no price is known; --hour-usd\n";
  return text + "with\n" + inputs_table(e.inputs);
}

}  // namespace

void declare(CLI::App& app, CostOptions& options) {
  auto number = [&](const char* name, std::optional<double>& target) {
    return app.add_option(name, target)->check(CLI::PositiveNumber);
  };
  app.add_flag("--cost", options.cost);
  number("--power-w", options.power_w);
  number("--load-factor", options.load_factor)->check(CLI::Range(0.0, 1.0));
  app.add_option("--idle-factor", options.idle_factor)->check(CLI::Range(0.0, 1.0));
  number("--pue", options.pue)->check(CLI::Range(1.0, 10.0));
  app.add_option("--kwh-usd", options.kwh_usd)->check(CLI::NonNegativeNumber);
  number("--years", options.years);
  number("--utilisation", options.utilisation)->check(CLI::Range(0.0, 1.0));
  app.add_option("--staff-percent", options.staff_percent)->check(CLI::NonNegativeNumber);
  number("--rented", options.rented)->check(CLI::Range(0.0, 1.0));
  number("--price-usd", options.price_usd);
  number("--hour-usd", options.hour_usd);
}

bool wanted(const CostOptions& o) {
  return o.cost || o.power_w || o.load_factor || o.idle_factor || o.pue || o.kwh_usd || o.years || o.utilisation ||
         o.staff_percent || o.rented || o.price_usd || o.hour_usd;
}

Result<Section> cost_section(const CostSubject& subject) {
  RIDGE_ASSIGN(sizing::EconomicInputs inputs, inputs_of(subject));
  auto rate = [](const sizing::Service& s) { return static_cast<double>(s.batch) / s.ms; };
  sizing::Service best = *std::max_element(subject.services.begin(), subject.services.end(),
                                           [&](const auto& a, const auto& b) { return rate(a) < rate(b); });
  inputs.batch_ms = best.ms;
  inputs.batch = static_cast<double>(best.batch);
  sizing::Economics result = sizing::economics(inputs);
  Json json = to_json(result);
  json["row"] = subject.unit;
  json["batch"] = best.batch;
  json["service_ms"] = best.ms;
  json["basis"] = best.basis;
  return Section{{{"cost", json}}, text_of(result, best, subject.unit), kDone};
}

Result<Section> cost_section(const Study& study) {
  RIDGE_ASSIGN(std::vector<sizing::Service> services, services_of(study));
  return cost_section(
      CostSubject{study.request.options.cost, study.device, study.forecast.device, study.forecast.threads, services});
}

}  // namespace ridge::cli
