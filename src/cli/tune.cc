// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve. 'ridge tune
// FOLDER' a language model (tune_language.cc).
#include "app/tune.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "app/serve.h"
#include "app/tune_model.h"
#include "app/tune_share.h"
#include "base/csv.h"
#include "base/fake_clock.h"
#include "cli/bench_decoder.h"
#include "cli/kept.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/terminal.h"
#include "cli/tune_language.h"
#include "cli/tune_options.h"
#include "cli/tune_text.h"
#include "cli/verb.h"
#include "tune/repository.h"

namespace ridge::cli {
namespace {

constexpr const char* kTuneVerb = "tune";
// For the lines at the end: what does not belong to tuning the same again; options that bench has too.
constexpr std::string_view kOfOneTuning[] = {"--compare",   "--tolerance", "--absolute",
                                             "--overwrite", "--fresh",     "--store"};
constexpr std::string_view kBenchAfterTune[] = {"--shape", "--threads", "--engine-option", "--engine-library",
                                                "--device"};

// The progress line ends before anything is printed.
template <typename Work>
auto with_progress(Work work) {
  app::RunControl control = interruptible(kTuneVerb);
  FakeClock fake;
  if (std::getenv("RIDGE_FAKE_CLOCK") != nullptr) control.clock = &fake;  // for tests, with the fake engine
  return work(control);
}

// The models and options as they were given, to tune them again.
std::string again_line(const TuneOptions& options, const char* repository) {
  return "ridge tune" + options.typed_models + options.again + " -o " + repository;
}

std::string bench_line(const TuneOptions& options) {
  return "ridge bench " + app::shell_word(options.model) + options.for_bench;
}

std::vector<std::string> next_of(const TuneOptions& options, const app::TuneRequest& request,
                                 const app::TuneResult& result) {
  if (!result.tuning.repository.empty())
    return {"ridge serve " + app::shell_word(request.repository),
            app::request_line(fmt::format("localhost:{}", app::ServeRequest{}.http_port), request.name, result.inputs)};
  if (result.tuning.choice == tune::Choice::kNone) return {bench_line(options)};
  return {again_line(options, "models")};
}

// A model that is still as fast is served; else it is tuned again, into another repository.
std::vector<std::string> next_after_comparison(const TuneOptions& options, bool regressed) {
  if (regressed) return {again_line(options, "again")};
  std::filesystem::path entry = options.compare;
  if (entry.filename() == "tuning.json") entry = entry.parent_path();
  if (!entry.has_filename()) entry = entry.parent_path();  // a slash at the end
  return {"ridge serve " + app::shell_word(entry.has_parent_path() ? entry.parent_path().string() : ".")};
}

int wrong(const Error& error) {
  const int status = fail(kTuneVerb, error);
  return error.code == Code::kInvalid ? kUsage : status;
}

// Only what was written can be served.
std::vector<std::string> next_of(const TuneOptions& options, const tune::share::CoLocatedTuning& tuning, bool saved) {
  if (tuning.choice == tune::Choice::kNone) return {bench_line(options)};
  if (options.repository.empty() || !saved) return {again_line(options, "models")};
  return {"ridge serve " + app::shell_word(options.repository)};
}

// Reads the models. Shapes that a model has not, and a repository that cannot be written, are reported before anything
// is measured. Returns the exit status.
int read_models(std::span<const app::TuneRequest> requests, std::vector<model::WholeModel>& models) {
  for (const app::TuneRequest& request : requests) {
    Result<model::WholeModel> model = model::UnboundModel::read_whole(request.model);
    if (!model) return fail(kTuneVerb, model.error());
    if (const auto graph = app::bind(request, model->unbound, 1); !graph) return wrong(graph.error());
    models.push_back(std::move(*model));
    if (request.repository.empty()) continue;
    if (Status ready = tune::check_repository(request.repository); !ready) return fail(kTuneVerb, ready.error());
  }
  return kDone;
}

// A row per model that shares the machine, per compared figure, or per candidate; the first is the untuned model.
std::string tune_csv(const Json& json) {
  if (json.contains("models"))
    return csv_table(
        "name engine=/best/engine text threads=/best/threads instances=/best/instances batch=/best/batch "
        "throughput_per_s=/best/throughput_per_s p50_ms=/best/latency_ms/p50 p99_ms=/best/latency_ms/p99 "
        "untuned_throughput_per_s=/baseline/throughput_per_s untuned_p99_ms=/baseline/latency_ms/p99 gain share "
        "met=/goal/met",
        json["models"]);
  if (json.contains("compared"))
    return csv_table("id unit before now change_percent beside_untuned_percent spread_percent verdict reason",
                     json["compared"]);
  Json rows = json["points"];
  Json untuned = json["baseline"];
  for (Json& row : rows)  // a candidate names its engine where it is another one
    if (row.value("engine", "").empty()) row["engine"] = untuned["engine"];
  untuned.erase("memory_bytes");  // there of the process, not of the candidate
  untuned.update({{"variant", "fp32"}, {"text", "untuned"}, {"gain", {{"ratio", 1}}}});
  rows.insert(rows.begin(), untuned);
  return csv_table(
      "text engine variant threads instances batch throughput_per_s throughput_low_per_s=/throughput_ci95_per_s/low "
      "throughput_high_per_s=/throughput_ci95_per_s/high p50_ms=/latency_ms/p50 p99_ms=/latency_ms/p99 "
      "p99_low_ms=/latency_ci95_ms/p99/low p99_high_ms=/latency_ci95_ms/p99/high gain=/gain/ratio gain_low=/gain/low "
      "gain_high=/gain/high meets_goal samples memory_bytes joules_per_row",
      rows);
}

// Shows JSON, a table, or text with the next steps; keeps the result, unless it is a comparison, and draws its page. A
// file that could not be written is reported after the results.
int show_tuned(const TuneOptions& options, Json json, const std::string& text, const std::vector<std::string>& next,
               const Status& saved, bool no) {
  json["next"] = next;
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(tune_csv(json));
  } else {
    print(text);
    print_next(next);
  }
  if (options.compare.empty()) remember(document(options.command, json));
  for (const Status& written : {saved, write_page(options.command, options.page, json)})
    if (!written) return fail(kTuneVerb, written.error());
  return no ? kNo : kDone;
}

// Bound and untuned model, in text.
app::FirstFigures first_lines(const TuneOptions& options) {
  if (options.json || options.csv || !options.compare.empty()) return {};
  return {[](const cost::Bound& bound, int threads) { print(bound_text(bound, threads)); },
          [](const measure::Measurement& untuned) { print(untuned_text(untuned) + "\n"); }};
}

int tune_one(const TuneOptions& options) {
  const Result<app::TuneRequest> request = request_of(options);
  if (!request) return wrong(request.error());
  std::vector<model::WholeModel> models;
  if (const int exit = read_models({&*request, 1}, models); exit != kDone) return exit;
  say_budget(kTuneVerb, options.seconds);
  const Result<app::TuneResult> result = with_progress([&](const app::RunControl& control) {
    return app::tune(*request, std::move(models.front()), control, first_lines(options));
  });
  if (!result) return fail(kTuneVerb, result.error());
  const std::vector<std::string> next =
      request->recorded ? next_after_comparison(options, app::is_no(*result) || !app::judged(*result))
                        : next_of(options, *request, *result);
  const int exit =
      show_tuned(options, json_of(*result),
                 request->recorded ? comparison_text(result->compared, options.strictness, result->tuning.disturbance)
                                   : tuning_text(result->tuning),
                 next, result->saved, app::is_no(*result));
  if (app::judged(*result)) return exit;
  return fail(kTuneVerb, {Code::kUnavailable, "--compare: " + tune::unjudged_reason(result->compared)});
}

int tune_several(const TuneOptions& options) {
  const Result<app::ShareRequest> request = share_request_of(options);
  if (!request) return wrong(request.error());
  std::vector<model::WholeModel> models;
  if (const int exit = read_models(request->models, models); exit != kDone) return exit;
  say_budget(kTuneVerb, options.seconds);
  const Result<app::ShareResult> result = with_progress(
      [&](const app::RunControl& control) { return app::tune_share(*request, std::move(models), control); });
  if (!result) return fail(kTuneVerb, result.error());
  return show_tuned(options, to_json(result->tuning), co_located_text(result->tuning),
                    next_of(options, result->tuning, bool(result->saved)), result->saved, app::is_no(*result));
}

}  // namespace

// Shows one model, several, or the table of --compare.
Status show_tune(const Json& document) {
  if (document.contains("models")) {
    RIDGE_ASSIGN(const tune::share::CoLocatedTuning sharing, from_json<tune::share::CoLocatedTuning>(document));
    print(co_located_text(sharing));
    return {};
  }
  RIDGE_ASSIGN(const app::TuneResult result, from_json<app::TuneResult>(document));
  const std::vector<tune::FigureChange>& compared = result.compared;
  print(compared.empty()
            ? tuning_text(result.tuning)
            : comparison_text(compared, {.tolerance_percent = result.tolerance_percent}, result.tuning.disturbance));
  if (document.contains("shared")) print("together: " + document["shared"].value("conclusion", ""));
  return {};
}

int tune(std::span<const std::string> arguments) {
  if (names_checkpoint(arguments)) return tune_language(arguments);
  TuneOptions options;
  options.command = typed(kTuneVerb, arguments);
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kTuneVerb, arguments); !parsed.go_on) return parsed.exit;
  if (Status ready = check_writable({options.page.file}); !ready) return fail(kTuneVerb, ready.error());
  options.model = options.models.front();
  for (const std::string& model : options.models) options.typed_models += " " + app::shell_word(model);
  options.again = given_options_but(app, kOfOneTuning);
  options.for_bench = given_options(app, kBenchAfterTune);
  if (options.engine != kAnyEngine) options.for_bench += " --engine " + options.engine;
  for (std::string& model : options.models)
    if (Status fetched = fetch_model(kTuneVerb, model); !fetched) return fail(kTuneVerb, fetched.error());
  return options.share ? tune_several(options) : tune_one(options);
}

}  // namespace ridge::cli
