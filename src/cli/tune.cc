// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve.
#include "app/tune.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "app/serve.h"
#include "app/tune_model.h"
#include "app/tune_share.h"
#include "base/fake_clock.h"
#include "cli/kept.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/terminal.h"
#include "cli/tune_options.h"
#include "cli/tune_text.h"
#include "cli/verb.h"
#include "tune/repository.h"

namespace ridge::cli {
namespace {

constexpr const char* kTuneVerb = "tune";

// The progress line ends before anything is printed.
template <typename Work>
auto with_progress(Work work) {
  app::RunControl control = interruptible(kTuneVerb);
  FakeClock fake;
  if (std::getenv("RIDGE_FAKE_CLOCK") != nullptr) control.clock = &fake;  // for tests, with the fake engine
  return work(control);
}

// The model as it was given, to tune it again.
std::string again_words(const TuneOptions& options) {
  std::string words = model_words(options.model, options.shapes, options.device);
  if (options.engine != kAnyEngine) words += " --engine " + options.engine;
  for (const std::string& option : options.engine_options) words += " --engine-option " + app::shell_word(option);
  return words;
}

std::vector<std::string> next_of(const TuneOptions& options, const app::TuneRequest& request,
                                 const app::TuneResult& result) {
  if (!result.tuning.repository.empty())
    return {"ridge serve " + app::shell_word(request.repository),
            app::request_line(app::ServeRequest{}.http_port, request.name, result.inputs)};
  if (result.tuning.choice == tune::Choice::kNone)
    return {"ridge bench " + model_words(options.model, options.shapes, options.device)};
  return {"ridge tune " + again_words(options) + " -o models"};
}

// What still is as fast is served; else the model is tuned again, into another repository.
std::vector<std::string> next_after_comparison(const TuneOptions& options, bool regressed) {
  if (regressed) return {"ridge tune " + again_words(options) + " -o again"};
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
std::vector<std::string> next_of(const TuneOptions& options, const tune::share::CoLocatedTuning& tuning) {
  if (options.repository.empty() || tuning.choice == tune::Choice::kNone) return {};
  return {"ridge serve " + app::shell_word(options.repository)};
}

// Reads the models. Shapes that a model has not, and a repository that cannot be written, are reported before anything is measured.
// Returns the exit status.
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

// What could not be written is reported after the results.
int exit_of(std::span<const Status> written, bool no) {
  for (const Status& status : written)
    if (!status) return fail(kTuneVerb, status.error());
  return no ? kNo : kDone;
}

// Bound and untuned model, in text.
app::FirstFigures first_lines(const TuneOptions& options) {
  if (options.json || !options.compare.empty()) return {};
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
  const Json json = app::to_json(*result);
  if (options.json)
    print_json(options.command, json);
  else
    print(request->recorded ? comparison_text(result->compared, options.strictness, result->tuning.disturbance)
                            : tuning_text(result->tuning));
  if (!options.json)
    print_next(request->recorded ? next_after_comparison(options, app::is_no(*result))
                                 : next_of(options, *request, *result));
  if (!request->recorded) remember(document(options.command, json));
  const Status page = write_page(options.command, options.page, json);
  return exit_of(std::array{result->saved, page}, app::is_no(*result));
}

int tune_several(const TuneOptions& options) {
  const Result<app::ShareRequest> request = share_request_of(options);
  if (!request) return wrong(request.error());
  std::vector<model::WholeModel> models;
  if (const int exit = read_models(request->models, models); exit != kDone) return exit;
  say_budget(kTuneVerb, options.seconds);
  const Result<app::SharedTuning> result = with_progress(
      [&](const app::RunControl& control) { return app::tune_share(*request, std::move(models), control); });
  if (!result) return fail(kTuneVerb, result.error());
  const Json json = to_json(result->tuning);
  if (options.json)
    print_json(options.command, json);
  else
    print(co_located_text(result->tuning));
  if (!options.json && result->saved) print_next(next_of(options, result->tuning));
  remember(document(options.command, json));
  const Status page = write_page(options.command, options.page, json);
  return exit_of(std::array{result->saved, page}, result->tuning.choice == tune::Choice::kNone);
}

}  // namespace

// Of one model or of several; of --compare its table.
Status show_tune(const Json& document) {
  if (document.contains("models")) {
    RIDGE_ASSIGN(const tune::share::CoLocatedTuning sharing, from_json<tune::share::CoLocatedTuning>(document));
    print(co_located_text(sharing));
    return {};
  }
  RIDGE_ASSIGN(const tune::Tuning tuning, from_json<tune::Tuning>(document));
  std::vector<tune::FigureChange> compared;
  tune::Strictness strictness;
  RIDGE_TRY(read_fields(document, [&](FieldReader& visit) {
    visit.optional("compared", compared);
    visit.optional("tolerance_percent", strictness.tolerance_percent);
  }));
  print(compared.empty() ? tuning_text(tuning) : comparison_text(compared, strictness, tuning.disturbance));
  if (document.contains("shared")) print("together: " + document["shared"].value("conclusion", ""));
  return {};
}

int tune(std::span<const std::string> arguments) {
  TuneOptions options;
  options.command = typed(kTuneVerb, arguments);
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kTuneVerb, arguments); !parsed.go_on) return parsed.exit;
  if (Status ready = check_writable({options.page.file}); !ready) return fail(kTuneVerb, ready.error());
  options.model = options.models.front();
  for (std::string& model : options.models)
    if (Status fetched = fetch_model(kTuneVerb, model); !fetched) return fail(kTuneVerb, fetched.error());
  return options.share ? tune_several(options) : tune_one(options);
}

}  // namespace ridge::cli
