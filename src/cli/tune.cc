// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/units.h"
#include "cli/interruption.h"
#include "cli/model_options.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cost/costs.h"
#include "hw/probe.h"
#include "model/external_files.h"
#include "model/reader.h"
#include "tune/contest.h"
#include "tune/digest.h"
#include "tune/repository.h"
#include "tune/serving_config.h"
#include "tune/store.h"
#include "tune/tuner.h"
#include "tune/tuning.h"

namespace ridge::cli {
namespace {

struct Options {
  std::string model;
  std::string repository;
  std::string name;
  std::vector<std::string> shapes;
  std::string objective = "throughput";
  std::optional<double> p99_ms;
  double seconds = 60;
  int trials = 0;
  int64_t max_batch = 32;
  std::optional<int> threads;
  std::string engine = "onnxruntime";
  std::string engine_library;
  std::vector<std::string> engine_options;
  std::string store;
  bool overwrite = false;
  bool fresh = false;
  bool json = false;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("MODEL", options.model)->required();
  app.add_option("--output,-o", options.repository);
  app.add_option("--name", options.name);
  app.add_option("--shape", options.shapes);
  app.add_option("--objective", options.objective)->check(CLI::IsMember({"throughput", "latency"}));
  app.add_option("--p99-ms", options.p99_ms)->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber);
  app.add_option("--trials", options.trials)->check(CLI::NonNegativeNumber);
  app.add_option("--max-batch", options.max_batch)->check(CLI::PositiveNumber);
  app.add_option("--threads,-t", options.threads)->check(CLI::PositiveNumber);
  app.add_option("--engine", options.engine);
  app.add_option("--engine-library", options.engine_library);
  app.add_option("--engine-option", options.engine_options);
  app.add_option("--store", options.store);
  app.add_flag("--overwrite", options.overwrite);
  app.add_flag("--fresh", options.fresh);
  app.add_flag("--json", options.json);
}

// What the options mean; an error here is wrong usage.
struct Request {
  Options options;
  model::Binding binding;
  tune::Goal goal;
  std::map<std::string, std::string> engine_options;
};

// Whether --shape gives an input several rows.
bool gives_rows(const model::Binding& binding) {
  return std::any_of(binding.shapes.begin(), binding.shapes.end(),
                     [](const auto& given) { return !given.second.empty() && given.second[0] > 1; });
}

// Batches are searched: rows given by --shape would be searched on top.
Status check_rows(const Request& request) {
  if (request.options.max_batch == 1 || !gives_rows(request.binding)) return {};
  return Error{
      Code::kInvalid,
      "--shape gives an input several rows, but its first dimension is the batch, which tune searches itself: give 1 "
      "there, or --max-batch 1 if it is not a batch"};
}

Result<Request> request_of(const Options& options) {
  Request request;
  request.options = options;
  if (options.name.empty())
    request.options.name = tune::entry_name(options.model);
  else
    RIDGE_TRY(tune::check_entry_name(options.name));
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  RIDGE_TRY(check_rows(request));
  request.goal.objective = options.objective == "latency" ? tune::Objective::kLatency : tune::Objective::kThroughput;
  request.goal.p99_ms = options.p99_ms;
  RIDGE_ASSIGN(request.engine_options, parse_engine_options(options.engine_options));
  return request;
}

Result<hw::Machine> probe(const Request& request, Progress& progress) {
  hw::LimitOptions how;
  how.fresh = request.options.fresh;
  how.progress = [&](const std::string& step, double share) { progress.update("machine: " + step, share); };
  return hw::know(how);
}

// The graph at `batch`, everything bound.
Result<model::Graph> read(const Request& request, int64_t batch) {
  model::Binding binding = request.binding;
  if (!gives_rows(binding)) binding.batch = batch;
  for (auto& [name, shape] : binding.shapes)
    if (!shape.empty()) shape[0] *= batch;
  RIDGE_ASSIGN(model::Graph graph, model::read(request.options.model, binding));
  RIDGE_TRY(check_symbols(request.options.model, graph));
  return graph;
}

// Costs at batch 1 and 2. A model that cannot be read at batch 2 has a fixed batch.
tune::BatchCosts estimate(const Request& request, const model::Graph& graph) {
  tune::BatchCosts costs{cost::count(graph), std::nullopt};
  if (Result<model::Graph> two = read(request, 2)) costs.two = cost::count(*two);
  return costs;
}

// What all candidates share: model, engine, shapes at batch 1.
plan::Plan plan_of(const Request& request, const model::Graph& graph) {
  plan::Plan plan;
  plan.model = request.options.model;
  plan.engine = request.options.engine;
  plan.engine_library = request.options.engine_library;
  plan.options = request.engine_options;
  plan.shapes = input_shapes(graph);
  plan.batch = rows_of(graph);
  return plan;
}

Result<std::unique_ptr<tune::Contest>> open(const Request& request, const plan::Plan& plan, const model::Graph& graph) {
  tune::ContestOptions how;
  how.seconds = request.options.seconds;
  how.interrupted = interrupted;
  return tune::Contest::open(plan, &graph, how);
}

// The untuned model against itself: its figures, and how far noise alone lets two measurements differ.
struct Untuned {
  tune::Trial trial;
  tune::Batching batching;
};
Result<Untuned> measure(tune::Contest& contest, Progress& progress) {
  progress.update("untuned: the engine's defaults", 0);
  Untuned untuned;
  untuned.batching = contest.check_batching();
  Result<tune::Trial> trial = contest.measure(tune::baseline_candidate(), tune::Effort::kLong);
  if (!trial && trial.error().code == Code::kCancelled)
    return Error{Code::kCancelled, "interrupted before the untuned model was measured; nothing was written"};
  RIDGE_ASSIGN(untuned.trial, std::move(trial));
  if (!untuned.trial.failure.empty()) return Error{Code::kFailed, untuned.trial.failure};
  return untuned;
}

Result<tune::StoreKey> store_key(const Request& request, const hw::Machine& machine, const plan::Plan& plan,
                                 const engine::Info& info) {
  RIDGE_ASSIGN(std::vector<std::string> files, model::external_files(plan.model));
  size_t slash = plan.model.rfind('/');
  std::string folder = slash == std::string::npos ? "" : plan.model.substr(0, slash + 1);
  for (std::string& file : files) file.insert(0, folder);
  files.insert(files.begin(), plan.model);
  RIDGE_ASSIGN(std::string digest, tune::digest_files(files));
  std::string shapes;
  for (const auto& [name, shape] : plan.shapes) shapes += name + shape_text(shape);
  std::string engine = info.name + " " + info.version;
  for (const auto& [key, value] : request.engine_options) engine += " " + key + "=" + value;
  return tune::StoreKey{machine.id, engine, digest, shapes};
}

// What the search works on and what it came to.
struct Found {
  tune::Tuning tuning;
  tune::ServingFacts facts;
};

tune::ServingFacts facts_of(const Request& request, const Untuned& untuned, const tune::Tuning& tuning,
                            const engine::Signature& signature, int64_t verified_batch) {
  tune::ServingFacts facts;
  facts.name = request.options.name;
  facts.signature = signature;
  facts.best = tuning.candidate;
  facts.batches = untuned.batching.possible;
  facts.verified_batch = verified_batch;
  facts.run_ms = tuning.best.latency_ms.p50;
  facts.run_p99_ms = tuning.best.latency_ms.p99;
  facts.p99_goal_ms = request.goal.p99_ms;
  if (request.options.engine == "onnxruntime") facts.engine_options = request.engine_options;
  return facts;
}

Result<Found> search(const Request& request, const hw::Machine& machine, const model::Graph& graph,
                     const std::vector<tune::PricedImplementation>& implementations, const plan::Plan& plan,
                     tune::Contest& contest, const Untuned& untuned, Progress& progress) {
  tune::SpaceOptions limits{request.goal, untuned.batching.possible ? request.options.max_batch : 1,
                            request.options.threads, 1e3 * request.options.seconds / 20};
  RIDGE_ASSIGN(tune::StoreKey key, store_key(request, machine, plan, contest.info()));
  tune::Store store(request.options.store, key);
  if (request.options.fresh) store.clear();
  tune::Search search(tune::make_space(machine, graph, implementations, limits), request.goal, request.options.trials);
  tune::TuneOptions how{request.goal, request.options.seconds, interrupted,
                        [&](const std::string& step, double share) { progress.update(step, share); }};
  RIDGE_ASSIGN(const tune::Explored explored, tune::explore(search, contest, store, how));
  RIDGE_ASSIGN(const tune::Decision decision, tune::confirm(search, contest, explored, untuned.trial, how));

  Found found;
  tune::Tuning& tuning = found.tuning;
  tuning = tune::summarise({machine, plan, contest.info(), implementations}, request.goal, search, explored, decision,
                           untuned.trial);
  tuning.batching = untuned.batching.reason;
  if (decision.candidate != tune::baseline_candidate()) {
    RIDGE_ASSIGN(tuning.drift, contest.drift(decision.candidate));
  }
  found.facts = facts_of(request, untuned, tuning, contest.signature(), tune::verified_batch(search));
  return found;
}

Result<std::string> save(const Request& request, const Found& found) {
  const std::string& repository = request.options.repository;
  if (repository.empty() || found.tuning.choice == tune::Choice::kNone) return std::string();
  tune::RepositoryEntry entry;
  entry.name = request.options.name;
  entry.model_file = request.options.model;
  RIDGE_ASSIGN(entry.external_files, model::external_files(entry.model_file));
  entry.config_pbtxt = tune::config_text(tune::serving_config(found.facts));
  entry.tuning_json = dump_json(tune::to_json(found.tuning), true) + "\n";
  return tune::save(entry, repository, request.options.overwrite);
}

// probe → read → estimate → plan → open → measure → search → save
Result<tune::Tuning> run(const Request& request) {
  const TimePoint begin = Clock::now();
  Progress progress("tune");
  RIDGE_ASSIGN(const hw::Machine machine, probe(request, progress));
  RIDGE_ASSIGN(const model::Graph graph, read(request, 1));
  const plan::Plan plan = plan_of(request, graph);
  const std::vector<tune::PricedImplementation> implementations{{{.engine = plan.engine}, estimate(request, graph)}};
  RIDGE_ASSIGN(const std::unique_ptr<tune::Contest> contest, open(request, plan, graph));
  RIDGE_ASSIGN(const Untuned untuned, measure(*contest, progress));
  RIDGE_ASSIGN(Found found, search(request, machine, graph, implementations, plan, *contest, untuned, progress));
  found.tuning.seconds = to_seconds(Clock::now() - begin);
  RIDGE_ASSIGN(found.tuning.repository, save(request, found));
  progress.finish();
  return found.tuning;
}

std::vector<std::string> row(const char* title, const measure::Measurement& m) {
  return {title,
          fmt::format("{} × {}", m.instances, m.threads),
          fmt::format("{}", m.batch),
          fmt::format("{:.4g} rows/s", m.throughput_per_s),
          format_ms(m.latency_ms.p50),
          format_ms(m.latency_ms.p99),
          m.percent_of_limit > 0 ? format_percent(m.percent_of_limit) : "unknown",
          fmt::format("{}", m.samples)};
}

void render(const tune::Tuning& tuning) {
  print(table(
      {"", "instances × threads", "batch", "throughput", "p50", "p99", "of the limit", "runs"},
      {row("untuned", tuning.baseline), row(tuning.choice == tune::Choice::kNone ? "closest" : "tuned", tuning.best)},
      "llrrrrrr"));
  print(fmt::format(
      "{} of {} candidates measured in {} trials ({} reused), {:.0f} s; the baseline against itself: ±{:.1f} %",
      tuning.measured, tuning.candidates, tuning.trials, tuning.reused, tuning.seconds, tuning.noise_percent));
  for (const tune::Skipped& skipped : tuning.skipped)
    print(fmt::format("  {:>4} skipped: {}", skipped.count, skipped.reason));
  if (!tuning.batching.empty()) print("requests are not merged into batches: " + tuning.batching);
  print(fmt::format("drift against the untuned outputs: max abs {:.2g}, relative L2 {:.2g}, same top-1 in {}",
                    tuning.drift.max_abs, tuning.drift.relative_l2, format_percent(100 * tuning.drift.top1_agreement)));
  if (!tuning.repository.empty()) print(fmt::format("written: {}", tuning.repository));
  if (tuning.interrupted) print("interrupted: this is the best found until then, judged by the search's own trials");
  print(tune::conclusion(tuning));
}

}  // namespace

int tune(std::span<const std::string> arguments) {
  Options options;
  CLI::App app;
  declare(app, options);
  if (Parsed parsed = parse(app, "tune", arguments); !parsed.go_on) return parsed.exit;
  Result<Request> request = request_of(options);
  if (!request) {
    fail("tune", request.error());
    return kUsage;
  }
  listen_for_interruption();
  Result<tune::Tuning> tuning = run(*request);
  if (!tuning) return fail("tune", tuning.error());
  if (options.json)
    print_json(tune::to_json(*tuning));
  else
    render(*tuning);
  return tuning->choice == tune::Choice::kNone ? kNo : kDone;
}

}  // namespace ridge::cli
