// ridge bench: measures a model beside the machine's limit; 'ridge bench device' measures the machine (bench_device.cc).
#include "app/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/bench_device.h"
#include "cli/interruption.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cost/costs.h"
#include "engine/engines.h"
#include "model/reader.h"

namespace ridge::cli {
namespace {

struct BenchOptions {
  app::BenchRequest request;
  std::optional<int64_t> batch;
  std::vector<std::string> shapes;
  bool poisson = false;
  double seconds = 20;
  std::string device = "cpu";
  std::string precision = "fp32";
  std::vector<std::string> engine_options;
  bool json = false;
};

void declare(CLI::App& app, BenchOptions& options) {
  app.add_option("MODEL", options.request.model)->required();
  app.add_option("--batch,-b", options.batch)->check(positive());
  app.add_option("--shape", options.shapes);
  app.add_option("--threads,-t", options.request.threads)->check(positive());
  app.add_option("--instances", options.request.instances)->check(positive());
  app.add_option("--concurrency,-c", options.request.how.concurrency)->check(positive());
  CLI::Option* rate = app.add_option("--rate", options.request.how.rate_per_s)->check(positive());
  app.add_flag("--poisson", options.poisson)->needs(rate);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_option("--iterations", options.request.how.runs)->check(positive());
  app.add_option("--warmup", options.request.how.warm_up_runs)->check(not_negative());
  app.add_option("--ci", options.request.how.half_width_percent)->check(positive());
  app.add_option("--engine", options.request.engine);
  app.add_option("--device,-d", options.device);
  app.add_option("--precision", options.precision);
  app.add_option("--engine-library", options.request.engine_library);
  app.add_option("--engine-option", options.engine_options);
  app.add_option("--seed", options.request.how.seed);
  app.add_flag("--layers", options.request.how.layers);
  app.add_flag("--fresh", options.request.fresh);
  app.add_flag("--keep-disturbed", options.request.keep_disturbed);
  app.add_flag("--json", options.json);
}

// The parsed options; an error here is wrong usage.
Result<app::BenchRequest> request_of(const BenchOptions& options) {
  app::BenchRequest request = options.request;
  RIDGE_TRY(engine::check_name(request.engine));
  request.binding.batch = options.batch.value_or(1);
  request.binding.insist_on_batch = options.batch.has_value();
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  RIDGE_TRY(engine::check_name(request.engine));
  RIDGE_ASSIGN(request.precision, precision_from_name(options.precision));
  RIDGE_ASSIGN(request.device, plan::device_from_name(options.device));
  if (request.how.layers && plan::is_nvidia(request.device))
    return Error{
        Code::kInvalid,
        "--layers has no meaning on " + plan::device_name(request.device) +
            ": ONNX Runtime's profile says how long a kernel took to be queued there, not to run (its builds leave out "
            "the profiling of kernels, --enable_cuda_profiling). `ridge plan MODEL -d cuda:" +
            std::to_string(request.device.index) +
            "` shows every layer's least time on the GPU, --device cpu --layers where the time goes on the "
            "CPU, and `nsys profile ridge bench ...` what the GPU's kernels took"};
  RIDGE_ASSIGN(request.engine_options, parse_assignments("--engine-option", options.engine_options));
  request.how.arrival = options.poisson ? measure::Arrival::kPoisson : measure::Arrival::kConstant;
  request.how.max_time = from_seconds(options.seconds);
  return request;
}

// Small shares keep two digits: a tiny model reaches little of a limit that ignores the engine's overhead.
std::string share_text(double percent) {
  if (percent <= 0) return "-";
  return percent < 1 ? fmt::format("{:.2g} %", percent) : format_percent(percent);
}

std::string spread_text(const measure::Measurement& m) {
  std::string interval =
      std::isfinite(m.ci95_percent) ? fmt::format("± {} at 95 %", format_percent(m.ci95_percent)) : "one run only";
  std::string ended = m.interrupted ? ", interrupted"
                      : m.converged ? ""
                                    : ", stopped at --seconds before it was narrow enough";
  return fmt::format("measured, {}, {} runs{}", interval, m.samples, ended);
}

// The GPU's limits that bound this: "fp32 57.1 TFLOP/s measured ± 0.4 % (multiply-adds), DRAM 3.35 TB/s datasheet".
std::string limits_text(const measure::Measurement& m) {
  std::string text;
  for (const cost::DeviceLimits::Source& source : m.limits) {
    const bool memory = source.what == "DRAM";
    if (!memory && source.what != precision_name(m.precision)) continue;
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", source.what,
                        memory ? format_bandwidth(source.per_s) : format_flops_rate(source.per_s),
                        origin_name(source.origin));
    if (source.origin == Origin::kMeasured)
      text += fmt::format(" ± {} ({})", format_percent(source.spread_percent), source.by);
  }
  return text;
}

std::string summary(const measure::Measurement& m) {
  const measure::Latency& l = m.latency_ms;
  const measure::Stages& s = m.stages_ms;
  const auto device = plan::device_from_name(m.device);
  const bool on_gpu = device && plan::is_nvidia(*device);
  std::vector<std::vector<std::string>> rows = {
      {"latency", format_ms(l.mean), spread_text(m)},
      {"  p50 p90 p95 p99", format_ms(l.p50),
       fmt::format("{}  {}  {}", format_ms(l.p90), format_ms(l.p95), format_ms(l.p99))},
      {"  min max", format_ms(l.min), format_ms(l.max)},
      {"throughput", fmt::format("{:.4g} items/s", m.throughput_per_s), "measured; an item is a row of the batch"},
      {"stages: load", format_ms(s.load), "measured, once"},
      {"  first run", format_ms(s.first_run), "measured, once"},
      {"  input", format_ms(s.input),
       on_gpu ? "measured, mean: copy to the GPU" : "measured, mean: pass the inputs in"},
      {"  compute", format_ms(s.compute), on_gpu ? "measured, mean: on the GPU" : "measured, mean: inside the engine"},
      {"  output", format_ms(s.output), on_gpu ? "measured, mean: copy back" : "measured, mean: take the outputs"}};
  if (m.load) {
    rows.push_back({"load", fmt::format("{:.4g}/s", m.load->achieved_per_s),
                    fmt::format("measured; {:.4g}/s asked, {}", m.load->rate_per_s,
                                measure::kept_up(*m.load) ? "kept up" : "not kept up")});
    rows.push_back({"  busy", format_percent(100 * m.load->busy_share), "measured: of the callers' time, in runs"});
    rows.push_back({"  queueing", format_ms(m.load->queueing_ms), "measured, mean: from the intended time to the run"});
  }
  if (m.bound_ms > 0) {
    rows.push_back({"bound", format_ms(m.bound_ms),
                    fmt::format("derived: {}, limited by {}", format_flops(m.flops), cost::limiter_name(m.limiter))});
    if (!m.load)
      rows.push_back(
          {"share of the limit", share_text(m.percent_of_limit),
           m.undisturbed ? "measured rate / rate at the bound; disturbed" : "measured rate / rate at the bound"});
  } else if (!m.without_rule.empty()) {
    rows.push_back({"bound", "not known", "most of the arithmetic has no rule"});
    rows.push_back({"share of the limit", "not known", ""});
  }
  if (!m.limits.empty()) rows.push_back({"limits", "", limits_text(m)});
  if (m.energy.per_row_j)
    rows.push_back(
        {"energy", fmt::format("{:.3g} J", *m.energy.per_row_j),
         fmt::format("measured, per item: {:.0f} W by {}, idling included", *m.energy.power_w, m.energy.counters)});
  if (!m.executed.empty()) rows.push_back({"executed", "", m.executed + " (read back from the engine)"});
  rows.push_back({"memory", format_bytes(static_cast<double>(m.rss_delta_bytes)), "measured: growth of this process"});
  return table({}, rows, "lrl");
}

std::string layer_table(const measure::Measurement& m) {
  double total = 0;
  for (const measure::Layer& layer : m.layers) total += layer.ms;
  const bool kernels =
      std::any_of(m.layers.begin(), m.layers.end(), [](const auto& layer) { return !layer.kernel.empty(); });
  std::vector<std::vector<std::string>> rows;
  for (const measure::Layer& layer : m.layers) {
    std::vector<std::string> row = {layer.name, layer.op};
    if (kernels) row.push_back(layer.kernel);
    row.insert(row.end(), {format_ms(layer.ms), total > 0 ? format_percent(100 * layer.ms / total) : "-"});
    if (layer.has_rule)
      row.insert(row.end(),
                 {format_flops_rate(layer.flops_per_s), format_bandwidth(layer.bytes_per_s), format_ms(layer.bound_ms),
                  share_text(layer.percent_of_limit), std::string(cost::limiter_name(layer.limiter))});
    else
      row.insert(row.end(), {"no rule", "-", "-", "-", "-"});
    rows.push_back(std::move(row));
  }
  std::vector<std::string> head = {"layer", "operator"};
  if (kernels) head.push_back("kernel");
  head.insert(head.end(), {"time", "of run", "reached", "moved", "bound", "of limit", "limiter"});
  return table(head, rows, kernels ? "lllrrrrrrl" : "llrrrrrrl");
}

void render(const measure::Measurement& m) {
  auto counted = [](int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  print(fmt::format("{} · {} {} · {} · {} · batch {} · {} · {}, {}", m.model, m.engine, m.engine_version, m.device,
                    precision_name(m.precision), m.batch, counted(m.instances, "instance"),
                    counted(m.threads, "thread") + " each", counted(m.concurrency, "caller")));
  print("\n" + summary(m));
  if (!m.limits.empty())
    for (const std::string& note : m.limit_notes) print("note: " + note);
  for (const std::string& op : m.without_rule) print("no rule for " + op + ": only its bytes count");
  if (!m.layers.empty())
    print("\nlayers, slowest first (time from the engine's profile, in which runs are slower than above)\n\n" +
          layer_table(m));
  if (m.load && m.disturbance && machine::disturbed(*m.disturbance))
    print("\n" + machine::sentence(*m.disturbance) + ".");
  print("\n" + m.advice.sentence);
}

std::vector<std::string> next_of(const BenchOptions& options) {
  std::string words = model_words(options.request.model, options.shapes, options.device);
  if (options.request.engine != plan::kUsualEngine) words += " --engine " + options.request.engine;
  std::vector<std::string> lines;
  if (!options.request.how.layers && options.device == "cpu") lines.push_back("ridge bench " + words + " --layers");
  lines.push_back("ridge tune " + words + " -o models");
  return lines;
}

int usage(const Error& error) {
  fail("bench", error);
  return kUsage;
}

}  // namespace

int bench(std::span<const std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "device") return bench_device(arguments.subspan(1));
  BenchOptions options;
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, "bench", arguments); !parsed.go_on) return parsed.exit;
  if (Status fetched = fetch_model("bench", options.request.model); !fetched) return fail("bench", fetched.error());
  Result<app::BenchRequest> request = request_of(options);
  if (!request) return usage(request.error());
  listen_for_interruption();
  const Result<std::optional<model::UnboundModel>> model = app::read_model(*request);
  if (!model) return fail("bench", model.error());
  const Result<std::optional<model::Graph>> graph = app::bind(*request, *model);
  if (!graph) return usage(graph.error());
  Result<measure::Measurement> measured = app::bench(*request, *graph, interruptible("bench"));
  if (!measured) return fail("bench", measured.error());
  if (options.json) {
    print_json(measure::to_json(*measured));
  } else {
    render(*measured);
    if (graph->has_value()) print_next(next_of(options));
  }
  return kDone;
}

}  // namespace ridge::cli
