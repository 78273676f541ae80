// ridge plan: what a model costs and the least time a device needs for it, before anything runs.
#include <CLI/CLI.hpp>

#include "base/file.h"
#include "cli/model_options.h"
#include "cli/plan_cost.h"
#include "cli/plan_estimate.h"
#include "cli/plan_llm.h"
#include "cli/plan_load.h"
#include "cli/plan_memory.h"
#include "cli/plan_section.h"
#include "cli/plan_study.h"
#include "cli/plan_text.h"
#include "cli/plan_training.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {
namespace {

// Wrong usage, or a question back: what is missing can be given as an option.
int ask_back(const Error& error) {
  fail("plan", error);
  return kUsage;
}

// The parts of the answer that were asked for, in the order in which they are shown.
Result<std::vector<Section>> sections_of(const Study& study) {
  std::vector<Section> sections;
  auto add = [&](bool wanted, Result<Section> (*section_of)(const Study&)) -> Status {
    if (!wanted) return ok_status();
    RIDGE_ASSIGN(Section section, section_of(study));
    sections.push_back(std::move(section));
    return ok_status();
  };
  RIDGE_TRY(add(study.request.options.verify, verify_section));
  RIDGE_TRY(add(wanted(study.request.options.load), load_section));
  RIDGE_TRY(add(wanted(study.request.options.cost), cost_section));
  RIDGE_TRY(add(wanted(study.request.options.memory), memory_section));
  RIDGE_TRY(add(wanted(study.request.options.training), training_section));
  return sections;
}

Json json_of(const Study& study, const std::vector<Section>& sections) {
  Json json = to_json(study.forecast);
  if (!study.curve.empty()) {
    Json points = Json::array();
    for (const predict::CurvePoint& point : study.curve) points.push_back(to_json(point));
    json["curve"] = points;
  }
  add_estimate(json, study);
  for (const Section& section : sections)
    for (const auto& [name, value] : section.members) {
      if (value.is_object() && json.contains(name))
        json[name].update(value);  // memory_bytes: each form adds its own
      else
        json[name] = value;
    }
  return json;
}

Status write_page(const Study& study, const std::vector<Section>& sections) {
  const std::string& path = study.request.options.html;
  if (path.empty()) return ok_status();
  Json json = json_of(study, sections);
  if (study.efficiency) json["ledger"] = ledger_json(*study.efficiency);
  RIDGE_TRY(write_file_atomically(path, report::page(report::PageKind::kPlan, json, study.request.language)));
  say("ridge plan: wrote " + path);
  return ok_status();
}

int show_study(const Study& study, const std::vector<Section>& sections) {
  const PlanOptions& options = study.request.options;
  if (options.json) {
    print_json(json_of(study, sections));
  } else if (options.csv) {
    print(csv_text(study));
  } else {
    print(summary_text(study));
    for (const Section& section : sections) print("\n" + section.text);
    if (std::string layers = layers_text(study); !layers.empty()) print(layers);
  }
  int exit = kDone;
  for (const Section& section : sections) exit = std::max(exit, section.exit);
  return exit;
}

// read → ask → study (device, costs, forecast, curve) → sections → page → show
int plan_model(const PlanRequest& request) {
  Result<model::Graph> graph = model::read(request.options.model, request.binding);
  if (!graph) return fail("plan", graph.error());
  if (Status known = check_open_dimensions(request.options.model, *graph); !known) return ask_back(known.error());
  Result<Study> study = study_of(request, std::move(*graph));
  if (!study) return fail("plan", study.error());
  Result<std::vector<Section>> sections = sections_of(*study);
  if (!sections) return fail("plan", sections.error());
  if (Status written = write_page(*study, *sections); !written) return fail("plan", written.error());
  return show_study(*study, *sections);
}

}  // namespace

int plan(std::span<const std::string> arguments) {
  PlanOptions options;
  CLI::App app;
  declare(app, options);
  if (Parsed parsed = parse(app, "plan", arguments); !parsed.go_on) return parsed.exit;
  Result<PlanRequest> request = request_of(options);
  if (!request && request.error().code == Code::kUnavailable) return fail("plan", request.error());
  if (!request) return ask_back(request.error());
  if (options.calibrate && options.model.empty()) {
    Status calibrated = calibrate_this_machine(*request);
    return calibrated ? kDone : fail("plan", calibrated.error());
  }
  return is_llm(options) ? plan_llm(*request) : plan_model(*request);
}

}  // namespace ridge::cli
