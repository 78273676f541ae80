// ridge power sweep: performance, power and heat of a workload over power limits, and the best limits.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "app/power_sweep.h"
#include "base/csv.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/kept.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/page_options.h"
#include "cli/power.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {
namespace {

constexpr const char* kSweepVerb = "power sweep";

struct PowerSweepOptions {
  app::Command command;
  app::PowerSweepRequest request;
  std::string from, to;
  bool json = false, csv = false;
  std::string output;  // file of the document; empty: none
  PageOptions page;
};

void bind(CLI::App& app, PowerSweepOptions& options) {
  app.add_option("--device,-d", options.request.device);
  CLI::Option* gemm = app.add_flag("--gemm", options.request.workload.gemm);
  app.add_option("--size", options.request.workload.size)->needs(gemm)->check(in_range(16, 1 << 16));
  app.add_option("--model", options.request.workload.model);
  app.add_option("--batch,-b", options.request.workload.batch)->check(rows());
  app.add_option("--engine", options.request.workload.engine);
  app.add_option("--engine-library", options.request.workload.engine_library);
  app.add_option("--from", options.from);
  app.add_option("--to", options.to);
  app.add_option("--steps", options.request.steps)->check(in_range(2, 50));
  app.add_option("--seconds", options.request.seconds)->check(in_range(0.5, 86400));
  app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv);
  app.add_option("-o,--output", options.output);
  declare(app, options.page);
}

Result<app::PowerSweepRequest> request_of(const PowerSweepOptions& options) {
  app::PowerSweepRequest request = options.request;
  if (options.json && options.csv) return invalid("--json and --csv exclude each other");
  RIDGE_TRY(check_writable({options.output, options.page.file}));
  if (!options.from.empty()) {
    RIDGE_ASSIGN(request.from_mw, power::parse_watts(options.from));
  }
  if (!options.to.empty()) {
    RIDGE_ASSIGN(request.to_mw, power::parse_watts(options.to));
  }
  return request;
}

std::string rate_text(double rate, const std::string& unit) {
  return unit == "FLOP" ? format_flops_rate(rate) : format_rate(rate, unit);
}

std::string per_joule_text(double per_joule, const std::string& unit) {
  if (per_joule <= 0) return "-";
  return unit == "FLOP" ? format_flops(per_joule) + "/J" : fmt::format("{} {}/J", format_count(per_joule), unit);
}

// `points`: their JSON, which has what slowed the device down also where the sweep was read back.
std::string curve_table(const power::Sweep& sweep, const Json& points) {
  const auto rate = [&](const power::CurvePoint& point) { return rate_text(point.rate, sweep.unit); };
  const auto per_joule = [&](const power::CurvePoint& point) { return per_joule_text(point.per_joule(), sweep.unit); };
  const auto mark = [&](const power::CurvePoint& point) {
    const auto is = [&](const std::optional<size_t>& spot) { return spot && &point == &sweep.points[*spot]; };
    std::string marks = is(sweep.spots.best_per_watt) ? "best per watt" : "";
    if (is(sweep.spots.within)) marks += (marks.empty() ? "" : ", ") + std::string("within 5 % of the peak");
    return marks;
  };
  return figure_table(
      "power-sweep", "points", points, {},
      {.last = {own_column("performance", sweep.points, rate, "r"),
                own_column("per joule", sweep.points, per_joule, "r4"), own_column("", sweep.points, mark)}});
}

std::string claim_text(const power::ClaimVerdict& claim) {
  std::string text = fmt::format("L18 at {:.0f} % of the default limit: {}\n    {}", 100 * claim.share, claim.statement,
                                 measure::verdict_name(claim.verdict));
  if (claim.measured)
    text += fmt::format(": measured {:.1f} % of the speed [{:.1f}, {:.1f}]", 100 * claim.measured->value,
                        100 * claim.measured->low, 100 * claim.measured->high);
  return claim.reason.empty() ? text : text + ": " + claim.reason;
}

void render(const power::Sweep& sweep, const Json& document) {
  print(fmt::format("{} · {} · {} rounds{}", sweep.device, sweep.workload, sweep.rounds,
                    sweep.interrupted ? ", interrupted"
                    : sweep.converged ? ""
                                      : ", stopped at --seconds before every rate was known to 2 %"));
  print("\n" + curve_table(sweep, document.at("points")));
  print(fmt::format("performance: median, measured; relative to {} with its 95 % interval; power: measured by {}",
                    power::watts_text(sweep.reference_limit_mw),
                    sweep.power_origin == "energy counter" ? "the energy counter" : "samples every 0.1 s"));
  if (machine::disturbed(sweep.disturbance))
    print(machine::sentence(*sweep.disturbance) + ". Relative rates are interleaved; rates themselves are too low.");
  for (const power::ClaimVerdict& claim : sweep.claims) print(claim_text(claim));
}

// How the lowest limit that keeps the speed is set; how things stand where none was found.
std::vector<std::string> next_of(const PowerSweepOptions& options, const power::Sweep& sweep) {
  const std::optional<size_t> best = sweep.spots.within ? sweep.spots.within : sweep.spots.best_per_watt;
  if (!best) return {"ridge power"};
  const double limit_w = power::watts_of(sweep.points[*best].limit_mw);
  std::string set = fmt::format("ridge power set --limit {:.0f}", limit_w);
  if (!options.request.device.empty()) set += " --device " + app::shell_word(options.request.device);
  return {set};
}

int run_sweep(const PowerSweepOptions& options) {
  const Result<app::PowerSweepRequest> request = request_of(options);
  if (!request) return power_failed(kSweepVerb, request.error());
  const Result<app::PowerSweepResult> result = app::sweep_power(*request, [] { return interruptible(kSweepVerb); });
  if (!result) return power_failed(kSweepVerb, result.error());
  const Json json = json_of(result->sweep);
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(csv_table(
        "limit_w rounds rate_per_s relative relative_low relative_high power_w power_spread_percent per_joule "
        "temperature_c clock_mhz slowed_by",
        json["points"]));
  } else {
    render(result->sweep, json);
    print_next(next_of(options, result->sweep));
  }
  if (Status kept = keep(options.command, options.output, json); !kept) return power_failed(kSweepVerb, kept.error());
  const Status written = write_page(options.command, options.page, json);
  if (!written) return power_failed(kSweepVerb, written.error());
  return result->restored ? kDone : power_failed(kSweepVerb, result->restored.error());
}

}  // namespace

Status show_power_sweep(const Json& document) {
  RIDGE_ASSIGN(const power::Sweep sweep, power::sweep_from_json(document));
  render(sweep, document);
  return {};
}

int power_sweep(std::span<const std::string> arguments) {
  PowerSweepOptions options;
  options.command = typed(kSweepVerb, arguments);
  CLI::App app;
  bind(app, options);
  auto at = std::find(arguments.begin(), arguments.end(), "--");
  if (at != arguments.end()) options.request.workload.command.assign(at + 1, arguments.end());
  const auto own = static_cast<size_t>(at - arguments.begin());
  if (ParseResult parsed = parse(app, kSweepVerb, arguments.first(own)); !parsed.go_on) return parsed.exit;
  return run_sweep(options);
}

}  // namespace ridge::cli
