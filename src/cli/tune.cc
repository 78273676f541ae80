// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "cli/device_energy.h"
#include "cli/interruption.h"
#include "cli/terminal.h"
#include "cli/tune_model.h"
#include "cli/tune_options.h"
#include "cli/tune_share.h"
#include "cli/tune_text.h"
#include "cli/verb.h"
#include "cost/costs.h"
#include "machine/energy_meter.h"
#include "measure/layers.h"
#include "report/page.h"
#include "tune/regression.h"
#include "tune/replay.h"
#include "tune/store.h"
#include "tune/tuner.h"
#include "tune/tuning.h"

namespace ridge::cli {
namespace {

// The machine's energy counters, or why there are none; only the objective that needs them fails without.
struct Energy {
  std::optional<machine::EnergyMeter> meter;
  std::string text;
};
Result<Energy> open_energy(const TuneRequest& request) {
  const bool wanted = request.goal.objective == tune::Objective::kEnergy;
  if (!wanted && plan::is_nvidia(request.device))  // its counter moves so seldom that every slice would have to be long
    return Energy{std::nullopt, "not measured: a card's counter wants long slices, which --objective energy takes"};
  Result<machine::EnergyMeter> meter = energy_meter_of(request.device);
  if (!meter && wanted) return wrap(meter.error(), "--objective energy");
  if (!meter) return Energy{std::nullopt, "not measured: " + meter.error().message};
  Energy energy{std::move(*meter), ""};
  energy.text = energy.meter->source();
  return energy;
}

// What the search works on and what it came to.
struct Found {
  tune::Tuning tuning;
  int64_t verified_batch = 1;
  std::vector<tune::Compared> compared;  // with --compare
};

// What was recorded may not run here any more, or lose too much accuracy.
Status check_admitted(const tune::Candidate& candidate, const tune::Admission& admission) {
  if (candidate == tune::baseline_candidate() || tune::admitted_as(candidate, admission) != nullptr) return {};
  std::string why;
  for (const tune::Rejection& rejection : admission.rejections)
    if (rejection.wish.variant == candidate.variant)
      why += fmt::format("; {} {}: {}", rejection.wish.engine, rejection.wish.variant, rejection.reason);
  return Error{Code::kFailed, "the stored result's " + tune::describe(candidate) + " may not be used now" + why};
}

// The winner of a search, or with --compare the recorded candidate again.
Result<tune::Decision> decide(const TuneModel& model, tune::Search& search, tune::Store& store,
                              const tune::TuneOptions& how, tune::Explored& explored) {
  const std::optional<tune::Recorded>& recorded = model.request.recorded;
  tune::InterleavedBenchmark& benchmark = *model.benchmark;
  if (recorded) {
    RIDGE_TRY(check_admitted(recorded->candidate, model.admission));
    return tune::remeasure(recorded->candidate, benchmark, model.untuned, how);
  }
  RIDGE_ASSIGN(explored, tune::explore(search, benchmark, store, how));
  while (true) {
    RIDGE_ASSIGN(tune::Decision decision, tune::confirm(search, benchmark, explored, model.untuned, how));
    if (decision.choice != tune::Choice::kCandidate) return decision;
    RIDGE_ASSIGN(const bool keeps, keeps_rows_apart(decision.candidate, model));
    if (keeps) return decision;
    search.withdraw(decision.candidate, "its rows lose accuracy when they run together");
  }
}

// Where the time of a run goes, before and after, for the page.
Status add_layers(const TuneModel& model, tune::Tuning& tuning) {
  // On a card the profile times how long a kernel takes to start.
  if (model.request.options.html.empty() || interrupted() || !model.target.on_processor()) return {};
  const std::vector<tune::Implementation> known = implementations_of(model.admission);
  auto layers = [&](const tune::Candidate& candidate, measure::Measurement& m) -> Status {
    Result<cost::DeviceLimits> limits = cost::limits_of(model.machine, m.threads);
    RIDGE_ASSIGN(m.layers, measure::measure_layers(tune::to_plan(candidate, model.plan, known), &model.graph,
                                                   limits ? &*limits : nullptr, std::chrono::seconds(1), interrupted));
    return {};
  };
  RIDGE_TRY(layers(tune::baseline_candidate(), tuning.baseline));
  return layers(tuning.candidate, tuning.best);
}

Result<Found> search(const TuneModel& model, const Tell& tell) {
  const TuneRequest& request = model.request;
  RIDGE_ASSIGN(const tune::StoreKey key, store_key(model));
  tune::Store store(request.options.store, key);
  if (request.options.fresh) store.clear();
  const bool full = request.options.search == "full";
  tune::Space space = tune::make_space(model.machine, model.graph, model.implementations, limits_of(model));
  const std::optional<tune::BatchingOutlook> outlook = tune::batching_outlook(space.entries);
  tune::Search search(std::move(space), request.goal, request.options.trials,
                      full ? tune::Strategy::kFull : tune::Strategy::kQuick);
  const tune::TuneOptions how{request.goal, request.options.seconds, interrupted, tell};
  tune::Explored explored;
  RIDGE_ASSIGN(const tune::Decision decision, decide(model, search, store, how, explored));

  Found found;
  tune::Tuning& tuning = found.tuning;
  tuning = tune::summarise({model.machine, model.plan, model.info, model.implementations, model.target}, request.goal,
                           search, explored, decision, model.untuned);
  tuning.batching = model.batching.reason;
  tuning.batching_outlook = outlook;
  if (model.batching.possible && !request.recorded) {
    RIDGE_ASSIGN(tuning.curve,
                 tune::measure_curve(decision, request.options.max_batch, search, *model.benchmark, store, how));
  }
  tuning.batching_advice = tune::advise_batching(tuning.curve, decision.candidate.batch, request.goal.p99_ms);
  if (full) tuning.replay = tune::replay(tune::grid_of(search.measured()));
  RIDGE_ASSIGN(tuning.drift, drift_of(decision.candidate, model));
  tuning.admission = model.admission;
  RIDGE_TRY(add_layers(model, tuning));
  found.verified_batch = tune::verified_batch(search);
  return found;
}

// The result beside the recorded one.
Status compare(const TuneRequest& request, Found& found) {
  if (!request.recorded) return {};
  const tune::Recorded& before = *request.recorded;
  RIDGE_ASSIGN(const tune::Recorded now, tune::recorded_from_json(to_json(found.tuning)));
  if (!before.shapes.empty() && before.shapes != now.shapes)
    return Error{Code::kFailed, "the stored result is of inputs " + before.shapes + ", this run of " + now.shapes +
                                    ": give --shape as then"};
  found.compared = tune::compare(before, now, request.options.strictness);
  return {};
}

Result<std::string> save(const TuneModel& model, const Found& found) {
  const TuneRequest& request = model.request;
  if (request.options.repository.empty() || request.recorded || found.tuning.choice == tune::Choice::kNone)
    return std::string();
  return write_entry(model, found.tuning, found.verified_batch, dump_json(to_json(found.tuning), true) + "\n");
}

Json json_of(const Found& found) {
  Json json = to_json(found.tuning);
  if (found.compared.empty()) return json;
  json["compared"] = to_json(found.compared);
  json["regressed"] = tune::regressed(found.compared);
  return json;
}

Status write_page(const TuneRequest& request, const Found& found) {
  const std::string& path = request.options.html;
  if (path.empty()) return {};
  RIDGE_TRY(write_file_atomically(path, report::page(report::PageKind::kTune, json_of(found), request.language)));
  say("ridge tune: wrote " + path);
  return {};
}

// probe → prepare (read, open, measure untuned, admit) → search → compare → save → report
Result<Found> run(const TuneRequest& request) {
  const TimePoint begin = SteadyClock::now();
  Progress progress("tune");
  const Tell tell = [&](const std::string& step, double share) { progress.update(step, share); };
  RIDGE_ASSIGN(const machine::Machine machine, probe_for_tuning(request.options, tell));
  RIDGE_ASSIGN(Energy energy, open_energy(request));
  RIDGE_ASSIGN(const std::unique_ptr<TuneModel> model,
               prepare(request, machine, energy.meter ? &*energy.meter : nullptr, tell));
  RIDGE_ASSIGN(Found found, search(*model, tell));
  found.tuning.energy = energy.text;
  found.tuning.seconds = to_seconds(SteadyClock::now() - begin);
  RIDGE_TRY(compare(request, found));
  RIDGE_ASSIGN(found.tuning.repository, save(*model, found));
  progress.finish();
  RIDGE_TRY(write_page(request, found));
  return found;
}

int answer(const TuneRequest& request, const Found& found) {
  if (request.options.json)
    print_json(json_of(found));
  else
    print(request.recorded ? comparison_text(found.compared, request.options.strictness) : tuning_text(found.tuning));
  const bool no = request.recorded ? tune::regressed(found.compared) : found.tuning.choice == tune::Choice::kNone;
  return no ? kNo : kDone;
}

}  // namespace

int tune(std::span<const std::string> arguments) {
  TuneOptions options;
  CLI::App app;
  declare(app, options);
  if (Parsed parsed = parse(app, "tune", arguments); !parsed.go_on) return parsed.exit;
  auto wrong = [](const Error& error) {
    const int status = fail("tune", error);
    return error.code == Code::kInvalid ? kUsage : status;
  };
  if (options.share) {
    const Result<ShareRequest> request = share_request_of(options);
    return request ? tune_share(*request) : wrong(request.error());
  }
  Result<TuneRequest> request = request_of(options);
  if (!request) return wrong(request.error());
  listen_for_interruption();
  Result<Found> found = run(*request);
  return found ? answer(*request, *found) : fail("tune", found.error());
}

}  // namespace ridge::cli
