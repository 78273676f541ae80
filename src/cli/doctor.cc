// ridge doctor: is this machine ready, and what holds it back?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/next_steps.h"
#include "base/csv.h"
#include "base/file.h"
#include "cli/doctor_gpus.h"
#include "cli/kept.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/page_options.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "doctor/doctor.h"
#include "doctor/gather.h"
#include "doctor/inventory.h"
#include "doctor/tool_output.h"

namespace ridge::cli {
namespace {

constexpr const char* kDoctorVerb = "doctor";

struct DoctorOptions {
  app::Command command;
  doctor::GatherOptions gather;
  std::vector<std::string> from;  // files of what other tools printed; "-": standard input
  std::string root;               // file of a recorded machine; empty: this one is looked at
  std::string record;
  std::optional<double> time_limit_s;
  bool verbose = false;
  bool json = false, csv = false;
  std::string output;  // file of the document; empty: none
  PageOptions page;
};

void declare(CLI::App& app, DoctorOptions& options) {
  app.add_option("--area,-a", options.gather.areas)->delimiter(',');
  app.add_option("--from", options.from);
  app.add_option("--root", options.root);
  app.add_option("--record", options.record);
  app.add_option("--provider", options.gather.providers)->delimiter(',');
  app.add_option("--engine-library", options.gather.engine_library);
  app.add_option("--time-limit", options.time_limit_s)->check(in_range(0.1, 600));
  app.add_flag("--no-measure{false}", options.gather.measure);
  app.add_flag("--fresh", options.gather.fresh);
  app.add_flag("--verbose,-v", options.verbose);
  app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv);
  app.add_option("-o,--output", options.output);
  declare(app, options.page);
}

// Reads the outputs of tools. Their areas are checked, whatever other areas were named.
Status read_outputs(const std::vector<std::string>& files, doctor::GatherOptions& how) {
  for (const std::string& file : files) {
    Result<std::string> read = file == "-" ? std::string(std::istreambuf_iterator(std::cin), {}) : read_file(file);
    RIDGE_ASSIGN(std::string text, std::move(read));
    const Result<std::string_view> area = doctor::area_of_output(text);
    if (!area) return invalid("--from " + file + ": " + area.error().message);
    how.areas.emplace_back(*area);
    how.outputs.push_back(std::move(text));
  }
  return {};
}

// Turns the options into a request; an error here is wrong usage.
Result<doctor::GatherOptions> request_of(const DoctorOptions& options) {
  doctor::GatherOptions how = options.gather;
  if (options.json && options.csv) return invalid("--json and --csv exclude each other");
  RIDGE_TRY(doctor::check_areas(how.areas));
  if (!options.root.empty() && (!options.from.empty() || !options.record.empty()))
    return invalid(
        "--root judges a recorded machine: its record has what --from read there, and it is not recorded again");
  RIDGE_TRY(read_outputs(options.from, how));
  if (options.time_limit_s) how.limit = how.engine_limit = from_seconds(*options.time_limit_s);
  // Engines that must run are checked, whatever other areas were named.
  if (!how.areas.empty() && !how.providers.empty()) how.areas.emplace_back("engines");
  return how;
}

doctor::Facts look(doctor::GatherOptions how) {
  Progress progress("look at this machine");
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  return doctor::gather(how);
}

// Four columns, whatever its colour.
std::string sign(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::kFail: return painted(Meaning::kFailed, "FAIL");
    case doctor::Verdict::kWarn: return painted(Meaning::kWarning, "warn");
    case doctor::Verdict::kOk: return painted(Meaning::kOk, "ok") + "  ";
    case doctor::Verdict::kNotApplicable: return "n/a ";
  }
  return "";
}

bool is_bad(const doctor::Finding& finding) { return finding.verdict <= doctor::Verdict::kWarn; }

// Which findings are shown in full: the bad ones, all, all with their ids and origins.
enum class Detail { kBad, kAll, kOrigins };

// One area: a count of what is not shown in full.
void render_area(const std::vector<const doctor::Finding*>& findings, Detail detail) {
  int good = 0, absent = 0;
  for (const doctor::Finding* finding : findings) {
    good += finding->verdict == doctor::Verdict::kOk ? 1 : 0;
    absent += finding->verdict == doctor::Verdict::kNotApplicable ? 1 : 0;
  }
  std::string hidden;
  if (good > 0) hidden = fmt::format("{} ok", good);
  if (absent > 0) hidden += fmt::format("{}{} not applicable", hidden.empty() ? "" : ", ", absent);
  print(hidden.empty() ? findings.front()->area : fmt::format("{:<9} {}", findings.front()->area, hidden));
  for (const doctor::Finding* finding : findings) {
    if (detail == Detail::kBad && !is_bad(*finding)) continue;
    print(fmt::format("  {}  {}: {}", sign(finding->verdict), finding->title, finding->evidence));
    if (!finding->remedy.empty()) print(fmt::format("        do: {}", finding->remedy));
    if (detail == Detail::kOrigins) print(fmt::format("        {} · from: {}", finding->id, finding->origin));
  }
}

// The command of the worst finding that has one, and the area to look at again afterwards. A recorded machine stays as
// it is: its findings in full.
std::vector<std::string> next_of(const DoctorOptions& options, const doctor::Diagnosis& diagnosis) {
  if (diagnosis.findings.empty()) return {};
  const auto worst = std::ranges::min_element(diagnosis.findings, {}, &doctor::Finding::verdict);
  if (!options.root.empty())
    return {fmt::format("ridge doctor --root {} --verbose{}", app::shell_word(options.root),
                        is_bad(*worst) ? " --area " + worst->area : "")};
  if (!is_bad(*worst)) return {"ridge bench device"};
  const auto remedied = std::ranges::min_element(diagnosis.findings, {}, [](const doctor::Finding& finding) {
    return std::pair(finding.command.empty(), finding.verdict);
  });
  if (remedied->command.empty()) return {"ridge doctor --verbose --area " + worst->area};
  return {remedied->command, "ridge doctor --verbose --area " + remedied->area};
}

void render(const doctor::Diagnosis& diagnosis, const doctor::Inventory& inventory, Detail detail) {
  std::vector<const doctor::Finding*> area;
  for (const doctor::Finding& finding : diagnosis.findings) {
    if (!area.empty() && area.front()->area != finding.area) {
      render_area(area, detail);
      area.clear();
    }
    area.push_back(&finding);
  }
  if (!area.empty()) render_area(area, detail);
  if (std::string gpus = gpus_text(inventory); !gpus.empty()) print("\n" + gpus);
  const Meaning meaning = diagnosis.fails > 0      ? Meaning::kFailed
                          : diagnosis.warnings > 0 ? Meaning::kWarning
                                                   : Meaning::kOk;
  const size_t verdict = std::min(diagnosis.summary.find_first_of(",:."), diagnosis.summary.size());
  print("\n" + painted(meaning, diagnosis.summary.substr(0, verdict)) + diagnosis.summary.substr(verdict));
}

// gather or recall → judge → record → render
int examine(const DoctorOptions& options, const doctor::GatherOptions& how) {
  Result<doctor::Facts> facts = options.root.empty() ? Result(look(how)) : doctor::recall(options.root);
  if (!facts) return fail(kDoctorVerb, facts.error());
  doctor::Diagnosis diagnosis = doctor::judge(*facts, how.areas);
  if (!options.record.empty()) {
    Status written = write_file_atomically(options.record, machine::format_tree(facts->tree));
    if (!written) return fail(kDoctorVerb, written.error());
    say_note("recorded in " + options.record + "; review it before you send it");
  }
  doctor::Inventory inventory;
  if (how.areas.empty() || std::ranges::find(how.areas, "gpu") != how.areas.end())
    inventory = doctor::inventory_of(facts->tree);
  Json json = to_json(diagnosis);
  json.update(json_of(inventory));
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(csv_table("id area verdict title evidence remedy origin", json["findings"]));
  } else {
    // Outputs of tools are what was asked for.
    render(diagnosis, inventory,
           options.verbose        ? Detail::kOrigins
           : options.from.empty() ? Detail::kBad
                                  : Detail::kAll);
    print_next(next_of(options, diagnosis));
  }
  if (Status kept = keep(options.command, options.output, json); !kept) return fail(kDoctorVerb, kept.error());
  if (const Status page = write_page(options.command, options.page, json); !page)
    return fail(kDoctorVerb, page.error());
  return diagnosis.ready ? kDone : kNo;
}

}  // namespace

int doctor(std::span<const std::string> arguments) {
  DoctorOptions options;
  options.command = typed(kDoctorVerb, arguments);
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kDoctorVerb, arguments); !parsed.go_on) return parsed.exit;
  const Result<doctor::GatherOptions> how = request_of(options);
  if (!how) {
    fail(kDoctorVerb, how.error());
    return kUsage;
  }
  if (Status ready = check_writable({options.output, options.page.file}); !ready)
    return fail(kDoctorVerb, ready.error());
  return examine(options, *how);
}

Status show_doctor(const Json& document) {
  RIDGE_ASSIGN(const auto diagnosis, from_json<doctor::Diagnosis>(document));
  RIDGE_ASSIGN(const auto inventory, from_json<doctor::Inventory>(document));
  render(diagnosis, inventory, Detail::kBad);
  return {};
}

}  // namespace ridge::cli
