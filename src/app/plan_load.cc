// Results from the time of one run: instances and machines for a load, and the cost of a row.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/plan_model.h"
#include "base/file.h"
#include "catalogue/cloud_price.h"
#include "measure/measurement.h"

namespace ridge::app {
namespace {

using sizing::Assumption;
using sizing::Service;

constexpr const char* kBound = "the bound, a lower limit";
constexpr const char* kSlowEnd = "slow end of the estimate, carried over";

Service service_at(const predict::CurvePoint& point) {
  if (point.estimate_slow_ms) return {.batch = point.batch, .ms = *point.estimate_slow_ms, .basis = kSlowEnd};
  return {.batch = point.batch, .ms = point.bound_ms, .basis = kBound};
}

Result<Service> service_from(const std::string& path) {
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(const Json json, parse_json(text, path));
  Result<measure::Measurement> measured = from_json<measure::Measurement>(json);
  if (!measured) return wrap(measured.error(), path + " is not what `ridge bench MODEL --json` prints");
  if (measured->latency_ms.mean <= 0)
    return Error{Code::kInvalid, path + ": the mean latency is 0; a measurement with samples is needed"};
  return Service{.batch = measured->batch,
                 .ms = measured->latency_ms.mean,
                 .basis = fmt::format("measured, {} threads, {}", measured->threads, path)};
}

// The first of the planned forms that exists.
std::vector<Service> planned_services(const ModelPlan& plan) {
  const int64_t batch = plan.forecast.batch;
  if (plan.measured && plan.measured->report)
    return {{.batch = batch, .ms = plan.measured->report->latency_ms.mean, .basis = "measured, --measure"}};
  if (plan.carried && plan.curve.empty()) return {{.batch = batch, .ms = plan.carried->ms.slow, .basis = kSlowEnd}};
  if (plan.curve.empty()) return {{.batch = batch, .ms = plan.forecast.bound.ms, .basis = kBound}};
  std::vector<Service> services;
  for (const predict::CurvePoint& point : plan.curve) services.push_back(service_at(point));
  return services;
}

// Instances that a machine holds at a time, and the reason.
struct PerMachine {
  int64_t instances = 1;
  std::string reason;
};
PerMachine per_machine(const LoadRequest& request, const ModelPlan& plan) {
  if (request.instances_per_machine) return {*request.instances_per_machine, "--instances-per-machine"};
  if (!plan.device.machine) return {1, "one instance uses the whole device (assumed)"};
  const double need = plan.forecast.inference_bytes, memory = plan.device.memory_bytes;
  const int64_t by_memory =
      need > 0 && memory > 0 ? std::max<int64_t>(1, static_cast<int64_t>(memory / need)) : INT64_MAX;
  const int usable = machine::usable_threads(*plan.device.machine);
  const int64_t by_threads = std::max(1, usable / std::max(1, plan.forecast.threads));
  if (by_memory < by_threads) return {by_memory, fmt::format("{} of memory each", format_bytes(need))};
  return {by_threads, fmt::format("{} of {} threads each", plan.forecast.threads, usable)};
}

Assumption given(const char* name, const char* unit, double value, const char* option) {
  return {.name = name, .value = value, .unit = unit, .source = std::string("given, ") + option};
}

// Takes an option's value, or an assumed one with the reason in `source`.
Assumption assume(const char* name, const char* unit, const std::optional<double>& value, const char* option,
                  double otherwise, const char* source) {
  if (value) return given(name, unit, *value, option);
  return {.name = name, .value = otherwise, .unit = unit, .source = fmt::format("{}; {} replaces it", source, option)};
}

// Intel lists 350 W for the 56 cores of a Xeon Platinum 8480+ (ark, 2023), AMD 360 W for 96 of an EPYC 9654.
constexpr double kWattsPerCore = 6.25;

Assumption power_of(const CostRequest& request, const CostSubject& subject) {
  if (request.power_w) return given("power", "W", *request.power_w, "--power-w");
  Assumption power{.name = "power", .unit = "W"};
  if (!subject.device.gpu) {
    power.value = kWattsPerCore * subject.threads;
    power.source = fmt::format("{} cores at {:g} W, typical of server CPUs; --power-w replaces it", subject.threads,
                               kWattsPerCore);
  } else if (const std::optional<double> watts = catalogue::power_per_gpu_w(*subject.device.gpu)) {
    power.value = *watts;
    power.origin = Origin::kDatasheet;
    power.source = "board power of " + subject.device.gpu->name;
  }
  return power;
}

Result<std::optional<Assumption>> hourly_price(const CostRequest& request, const CostSubject& subject) {
  if (request.hour_usd) return std::optional(given("hour", "$/h", *request.hour_usd, "--hour-usd"));
  if (!subject.device.gpu) return std::optional<Assumption>();
  RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  RIDGE_ASSIGN(const std::vector<catalogue::CloudPrice> prices, catalogue::cloud_prices(devices));
  const std::optional<catalogue::CloudPrice> price = catalogue::price_of(prices, *subject.device.gpu);
  if (!price) return std::optional<Assumption>();
  return std::optional<Assumption>({.name = "hour",
                                    .value = price->usd_per_gpu_hour,
                                    .unit = "$/h",
                                    .origin = Origin::kDatasheet,
                                    .source = fmt::format("{} {}, list of {}, per GPU; --hour-usd replaces it",
                                                          price->provider, price->instance, price->date)});
}

Result<sizing::EconomicInputs> economic_inputs(const CostRequest& r, const CostSubject& subject) {
  sizing::EconomicInputs in;
  in.power_w = power_of(r, subject);
  if (in.power_w.value <= 0)
    return Error{Code::kInvalid, fmt::format("the power of {} has no source; give it by --power-w", subject.name)};
  in.load_factor = assume("load_factor", "", r.load_factor, "--load-factor", 0.8, "inference rarely draws all of it");
  in.idle_factor = assume("idle_factor", "", r.idle_factor, "--idle-factor", 0.2, "waiting for work");
  in.pue = assume("pue", "", r.pue, "--pue", 1.56, "average of Uptime Institute's survey of 2024");
  in.kwh_usd =
      assume("electricity", "$/kWh", r.kwh_usd, "--kwh-usd", 0.13, "about the US commercial average of 2024 (EIA)");
  in.years = assume("years", "years", r.years, "--years", 4, "of depreciation");
  in.utilisation = assume("utilisation", "", r.utilisation, "--utilisation", 0.5, "share of the time with work to do");
  if (subject.carries != nullptr && !r.utilisation)
    in.utilisation = {.name = "utilisation",
                      .value = subject.carries->utilisation,
                      .origin = Origin::kDerived,
                      .source = "of the load"};
  const std::optional<double> staff = r.staff_percent ? std::optional(*r.staff_percent / 100) : std::nullopt;
  in.staff_share =
      assume("staff_share", "per year", staff, "--staff-percent", 0.1, "of the price, for operating staff");
  in.rented_share = assume("rented_share", "", r.rented, "--rented", 1, "rented all the time, including idle time");
  if (r.price_usd) in.price_usd = given("price", "$", *r.price_usd, "--price-usd");
  RIDGE_ASSIGN(in.hour_usd, hourly_price(r, subject));
  return in;
}

}  // namespace

Result<std::vector<Service>> services_of(const ServiceRequest& request, const ModelPlan& plan) {
  std::vector<Service> services;
  if (request.ms) {
    services = {{.batch = plan.forecast.batch, .ms = *request.ms, .basis = "given, --service-ms"}};
  } else if (!request.from.empty()) {
    RIDGE_ASSIGN(const Service service, service_from(request.from));
    services = {service};
  } else {
    services = planned_services(plan);
  }
  if (std::any_of(services.begin(), services.end(), [](const Service& service) { return service.ms <= 0; }))
    return Error{Code::kInvalid, "the time of one run is not known (the bound is 0); give it by --service-ms"};
  return services;
}

LoadPlan plan_load(const LoadRequest& request, const ModelPlan& plan, const std::vector<Service>& services) {
  PerMachine per = per_machine(request, plan);
  return {.goal = request.goal,
          .capacity = sizing::best_capacity(request.goal, services, per.instances),
          .instances_reason = std::move(per.reason)};
}

Result<CostPlan> plan_cost(const CostRequest& request, const CostSubject& subject) {
  RIDGE_ASSIGN(sizing::EconomicInputs inputs, economic_inputs(request, subject));
  const auto rate = [](const Service& s) { return static_cast<double>(s.batch) / s.ms; };
  const Service best = *std::max_element(subject.services.begin(), subject.services.end(),
                                         [&](const auto& a, const auto& b) { return rate(a) < rate(b); });
  inputs.batch_ms = best.ms;
  inputs.batch = static_cast<double>(best.batch);
  CostPlan plan{.economics = sizing::economics(inputs), .service = best, .unit = subject.unit};
  if (subject.carries != nullptr) plan.machines = subject.carries->machines;
  return plan;
}

}  // namespace ridge::app
