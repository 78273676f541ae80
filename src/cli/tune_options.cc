#include "cli/tune_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/kept.h"
#include "cli/number_checks.h"
#include "cli/terminal.h"
#include "engine/engines.h"
#include "precision/variants.h"
#include "tune/repository.h"

namespace ridge::cli {
namespace {

// Batches are searched: rows given by --shape would be searched on top.
Status check_rows(const app::TuneRequest& request) {
  if (request.max_batch == 1 || !app::gives_rows(request.binding)) return {};
  return Error{
      Code::kInvalid,
      "--shape gives an input several rows, but its first dimension is the batch, which tune searches itself: give 1 "
      "there, or use --max-batch 1 if it is not a batch"};
}

// Options of --share only.
Status check_alone(const TuneOptions& options) {
  if (options.models.size() > 1)
    return Error{Code::kInvalid, "give --share to tune several models together, or tune each by itself"};
  if (!options.memory.empty()) return Error{Code::kInvalid, "--memory needs --share"};
  return {};
}

// Reads a result of one model that `ridge tune` wrote or kept.
Result<tune::Tuning> read_recorded(const std::string& given) {
  RIDGE_ASSIGN(const Json document, app::read_document(given));
  if (const std::string verb = app::about_of(document).command.verb; verb != "tune")
    return invalid(given + " is a result of `ridge " + verb + "`: --compare takes one of ridge tune");
  Result<tune::Tuning> recorded = from_json<tune::Tuning>(document);
  return recorded ? std::move(recorded) : wrap(recorded.error(), "the stored result " + given);
}

// Without a word about it, throughput is weighed against latency, unless a p99 alone limits it.
Result<tune::Objective> objective_of(const TuneOptions& options) {
  if (options.objective == "efficiency") return tune::Objective::kEnergy;
  if (!options.objective.empty()) return tune::objective_from_name(options.objective);
  return options.p99_ms.empty() || !options.loads.empty() ? tune::Objective::kBalanced : tune::Objective::kThroughput;
}

// Rows per CPU are meaningless on a GPU.
Status check_objective(const app::TuneRequest& request) {
  if (request.goal.objective != tune::Objective::kCost || request.device.kind == plan::DeviceKind::kCpu) return {};
  return invalid("--for cost counts CPUs, and on " + plan::device_name(request.device) +
                 " they only launch work: choose throughput, latency or efficiency");
}

// A record from another device, or against another engine's defaults, cannot be measured again by this run.
Status check_recorded(const app::TuneRequest& request) {
  const tune::Tuning& recorded = *request.recorded;
  const std::string device = plan::device_name(request.device);
  auto other = [](const std::string& was, const std::string& is, const std::string& option) {
    return invalid("the stored result is of " + was + ", this run of " + is + ": give " + option + " " + was);
  };
  if (recorded.best.device != device) return other(recorded.best.device, device, "--device");
  if (recorded.baseline.engine != request.engine) return other(recorded.baseline.engine, request.engine, "--engine");
  return {};
}

// "auto", or names of variants separated by commas.
Result<std::optional<std::vector<std::string>>> variants_of(const std::string& text) {
  std::optional<std::vector<std::string>> variants;
  if (text == "auto") return variants;
  variants.emplace();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    variants->push_back(text.substr(at, end - at));
    RIDGE_TRY(precision::variant_kind(variants->back()));
    at = end + 1;
  }
  return variants;
}

}  // namespace

void declare(CLI::App& app, TuneOptions& options) {
  app.add_option("MODEL", options.models)->required();
  app.add_option("--output,-o", options.repository);
  app.add_option("--name", options.name);
  app.add_option("--shape", options.shapes);
  app.add_option("--for,--objective", options.objective)
      ->check(CLI::IsMember({"balanced", "throughput", "latency", "efficiency", "energy", "cost"}));
  app.add_option("--p99-ms", options.p99_ms)->allow_extra_args(false);
  app.add_option("--rps", options.loads)->allow_extra_args(false);
  app.add_option("--memory", options.memory);
  app.add_flag("--share", options.share);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_option("--trials", options.trials)->check(not_negative());
  app.add_option("--max-batch", options.max_batch)->check(rows());
  app.add_option("--threads,-t", options.threads)->check(in_range(1, kMostThreads));
  app.add_option("--engine", options.engine);
  app.add_option("--device,-d", options.device);
  app.add_option("--precision", options.precision);
  declare_accuracy(app, options.accuracy);
  app.add_option("--guard-seconds", options.guard_seconds)->check(positive());
  app.add_option("--engine-library", options.engine_library);
  app.add_option("--engine-option", options.engine_options);
  app.add_option("--store", options.store);
  app.add_option("--search", options.search)->check(CLI::IsMember({"quick", "full"}));
  app.add_option("--compare", options.compare);
  app.add_option("--tolerance", options.strictness.tolerance_percent)->check(not_negative());
  app.add_flag("--absolute", options.strictness.absolute);
  declare(app, options.page);
  app.add_flag("--overwrite", options.overwrite);
  app.add_flag("--fresh", options.fresh);
  CLI::Option* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
}

Result<std::map<std::string, double>> values_per_model(const std::string& option, const std::vector<std::string>& given,
                                                       const std::vector<std::string>& names) {
  std::map<std::string, double> values;
  for (const std::string& text : given) {
    const size_t equals = text.rfind('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || !(value > 0) || !std::isfinite(value))
      return Error{Code::kInvalid, option + " " + text + ": a number above 0 is expected, or NAME=NUMBER"};
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      return Error{Code::kInvalid, fmt::format("{} {}: no model is named '{}'; there are {}", option, text, name,
                                               fmt::join(names, ", "))};
    for (const std::string& own : names)
      if (name.empty() || name == own) values[own] = value;
  }
  return values;
}

Result<app::TuneRequest> request_of(const TuneOptions& options) {
  RIDGE_TRY(check_alone(options));
  app::TuneRequest request;
  request.command = options.command;
  request.model = options.models.front();
  request.name = options.name.empty() ? tune::entry_name(request.model) : options.name;
  if (!options.name.empty()) RIDGE_TRY(tune::check_entry_name(options.name));
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  request.max_batch = options.max_batch;
  RIDGE_TRY(check_rows(request));
  RIDGE_ASSIGN(request.device, plan::device_from_name(options.device));
  request.other_engines = options.engine == kAnyEngine;
  request.engine = request.other_engines ? engine::usual_for(request.device.kind).name : options.engine;
  RIDGE_TRY(engine::check_name(request.engine));
  RIDGE_TRY(engine::check_device(engine::named(request.engine), request.device));
  request.engine_library = options.engine_library;
  RIDGE_ASSIGN(request.variants, variants_of(options.precision));
  RIDGE_ASSIGN(request.samples, sample_options(options.accuracy));
  RIDGE_ASSIGN(request.guard, guard_limits(options.accuracy));
  request.guard_seconds = options.guard_seconds;
  RIDGE_ASSIGN(request.evaluation, evaluation_options(options.accuracy));
  RIDGE_ASSIGN(request.goal.objective, objective_of(options));
  RIDGE_TRY(check_objective(request));
  RIDGE_ASSIGN(const auto p99_ms, values_per_model("--p99-ms", options.p99_ms, {request.name}));
  if (!p99_ms.empty()) request.goal.p99_ms = p99_ms.begin()->second;
  RIDGE_ASSIGN(const auto rows_per_s, values_per_model("--rps", options.loads, {request.name}));
  if (!rows_per_s.empty()) request.goal.rows_per_s = rows_per_s.begin()->second;
  RIDGE_ASSIGN(request.engine_options, parse_assignments("--engine-option", options.engine_options));
  request.seconds = options.seconds;
  request.trials = options.trials;
  request.threads = options.threads;
  request.strategy = options.search == "full" ? tune::Strategy::kFull : tune::Strategy::kQuick;
  request.layers = !options.page.file.empty();
  request.store = options.store;
  request.fresh = options.fresh;
  request.repository = options.repository;
  request.overwrite = options.overwrite;
  if (!options.compare.empty()) {
    RIDGE_ASSIGN(request.recorded, read_recorded(options.compare));
    request.goal.objective = request.recorded->goal.objective;
    request.strictness = options.strictness;
    RIDGE_TRY(check_recorded(request));
  }
  return request;
}

}  // namespace ridge::cli
