// ridge lab: tests the guides' performance claims on this device; the occupancy of a kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/interruption.h"
#include "cli/lab_text.h"
#include "cli/number_checks.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "lab/ledger.h"
#include "report/page.h"

namespace ridge::cli {
namespace {

struct LabOptions {
  lab::Selection selection;
  std::string device = "cpu";
  double seconds = 2;
  bool json = false;
  std::string html;  // file for the page; empty: none
  std::string language = "en";
};

struct OccupancyOptions {
  lab::KernelUse use;
  std::string shared = "0";
  std::string capability;
  bool json = false;
};

int wrong_lab_usage(const Error& error) {
  fail("lab", error);
  return kUsage;
}

int show_claims(std::span<const lab::Claim> claims, bool json) {
  if (json)
    print_json(claims_json(claims));
  else
    print(claims_text(claims));
  return kDone;
}

// Capabilities with known limits, or the requested one.
Result<std::vector<catalogue::Capability>> asked_capabilities(const std::string& version) {
  RIDGE_ASSIGN(std::vector<catalogue::Capability> all, catalogue::capabilities());
  if (version.empty()) {
    std::erase_if(all, [](const catalogue::Capability& capability) { return !capability.register_unit; });
    return all;
  }
  RIDGE_ASSIGN(catalogue::Capability one, catalogue::find_capability(all, version));
  return std::vector{one};
}

int show_occupancy(OccupancyOptions& options) {
  Result<int64_t> shared = parse_bytes(options.shared);
  if (!shared) return wrong_lab_usage(shared.error());
  options.use.shared_bytes = static_cast<double>(*shared);
  auto capabilities = asked_capabilities(options.capability);
  if (!capabilities) return wrong_lab_usage(capabilities.error());
  std::vector<lab::Occupancy> results;
  for (const catalogue::Capability& capability : *capabilities) {
    auto result = lab::occupancy(capability, options.use);
    if (!result) return wrong_lab_usage(result.error());
    results.push_back(std::move(*result));
  }
  if (options.json)
    print_json(occupancy_json(options.use, *capabilities, results));
  else
    print(occupancy_text(*capabilities, results));
  return kDone;
}

// open → test and judge → page → show
int run_experiments(const LabOptions& options, std::span<const lab::Claim> claims) {
  if (Status known = lab::check_selection(options.selection, claims); !known) return wrong_lab_usage(known.error());
  if (auto known = report::language_from_name(options.language); !known) return wrong_lab_usage(known.error());
  auto device = lab::open_device(options.device);
  if (!device)
    return device.error().code == Code::kInvalid ? wrong_lab_usage(device.error()) : fail("lab", device.error());
  listen_for_interruption();
  Progress progress("lab on " + device->text);
  lab::LedgerOptions how;
  how.most_time = from_seconds(options.seconds);
  how.interrupted = interrupted;
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  auto ledger = lab::build_ledger(*device, options.selection, claims, how);
  progress.finish();
  if (!ledger) return fail("lab", ledger.error());
  const Json json = lab::to_json(*ledger, *device);
  if (Status written = write_page("lab", options.html, report::PageKind::kLab, json, options.language); !written)
    return fail("lab", written.error());
  if (options.json)
    print_json(json);
  else
    print(ledger_text(*device, *ledger));
  return kDone;
}

}  // namespace

int lab(std::span<const std::string> arguments) {
  LabOptions options;
  OccupancyOptions occupancy;
  CLI::App app;
  app.add_option("ID", options.selection.names);
  app.add_option("--device,-d", options.device);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_flag("--json", options.json);
  app.add_option("--html", options.html);
  app.add_option("--lang", options.language);
  CLI::App* list = app.add_subcommand("list");
  list->add_flag("--json", options.json);
  CLI::App* calculator = app.add_subcommand("occupancy");
  calculator->add_option("--threads,-t", occupancy.use.threads);
  calculator->add_option("--registers,-r", occupancy.use.registers);
  calculator->add_option("--shared,-s", occupancy.shared);
  calculator->add_option("--cc", occupancy.capability);
  calculator->add_flag("--json", occupancy.json);
  if (ParseResult parsed = parse(app, "lab", arguments); !parsed.go_on) return parsed.exit;
  if (calculator->parsed()) return show_occupancy(occupancy);
  auto claims = lab::claims();
  if (!claims) return fail("lab", claims.error());
  return list->parsed() ? show_claims(*claims, options.json) : run_experiments(options, *claims);
}

}  // namespace ridge::cli
