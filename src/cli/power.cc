// ridge power: the power and limits of every device here; the lines that set them; finds the most efficient limit.
#include "cli/power.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/next_text.h"
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

// The limit that pays, of the first device whose power is known; first a GPU that does not answer is examined.
std::vector<std::string> next_of(const power::Overview& overview) {
  if (!overview.all_answer()) return {"ridge doctor --area gpu"};
  for (const power::VendorsGpus& vendor : overview.vendors)
    for (const gpu::Gpu& gpu : vendor.gpus)
      if (vendor.vendor == "NVIDIA" && gpu.failure.empty() && gpu.power_limit_mw)
        return {fmt::format("ridge power sweep --gemm --device {}", gpu.index)};
  const bool limited = overview.cpu && overview.cpu->limit_mw;
  return {limited ? "ridge power sweep --gemm --device cpu" : "ridge doctor --area cpu,gpu"};
}

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
  if (options.json) {
    print_json(options.command, json_of(overview));
  } else {
    print(power_text(overview));
    print_next(next_of(overview));
  }
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
  if (!arguments.empty() && arguments.front() == "sweep") return power_sweep(arguments.subspan(1));
  return show_power(arguments);
}

}  // namespace ridge::cli
