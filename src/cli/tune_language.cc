#include "cli/tune_language.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/next_steps.h"
#include "app/serve.h"
#include "app/tune_language.h"
#include "base/fake_clock.h"
#include "base/file.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/interruption.h"
#include "cli/kept.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/steps.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/engines.h"
#include "llm/trace.h"
#include "tune/repository.h"
#include "zoo/corpus.h"

namespace ridge::cli {
namespace {

using tune::language::JudgedForm;
using tune::language::LanguageTuning;
using tune::language::MeasuredCandidate;

constexpr const char* kTuneLanguage = "tune";  // as messages name it
constexpr int64_t kMostAtOnce = 65536;

struct LanguageTuneOptions {
  app::LanguageTuneRequest request;
  std::string prompt = "256", output_tokens = "64", requests;
  int64_t concurrency = 8;
  std::optional<double> ttft_ms, tpot_ms;
  std::string text, reference = "fp32", weights, cache;
  bool json = false;
};

void declare(CLI::App& app, LanguageTuneOptions& options) {
  app::LanguageTuneRequest& request = options.request;
  app.add_option("FOLDER", request.folder)->required();
  app.add_option("--output,-o", request.repository);
  app.add_option("--name", request.name);
  app.add_flag("--overwrite", request.overwrite);
  CLI::Option* prompt = app.add_option("--prompt", options.prompt);
  CLI::Option* output = app.add_option("--output-tokens", options.output_tokens);
  CLI::Option* concurrency = app.add_option("--concurrency,-c", options.concurrency)->check(in_range(1, kMostAtOnce));
  app.add_option("--requests", options.requests)->excludes(prompt)->excludes(output)->excludes(concurrency);
  app.add_option("--ttft-ms", options.ttft_ms)->check(positive());
  app.add_option("--tpot-ms", options.tpot_ms)->check(positive());
  app.add_option("--text", options.text);
  app.add_option("--text-tokens", request.text_tokens)->check(in_range(2, 1e7));
  app.add_option("--reference", options.reference)->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--max-kl", request.bounds.kl)->check(not_negative());
  app.add_option("--max-perplexity", request.bounds.perplexity_ratio)->check(positive());
  app.add_option("--weights", options.weights);
  app.add_option("--cache", options.cache);
  app.add_option("--threads,-t", request.threads)->check(in_range(1, kMostThreads));
  app.add_option("--engine", request.engine);
  app.add_option("--engine-library", request.library);
  app.add_option("--seconds", request.seconds)->check(positive());
  app.add_option("--seed", request.load.seed);
  app.add_flag("--fresh", request.fresh);
  app.add_flag("--json", options.json);
}

// "int8,int4"; empty: `forms` stays.
template <typename FormName>
Status read_forms(const std::string& text, Result<FormName> (*named)(std::string_view), std::vector<FormName>& forms) {
  if (text.empty()) return {};
  forms.clear();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    RIDGE_ASSIGN(const FormName form, named(text.substr(at, end - at)));
    forms.push_back(form);
    at = end + 1;
  }
  return {};
}

Status read_load(const LanguageTuneOptions& options, app::LanguageTuneRequest& request) {
  llm::Workload& load = request.load;
  if (!options.requests.empty()) {
    request.trace = options.requests;
    RIDGE_ASSIGN(load.trace, llm::read_trace(options.requests));
    const llm::Lengths lengths = llm::lengths_of(load.trace);
    load.prompt_min = lengths.prompt_min, load.prompt_max = lengths.prompt_max;
    load.output_min = lengths.output_min, load.output_max = lengths.output_max;
    return {};
  }
  RIDGE_ASSIGN(const client::TokenRange prompt, parse_token_range("--prompt", options.prompt));
  RIDGE_ASSIGN(const client::TokenRange output, parse_token_range("--output-tokens", options.output_tokens));
  load.prompt_min = prompt.low, load.prompt_max = prompt.high;
  load.output_min = output.low, load.output_max = output.high;
  load.concurrency = options.concurrency;
  return {};
}

// The parsed options; kInvalid is wrong usage.
Result<app::LanguageTuneRequest> request_of(const LanguageTuneOptions& options) {
  app::LanguageTuneRequest request = options.request;
  RIDGE_TRY(read_forms(options.weights, engine::weight_form, request.weights));
  RIDGE_TRY(read_forms(options.cache, engine::cache_form, request.caches));
  RIDGE_TRY(read_load(options, request));
  if (!request.engine.empty()) RIDGE_TRY(engine::check_name(request.engine));
  request.goals = {options.ttft_ms, options.tpot_ms};
  if (options.reference == "bf16") request.reference = engine::WeightFormat::kBf16;
  request.text_name = options.text.empty() ? "embedded" : options.text;
  if (options.text.empty()) {
    for (const std::string_view text : zoo::corpus()) request.text += text;
  } else {
    RIDGE_ASSIGN(request.text, read_file(options.text));
  }
  if (request.name.empty()) {
    const std::filesystem::path folder = std::filesystem::path(request.folder).lexically_normal();
    request.name = tune::entry_name((folder.has_filename() ? folder : folder.parent_path()).filename().string() + ".");
  }
  RIDGE_TRY(tune::check_entry_name(request.name));
  if (!request.repository.empty()) RIDGE_TRY(tune::check_repository(request.repository));
  return request;
}

std::string range_text(int64_t low, int64_t high) {
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

std::string load_text(const LanguageTuning& t) {
  std::string text = fmt::format("prompts of {} tokens, answers of {}", range_text(t.prompt_min, t.prompt_max),
                                 range_text(t.output_min, t.output_max));
  text += t.concurrency > 0 ? fmt::format(", {} at once", t.concurrency)
                            : fmt::format(", {} of {} at their times", counted(t.requests, "request"), t.trace);
  if (t.goals.ttft_ms) text += fmt::format("; first token within {}", format_ms(*t.goals.ttft_ms));
  if (t.goals.tpot_ms) text += fmt::format("; {} per output token", format_ms(*t.goals.tpot_ms));
  return text;
}

std::string form_rows(const LanguageTuning& t) {
  OwnColumn verdicts{"", {}, "n"};
  for (const JudgedForm& form : t.forms)
    verdicts.cells.push_back(form.accepted() ? "accepted" : painted(Meaning::kRejected, "rejected: ") + form.reason);
  return figure_table("tune-language", "forms", json_of(t.forms), {}, {{}, {verdicts}});
}

std::string gain_text(const MeasuredCandidate& m) {
  if (!m.gain) return "-";
  const measure::Interval& ci = m.gain->ci95;
  const bool known = ci.low && ci.high && *ci.low > 0;  // of few rounds the interval may say nothing
  return fmt::format("{:.3g}× ({})", m.gain->ratio,
                     known ? fmt::format("{:.3g}–{:.3g}", *ci.low, *ci.high) : "uncertain");
}

std::string candidate_rows(const LanguageTuning& t) {
  std::vector<MeasuredCandidate> rows = {t.baseline};
  OwnColumn names{"", {"defaults"}}, gains{"gain (95 % CI)", {gain_text(t.baseline)}, "r"};
  for (const MeasuredCandidate& m : t.candidates) {
    const bool chosen = m.candidate == t.best.candidate && t.choice == tune::Choice::kCandidate;
    rows.push_back(chosen ? t.best : m);
    names.cells.emplace_back(chosen ? "chosen" : "");
    gains.cells.push_back(gain_text(rows.back()));
  }
  return figure_table("tune-language", "candidates", json_of(rows), {}, {{names}, {gains}});
}

void print_tuning(const LanguageTuning& t) {
  print(fmt::format("{} · {}", t.model, load_text(t)));
  print(
      fmt::format("\nforms on {} tokens of text ({}), beside {} (perplexity {:.4g}); accepted: KL ≤ {:g} nats, "
                  "perplexity ≤ {:g} ×",
                  t.forms.empty() || !t.forms.front().deviation ? 0 : t.forms.front().deviation->tokens, t.text,
                  describe(t.reference), t.reference_perplexity, t.bounds.kl, t.bounds.perplexity_ratio));
  print(form_rows(t));
  if (t.baseline.rounds > 0) {
    print(fmt::format("measured: {} each, interleaved with the defaults; limit: every step in the least time of {}",
                      counted(t.requests, "request"), t.device));
    print(candidate_rows(t));
  }
  for (const tune::SkipCount& skipped : t.skipped)
    print(fmt::format("skipped: {}: {}", counted(skipped.count, "candidate"), skipped.reason.text));
  for (const std::string& note : t.notes) print("note: " + note);
  if (machine::disturbed(t.disturbance))
    print(fmt::format("note: {}.", warning_text(machine::sentence(*t.disturbance))));
  if (!t.repository.empty()) print("written: " + t.repository);
  print("\n" + conclusion(t));
}

std::vector<std::string> next_of(const app::LanguageTuneRequest& request, const LanguageTuning& t,
                                 const std::string& typed_folder) {
  if (t.choice == tune::Choice::kNone) return {"ridge bench " + app::shell_word(typed_folder)};
  if (t.repository.empty()) return {"ridge tune " + app::shell_word(typed_folder) + " -o models"};
  return {"ridge serve " + app::shell_word(request.repository),
          app::text_line(fmt::format("localhost:{}", app::ServeRequest{}.http_port), request.name)};
}

int failed_request(const Error& error) {
  const int status = fail(kTuneLanguage, error);
  return error.code == Code::kInvalid ? kUsage : status;
}

}  // namespace

Status show_tune_language(const Json& document) {
  RIDGE_ASSIGN(const LanguageTuning tuning, from_json<LanguageTuning>(document));
  print_tuning(tuning);
  return {};
}

int tune_language(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return print_help("tune-language"), kDone;
  LanguageTuneOptions options;
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, kTuneLanguage, arguments); !parsed.go_on) return parsed.exit;
  Result<app::LanguageTuneRequest> request = request_of(options);
  if (!request) return failed_request(request.error());
  request->command = typed(kTuneLanguage, arguments);
  request->command.verb = "tune language";  // the kind of document
  if (Status fetched = fetch_model(kTuneLanguage, request->folder); !fetched)
    return fail(kTuneLanguage, fetched.error());
  say_budget(kTuneLanguage, request->seconds);
  listen_for_interruption();
  const Result<app::LanguageTuneResult> result = [&] {
    app::RunControl control = interruptible(kTuneLanguage);
    FakeClock fake;
    if (std::getenv("RIDGE_FAKE_CLOCK") != nullptr) control.clock = &fake;  // for tests, with the fake engine
    return app::tune_language(*request, control);
  }();
  if (!result) return failed_request(result.error());
  const std::vector<std::string> next = next_of(*request, result->tuning, options.request.folder);
  if (options.json) {
    Json json = json_of(result->tuning);
    json["next"] = next;
    print_json(request->command, json);
  } else {
    print_tuning(result->tuning);
    print_next(next);
  }
  if (!result->saved) return fail(kTuneLanguage, result->saved.error());
  return result->tuning.choice == tune::Choice::kNone ? kNo : kDone;
}

}  // namespace ridge::cli
