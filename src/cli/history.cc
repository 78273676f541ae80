// ridge history: what was measured of a model on this machine.
#include "app/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/kept.h"
#include "app/next_steps.h"
#include "base/csv.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/kept.h"
#include "cli/next_text.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/model_file.h"
#include "machine/probe.h"
#include "model/reader.h"

namespace ridge::cli {
namespace {

constexpr const char* kHistoryVerb = "history";

struct HistoryOptions {
  app::Command command;
  std::string model;
  std::vector<std::string> files;
  bool json = false, csv = false;
};

// Digest of a model file on this machine; "" for anything else.
std::string digest_of(const std::string& model) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(model, failure)) return "";
  const auto read = engine::read_model(model);
  const Result<std::string> digest = read ? read->digest() : Result<std::string>(read.error());
  return digest ? *digest : "";
}

// The model's results, from the history and the given files, oldest first.
Result<std::vector<app::PastResult>> results_of(const HistoryOptions& options) {
  const Result<machine::Machine> machine = machine::probe();
  std::vector<app::PastResult> all = app::recall_history(machine ? app::history_file(machine->id) : "");
  for (const std::string& file : options.files) {
    RIDGE_ASSIGN(const Json document, app::read_document(file));
    Result<std::vector<app::PastResult>> past = app::past_results_of(document);
    if (!past) return wrap(past.error(), file);
    std::ranges::move(*past, std::back_inserter(all));
  }
  if (!options.model.empty()) {
    const std::string digest = digest_of(options.model);
    std::erase_if(all, [&](const app::PastResult& past) { return !app::is_of(past, options.model, digest); });
  }
  std::ranges::stable_sort(all, {}, [](const app::PastResult& past) { return past.about.command.date; });
  return all;
}

std::string settings_text(const app::PastResult& past) {
  const std::string rate = past.rate_per_s ? " · at " + format_rate(*past.rate_per_s, "requests") : "";
  if (!past.url.empty())
    return fmt::format("{} · batch {}{}", past.url, past.batch,
                       rate.empty() ? " · " + counted(past.callers, "caller") : rate);
  return fmt::format("{} {} {} · batch {} · {} × {}{}{}", past.engine, past.device, precision_name(past.precision),
                     past.batch, past.instances, past.threads, rate,
                     past.beside.empty() ? "" : fmt::format(" · beside {}", fmt::join(past.beside, ", ")));
}

std::string history_table(const std::vector<app::PastResult>& all, bool with_model) {
  const std::set<std::string> left_out = with_model ? std::set<std::string>() : std::set<std::string>{"/model"};
  return figure_table("history", "results", json_of(all), left_out,
                      {.last = {own_column("settings", all, settings_text)}});
}

// One model's results, or the newest again; two kept files beside each other.
std::vector<std::string> next_of(const HistoryOptions& options, const std::vector<app::PastResult>& all) {
  const app::PastResult& newest = all.back();
  std::vector<std::string> lines;
  if (options.model.empty()) lines.push_back("ridge history " + app::shell_word(newest.model));
  if (options.files.size() > 1)
    lines.push_back(fmt::format("ridge compare {} {}", app::shell_word(options.files.end()[-2]),
                                app::shell_word(options.files.back())));
  lines.push_back(app::repeated(newest.about.command.line, "now.json"));
  return lines;
}

}  // namespace

void remember(const Json& document) {
  const app::About about = app::about_of(document);
  const std::string file = app::history_file(about.machine ? about.machine->id : "");
  if (file.empty()) return;  // switched off, or of an unknown machine
  const Result<std::vector<app::PastResult>> all = app::past_results_of(document);
  Status kept = all ? Status() : all.error();
  if (all)
    for (const app::PastResult& past : *all)
      if (kept) kept = app::remember(past, file);
  if (!kept) log::warning("the result is not in the history: {}", kept.error().message);
}

int history(std::span<const std::string> arguments) {
  HistoryOptions options;
  options.command = typed(kHistoryVerb, arguments);
  CLI::App app;
  app.add_option("MODEL", options.model);
  app.add_option("FILE", options.files);
  CLI::Option* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
  if (ParseResult parsed = parse(app, kHistoryVerb, arguments); !parsed.go_on) return parsed.exit;
  const auto all = results_of(options);
  if (!all) return fail(kHistoryVerb, all.error());
  const Json results = json_of(*all);
  if (options.json) {
    print_json(options.command, Json{{"results", results}});
  } else if (options.csv) {
    print_verbatim(
        csv_table("date=/about/date ridge=/about/ridge verb=/about/verb machine=/about/machine/id model engine "
                  "engine_version device precision batch instances threads throughput_per_s ci95_percent p50_ms p99_ms "
                  "percent_of_limit rate_per_s url callers disturbed",
                  results));
  } else if (all->empty()) {
    say("ridge history: nothing was kept of " + (options.model.empty() ? "any model" : options.model) +
        " on this machine; ridge bench and ridge tune add to it, unless RIDGE_HISTORY=off");
  } else {
    print(history_table(*all, options.model.empty()));
    print_next(next_of(options, *all));
  }
  return all->empty() ? kNo : kDone;
}

}  // namespace ridge::cli
