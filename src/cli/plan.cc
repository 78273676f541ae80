// ridge plan: a model's cost and the least time that a device needs for it, before anything runs.
#include "app/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "base/units.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/plan_options.h"
#include "cli/plan_text.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/own_format.h"

namespace ridge::cli {
namespace {

// Wrong usage, or a missing value that can be given as an option.
int ask_back(const Error& error) {
  fail("plan", error);
  return kUsage;
}

app::RunControl show_phase(app::PlanPhase phase) {
  if (phase == app::PlanPhase::kMachine) return interruptible("measure this machine");
  return interruptible(phase == app::PlanPhase::kCalibration ? "calibrate this machine" : "run the model");
}

void say_calibrated(const predict::Efficiency& efficiency, const std::string& path) {
  if (path.empty())
    return say_note(fmt::format("this machine was calibrated {} with {} {}; --fresh repeats it", efficiency.measured_at,
                                efficiency.engine, efficiency.engine_version));
  std::string errors;
  for (const predict::Calibration& calibration : efficiency.calibrations)
    errors += fmt::format("; with {} two of three of its models are predicted within {}",
                          counted(calibration.threads, "thread"), format_percent(100 * calibration.held_out_error));
  say_note(fmt::format("calibrated in {:.0f} s{}; kept in {}", efficiency.seconds, errors, path));
}

void say_quick_estimate(double bound_ms, std::optional<double> estimate_ms) {
  std::string text = "bound " + (bound_ms > 0 ? format_ms(bound_ms) : "not known");
  if (estimate_ms)
    text += fmt::format("; about {} from the graph in the file, before the engine's optimisations",
                        format_ms(*estimate_ms));
  say_note(text + "; asking ONNX Runtime for the graph that it runs");
}

app::PlanControl control_of(const PlanOptions& options) {
  app::PlanControl control;
  control.begin = show_phase;
  control.calibrated = say_calibrated;
  if (!options.json) control.waiting = say_quick_estimate;
  return control;
}

Status write_plan_page(const PlanOptions& options, const app::ModelPlan& plan) {
  if (options.page.file.empty()) return {};
  Json json = to_json(plan);
  if (plan.efficiency) json["ledger"] = app::ledger_json(plan);
  return write_page(options.command, options.page, json);
}

// A device of the catalogue is not here to be measured; a load that cannot be carried is asked for differently first.
std::vector<std::string> next_of(const PlanOptions& options, const app::PlanRequest& request,
                                 const app::ModelPlan& plan) {
  if (is_no(plan)) return {};
  if (request.device && !request.gpu) {
    std::string recommend = "ridge gpus --recommend " + model_words(options.model, options.shapes, "");
    if (plan.forecast.batch > 1) recommend += fmt::format(" --batch {}", plan.forecast.batch);
    recommend += fmt::format(" --precision {}", precision_name(request.precision));
    return {recommend, "ridge gpus " + app::shell_word(request.device->name)};
  }
  const std::string words = model_words(options.model, options.shapes, options.device);
  if (engine::owner_of(request.model) != nullptr) return {"ridge bench " + words};
  return {"ridge bench " + words, "ridge tune " + words + " -o models"};
}

int show(const PlanOptions& options, const app::PlanRequest& request, const app::ModelPlan& plan) {
  if (options.json)
    print_json(options.command, to_json(plan));
  else if (options.csv)
    print_verbatim(csv_text(plan));
  else
    print(summary_text(plan) + answers_text(plan) + layers_text(plan, options.layers));
  if (!options.json && !options.csv) print_next(next_of(options, request, plan));
  return is_no(plan) ? kNo : kDone;
}

int plan_model(const PlanOptions& options, const app::PlanRequest& request) {
  Result<model::UnboundModel> unbound = model::UnboundModel::read(request.model);
  if (!unbound) return fail("plan", unbound.error());
  const Result<app::BoundModel> model = app::bind(request, std::move(*unbound));
  if (!model) return ask_back(model.error());
  Result<app::ModelPlan> plan = app::plan(request, *model, control_of(options));
  if (!plan) return fail("plan", plan.error());
  if (Status written = write_plan_page(options, *plan); !written) return fail("plan", written.error());
  return show(options, request, *plan);
}

double most_memory_gib() {
  double most = 0;
  if (const auto devices = catalogue::catalogue())
    for (const catalogue::CatalogueDevice& device : *devices) most = std::max(most, device.memory_bytes.value_or(0));
  return most / (1 << 30);
}

// The weights in the widest form that fits; the devices that hold the weights and one sequence as they are; the cost.
std::vector<std::string> next_of(const PlanOptions& options, const app::PlanRequest& request,
                                 const app::LlmPlan& plan) {
  const app::LlmRequest& llm = request.llm;
  const sizing::LlmForecast& forecast = plan.forecast;
  std::string words = llm.flags.empty() ? app::shell_word(options.model) : "--llm " + app::shell_word(llm.flags);
  if (!options.device.empty()) words += " --device " + app::shell_word(options.device);
  if (llm.context) words += fmt::format(" --context {}", *llm.context);
  if (llm.prompt) words += fmt::format(" --prompt {}", *llm.prompt);
  if (!options.precision.empty()) words += " --precision " + options.precision;
  if (!llm.kv.empty()) words += " --kv " + llm.kv;
  std::vector<std::string> lines;
  if (!forecast.fits) {
    const auto fitting = std::ranges::find_if(plan.by_weights, &sizing::LlmForecast::fits);
    if (fitting != plan.by_weights.end())
      lines.push_back(fmt::format("ridge plan {} --weights {}", words, fitting->setup.weights.name));
  } else if (!plan.cost) {
    lines.push_back("ridge plan " + words + (llm.weights.empty() ? "" : " --weights " + llm.weights) + " --cost");
  }
  const double needed_bytes = (forecast.weight_bytes + forecast.kv_bytes_per_sequence) / (1 - forecast.setup.reserve);
  const double needed_gib = std::ceil(needed_bytes / (1 << 30));
  if (needed_gib <= most_memory_gib()) lines.push_back(fmt::format("ridge gpus --memory {:.0f}", needed_gib));
  return lines;
}

int plan_llm(const PlanOptions& options, const app::PlanRequest& request) {
  Result<app::LlmSource> source = app::read_llm(request);
  if (!source) return request.llm.flags.empty() ? fail("plan", source.error()) : ask_back(source.error());
  Result<sizing::LlmSetup> setup = app::llm_setup(request, *source);
  if (!setup) return ask_back(setup.error());
  Result<app::LlmPlan> plan = app::plan_llm(request, *source, *setup, control_of(options));
  if (!plan) return fail("plan", plan.error());
  if (options.csv) {
    print_verbatim(llm_csv(*plan));
  } else if (options.json) {
    print_json(options.command, to_json(*plan));
  } else {
    print(llm_text(*plan, request.llm.reserve_percent.has_value()));
    print_next(next_of(options, request, *plan));
  }
  return plan->forecast.fits ? kDone : kNo;
}

}  // namespace

int plan(std::span<const std::string> arguments) {
  PlanOptions options;
  options.command = typed("plan", arguments);
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, "plan", arguments); !parsed.go_on) return parsed.exit;
  options.model = options.request.model;
  if (Status ready = check_writable({options.page.file}); !ready) return fail("plan", ready.error());
  if (Status fetched = fetch_model("plan", options.request.model); !fetched) return fail("plan", fetched.error());
  Result<app::PlanRequest> request = request_of(options);
  if (!request && request.error().code == Code::kUnavailable) return fail("plan", request.error());
  if (!request) return ask_back(request.error());
  if (request->calibrate && request->model.empty()) {
    Status calibrated = app::calibrate(*request, control_of(options));
    return calibrated ? kDone : fail("plan", calibrated.error());
  }
  return is_llm(options) ? plan_llm(options, *request) : plan_model(options, *request);
}

}  // namespace ridge::cli
