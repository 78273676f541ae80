// ridge plan: a model's cost and the least time that a device needs for it, before anything runs. ridge size: the
// machines and GPUs that a load, training or a served language model needs, and what they cost.
#include "app/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/kept.h"
#include "app/next_steps.h"
#include "base/file.h"
#include "base/units.h"
#include "checkpoint/config.h"
#include "cli/kept.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/plan_options.h"
#include "cli/plan_text.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/model_file.h"
#include "engine/own_format.h"

namespace ridge::cli {
namespace {

// For the lines at the end: options that bench and tune have too, and what is not asked again.
constexpr std::string_view kBenchAfterPlan[] = {"--shape", "--threads", "--device"};
constexpr std::string_view kTuneAfterPlan[] = {"--shape", "--threads", "--device", "--p99-ms", "--rps"};
constexpr std::string_view kNotAgain[] = {"--batch", "--fresh"};

// Wrong usage, or a missing value that can be given as an option.
int ask_back(const PlanOptions& options, const Error& error) {
  fail(options.command.verb, error);
  return kUsage;
}

int failed(const PlanOptions& options, const Error& error) { return fail(options.command.verb, error); }

app::PlanControl plan_control(const PlanOptions& options) {
  app::PlanControl control;
  control.begin = [&options](app::PlanPhase phase) {
    return interruptible(phase == app::PlanPhase::kMachine ? "measure this machine" : "run the model",
                         options.command.verb);
  };
  return control;
}

// The config.json of a language model's folder stands for the folder; everything else is as given.
std::string config_of_folder(const std::string& model) {
  const std::string file = (std::filesystem::path(model) / "config.json").string();
  const Result<Json> json = parse_json(text_or_empty(file), file);
  return json && checkpoint::config_from_json(*json, file) ? file : model;
}

double most_memory_gib() {
  double most = 0;
  if (const auto devices = catalogue::catalogue())
    for (const catalogue::CatalogueDevice& device : *devices) most = std::max(most, device.memory_bytes.value_or(0));
  return most / (1 << 30);
}

// Devices with so much memory, if there are any.
std::vector<std::string> devices_with(double bytes) {
  const double gib = std::ceil(bytes / (1 << 30));
  if (gib > most_memory_gib()) return {};
  return {fmt::format("ridge gpus --memory {:.0f}", gib)};
}

std::string recommend_line(const PlanOptions& options, const app::PlanRequest& request, const app::ModelPlan& plan) {
  std::string line = "ridge gpus --recommend " + model_words(options.model, options.shapes, "");
  if (plan.forecast.batch > 1) line += fmt::format(" --batch {}", plan.forecast.batch);
  line += fmt::format(" --precision {}", precision_name(request.precision));
  return options.p99_ms ? fmt::format("{} --p99-ms {}", line, *options.p99_ms) : line;
}

bool is_here(const app::PlanRequest& request) { return !request.device || request.gpu; }

std::string bench_line(const PlanOptions& options, const app::PlanRequest& request, const app::ModelPlan& plan) {
  std::string line = "ridge bench " + app::shell_word(options.model) + options.for_bench;
  if (request.binding.insist_on_batch) line += fmt::format(" --batch {}", plan.forecast.batch);
  if (options.device.empty()) line += bench_precision(options.precision, request.engine);
  return line;
}

// After a no: the largest batch that fits or devices that hold it; training that needs less; tuning.
std::vector<std::string> next_after_no(const PlanOptions& options, const app::PlanRequest& request,
                                       const app::ModelPlan& plan) {
  const std::string again = "ridge " + options.command.verb + " " + app::shell_word(options.model) + options.again;
  if (plan.memory && !plan.memory->fits()) {
    // No largest batch is known below the one that was asked for; a plan at batch 1 tells it.
    const int64_t smaller = std::max<int64_t>(1, plan.memory->max_batch.value_or(plan.forecast.batch));
    if (smaller < plan.forecast.batch) return {fmt::format("{} --batch {}", again, smaller)};
    return devices_with(plan.memory->needed);
  }
  if (plan.training && !plan.training->point.fits) {
    const std::string batch =
        request.binding.insist_on_batch ? fmt::format(" --batch {}", plan.forecast.batch) : std::string();
    if (!options.training.setup.checkpoint) return {again + batch + " --checkpoint"};
    return devices_with(plan.training->point.memory.total());
  }
  if (is_here(request) && engine::owner_of(request.model) == nullptr)
    return {tune_line(app::shell_word(options.model) + options.for_tune, request.binding)};
  return {recommend_line(options, request, plan)};
}

// A device of the catalogue is not here to be measured.
std::vector<std::string> next_of(const PlanOptions& options, const app::PlanRequest& request,
                                 const app::ModelPlan& plan) {
  if (is_no(plan)) {
    std::vector<std::string> lines = next_after_no(options, request, plan);
    return lines.empty() ? std::vector{recommend_line(options, request, plan)} : lines;
  }
  if (!is_here(request))
    return {recommend_line(options, request, plan), "ridge gpus " + app::shell_word(request.device->name)};
  const std::string bench = bench_line(options, request, plan);
  if (engine::owner_of(request.model) != nullptr) return {bench};
  return {bench, tune_line(app::shell_word(options.model) + options.for_tune, request.binding)};
}

int show(const PlanOptions& options, const app::PlanRequest& request, const app::ModelPlan& plan) {
  if (options.json)
    print_json(options.command, json_of(plan));
  else if (options.csv)
    print_verbatim(csv_text(plan));
  else
    print(summary_text(plan) + answers_text(plan) + layers_text(plan, options.layers));
  if (!options.json && !options.csv) print_next(next_of(options, request, plan));
  return is_no(plan) ? kNo : kDone;
}

int plan_model(const PlanOptions& options, const app::PlanRequest& request) {
  Result<model::UnboundModel> unbound = engine::read_model(request.model);
  if (!unbound) return failed(options, unbound.error());
  const Result<app::BoundModel> model = app::bind(request, std::move(*unbound));
  if (!model) return ask_back(options, model.error());
  Result<app::ModelPlan> plan = app::plan(request, *model, plan_control(options));
  if (!plan) return failed(options, plan.error());
  const int exit = show(options, request, *plan);
  if (Status kept = keep_and_draw(options.command, options.output, options.page, json_of(*plan)); !kept)
    return failed(options, kept.error());
  return exit;
}

// The weights in the widest form that fits; the devices that hold the weights and one sequence as they are; the cost.
std::vector<std::string> next_of(const PlanOptions& options, const app::PlanRequest& request,
                                 const app::LlmPlan& plan) {
  const app::LlmRequest& llm = request.llm;
  const llm::Forecast& forecast = plan.forecast;
  std::string words = llm.flags.empty() ? app::shell_word(options.model) : "--llm " + app::shell_word(llm.flags);
  if (!options.device.empty()) words += " --device " + app::shell_word(options.device);
  if (llm.context) words += fmt::format(" --context {}", *llm.context);
  if (llm.prompt) words += fmt::format(" --prompt {}", *llm.prompt);
  if (!options.precision.empty()) words += " --precision " + options.precision;
  if (!llm.kv.empty()) words += " --kv " + llm.kv;
  std::vector<std::string> lines;
  if (!forecast.fits) {
    const auto fitting = std::ranges::find_if(plan.by_weights, [](const auto& form) { return form.sequences != 0; });
    if (fitting != plan.by_weights.end())
      lines.push_back(fmt::format("ridge {} {} --weights {}", options.command.verb, words, fitting->weights));
  } else if (!plan.cost) {
    lines.push_back("ridge size " + words + (llm.weights.empty() ? "" : " --weights " + llm.weights) + " --cost");
  }
  const double needed_bytes = (forecast.weight_bytes + forecast.kv_bytes_per_sequence) / (1 - forecast.setup.reserve);
  for (std::string& line : devices_with(needed_bytes)) lines.push_back(std::move(line));
  return lines;
}

int plan_serving(const PlanOptions& options, const app::PlanRequest& request, const app::LlmSource& source) {
  const Result<app::ServingPlan> plan = app::plan_serving(request, source);
  if (!plan) return ask_back(options, plan.error());
  const Json document = json_of(*plan);
  if (options.json)
    print_json(options.command, document);
  else
    print(serving_text(document));
  const Status written = write_result(options.command, plan->manifest.empty() ? "" : options.manifest, plan->manifest);
  if (!written) return failed(options, written.error());
  if (Status kept = keep_and_draw(options.command, options.output, options.page, document); !kept)
    return failed(options, kept.error());
  return plan->met ? kDone : kNo;
}

int plan_llm(const PlanOptions& options, const app::PlanRequest& request) {
  Result<app::LlmSource> source = app::read_llm(request);
  if (!source) return request.llm.flags.empty() ? failed(options, source.error()) : ask_back(options, source.error());
  if (!request.llm.serving.gpus.empty()) return plan_serving(options, request, *source);
  Result<llm::ForecastSetup> setup = app::llm_setup(request, *source);
  if (!setup) return ask_back(options, setup.error());
  Result<app::LlmPlan> plan = app::plan_llm(request, *source, *setup, plan_control(options));
  if (!plan)
    return plan.error().code == Code::kInvalid ? ask_back(options, plan.error()) : failed(options, plan.error());
  if (options.csv) {
    print_verbatim(llm_csv(*plan));
  } else if (options.json) {
    print_json(options.command, json_of(*plan));
  } else {
    print(llm_text(*plan, request.llm.reserve_percent.has_value()));
    print_next(next_of(options, request, *plan));
  }
  if (Status kept = keep(options.command, options.output, json_of(*plan)); !kept) return failed(options, kept.error());
  return plan->forecast.fits ? kDone : kNo;
}

int answer(std::string_view verb, void (*declare_options)(CLI::App&, PlanOptions&),
           std::span<const std::string> arguments) {
  PlanOptions options;
  options.command = typed(verb, arguments);
  CLI::App app;
  declare_options(app, options);
  if (ParseResult parsed = parse(app, verb, arguments); !parsed.go_on) return parsed.exit;
  if (app::LlmRequest& llm = options.request.llm; llm.flags.ends_with(".json") && options.request.model.empty())
    options.request.model = std::exchange(llm.flags, "");
  if (Status ready = check_writable({options.output, options.page.file, options.manifest}); !ready)
    return failed(options, ready.error());
  options.model = options.request.model;
  options.for_bench = given_options(app, kBenchAfterPlan);
  options.for_tune = given_options(app, kTuneAfterPlan) + tune_precision(options.precision);
  options.again = given_options_but(app, kNotAgain);
  if (Status fetched = fetch_model(verb, options.request.model); !fetched) return failed(options, fetched.error());
  if (!options.request.model.empty()) options.request.model = config_of_folder(options.request.model);
  Result<app::PlanRequest> request = request_of(options);
  if (!request && request.error().code == Code::kUnavailable) return failed(options, request.error());
  if (!request) return ask_back(options, request.error());
  return is_llm(options) ? plan_llm(options, *request) : plan_model(options, *request);
}

// The first option that `ridge size` alone has; empty: none.
std::string option_of_size(std::span<const std::string> arguments) {
  PlanOptions options;
  CLI::App plan, size;
  declare_plan(plan, options);
  declare_size(size, options);
  for (const std::string& word : arguments) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--") break;
    if (name.starts_with("--") && size.get_option_no_throw(name) && !plan.get_option_no_throw(name)) return name;
  }
  return {};
}

}  // namespace

int plan(std::span<const std::string> arguments) {
  if (const std::string option = option_of_size(arguments); !option.empty()) {
    say(fmt::format("ridge plan: {} is an option of another verb:\n  {}", option, typed(kSizeVerb, arguments).line));
    return kUsage;
  }
  return answer("plan", declare_plan, arguments);
}

int size(std::span<const std::string> arguments) { return answer(kSizeVerb, declare_size, arguments); }

// Costs, times and layers as text. Answers to further questions are in the document.
Status show_plan(const Json& document) {
  if (document.contains("layers")) {
    RIDGE_ASSIGN(const app::ModelPlan plan, app::plan_of(document));
    print(summary_text(plan) + layers_text(plan, PlanOptions{}.layers));
  } else if (document.contains("workload")) {
    print(serving_text(document));
  } else {
    RIDGE_ASSIGN(const app::LlmPlan plan, from_json<app::LlmPlan>(document));
    print(llm_text(plan, app::about_of(document).command.line.find("--reserve") != std::string::npos));
  }
  std::string others;
  for (const char* member : {"load", "cost", "memory", "training"})
    if (document.contains(member)) others += (others.empty() ? "" : ", ") + std::string(member);
  if (!others.empty()) print("\nalso in the document, shown by --json: " + others);
  return {};
}

}  // namespace ridge::cli
