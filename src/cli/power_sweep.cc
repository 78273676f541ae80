// ridge power sweep: performance, power and heat of a workload over power limits, and the limits that pay.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/interruption.h"
#include "cli/power.h"
#include "cli/power_workload.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "power/scoped_setting.h"
#include "power/sweep.h"
#include "report/page.h"

namespace ridge::cli {
namespace {

constexpr const char* kSweepVerb = "power sweep";

struct SweepOptionsOfUser {
  std::string device, from, to;
  int steps = 7;
  double seconds = 120;
  bool json = false;
  std::string html;  // file for the page; empty: none
  std::string language = "en";
  WorkloadOptions workload;
};

void bind(CLI::App& app, SweepOptionsOfUser& options) {
  app.add_option("--device,-d", options.device);
  CLI::Option* gemm = app.add_flag("--gemm", options.workload.gemm);
  app.add_option("--size", options.workload.size)->needs(gemm)->check(CLI::Range(16, 1 << 16));
  app.add_option("--model", options.workload.model);
  app.add_option("--batch,-b", options.workload.batch)->check(CLI::PositiveNumber);
  app.add_option("--engine", options.workload.engine);
  app.add_option("--engine-library", options.workload.engine_library);
  app.add_option("--from", options.from);
  app.add_option("--to", options.to);
  app.add_option("--steps", options.steps)->check(CLI::Range(2, 50));
  app.add_option("--seconds", options.seconds)->check(CLI::Range(0.5, 86400.0));
  app.add_flag("--json", options.json);
  app.add_option("--html", options.html);
  app.add_option("--lang", options.language);
}

// A device alone: its own, or the only GPU there is.
Result<power::Knobs> open_device(const std::string& name) {
  RIDGE_ASSIGN(power::Knobs knobs, power::open_knobs(name.empty() ? std::vector<std::string>{} : std::vector{name}));
  if (knobs.size() == 1) return knobs;
  return invalid(fmt::format("there are {} GPUs: choose one with --device", knobs.size()));
}

// From --from to --to, else the device's own range; with the default limit, to which the others are compared.
Result<power::SweepOptions> limits_for(const SweepOptionsOfUser& options, power::PowerControl& knob) {
  RIDGE_ASSIGN(power::State state, knob.state());
  if (!state.limit_min_mw || !state.limit_max_mw)
    return Error{Code::kUnsupported,
                 fmt::format("{}: its power limit cannot be set: {}", knob.name(), state.limit_max_mw.reason)};
  int64_t from_mw = *state.limit_min_mw, to_mw = *state.limit_max_mw;
  if (!options.from.empty()) {
    RIDGE_ASSIGN(from_mw, power::parse_watts(options.from));
  }
  if (!options.to.empty()) {
    RIDGE_ASSIGN(to_mw, power::parse_watts(options.to));
  }
  for (int64_t limit_mw : {from_mw, to_mw}) RIDGE_TRY(power::check({limit_mw, {}, {}}, state, knob.name()));
  if (from_mw >= to_mw) return invalid("--from must be below --to");
  power::SweepOptions sweep;
  std::optional<int64_t> must;
  if (state.limit_default_mw) must = *state.limit_default_mw;
  sweep.limits_mw = power::limits_between(from_mw, to_mw, options.steps, must);
  sweep.default_limit_mw = must.value_or(to_mw);
  sweep.most_time = from_seconds(options.seconds);
  sweep.interrupted = interrupted;
  return sweep;
}

std::string rate_text(double rate, const std::string& unit) {
  return unit == "FLOP" ? format_flops_rate(rate) : fmt::format("{:.4g} {}/s", rate, unit);
}

std::string per_joule_text(double per_joule, const std::string& unit) {
  if (per_joule <= 0) return "-";
  return unit == "FLOP" ? format_flops(per_joule) + "/J" : fmt::format("{:.3g} {}/J", per_joule, unit);
}

std::string curve_table(const power::Sweep& sweep) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const power::CurvePoint& point = sweep.points[i];
    std::string mark;
    if (sweep.spots.best_per_watt == i) mark = "best per watt";
    if (sweep.spots.within == i) mark += (mark.empty() ? "" : ", ") + std::string("within 5 % of the peak");
    rows.push_back(
        {power::watts_text(point.limit_mw), rate_text(point.rate, sweep.unit),
         fmt::format("{:.1f} %", 100 * point.relative.value),
         fmt::format("[{:.1f}, {:.1f}]", 100 * point.relative.low, 100 * point.relative.high),
         point.power_w > 0 ? fmt::format("{:.1f} W ± {:.1f} %", point.power_w, point.power_spread_percent) : "-",
         per_joule_text(point.per_joule(), sweep.unit),
         point.temperature_c ? fmt::format("{} °C", *point.temperature_c) : "-",
         point.clock_mhz ? fmt::format("{} MHz", *point.clock_mhz) : "-", mark});
  }
  return table({"limit", "performance", "relative", "95 %", "draws", "per joule", "hottest", "clock", ""}, rows,
               "rrrrrrrrl");
}

std::string claim_text(const power::ClaimVerdict& claim) {
  std::string text = fmt::format("L18 at {:.0f} % of the default limit: {}\n    {}", 100 * claim.share, claim.statement,
                                 lab::verdict_name(claim.verdict));
  if (claim.measured)
    text += fmt::format(": measured {:.1f} % of the speed [{:.1f}, {:.1f}]", 100 * claim.measured->value,
                        100 * claim.measured->low, 100 * claim.measured->high);
  return claim.reason.empty() ? text : text + ": " + claim.reason;
}

void render(const power::Sweep& sweep) {
  print(fmt::format("{} · {} · {} rounds{}", sweep.device, sweep.workload, sweep.rounds,
                    sweep.interrupted ? ", interrupted"
                    : sweep.converged ? ""
                                      : ", stopped at --seconds before every rate was known to 2 %"));
  print("\n" + curve_table(sweep));
  print(fmt::format("performance: median, measured; relative to {} with its 95 % interval; power: measured by {}",
                    power::watts_text(sweep.reference_limit_mw),
                    sweep.power_origin == "energy counter" ? "the energy counter" : "samples every 0.1 s"));
  for (const power::ClaimVerdict& claim : sweep.claims) print(claim_text(claim));
}

Status write_sweep_page(const std::string& path, report::Language language, const power::Sweep& sweep) {
  if (path.empty()) return {};
  RIDGE_TRY(write_file_atomically(path, report::page(report::PageKind::kPowerSweep, to_json(sweep), language)));
  say("ridge power sweep: wrote " + path);
  return {};
}

// guard → open → hold → sweep → restore → render
int run_sweep(const SweepOptionsOfUser& options) {
  const Result<report::Language> language = report::language_from_name(options.language);
  if (!language) return power_failed(kSweepVerb, language.error());
  const std::string folder = power::record_folder();
  Result<power::Guard> guard = power::Guard::start([folder](const std::string& order) { power::undo(folder, order); });
  if (!guard) return power_failed(kSweepVerb, guard.error());
  Result<power::Knobs> knobs = open_device(options.device);
  if (!knobs) return power_failed(kSweepVerb, knobs.error());
  power::PowerControl& knob = *knobs->front();
  Result<power::SweepOptions> how = limits_for(options, knob);
  if (!how) return power_failed(kSweepVerb, how.error());
  Result<power::Workload> workload = open_workload(options.workload, knob);
  if (!workload) return power_failed(kSweepVerb, workload.error());
  listen_for_interruption();
  Result<power::ScopedSetting> held =
      power::ScopedSetting::take(*knobs, {how->limits_mw.front(), {}, {}}, *guard, folder);
  if (!held) return power_failed(kSweepVerb, held.error());
  Progress progress("power sweep");
  how->progress = [&](const std::string& step, double share) { progress.update(step, share); };
  Result<power::Sweep> swept = power::sweep(knob, *workload, *how);
  progress.finish();
  Status restored = held->restore();
  if (swept) options.json ? print_json(to_json(*swept)) : render(*swept);
  if (!swept) return power_failed(kSweepVerb, swept.error());
  if (Status written = write_sweep_page(options.html, *language, *swept); !written)
    return power_failed(kSweepVerb, written.error());
  return restored ? kDone : power_failed(kSweepVerb, restored.error());
}

}  // namespace

int power_sweep(std::span<const std::string> arguments) {
  SweepOptionsOfUser options;
  CLI::App app;
  bind(app, options);
  auto at = std::find(arguments.begin(), arguments.end(), "--");
  if (at != arguments.end()) options.workload.command.assign(at + 1, arguments.end());
  const auto own = static_cast<size_t>(at - arguments.begin());
  if (Parsed parsed = parse(app, kSweepVerb, arguments.first(own)); !parsed.go_on) return parsed.exit;
  return run_sweep(options);
}

}  // namespace ridge::cli
