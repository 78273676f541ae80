// ridge plan: what a model costs and the least time this machine needs for it, before anything runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/model_options.h"
#include "cli/plan_estimate.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cost/costs.h"
#include "hw/probe.h"
#include "model/reader.h"
#include "plan/first_plan.h"
#include "plan/forecast.h"

namespace ridge::cli {
namespace {

struct Options {
  std::string model;
  int64_t batch = 1;
  std::vector<std::string> shapes;
  std::optional<int> threads;
  std::string precision = "fp32";
  int layers = 20;
  bool fresh = false;
  bool calibrate = false;
  int instances = 1;
  bool json = false;
};

void declare(CLI::App& app, Options& options) {
  auto* model = app.add_option("MODEL", options.model);
  auto* calibrate = app.add_flag("--calibrate", options.calibrate);
  app.callback([model, calibrate] {
    if (model->count() + calibrate->count() == 0) throw CLI::RequiredError("MODEL");
  });
  app.add_option("--instances", options.instances)->check(CLI::PositiveNumber);
  app.add_option("--batch,-b", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--shape", options.shapes);
  app.add_option("--threads,-t", options.threads)->check(CLI::PositiveNumber);
  app.add_option("--precision", options.precision);
  app.add_option("--layers", options.layers)->check(CLI::NonNegativeNumber);
  app.add_flag("--fresh", options.fresh);
  app.add_flag("--json", options.json);
}

// What the options mean; an error here is wrong usage.
struct Request {
  model::Binding binding;
  Precision precision = Precision::kFp32;
};

Result<Request> request_of(const Options& options) {
  Request request;
  request.binding.batch = options.batch;
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  RIDGE_ASSIGN(request.precision, precision_from_name(options.precision));
  return request;
}

Result<model::Graph> read_bound(const Options& options, const Request& request) {
  RIDGE_ASSIGN(model::Graph graph, model::read(options.model, request.binding));
  RIDGE_TRY(check_symbols(options.model, graph));
  return graph;
}

std::map<std::string, Shape> input_shapes(const model::Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const model::GraphInput& input : graph.input_specs) shapes[input.spec.name] = input.spec.shape;
  return shapes;
}

Result<hw::Machine> know_machine(const Options& options) {
  Progress progress("measure this machine");
  hw::LimitOptions how;
  how.fresh = options.fresh;
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  return hw::know(how);
}

struct Answer {
  plan::Forecast forecast;
  plan::Plan plan;
  std::optional<plan::Estimate> estimate;
};

// read → estimate → probe → plan → forecast
Result<Answer> answer(const Options& options, const Request& request) {
  RIDGE_ASSIGN(model::Graph graph, read_bound(options, request));
  cost::Costs costs = cost::count(graph, request.precision);
  RIDGE_ASSIGN(hw::Machine machine, know_machine(options));
  plan::Wishes wishes{options.model, input_shapes(graph), options.batch, options.threads, request.precision};
  plan::Plan plan = plan::first_plan(machine, costs, wishes);
  RIDGE_ASSIGN(cost::DeviceLimits limits, cost::limits_of(machine, plan.threads));
  if (options.calibrate) RIDGE_TRY(calibrate_machine(machine, options.fresh));
  const plan::EstimateOptions how{.threads = plan.threads, .instances = options.instances, .rows = rows_of(graph)};
  RIDGE_ASSIGN(auto estimate, estimate_model(graph, machine, request.precision, how));
  return Answer{plan::forecast(options.model, options.batch, request.precision, costs, limits), plan,
                std::move(estimate)};
}

std::string limit_text(cost::Limiter limiter) { return std::string(cost::limiter_name(limiter)); }

std::string layer_table(const plan::Forecast& forecast, int most) {
  std::vector<const plan::Forecast::Layer*> layers;
  for (const auto& layer : forecast.layers)
    if (layer.runs) layers.push_back(&layer);
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto* a, const auto* b) { return a->bound_ms > b->bound_ms; });
  if (layers.size() > static_cast<size_t>(most)) layers.resize(static_cast<size_t>(most));
  std::vector<std::vector<std::string>> rows;
  for (const auto* layer : layers)
    rows.push_back({layer->name, layer->op, layer->has_rule ? format_flops(layer->flops) : "no rule",
                    format_bytes(layer->bytes), fmt::format("{:.1f}", layer->intensity), format_ms(layer->bound_ms),
                    limit_text(layer->limiter)});
  return table({"layer", "operator", "FLOPs", "bytes", "FLOP/byte", "bound", "limiter"}, rows, "llrrrrl");
}

std::string summary_table(const Answer& answer) {
  const plan::Forecast& f = answer.forecast;
  std::string rate =
      f.bound.ms > 0 ? fmt::format("{:.4g} items/s", 1e3 * static_cast<double>(f.batch) / f.bound.ms) : "-";
  std::vector<std::vector<std::string>> rows = {
      {"FLOPs", format_flops(f.flops), format_count(f.macs) + " multiply-adds (derived)"},
      {"parameters", format_count(static_cast<double>(f.parameters)), format_bytes(f.weight_bytes) + " as stored"},
      {"bytes", format_bytes(f.bytes),
       "layer by layer, each operand once; at least " + format_bytes(f.compulsory_bytes) + " for the whole (derived)"},
      {"memory", format_bytes(f.inference_bytes),
       "weights and at most " + format_bytes(f.peak_activation_bytes) + " of activations (derived)"},
      {"intensity", fmt::format("{:.1f} FLOP/byte", f.bytes > 0 ? f.flops / f.bytes : 0),
       fmt::format("ridge point of the device: {:.1f} FLOP/byte (measured)", f.ridge_point)},
      {"bound", format_ms(f.bound.ms),
       fmt::format("limited by {}: compute {}, memory {} (derived from measured limits)", limit_text(f.bound.limiter),
                   format_ms(f.bound.compute_ms), format_ms(f.bound.memory_ms))},
      {"at most", rate, "what no engine on this device can beat"}};
  if (answer.estimate)
    for (std::vector<std::string>& row : estimate_rows(*answer.estimate, f.bound.ms)) rows.push_back(std::move(row));
  return table({}, rows, "lrl");
}

void render(const Answer& answer, int layers) {
  const plan::Forecast& f = answer.forecast;
  print(fmt::format("{} · batch {} · {} · {}, {} thread{}\n", f.model, f.batch, precision_name(f.precision), f.device,
                    f.threads, f.threads == 1 ? "" : "s"));
  print(summary_table(answer));
  for (const std::string& reason : answer.plan.reasons) print("plan: " + reason);
  for (const std::string& note : f.notes) print("note: " + note);
  if (answer.estimate)
    for (const std::string& note : answer.estimate->notes) print("note: " + note);
  if (layers > 0) print("\n" + layer_table(f, layers));
  if (layers > 0 && answer.estimate) print("\n" + estimate_table(*answer.estimate, layers));
}

}  // namespace

int plan(std::span<const std::string> arguments) {
  Options options;
  CLI::App app;
  declare(app, options);
  if (Parsed parsed = parse(app, "plan", arguments); !parsed.go_on) return parsed.exit;
  Result<Request> request = request_of(options);
  if (!request) {
    fail("plan", request.error());
    return kUsage;
  }
  if (options.model.empty()) {
    Result<hw::Machine> machine = know_machine(options);
    if (!machine) return fail("plan", machine.error());
    Status calibrated = calibrate_machine(*machine, options.fresh);
    return calibrated ? kDone : fail("plan", calibrated.error());
  }
  Result<Answer> result = answer(options, *request);
  if (!result) return fail("plan", result.error());
  if (options.json) {
    Json json = plan::to_json(result->forecast);
    if (result->estimate) add_estimate(json, *result->estimate);
    print_json(json);
  } else
    render(*result, options.layers);
  return kDone;
}

}  // namespace ridge::cli
