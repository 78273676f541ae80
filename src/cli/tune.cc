// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve.
#include "app/tune.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/next_steps.h"
#include "app/serve.h"
#include "app/tune_share.h"
#include "base/fake_clock.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/terminal.h"
#include "cli/tune_options.h"
#include "cli/tune_text.h"
#include "cli/verb.h"
#include "report/page.h"

namespace ridge::cli {
namespace {

constexpr const char* kTuneVerb = "tune";

// The progress line ends before anything is printed.
template <typename Request, typename Work>
auto with_progress(const Request& request, Work work) {
  app::RunControl control = interruptible(kTuneVerb);
  FakeClock fake;
  if (std::getenv("RIDGE_FAKE_CLOCK") != nullptr) control.clock = &fake;  // for tests, with the fake engine
  return work(request, control);
}

std::vector<std::string> next_of(const TuneOptions& options, const app::TuneRequest& request,
                                 const app::TuneResult& result) {
  if (!result.tuning.repository.empty())
    return {"ridge serve " + app::shell_word(request.repository),
            app::request_line(app::ServeRequest{}.http_port, request.name, result.inputs)};
  const std::string words = model_words(request.model, options.shapes, options.device);
  if (result.tuning.choice == tune::Choice::kNone) return {"ridge bench " + words};
  return {"ridge tune " + words + " -o models"};
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

int tune_one(const TuneOptions& options) {
  const Result<app::TuneRequest> request = request_of(options);
  if (!request) return wrong(request.error());
  if (auto known = report::language_from_name(options.language); !known) return wrong(known.error());
  Result<model::WholeModel> model = model::UnboundModel::read_whole(request->model);
  if (!model) return fail(kTuneVerb, model.error());
  Result<model::Graph> graph = app::bind_model(*request, model->unbound);
  if (!graph) return wrong(graph.error());
  const Result<app::TuneResult> result =
      with_progress(*request, [&](const app::TuneRequest& what, const app::RunControl& control) {
        return app::tune(what, std::move(*model), std::move(*graph), control);
      });
  if (!result) return fail(kTuneVerb, result.error());
  const Json json = app::to_json(*result);
  const Status written = write_page(kTuneVerb, options.html, report::PageKind::kTune, json, options.language);
  if (!written) return fail(kTuneVerb, written.error());
  if (options.json)
    print_json(json);
  else
    print(request->recorded ? comparison_text(result->compared, options.strictness) : tuning_text(result->tuning));
  if (!options.json && !request->recorded) print_next(next_of(options, *request, *result));
  return app::is_no(*result) ? kNo : kDone;
}

int tune_several(const TuneOptions& options) {
  const Result<app::ShareRequest> request = share_request_of(options);
  if (!request) return wrong(request.error());
  const Result<tune::share::CoLocatedTuning> tuning = with_progress(*request, app::tune_share);
  if (!tuning) return fail(kTuneVerb, tuning.error());
  if (options.json)
    print_json(to_json(*tuning));
  else
    print(co_located_text(*tuning));
  if (!options.json) print_next(next_of(options, *tuning));
  return tuning->choice == tune::Choice::kNone ? kNo : kDone;
}

}  // namespace

int tune(std::span<const std::string> arguments) {
  TuneOptions options;
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kTuneVerb, arguments); !parsed.go_on) return parsed.exit;
  for (std::string& model : options.models)
    if (Status fetched = fetch_model(kTuneVerb, model); !fetched) return fail(kTuneVerb, fetched.error());
  return options.share ? tune_several(options) : tune_one(options);
}

}  // namespace ridge::cli
