// ridge power set: the lines of a shell, and a service, that set limits and clocks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/next_text.h"
#include "cli/power.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "power/commands.h"
#include "power/packages.h"

namespace ridge::cli {
namespace {

constexpr const char* kPowerSetVerb = "power set";
constexpr Nanoseconds kPatience = std::chrono::seconds(5);  // with each vendor's library

struct PowerSetOptions {
  app::Command given;
  std::vector<std::string> devices;
  std::string limit, clocks, memory_clocks;
  bool reset = false, json = false;
};

void bind(CLI::App& app, PowerSetOptions& options) {
  app.add_option("--device,-d", options.devices)->delimiter(',');
  app.add_option("--limit", options.limit);
  app.add_option("--lock-clocks", options.clocks);
  app.add_option("--lock-memory-clocks", options.memory_clocks);
  app.add_flag("--reset", options.reset);
  app.add_flag("--json", options.json);
}

Result<power::Wanted> wanted_from(const PowerSetOptions& options) {
  power::Wanted wanted;
  if (!options.limit.empty()) {
    RIDGE_ASSIGN(wanted.limit_mw, power::parse_watts(options.limit));
  }
  if (!options.clocks.empty()) {
    RIDGE_ASSIGN(wanted.clocks, power::parse_clocks(options.clocks));
  }
  if (!options.memory_clocks.empty()) {
    RIDGE_ASSIGN(wanted.memory_clocks, power::parse_clocks(options.memory_clocks));
  }
  wanted.reset = options.reset;
  wanted.cpu = std::ranges::find(options.devices, power::kCpuId) != options.devices.end();
  if (wanted.cpu && options.devices.size() > 1)
    return invalid("--device cpu cannot be combined: set GPUs and the CPU one after the other");
  const bool any = wanted.limit_mw || wanted.clocks || wanted.memory_clocks;
  if (options.reset && any) return invalid("--reset takes no other setting: it sets the vendor's defaults");
  if (!options.reset && !any)
    return invalid("nothing to set: give --limit W, --lock-clocks MIN,MAX, --lock-memory-clocks MIN,MAX, or --reset");
  return wanted;
}

Result<power::Commands> commands_of(const PowerSetOptions& options) {
  RIDGE_ASSIGN(const power::Wanted wanted, wanted_from(options));
  power::Overview overview = power::look(kPatience);
  RIDGE_TRY(power::choose(overview, options.devices));
  return power::commands_for(overview, wanted);
}

}  // namespace

int power_set(std::span<const std::string> arguments) {
  PowerSetOptions options;
  options.given = typed(kPowerSetVerb, arguments);
  CLI::App app;
  bind(app, options);
  if (ParseResult parsed = parse(app, kPowerSetVerb, arguments); !parsed.go_on) return parsed.exit;
  const Result<power::Commands> commands = commands_of(options);
  if (!commands) return power_failed(kPowerSetVerb, commands.error());
  if (options.json) {
    print_json(options.given, json_of(*commands));
    return kDone;
  }
  print(fmt::format("{}", fmt::join(commands->set, "\n")));
  if (!commands->undone.empty()) print(fmt::format("\nTo undo it:\n\n{}", fmt::join(commands->undone, "\n")));
  print(
      "\nTo have it at every boot, /etc/systemd/system/power-limits.service; then systemctl enable --now "
      "power-limits:\n\n" +
      commands->unit);
  print_next({"ridge power"});
  return kDone;
}

}  // namespace ridge::cli
