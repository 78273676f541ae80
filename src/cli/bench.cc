// ridge bench: a model beside the machine's limit; 'ridge bench device' measures the machine (bench_device.cc), 'ridge
// bench URL' a server (bench_server.cc), 'ridge bench FOLDER' a language model (bench_decoder.cc).
#include "app/bench.h"
#include "app/next_steps.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/csv.h"
#include "base/schema.h"
#include "base/units.h"
#include "cli/bench_decoder.h"
#include "cli/bench_device.h"
#include "cli/bench_server.h"
#include "cli/figure_table.h"
#include "cli/interruption.h"
#include "cli/kept.h"
#include "cli/limits_text.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/own_colours.h"
#include "cli/page_options.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cost/costs.h"
#include "engine/own_format.h"
#include "model/reader.h"

namespace ridge::cli {
namespace {

constexpr std::string_view kAllLayers = "all";
constexpr int kUsualLayers = 15;

// For the lines at the end: options of the same measurement with its layers; options that tune has too.
constexpr std::string_view kNotForLayers[] = {"--layers", "--fresh"};
constexpr std::string_view kTuneAfterBench[] = {"--shape",         "--threads",        "--engine",
                                                "--engine-option", "--engine-library", "--device"};

struct BenchOptions {
  app::Command command;
  app::BenchRequest request;
  std::string layers;  // shown: a number or kAllLayers; empty: not requested
  std::optional<int64_t> batch;
  std::vector<std::string> shapes;
  std::string engine;  // empty: the file's own, else the usual one
  bool poisson = false;
  double seconds = 20;
  std::string device = "cpu";
  std::string precision = "fp32";
  std::vector<std::string> engine_options;
  bool json = false, csv = false;
  std::string output, trace;         // files; empty: none
  std::string for_layers, for_tune;  // as given, see above
  PageOptions page;
};

void declare(CLI::App& app, BenchOptions& options) {
  app.add_option("MODEL", options.request.model)->required();
  app.add_option("--batch,-b", options.batch)->check(rows());
  app.add_option("--shape", options.shapes);
  app.add_option("--threads,-t", options.request.threads)->check(in_range(1, kMostThreads));
  app.add_option("--instances", options.request.instances)->check(in_range(1, kMostInstances));
  app.add_option("--concurrency,-c", options.request.how.concurrency)->check(in_range(1, kMostThreads));
  CLI::Option* rate = app.add_option("--rate", options.request.how.rate_per_s)->check(positive());
  app.add_flag("--poisson", options.poisson)->needs(rate);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_option("--iterations", options.request.how.runs)->check(positive());
  app.add_option("--warmup", options.request.how.warm_up_runs)->check(not_negative());
  app.add_option("--ci", options.request.how.half_width_percent)->check(positive());
  app.add_option("--engine", options.engine);
  app.add_option("--device,-d", options.device);
  app.add_option("--precision", options.precision);
  app.add_option("--engine-library", options.request.engine_library);
  app.add_option("--engine-option", options.engine_options);
  app.add_option("--seed", options.request.how.seed);
  app.add_option("--layers", options.layers);
  app.add_flag("--fresh", options.request.fresh);
  app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv);
  app.add_option("-o,--output", options.output);
  app.add_option("--trace", options.trace);
  declare(app, options.page);
}

bool is_layer_count(std::string_view word) {
  return word == kAllLayers || (!word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos);
}

// The number after --layers may be left out, and what follows may be the model.
std::vector<std::string> with_layer_count(std::span<const std::string> arguments) {
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool counted = i + 1 < arguments.size() && is_layer_count(arguments[i + 1]);
    words.push_back(arguments[i] == "--layers" && !counted ? fmt::format("--layers={}", kUsualLayers) : arguments[i]);
  }
  return words;
}

size_t layers_shown(const BenchOptions& options) {
  return options.layers == kAllLayers ? SIZE_MAX : std::strtoull(options.layers.c_str(), nullptr, 10);
}

// The parsed options; an error here is wrong usage.
Result<app::BenchRequest> request_of(const BenchOptions& options) {
  app::BenchRequest request = options.request;
  if (options.json && options.csv) return invalid("--json and --csv exclude each other");
  RIDGE_ASSIGN(request.engine, engine::engine_for(request.model, options.engine));
  if (!options.layers.empty() && !is_layer_count(options.layers))
    return invalid(fmt::format("--layers {}: expected how many are shown, or {}", options.layers, kAllLayers));
  request.how.layers = !options.layers.empty();
  request.binding.batch = options.batch.value_or(1);
  request.binding.insist_on_batch = options.batch.has_value();
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  RIDGE_ASSIGN(request.precision, precision_from_name(options.precision));
  RIDGE_ASSIGN(request.device, plan::device_from_name(options.device));
  RIDGE_TRY(engine::check_device(engine::named(request.engine), request.device));
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

std::string spread_text(const measure::Measurement& m) {
  if (m.samples == 1)
    return std::string("measured, one run only") + (m.cold ? ", the first: a second would exceed --seconds" : "") +
           (m.interrupted ? ", interrupted" : "");
  std::string interval =
      std::isfinite(m.ci95_percent) ? fmt::format("± {} at 95 %", format_percent(m.ci95_percent)) : "one run only";
  std::string ended = m.interrupted ? ", interrupted"
                      : m.converged ? ""
                                    : ", stopped at --seconds before it was narrow enough (--ci, default ± 2 %)";
  return fmt::format("measured, {}, {} runs{}", interval, m.samples, ended);
}

// "7.90 ms to 8.13 ms at 95 %".
std::string interval_text(const measure::Interval& interval, std::string (*format)(double)) {
  if (interval.low && interval.high)
    return fmt::format("measured, {} to {} at 95 %", format(*interval.low), format(*interval.high));
  if (interval.low) return fmt::format("measured, at least {} at 95 %", format(*interval.low));
  return "measured";
}

std::string summary(const measure::Measurement& m) {
  const measure::Latency& l = m.latency_ms;
  const measure::Stages& s = m.stages_ms;
  const auto device = plan::device_from_name(m.device);
  const bool on_gpu = device && plan::is_nvidia(*device);
  std::vector<std::vector<std::string>> rows = {{"latency", format_ms(l.mean), spread_text(m)}};
  if (m.samples > 1) {  // of one run all are the same
    const measure::PercentileIntervals& ci = m.latency_ci95_ms;
    rows.push_back({"  p50", format_ms(l.p50), interval_text(ci.p50, format_ms)});
    rows.push_back({"  p90", format_ms(l.p90), interval_text(ci.p90, format_ms)});
    rows.push_back({"  p95", format_ms(l.p95), interval_text(ci.p95, format_ms)});
    rows.push_back({"  p99", format_ms(l.p99), interval_text(ci.p99, format_ms)});
    rows.push_back({"  min max", format_ms(l.min), format_ms(l.max)});
  }
  rows.insert(
      rows.end(),
      {{"throughput", format_row_rate(m.throughput_per_s), interval_text(m.throughput_ci95_per_s, format_row_rate)},
       {"stages: load", format_ms(s.load), "measured, once"},
       {"  first run", format_ms(s.first_run), "measured, once"},
       {"  input", format_ms(s.input),
        on_gpu ? "measured, mean of samples: copy to the GPU" : "measured, mean of samples: pass the inputs in"},
       {"  compute", format_ms(s.compute),
        on_gpu ? "measured, mean of samples: on the GPU" : "measured, mean of samples: inside the engine"},
       {"  output", format_ms(s.output),
        on_gpu ? "measured, mean of samples: copy back" : "measured, mean of samples: take the outputs"}});
  if (m.load) {
    rows.push_back({"load", format_rate(m.load->achieved_per_s, "requests"),
                    fmt::format("measured; {} asked, {}", format_rate(m.load->rate_per_s, "requests"),
                                measure::kept_up(*m.load) ? "kept up" : "not kept up")});
    rows.push_back({"  busy", format_percent(100 * m.load->busy_share), "measured: of the callers' time, in runs"});
    rows.push_back({"  queueing", format_ms(m.load->queueing_ms), "measured, mean: from the intended time to the run"});
  }
  if (m.bound_ms > 0) {
    rows.push_back({"bound", format_ms(m.bound_ms),
                    fmt::format("derived: {}, limited by {}", format_flops(m.flops), cost::limiter_name(m.limiter))});
    if (!m.load)
      rows.push_back(
          {"share of the limit", text_in_unit(m.percent_of_limit, "% of the limit"),
           m.undisturbed ? "measured rate / rate at the bound; disturbed" : "measured rate / rate at the bound"});
  } else if (!m.limits.empty()) {
    rows.push_back({"bound", "not known", "most of the arithmetic has no rule or no known shape"});
    rows.push_back({"share of the limit", "not known", ""});
  }
  if (!m.limits.empty()) rows.push_back({"limits", "", limits_text(m.arithmetic, m.limits)});
  if (m.energy.per_row_j && m.energy.power_w)
    rows.push_back(
        {"energy", format_energy(*m.energy.per_row_j),
         fmt::format("measured, per row: {:.0f} W by {}, idling included", *m.energy.power_w, m.energy.counters)});
  if (!m.executed.empty()) rows.push_back({"executed", "", m.executed + " (read back from the engine)"});
  rows.push_back({"memory", format_bytes(static_cast<double>(m.rss_delta_bytes)), "measured: growth of this process"});
  return table({}, rows, "lrl");
}

// The layer's main node of the model, and how many more it computes.
std::string layer_name(const measure::Layer& layer) {
  return layer.nodes.size() < 2 ? layer.name : fmt::format("{} +{}", layer.name, layer.nodes.size() - 1);
}

std::string layer_table(const measure::Measurement& m, size_t most) {
  double total = 0, shown_ms = 0;
  for (const measure::Layer& layer : m.layers) total += layer.ms;
  const auto shown = std::span(m.layers).first(std::min(most, m.layers.size()));
  OwnColumn names{"layer"}, shares{"of run", {}, "r"};
  for (const measure::Layer& layer : shown) {
    shown_ms += layer.ms;
    names.cells.push_back(layer_name(layer));
    shares.cells.push_back(total > 0 ? format_percent(100 * layer.ms / total) : "-");
  }
  std::string text = figure_table("bench", "layers", json_of(shown), {}, {{names}, {shares}});
  if (const size_t others = m.layers.size() - shown.size(); others > 0)
    text += fmt::format("other {}: {}, {} of the run (--layers {} shows them)\n", counted(others, "layer"),
                        format_ms(total - shown_ms), format_percent(100 * (total - shown_ms) / total), kAllLayers);
  return text;
}

void render(const measure::Measurement& m, size_t most_layers) {
  print(fmt::format("{} · {} {} · {} · {} · batch {} · {} · {}, {}", m.model, m.engine, m.engine_version, m.device,
                    cost::precisions_text(m.arithmetic, m.precision), m.batch, counted(m.instances, "instance"),
                    counted(m.threads, "thread") + " each", counted(m.concurrency, "caller")));
  print("\n" + summary(m));
  if (!m.limits.empty())
    for (const std::string& note : m.limit_notes)
      if (!is_quiet()) print("note: " + note);
  for (const std::string& op : m.without_rule)
    print("no rule for " + without_controls(op, LineEnds::kEscaped) + ": only its bytes count");
  if (!m.layers.empty())
    print("\nlayers, slowest first (time from the engine's profile, in which runs are slower than above)\n\n" +
          layer_table(m, most_layers));
  if (m.load && machine::disturbed(m.disturbance)) print("\n" + warning_text(machine::sentence(*m.disturbance)) + ".");
  print("\n" + (m.advice.id == "disturbed" || m.advice.id == "not-finite" ? warning_text(m.advice.sentence)
                                                                          : m.advice.sentence));
}

std::vector<std::string> next_of(const BenchOptions& options, const app::BenchRequest& request) {
  const std::string model = app::shell_word(options.request.model);  // as typed, not where it was downloaded to
  std::vector<std::string> lines;
  if (options.layers.empty() && options.device == "cpu")
    lines.push_back("ridge bench " + model + options.for_layers + " --layers");
  if (engine::owner_of(options.request.model) != nullptr)
    lines.push_back("ridge serve " + model);
  else
    lines.push_back(tune_line(model + options.for_tune, request.binding));
  return lines;
}

// A row per layer if they were asked for, else one of the figures.
std::string measurement_csv(const measure::Measurement& m) {
  if (!m.layers.empty()) return csv_table(csv_columns_of(schema_of<measure::Layer>()), json_of(m.layers));
  return csv_table(csv_columns_of(schema_of<measure::Measurement>()), Json::array({measure::to_json(m)}));
}

// Files and history; the result was printed before. Returns the exit status.
int keep_all(const BenchOptions& options, const measure::Measurement& measured, const Json& json,
             const std::vector<measure::TimedRun>& runs) {
  const Status kept = keep(options.command, options.output, json);
  const measure::TracedLoad load = app::traced(runs, measured);
  const Status traced =
      options.trace.empty() ? Status() : write_result(options.command, options.trace, app::trace_text({&load, 1}));
  const Status page = write_page(options.command, options.page, json);
  remember(document(options.command, json));
  for (const Status* status : {&kept, &traced, &page})
    if (!*status) return fail("bench", status->error());
  return kDone;
}

int usage(const Error& error) {
  fail("bench", error);
  return kUsage;
}

}  // namespace

int bench(std::span<const std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "device") return bench_device(arguments.subspan(1));
  if (names_server(arguments)) return bench_server(arguments);
  if (names_checkpoint(arguments)) return bench_decoder(arguments);
  BenchOptions options;
  options.command = typed("bench", arguments);
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, "bench", with_layer_count(arguments)); !parsed.go_on) return parsed.exit;
  options.for_layers = given_options_but(app, kNotForLayers);
  options.for_tune = given_options(app, kTuneAfterBench);
  if (app.count("--precision") > 0) options.for_tune += tune_precision(options.precision);
  Result<app::BenchRequest> request = request_of(options);
  if (!request) return usage(request.error());
  if (Status ready = check_writable({options.output, options.trace, options.page.file}); !ready)
    return fail("bench", ready.error());
  if (Status fetched = fetch_model("bench", request->model); !fetched) return fail("bench", fetched.error());
  listen_for_interruption();
  const Result<std::optional<model::UnboundModel>> model = app::read_model(*request);
  if (!model) return fail("bench", model.error());
  const Result<std::optional<model::Graph>> graph = app::bind(*request, *model);
  if (!graph) return usage(graph.error());
  std::vector<measure::TimedRun> runs;
  if (!options.trace.empty()) request->how.trace = &runs;
  say_budget("bench", options.seconds);
  Result<measure::Measurement> measured = app::bench(*request, *model, *graph, interruptible("bench"));
  if (!measured) return fail("bench", measured.error());
  const Json json = measure::to_json(*measured);
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(measurement_csv(*measured));
  } else {
    render(*measured, layers_shown(options));
    if (graph->has_value()) print_next(next_of(options, *request));
  }
  return keep_all(options, *measured, json, runs);
}

Status show_bench(const Json& document) {
  RIDGE_ASSIGN(measure::Measurement measured, from_json<measure::Measurement>(document));
  if (!(measured.ci95_percent > 0)) measured.ci95_percent = std::numeric_limits<double>::infinity();  // null in JSON
  render(measured, kUsualLayers);
  return {};
}

}  // namespace ridge::cli
