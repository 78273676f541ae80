// ridge doctor: is this machine ready, and what holds it back?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/doctor_gpus.h"
#include "cli/interruption.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "doctor/doctor.h"
#include "doctor/gather.h"
#include "doctor/inventory.h"
#include "doctor/link_speed.h"

namespace ridge::cli {
namespace {

constexpr const char* kDoctorVerb = "doctor";

struct DoctorOptions {
  std::vector<std::string> areas;
  std::string path;
  std::string size = "256MiB";
  std::string peer;
  int listen = -1;  // port; -1: not asked
  std::string root;
  std::string record;
  std::vector<std::string> providers;
  std::string engine_library;
  double time_limit_s = 5;
  bool no_measure = false;
  bool fresh = false;
  bool verbose = false;
  bool json = false;
};

void declare(CLI::App& app, DoctorOptions& options) {
  app.add_option("--area,-a", options.areas)->delimiter(',');
  app.add_option("--path", options.path);
  app.add_option("--size", options.size);
  app.add_option("--peer", options.peer);
  app.add_option("--listen", options.listen)
      ->expected(0, 1)
      ->default_str(std::to_string(doctor::kLinkPort))
      ->check(CLI::Range(0, 65535));
  app.add_option("--root", options.root);
  app.add_option("--record", options.record);
  app.add_option("--provider", options.providers)->delimiter(',');
  app.add_option("--engine-library", options.engine_library);
  app.add_option("--time-limit", options.time_limit_s)->check(CLI::Range(0.1, 600.0));
  app.add_flag("--no-measure", options.no_measure);
  app.add_flag("--fresh", options.fresh);
  app.add_flag("--verbose,-v", options.verbose);
  app.add_flag("--json", options.json);
}

// What is wrong with the options as they stand together.
Result<int64_t> check(const DoctorOptions& options) {
  RIDGE_TRY(doctor::check_areas(options.areas));
  if (!options.root.empty() && (!options.path.empty() || !options.peer.empty() || !options.record.empty()))
    return Error{Code::kInvalid, "--root judges a recorded machine, on which nothing can be measured or recorded"};
  if (!options.peer.empty()) {
    Result<doctor::LinkOptions> peer = doctor::parse_peer(options.peer);
    if (!peer) return peer.error();
  }
  Result<int64_t> size = parse_bytes(options.size);
  if (!size) return wrap(size.error(), "--size");
  return *size;
}

// A test that was asked for is in its area, whatever other areas were named.
void add_tested_areas(DoctorOptions& options) {
  if (options.areas.empty()) return;
  if (!options.path.empty()) options.areas.emplace_back("storage");
  if (!options.peer.empty()) options.areas.emplace_back("network");
  if (!options.providers.empty()) options.areas.emplace_back("engines");
}

bool wants(const DoctorOptions& options, std::string_view area) {
  return options.areas.empty() || std::find(options.areas.begin(), options.areas.end(), area) != options.areas.end();
}

doctor::Facts gather(const DoctorOptions& options, int64_t file_bytes) {
  Progress progress("look at this machine");
  doctor::GatherOptions how;
  how.areas = options.areas;
  how.limit = from_seconds(options.time_limit_s);
  how.measure = !options.no_measure;
  how.fresh = options.fresh;
  if (!options.path.empty()) how.path = std::filesystem::absolute(options.path).lexically_normal().string();
  how.file_bytes = file_bytes;
  how.peer = options.peer;
  how.engine_library = options.engine_library;
  how.providers = options.providers;
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  return doctor::gather(how);
}

std::string_view sign(doctor::Verdict verdict) {
  switch (verdict) {
    case doctor::Verdict::kFail: return "FAIL";
    case doctor::Verdict::kWarn: return "warn";
    case doctor::Verdict::kOk: return "ok";
    case doctor::Verdict::kNotApplicable: return "n/a";
  }
  return "";
}

bool is_bad(const doctor::Finding& finding) { return finding.verdict <= doctor::Verdict::kWarn; }

// One area: its bad findings in full, and of the others a line each or only their number.
void render_area(const std::vector<const doctor::Finding*>& findings, bool verbose) {
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
    if (!verbose && !is_bad(*finding)) continue;
    print(fmt::format("  {:<4}  {}: {}", sign(finding->verdict), finding->title, finding->evidence));
    if (!finding->remedy.empty()) print(fmt::format("        do: {}", finding->remedy));
    if (verbose) print(fmt::format("        {} · from: {}", finding->id, finding->origin));
  }
}

void render(const doctor::Diagnosis& diagnosis, const doctor::Inventory& inventory, bool verbose) {
  std::vector<const doctor::Finding*> area;
  for (const doctor::Finding& finding : diagnosis.findings) {
    if (!area.empty() && area.front()->area != finding.area) {
      render_area(area, verbose);
      area.clear();
    }
    area.push_back(&finding);
  }
  if (!area.empty()) render_area(area, verbose);
  if (std::string gpus = gpus_text(inventory); !gpus.empty()) print("\n" + gpus);
  print("\n" + diagnosis.summary);
}

int listen(int port) {
  listen_for_interruption();
  Status served = doctor::serve_link(
      static_cast<uint16_t>(port),
      [](uint16_t ready) {
        print(fmt::format("listening on port {}; on the other machine: ridge doctor --peer THIS_HOST:{} (Ctrl-C ends)",
                          ready, ready));
      },
      interrupted);
  return served ? kDone : fail(kDoctorVerb, served.error());
}

// gather or recall → judge → record → render
int examine(const DoctorOptions& options, int64_t file_bytes) {
  Result<doctor::Facts> facts =
      options.root.empty() ? Result<doctor::Facts>(gather(options, file_bytes)) : doctor::recall(options.root);
  if (!facts) return fail(kDoctorVerb, facts.error());
  doctor::Diagnosis diagnosis = doctor::judge(*facts, options.areas);
  if (!options.record.empty()) {
    Status written = write_file_atomically(options.record, machine::format_tree(facts->tree));
    if (!written) return fail(kDoctorVerb, written.error());
    say("recorded in " + options.record + "; review it before you send it");
  }
  doctor::Inventory inventory;
  if (wants(options, "gpu")) inventory = doctor::inventory_of(facts->tree);
  if (options.json) {
    Json json = to_json(diagnosis);
    json.update(json_of(inventory));
    print_json(json);
  } else {
    render(diagnosis, inventory, options.verbose);
  }
  return diagnosis.ready ? kDone : kNo;
}

}  // namespace

int doctor(std::span<const std::string> arguments) {
  DoctorOptions options;
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kDoctorVerb, arguments); !parsed.go_on) return parsed.exit;
  Result<int64_t> file_bytes = check(options);
  if (!file_bytes) {
    fail(kDoctorVerb, file_bytes.error());
    return kUsage;
  }
  if (options.listen >= 0) return listen(options.listen);
  add_tested_areas(options);
  return examine(options, *file_bytes);
}

}  // namespace ridge::cli
