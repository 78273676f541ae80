#include "cli/plan_load.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/file.h"
#include "cli/plan_basis.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "sizing/capacity.h"

namespace ridge::cli {
namespace {

// Instances that a machine holds at a time, and what says so.
struct PerMachine {
  int64_t instances = 1;
  std::string reason;
};

PerMachine per_machine(const Study& study) {
  if (study.request.options.load.instances_per_machine)
    return {*study.request.options.load.instances_per_machine, "--instances-per-machine"};
  double need = study.forecast.inference_bytes, memory = study.device.memory_bytes;
  int64_t by_memory = need > 0 && memory > 0 ? std::max<int64_t>(1, static_cast<int64_t>(memory / need)) : INT64_MAX;
  if (!study.device.machine) return {1, "one instance uses the whole device (assumed)"};
  int usable = machine::usable_threads(*study.device.machine);
  int64_t by_threads = std::max(1, usable / std::max(1, study.forecast.threads));
  if (by_memory < by_threads) return {by_memory, fmt::format("{} of memory each", format_bytes(need))};
  return {by_threads, fmt::format("{} of {} threads each", study.forecast.threads, usable)};
}

std::string answer_table(const sizing::Capacity& c, const PerMachine& per) {
  std::vector<std::vector<std::string>> rows = {
      {"service", format_ms(c.service.ms),
       fmt::format("one run of {} row{} ({})", c.service.batch, c.service.batch == 1 ? "" : "s", c.service.basis)}};
  if (c.met) {
    rows.push_back({"instances", std::to_string(c.instances),
                    fmt::format("busy {} of the time (derived)", format_percent(100 * c.utilisation))});
    rows.push_back({"machines", std::to_string(c.machines),
                    fmt::format("{} instance{} each: {}", per.instances, per.instances == 1 ? "" : "s", per.reason)});
    if (c.service.batch > 1)
      rows.push_back({"fill", format_ms(c.fill_ms), "the first row of a batch waits so long on average (derived)"});
    rows.push_back({"wait", format_ms(c.mean_wait_ms),
                    fmt::format("for an instance on average; 99th percentile {} (derived)", format_ms(c.p99_wait_ms))});
    rows.push_back({"p99", format_ms(c.p99_ms), "of the time in the system (derived)"});
  }
  return table({}, rows, "lrl");
}

std::string text_of(const sizing::Load& load, const sizing::Capacity& c, const PerMachine& per) {
  std::string goal = load.p99_ms ? fmt::format(", p99 within {}", format_ms(*load.p99_ms)) : "";
  std::string text = fmt::format("load of {:g} rows/s{}\n", load.rows_per_s, goal) + answer_table(c, per);
  if (!c.met) text += "not met: " + c.reason + "\n";
  return text + fmt::format(
                    "assumed: rows come at random moments (Poisson), one queue, all runs take the same time (M/D/c); "
                    "instances at most {:g} % busy\n",
                    100 * load.most_utilisation);
}

}  // namespace

void declare(CLI::App& app, LoadOptions& options) {
  app.add_option("--rps", options.rows_per_s)->check(CLI::PositiveNumber);
  app.add_option("--p99-ms", options.p99_ms)->check(CLI::PositiveNumber);
  auto* service = app.add_option("--service-ms", options.service_ms)->check(CLI::PositiveNumber);
  app.add_option("--from", options.from)->excludes(service);
  app.add_option("--most-busy", options.most_busy_percent)->check(CLI::Range(1.0, 99.0));
  app.add_option("--instances-per-machine", options.instances_per_machine)->check(CLI::PositiveNumber);
}

bool wanted(const LoadOptions& options) { return options.rows_per_s.has_value(); }

Status check(const LoadOptions& options) {
  bool detail = options.p99_ms || options.most_busy_percent || options.instances_per_machine;
  if (detail && !wanted(options))
    return Error{Code::kInvalid,
                 "--p99-ms, --most-busy and --instances-per-machine say how a load is carried: which one? "
                 "Give --rps too"};
  return ok_status();
}

Result<Section> load_section(const Study& study) {
  const LoadOptions& options = study.request.options.load;
  sizing::Load load;
  load.rows_per_s = *options.rows_per_s;
  load.p99_ms = options.p99_ms;
  if (options.most_busy_percent) load.most_utilisation = *options.most_busy_percent / 100;
  PerMachine per = per_machine(study);
  RIDGE_ASSIGN(std::vector<sizing::Service> services, services_of(study));
  sizing::Capacity capacity = sizing::best_capacity(load, services, per.instances);
  Json json = to_json(capacity);
  json["goal"] = to_json(load);
  return Section{{{"load", json}}, text_of(load, capacity, per), capacity.met ? kDone : kNo};
}

}  // namespace ridge::cli
