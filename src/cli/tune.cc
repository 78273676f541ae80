// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve.
#include "app/tune.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/tune_share.h"
#include "base/fake_clock.h"
#include "cli/model_file.h"
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

int wrong(const Error& error) {
  const int status = fail(kTuneVerb, error);
  return error.code == Code::kInvalid ? kUsage : status;
}

int tune_one(const TuneOptions& options) {
  const Result<app::TuneRequest> request = request_of(options);
  if (!request) return wrong(request.error());
  if (auto known = report::language_from_name(options.language); !known) return wrong(known.error());
  const Result<app::TuneResult> result = with_progress(*request, app::tune);
  if (!result) return fail(kTuneVerb, result.error());
  const Json json = app::to_json(*result);
  const Status written = write_page(kTuneVerb, options.html, report::PageKind::kTune, json, options.language);
  if (!written) return fail(kTuneVerb, written.error());
  if (options.json)
    print_json(json);
  else
    print(request->recorded ? comparison_text(result->compared, options.strictness) : tuning_text(result->tuning));
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
  return tuning->choice == tune::Choice::kNone ? kNo : kDone;
}

}  // namespace

int tune(std::span<const std::string> arguments) {
  TuneOptions options;
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kTuneVerb, arguments); !parsed.go_on) return parsed.exit;
  for (std::string& model : options.models) {
    Result<std::string> file = model_file(kTuneVerb, model);
    if (!file) return fail(kTuneVerb, file.error());
    model = *file;
  }
  return options.share ? tune_several(options) : tune_one(options);
}

}  // namespace ridge::cli
