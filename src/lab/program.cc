#include "lab/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/kept.h"
#include "base/csv.h"
#include "base/units.h"
#include "cli/document_kind.h"
#include "cli/interruption.h"
#include "cli/next_text.h"
#include "cli/page_options.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "lab/ledger_text.h"

namespace ridge::lab {
namespace {

using cli::fail, cli::print, cli::print_json, cli::print_next, cli::print_verbatim, cli::typed;
using cli::kDone, cli::kNo, cli::kUsage;

struct LabOptions {
  app::Command command;
  Selection selection;
  std::string device = "cpu";
  double seconds = 60;
  bool json = false, csv = false;
  std::string output;  // file of the document; empty: none
  cli::PageOptions page;
};

struct OccupancyOptions {
  app::Command command;
  KernelUse use;
  std::string shared = "0";
  std::string capability;
  bool json = false;
};

int wrong_lab_usage(const Error& error) {
  fail("lab", error);
  return kUsage;
}

// Points to `explain` for one claim and for claims in general.
void print_next_of(const std::string& claim) { print_next({"ridge explain " + claim, "ridge explain handbook"}); }

int show_claims(std::span<const measure::Claim> all, const LabOptions& options) {
  if (Status known = check_selection(options.selection, all); !known) return wrong_lab_usage(known.error());
  const ListedClaims claims = listed(selected(options.selection, all));
  if (options.json) return print_json(options.command, json_of(claims)), kDone;
  print(
      "Claims of five guides to GPUs, by their sections; figures without all the conditions that they were measured "
      "under.\n");
  print(claims_text(claims));
  print_next_of(options.selection.names.empty() || claims.claims.empty() ? "L04" : claims.claims.front().claim.id);
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

// The same kernel with what admits one block more, on the newest capability shown; else an explanation.
std::vector<std::string> next_of(const Occupancies& occupancies) {
  KernelUse use = occupancies.use;
  const Occupancy& newest = occupancies.results.back();
  if (!newest.registers_for_more && !newest.shared_for_more) return {"ridge explain occupancy"};
  use.registers = newest.registers_for_more.value_or(use.registers);
  use.shared_bytes = newest.shared_for_more.value_or(use.shared_bytes);
  return {fmt::format("ridge lab occupancy --threads {} --registers {} --shared {:.0f} --cc {}", use.threads,
                      use.registers, use.shared_bytes, newest.capability),
          "ridge explain occupancy"};
}

int show_occupancy(OccupancyOptions& options) {
  Result<int64_t> shared = parse_bytes(options.shared);
  if (!shared) return wrong_lab_usage(shared.error());
  options.use.shared_bytes = static_cast<double>(*shared);
  auto capabilities = asked_capabilities(options.capability);
  if (!capabilities) return wrong_lab_usage(capabilities.error());
  Occupancies all{options.use, {}};
  for (const catalogue::Capability& capability : *capabilities) {
    auto result = occupancy(capability, options.use);
    if (!result) return wrong_lab_usage(result.error());
    all.results.push_back(std::move(*result));
  }
  if (options.json) {
    print_json(options.command, json_of(all));
  } else {
    print(occupancy_text(all));
    print_next(next_of(all));
  }
  return kDone;
}

std::string ledger_csv(const Json& json) {
  return csv_table(
      "claim verdict experiment work variant baseline ratio=/ratio/value low=/ratio/low high=/ratio/high "
      "variant_seconds baseline_seconds rounds converged explanation",
      json["ledger"]);
}

// open → test and judge → show → keep, page
int run_experiments(const LabOptions& options, std::span<const measure::Claim> claims) {
  if (Status known = check_selection(options.selection, claims); !known) return wrong_lab_usage(known.error());
  if (options.json && options.csv) return wrong_lab_usage(invalid("--json and --csv exclude each other"));
  if (Status ready = cli::check_writable({options.output, options.page.file}); !ready)
    return fail("lab", ready.error());
  auto device = open_device(options.device);
  if (!device)
    return device.error().code == Code::kInvalid ? wrong_lab_usage(device.error()) : fail("lab", device.error());
  cli::listen_for_interruption();
  cli::say_budget("lab", options.seconds);
  cli::Progress progress("lab on " + device->text);
  LedgerOptions how;
  how.time = from_seconds(options.seconds);
  how.interrupted = cli::interrupted;
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  auto ledger = build_ledger(*device, options.selection, claims, how);
  progress.finish();
  if (!ledger) return fail("lab", ledger.error());
  const Json json = json_of(*ledger);
  if (options.json)
    print_json(options.command, json);
  else
    options.csv ? print_verbatim(ledger_csv(json)) : print(ledger_text(*ledger));
  if (!options.json && !options.csv && !ledger->rows.empty()) print_next_of(ledger->rows.front().claim.id);
  if (const Status kept = cli::keep_and_draw(options.command, options.output, options.page, json); !kept)
    return fail("lab", kept.error());
  return ledger->cases.empty() ? kNo : kDone;
}

int show_document(const std::string& file) {
  const Result<Json> document = app::read_document(file);
  if (!document) return fail("lab", document.error());
  const Result<Ledger> ledger = from_json<Ledger>(*document);
  if (!ledger) return fail("lab", ledger.error());
  print(ledger_text(*ledger));
  return kDone;
}

// What `ridge show --schema KIND` prints of these.
constexpr cli::DocumentKind kKinds[] = {
    {"lab", cli::fields_of<cli::OnlyAbout, Ledger>},
    {"lab-list", cli::fields_of<cli::OnlyAbout, ListedClaims>},
    {"lab-occupancy", cli::fields_of<cli::OnlyAbout, Occupancies>},
};

int show_schema(const std::string& kind) {
  const Result<Json> schema = cli::schema_of_kind(kKinds, kind);
  if (!schema) return wrong_lab_usage(schema.error());
  return print_verbatim(dump_json(*schema, true)), kDone;
}

}  // namespace

int lab(std::span<const std::string> arguments) {
  if (arguments.size() == 2 && arguments[0] == "show") return show_document(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "show" && arguments[1] == "--schema") return show_schema(arguments[2]);
  LabOptions options;
  OccupancyOptions occupancy;
  CLI::App app;
  app.add_option("ID", options.selection.names);
  app.add_option("--device,-d", options.device);
  cli::declare_seconds(app, options.seconds);
  app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv);
  app.add_option("-o,--output", options.output);
  cli::declare(app, options.page);
  CLI::App* list = app.add_subcommand("list");
  list->add_flag("--json", options.json);
  CLI::App* calculator = app.add_subcommand("occupancy");
  calculator->add_option("--threads,-t", occupancy.use.threads);
  calculator->add_option("--registers,-r", occupancy.use.registers);
  calculator->add_option("--shared,-s", occupancy.shared);
  calculator->add_option("--cc", occupancy.capability);
  calculator->add_flag("--json", occupancy.json);
  if (cli::ParseResult parsed = cli::parse(app, "lab", arguments); !parsed.go_on) return parsed.exit;
  options.command = occupancy.command = typed("lab", arguments);
  if (list->parsed()) options.command.verb = "lab list";
  occupancy.command.verb = "lab occupancy";
  if (calculator->parsed()) return show_occupancy(occupancy);
  auto claims = measure::claims();
  if (!claims) return fail("lab", claims.error());
  return list->parsed() ? show_claims(*claims, options) : run_experiments(options, *claims);
}

}  // namespace ridge::lab
