// ridge compare: two kept results, figure by figure.
#include "app/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/history.h"
#include "app/kept.h"
#include "app/next_steps.h"
#include "base/csv.h"
#include "base/units.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {
namespace {

constexpr const char* kCompareVerb = "compare";
constexpr size_t kComparedLayers = 15;  // the rest is in the JSON

struct CompareOptions {
  app::Command command;
  std::string before, now;
  std::optional<double> fail_above_percent;
  bool json = false, csv = false;
};

std::string verdict_text(const tune::FigureChange& row) {
  switch (row.verdict) {
    case tune::Change::kAsBefore: return "no significant difference";
    case tune::Change::kBetter: return painted(Meaning::kBetter, "better");
    case tune::Change::kRegressed: return painted(Meaning::kRegressed, "worse");
    case tune::Change::kNotComparable: break;
  }
  return row.reason;
}

std::string figure_text(const tune::FigureChange& row, double value) {
  if (row.unit == "FLOP/s") return format_flops_rate(value);
  if (row.unit == "B/s") return format_bandwidth(value);
  if (row.unit == "requests/s") return format_rate(value, "requests");
  if (row.unit == "tokens/s") return format_rate(value, "tokens");
  if (row.unit == "starts/s") return format_rate(value, "starts");
  return tune::value_text(row, value);
}

std::string figures_text(const app::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const tune::FigureChange& row : comparison.figures) {
    const bool known = row.before > 0 && row.now > 0;
    rows.push_back({row.what, figure_text(row, row.before), figure_text(row, row.now),
                    known ? fmt::format("{:+.1f} %", row.change_percent) : "-", tune::spread_text(row),
                    verdict_text(row)});
  }
  return table({"", "then", "now", "change", "", "verdict"}, rows, "lrrrll");
}

std::string layer_changes_text(const app::Comparison& comparison) {
  if (comparison.layers.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  const auto time = [](double ms) { return ms > 0 ? format_ms(ms) : std::string("-"); };
  for (const app::LayerChange& layer : comparison.layers) {
    if (rows.size() == kComparedLayers) break;
    const double change = layer.now_ms - layer.before_ms;
    rows.push_back({layer.name, layer.op, time(layer.before_ms), time(layer.now_ms),
                    fmt::format("{}{}", change < 0 ? "-" : "+", format_ms(std::abs(change)))});
  }
  std::string text = "\nlayers, the largest change first (time from the engine's profile, without an interval)\n\n" +
                     table({"layer", "operator", "then", "now", "change"}, rows, "llrrr");
  if (comparison.layers.size() > kComparedLayers)
    text += fmt::format("… and {} more\n", comparison.layers.size() - kComparedLayers);
  return text;
}

void render(const app::Comparison& comparison) {
  for (const auto& [when, about] : {std::pair("then", &comparison.before), std::pair("now ", &comparison.now)})
    print(fmt::format("{}  {}  {}", when, about->command.date, about->command.line));
  print("");
  for (const app::Caveat& caveat : comparison.caveats) print("not alike: " + caveat.sentence);
  print(figures_text(comparison) + layer_changes_text(comparison));
  if (!comparison.unjudged.empty())
    print("Not judged: " + comparison.unjudged +
          (comparison.now.command.verb == "bench"
               ? ", or use `ridge tune --compare`, which measures the untuned model beside."
               : "."));
}

// Results that cannot be judged are measured again; others are shown in full, with the model's earlier measurements.
std::vector<std::string> next_of(const CompareOptions& options, const app::Comparison& comparison, const Json& now) {
  const std::string& line = comparison.now.command.line;
  const bool bench = comparison.now.command.verb.starts_with("bench");
  if (!comparison.unjudged.empty() && bench) return again_lines(line, options.before, true);
  std::vector<std::string> lines = {"ridge show " + app::shell_word(options.now)};
  if (const auto past = app::past_results_of(now); past && !past->empty())
    lines.push_back("ridge history " + app::shell_word(past->front().model));
  return lines;
}

}  // namespace

int compare(std::span<const std::string> arguments) {
  CompareOptions options;
  options.command = typed(kCompareVerb, arguments);
  CLI::App app;
  app.add_option("BEFORE", options.before)->required();
  app.add_option("NOW", options.now)->required();
  app.add_option("--fail-above", options.fail_above_percent)->check(not_negative());
  CLI::Option* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
  if (ParseResult parsed = parse(app, kCompareVerb, arguments); !parsed.go_on) return parsed.exit;
  const Result<Json> before = app::read_document(options.before);
  if (!before) return fail(kCompareVerb, before.error());
  const Result<Json> now = app::read_document(options.now);
  if (!now) return fail(kCompareVerb, now.error());
  const Result<app::Comparison> comparison = app::compare(*before, *now, options.fail_above_percent.value_or(0));
  if (!comparison) return fail(kCompareVerb, comparison.error());
  if (options.json) {
    print_json(options.command, json_of(*comparison));
  } else if (options.csv) {
    print_verbatim(
        csv_table("id unit before now change_percent spread_percent verdict reason", json_of(comparison->figures)));
  } else {
    render(*comparison);
    print_next(next_of(options, *comparison, *now));
  }
  if (options.fail_above_percent && !comparison->unjudged.empty())
    return fail(kCompareVerb, {Code::kUnavailable, "--fail-above: " + comparison->unjudged});
  return options.fail_above_percent && comparison->slower ? kNo : kDone;
}

}  // namespace ridge::cli
