// ridge power: the power and limits of every device here; sets limits and clocks; finds the most efficient limit.
#include "cli/power.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/number_checks.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "power/overview.h"

namespace ridge::cli {
namespace {

struct PowerOptions {
  app::Command command;
  std::vector<std::string> devices;
  double time_limit_s = 5;
  bool json = false;
};

int show_power(std::span<const std::string> arguments) {
  PowerOptions options;
  options.command = typed("power", arguments);
  CLI::App app;
  app.add_option("--device,-d", options.devices)->delimiter(',');
  app.add_option("--time-limit", options.time_limit_s)->check(in_range(0.1, 600));
  app.add_flag("--json", options.json);
  if (ParseResult parsed = parse(app, "power", arguments); !parsed.go_on) return parsed.exit;
  power::Overview overview = power::look(from_seconds(options.time_limit_s));
  if (Status chosen = power::choose(overview, options.devices); !chosen) return power_failed("power", chosen.error());
  if (options.json)
    print_json(options.command, power::to_json(overview));
  else
    print(power_text(overview));
  return overview.anything() && overview.all_answer() ? kDone : kNo;
}

}  // namespace

int power_failed(std::string_view verb, const Error& error) {
  int status = fail(verb, error);
  return error.code == Code::kInvalid ? kUsage : status;
}

int power(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return print_help("power"), kDone;
  if (!arguments.empty() && arguments.front() == "set") return power_set(arguments.subspan(1));
  if (!arguments.empty() && arguments.front() == "unpersist") return power_unpersist(arguments.subspan(1));
  if (!arguments.empty() && arguments.front() == "sweep") return power_sweep(arguments.subspan(1));
  return show_power(arguments);
}

}  // namespace ridge::cli
