// ridge power set, ridge power unpersist: limits and clocks, held while this process or a command runs, or by a service.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "app/power_set.h"
#include "cli/next_text.h"
#include "cli/power.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {
namespace {

constexpr const char* kPowerSetVerb = "power set";

struct PowerSetOptions {
  app::Command given;  // the whole command line
  std::vector<std::string> devices;
  std::string limit, clocks, memory_clocks;
  bool reset = false, persist = false, no_start = false, for_command = false, json = false;
  std::string unit_folder = power::kUnitFolder;
  std::vector<std::string> command;
};

void bind(CLI::App& app, PowerSetOptions& options) {
  app.add_option("--device,-d", options.devices)->delimiter(',');
  app.add_option("--limit", options.limit);
  app.add_option("--lock-clocks", options.clocks);
  app.add_option("--lock-memory-clocks", options.memory_clocks);
  app.add_flag("--reset", options.reset);
  app.add_flag("--persist", options.persist);
  app.add_option("--unit-dir", options.unit_folder);
  app.add_flag("--no-start", options.no_start);
  app.add_flag("--for", options.for_command);
  app.add_flag("--json", options.json);
}

// The arguments behind "--" are a command.
std::span<const std::string> without_command(std::span<const std::string> arguments, PowerSetOptions& options) {
  auto at = std::find(arguments.begin(), arguments.end(), "--");
  if (at == arguments.end()) return arguments;
  options.command.assign(at + 1, arguments.end());
  return arguments.first(static_cast<size_t>(at - arguments.begin()));
}

Result<power::Settings> settings_from(const PowerSetOptions& options) {
  power::Settings settings;
  if (!options.limit.empty()) {
    RIDGE_ASSIGN(settings.limit_mw, power::parse_watts(options.limit));
  }
  if (!options.clocks.empty()) {
    RIDGE_ASSIGN(settings.clocks, power::parse_clocks(options.clocks));
  }
  if (!options.memory_clocks.empty()) {
    RIDGE_ASSIGN(settings.memory_clocks, power::parse_clocks(options.memory_clocks));
  }
  if (options.reset && (settings.any() || options.persist || !options.command.empty()))
    return invalid("--reset takes no other setting: it sets the vendor's defaults");
  if (!options.reset && !settings.any())
    return invalid("nothing to set: give --limit W, --lock-clocks MIN,MAX, --lock-memory-clocks MIN,MAX, or --reset");
  if (options.for_command && options.command.empty()) return invalid("--for needs a command: --for -- COMMAND");
  if (options.persist && !options.command.empty()) return invalid("--persist and a command exclude each other");
  return settings;
}

std::string state_text(const power::State& state) {
  std::string text = state.limit_mw ? "limit in force " + power::watts_text(*state.limit_mw) : "";
  if (state.clock_mhz) text += fmt::format("{}clock {} MHz", text.empty() ? "" : ", ", *state.clock_mhz);
  return text;
}

// The current state reported by a device.
void tell_states(power::PowerControls& controls, std::string_view what, const PowerSetOptions& options) {
  Json list = Json::array();
  for (const std::unique_ptr<power::PowerControl>& control : controls) {
    Result<power::State> state = control->state();
    if (!options.json) {
      print(fmt::format("{}: {}; {}", control->name(), what, state ? state_text(*state) : state.error().message));
      continue;
    }
    FieldWriter entry(add_element(list));
    entry("id", control->id());
    entry("name", control->name());
    entry("done", what);
    if (!state) continue;
    entry.unless_empty("power_limit_mw", state->limit_mw.value);
    entry.unless_empty("sm_clock_mhz", state->clock_mhz.value);
  }
  if (options.json) print_json(options.given, {{"process", getpid()}, {"devices", list}});
}

int reset_all(const PowerSetOptions& options) {
  Result<power::PowerControls> controls = power::open_power_controls(options.devices);
  if (!controls) return power_failed(kPowerSetVerb, controls.error());
  int exit = kDone;
  for (const Error& failure : app::reset_power(*controls)) exit = power_failed(kPowerSetVerb, failure);
  if (exit != kDone) return exit;
  tell_states(*controls, "the vendor's defaults are set", options);
  if (!options.json) print_next({"ridge power"});
  return kDone;
}

// The settings as they were written.
std::vector<std::string> setting_arguments(const PowerSetOptions& options) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : {std::pair("--limit", options.limit), std::pair("--lock-clocks", options.clocks),
                                    std::pair("--lock-memory-clocks", options.memory_clocks)})
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  return arguments;
}

// The service removed again.
std::string undone(const PowerSetOptions& options) {
  std::string line = "ridge power unpersist";
  if (options.unit_folder != power::kUnitFolder) line += " --unit-dir " + app::shell_word(options.unit_folder);
  return options.no_start ? line + " --no-start" : line;
}

int persist(const PowerSetOptions& options, const power::Settings& settings) {
  Result<power::PowerControls> controls = power::open_power_controls(options.devices);
  if (!controls) return power_failed(kPowerSetVerb, controls.error());
  const power::UnitOptions unit{options.unit_folder, !options.no_start};
  const Result<std::string> text = app::persist_power(*controls, {settings, setting_arguments(options), unit});
  if (!text) return power_failed(kPowerSetVerb, text.error());
  const std::string path = unit.folder + "/" + power::kUnitName;
  if (options.json)
    print_json(options.given, {{"unit", path}, {"text", *text}, {"started", unit.start}});
  else
    print(path + ":\n\n" + *text);
  say_note(options.no_start
               ? "not started (--no-start); `systemctl enable --now ridge-power` does it"
               : "started now and at every boot; `ridge power unpersist` stops it and restores the previous setting");
  if (!options.json) print_next({"ridge power", undone(options)});
  return kDone;
}

int hold(const PowerSetOptions& options, const power::Settings& settings) {
  const auto tell_held = [&](power::PowerControls& controls) {
    tell_states(controls, power::settings_text(settings), options);
    if (options.command.empty())
      say_note(
          fmt::format("held by process {} until it ends (Ctrl-C); then the previous setting is restored", getpid()));
  };
  const Result<app::PowerHold> held = app::hold_power(
      {[&] { return power::open_power_controls(options.devices); }, settings, options.command}, {tell_held, say});
  if (!held) return power_failed(kPowerSetVerb, held.error());
  if (!held->restored) return power_failed(kPowerSetVerb, held->restored.error());
  say_note("restored");
  if (options.command.empty() && !options.json) print_next({"ridge power"});  // else stdout is the command's
  return held->ended ? *held->ended : power_failed(kPowerSetVerb, held->ended.error());
}

}  // namespace

int power_set(std::span<const std::string> arguments) {
  PowerSetOptions options;
  options.given = typed(kPowerSetVerb, arguments);
  CLI::App app;
  bind(app, options);
  std::span<const std::string> own = without_command(arguments, options);
  if (ParseResult parsed = parse(app, kPowerSetVerb, own); !parsed.go_on) return parsed.exit;
  Result<power::Settings> settings = settings_from(options);
  if (!settings) return power_failed(kPowerSetVerb, settings.error());
  if (options.reset) return reset_all(options);
  return options.persist ? persist(options, *settings) : hold(options, *settings);
}

int power_unpersist(std::span<const std::string> arguments) {
  constexpr const char* kVerb = "power unpersist";
  power::UnitOptions unit;
  bool no_start = false;
  CLI::App app;
  app.add_option("--unit-dir", unit.folder);
  app.add_flag("--no-start", no_start);
  if (ParseResult parsed = parse(app, kVerb, arguments); !parsed.go_on) return parsed.exit;
  unit.start = !no_start;
  if (Status removed = power::remove_unit(unit); !removed) {
    fail(kVerb, removed.error());
    return removed.error().code == Code::kNotFound ? kNo : kFailed;
  }
  print(fmt::format("removed {}/{}", unit.folder, power::kUnitName));
  print_next({"ridge power"});
  return kDone;
}

}  // namespace ridge::cli
