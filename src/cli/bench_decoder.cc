#include "cli/bench_decoder.h"

#include "app/bench_decoder.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/schema.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/interruption.h"
#include "cli/kept.h"
#include "cli/limits_text.h"
#include "cli/model_argument.h"
#include "cli/number_checks.h"
#include "cli/steps.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/engines.h"

namespace ridge::cli {
namespace {

using app::DecoderMeasurement;
using app::DecoderPoint;

constexpr double kMostLineError = 10;  // [%] of a point that counts as predicted
constexpr int64_t kMostStepTokens = 10'000'000;

struct DecoderOptions {
  app::Command command;
  app::DecoderBenchRequest request;
  std::string batch, weights, cache = "u8";
  double seconds = 20;
  bool json = false, csv = false;
  std::string output;
};

void declare(CLI::App& app, DecoderOptions& options) {
  app.add_option("FOLDER", options.request.plan.folder)->required();
  app.add_option("--prompt", options.request.prompt)->check(in_range(1, kMostStepTokens));
  app.add_option("--generate", options.request.generated)->check(in_range(1, kMostStepTokens));
  app.add_option("--batch,-b", options.batch);
  app.add_option("--weights", options.weights);
  app.add_option("--cache", options.cache);
  app.add_option("--threads,-t", options.request.plan.threads)->check(in_range(1, kMostThreads));
  app.add_option("--engine", options.request.plan.engine);
  app.add_option("--engine-library", options.request.plan.library);
  app.add_option("--seed", options.request.how.seed);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_option("--ci", options.request.how.stop.half_width_percent)->check(positive());
  app.add_flag("--fresh", options.request.fresh);
  app.add_flag("--keep-disturbed", options.request.keep_disturbed);
  CLI::Option* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
  app.add_option("-o,--output", options.output);
}

// The parsed options; an error here is wrong usage.
Result<app::DecoderBenchRequest> request_of(const DecoderOptions& options) {
  app::DecoderBenchRequest request = options.request;
  if (!options.weights.empty()) {
    RIDGE_ASSIGN(request.weights, engine::weight_form(options.weights));
  }
  RIDGE_ASSIGN(request.plan.cache, engine::cache_form(options.cache));
  if (!request.plan.engine.empty()) RIDGE_TRY(engine::check_name(request.plan.engine));
  if (!options.batch.empty()) {
    RIDGE_ASSIGN(const std::vector<int> batches, parse_whole_steps("--batch", options.batch));
    request.batches.assign(batches.begin(), batches.end());
  }
  request.how.stop.max_time = from_seconds(options.seconds);
  return request;
}

std::string decoder_heading(const DecoderMeasurement& m) {
  return fmt::format("{} · {} {} · {} weights, {} cache · {} · prompt {}, {} generated", m.model, m.engine,
                     m.engine_version, name_of(names_of(m.weights), m.weights), name_of(names_of(m.cache), m.cache),
                     counted(m.threads, "thread"), m.prompt, m.generated);
}

// "prefill", "decode × 8", "100 tokens after 156".
std::string step_name(const DecoderPoint& p) {
  const std::string of = p.sequences > 1 ? fmt::format(" × {}", p.sequences) : "";
  if (p.kind == app::StepKind::kPrefill) return "prefill" + of;
  if (p.kind == app::StepKind::kDecode) return "decode" + of;
  return fmt::format("{} after {:.0f}{}", counted(p.tokens, "token"), p.cached, of);
}

std::string point_rows(const DecoderMeasurement& m) {
  OwnColumn steps{"step"}, errors{"step line", {}, "r"};
  for (const DecoderPoint& p : m.points) {
    steps.cells.push_back(step_name(p));
    errors.cells.push_back(p.line_ms > 0 ? fmt::format("{:+.1f} %", app::line_error_percent(p)) : "-");
  }
  return figure_table("bench-decoder", "points", json_of(m.points), {}, {{steps}, {errors}});
}

// "step time by the line: 1.2 ms + 0.35 ms per token + …, at least 8.1 ms; 8 of 9 points within 10 %, the worst 12 %".
std::string line_text(const DecoderMeasurement& m) {
  if (!m.line.known()) return "step time by a line: not known: the measured steps are too few, or too alike";
  std::string text = "step time by the line: " + format_ms(1e3 * m.line.fixed);
  text += fmt::format(" + {} per token", format_ms(1e3 * m.line.per_token));
  if (m.line.per_cached > 0)
    text += fmt::format(" + {} per 1000 cached tokens that it reads", format_ms(1e6 * m.line.per_cached));
  if (m.line.per_pair > 0) text += fmt::format(" + {} per 1000 further pairs", format_ms(1e6 * m.line.per_pair));
  if (m.line.per_row > 0) text += fmt::format(" + {} per row of logits", format_ms(1e3 * m.line.per_row));
  if (m.line.floor > 0) text += fmt::format(", at least {}", format_ms(1e3 * m.line.floor));
  double worst = 0;
  size_t within = 0;
  for (const DecoderPoint& p : m.points) {
    const double error = std::abs(app::line_error_percent(p));
    worst = std::max(worst, error);
    within += error <= kMostLineError ? 1 : 0;
  }
  return text + fmt::format("; {} of {} points within {:.0f} %, the worst {:.1f} %", within, m.points.size(),
                            kMostLineError, worst);
}

void print_decoder(const DecoderMeasurement& m) {
  print(decoder_heading(m) + "\n");
  print(point_rows(m));
  print(fmt::format("{} parameters; a step reads {} of weights; the cache has {} per token, {} in all; opened in {}",
                    format_count(m.parameters), format_bytes(static_cast<double>(m.weight_bytes)),
                    format_bytes(m.cache_bytes_per_token), format_bytes(static_cast<double>(m.cache_bytes)),
                    format_ms(m.load_ms)));
  print(fmt::format("times: measured, medians of {}{}; bound: derived from FLOPs, weights and cache, and the limits {}",
                    counted(m.rounds, "interleaved round"),
                    m.interrupted  ? ", interrupted"
                    : !m.converged ? ", stopped at --seconds before they were steady (--ci, default ± 2 %)"
                                   : "",
                    limits_text(m.limits)));
  print(line_text(m));
  for (const std::string& note : m.notes) print("note: " + note);
  if (machine::disturbed(m.disturbance))
    print(fmt::format("note: {}.", warning_text(machine::sentence(*m.disturbance))));
}

int wrong_decoder_request(const Error& error) {
  fail("bench", error);
  return kUsage;
}

}  // namespace

Status show_bench_decoder(const Json& document) {
  RIDGE_ASSIGN(const DecoderMeasurement measured, from_json<DecoderMeasurement>(document));
  print_decoder(measured);
  return {};
}

bool names_checkpoint(std::span<const std::string> arguments) {
  return std::any_of(arguments.begin(), arguments.end(), is_language_model);
}

int bench_decoder(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return print_help("bench-decoder"), kDone;
  DecoderOptions options;
  options.command = typed("bench", arguments);
  options.command.verb = "bench decoder";  // the kind of document
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, "bench", arguments); !parsed.go_on) return parsed.exit;
  Result<app::DecoderBenchRequest> request = request_of(options);
  if (!request) return wrong_decoder_request(request.error());
  if (Status ready = check_writable({options.output}); !ready) return fail("bench", ready.error());
  if (Status fetched = fetch_model("bench", request->plan.folder); !fetched) return fail("bench", fetched.error());
  listen_for_interruption();
  const Result<DecoderMeasurement> measured = app::bench_decoder(*request, interruptible("bench"));
  if (!measured)
    return measured.error().code == Code::kInvalid ? wrong_decoder_request(measured.error())
                                                   : fail("bench", measured.error());
  const Json json = json_of(*measured);
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(csv_table(csv_columns_of(schema_of<DecoderPoint>()), json["points"]));
  } else {
    print_decoder(*measured);
  }
  if (Status kept = keep(options.command, options.output, json); !kept) return fail("bench", kept.error());
  return kDone;
}

}  // namespace ridge::cli
