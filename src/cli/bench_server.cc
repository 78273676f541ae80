#include "cli/bench_server.h"

#include "app/bench_server.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/bench.h"
#include "app/next_steps.h"
#include "base/csv.h"
#include "base/fields.h"
#include "base/schema.h"
#include "base/units.h"
#include "cli/bench_server_text.h"
#include "cli/document_schemas.h"
#include "cli/interruption.h"
#include "cli/kept.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/page_options.h"
#include "cli/steps.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {
namespace {

using client::ServerMeasurement;

// For the lines at the end: the load that was measured, and how long.
constexpr std::string_view kOfOneLoad[] = {"--concurrency", "--rate",       "--p99-ms", "--poisson",
                                           "--seconds",     "--iterations", "--warmup", "--ci"};
constexpr double kSecondsOfOne = 10, kSecondsOfEach = 5, kSecondsOfSearch = 40;  // by default
constexpr double kLlmTimes = 3;  // of these for a language model, whose answers take seconds
constexpr double kTimeoutMs = 30'000, kLlmTimeoutMs = 300'000;
// Options that belong to one kind of server.
constexpr const char* kOfInference[] = {"--batch", "--shape", "--input", "--payload"};
constexpr const char* kOfLlm[] = {"--model-name", "--prompt",  "--output-tokens", "--requests", "--no-stream",
                                  "--ttft-ms",    "--tpot-ms", "--weights",       "--cache",    "--device"};
constexpr double kBelowHighest = 0.7;  // of a closed loop's rate

struct ServerOptions {
  app::Command command;
  app::ServerBenchRequest request;
  std::string url, concurrency, rate, payload;
  bool poisson = false;
  std::optional<double> seconds;
  std::optional<double> timeout_ms;
  std::string prompt, output_tokens;  // N or A..B
  std::string weights, cache, device;
  bool no_stream = false;
  bool json = false, csv = false;
  std::string output, trace;  // files; empty: none
  std::string again;          // as given, for another load
  PageOptions page;
};

void declare(CLI::App& app, ServerOptions& options) {
  app.add_option("URL", options.url)->required();
  app.add_option("--batch,-b", options.request.inputs.batch)->check(rows());
  app.add_option("--shape", options.request.inputs.shapes);
  app.add_option("--input,-i", options.request.inputs.files);
  app.add_option("--payload", options.payload)->check(CLI::IsMember({"binary", "json"}));
  app.add_option("--seed", options.request.inputs.seed);
  app.add_option("--concurrency,-c", options.concurrency);
  CLI::Option* rate = app.add_option("--rate", options.rate);
  app.add_option("--p99-ms", options.request.p99_ms)->check(positive())->excludes(rate);
  app.add_flag("--poisson", options.poisson);
  app.add_option("--seconds", options.seconds)->check(positive());
  app.add_option("--iterations", options.request.requests)->check(positive());
  app.add_option("--warmup", options.request.warm_up_requests)->check(not_negative());
  app.add_option("--ci", options.request.half_width_percent)->check(positive());
  app.add_option("--timeout-ms", options.timeout_ms)->check(positive());
  app.add_option("--client-threads", options.request.threads)->check(in_range(1, kMostThreads));
  app.add_option("--model", options.request.model_file);
  app.add_option("--weights", options.weights);
  app.add_option("--cache", options.cache);
  app.add_option("--device", options.device);
  app.add_option("--model-name", options.request.llm.model);
  CLI::Option* prompt = app.add_option("--prompt", options.prompt);
  CLI::Option* output = app.add_option("--output-tokens", options.output_tokens);
  app.add_option("--requests", options.request.llm.trace)->excludes(prompt)->excludes(output);
  CLI::Option* whole = app.add_flag("--no-stream", options.no_stream);
  app.add_option("--ttft-ms", options.request.llm.goals.ttft_ms)->check(positive())->excludes(whole);
  app.add_option("--tpot-ms,--itl-ms", options.request.llm.goals.tpot_ms)->check(positive())->excludes(whole);
  CLI::Option* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
  app.add_option("-o,--output", options.output);
  app.add_option("--trace", options.trace);
  declare(app, options.page);
}

double default_seconds(const app::ServerBenchRequest& request) {
  if (request.p99_ms) return kSecondsOfSearch;
  const size_t points = std::max(request.rates_per_s.size(), request.concurrency.size());
  return points > 1 ? kSecondsOfEach * static_cast<double>(points) : kSecondsOfOne;
}

Status read_limit(const ServerOptions& options, app::LimitRequest& limit) {
  if (!options.weights.empty()) {
    RIDGE_ASSIGN(limit.weights, engine::weight_form(options.weights));
  }
  if (!options.cache.empty()) {
    RIDGE_ASSIGN(limit.cache, engine::cache_form(options.cache));
  }
  if (!options.device.empty()) {
    RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
    RIDGE_ASSIGN(limit.device, catalogue::find_device(devices, options.device));
  }
  if (options.request.model_file.empty() && !(options.weights + options.cache + options.device).empty())
    return invalid("--weights, --cache and --device describe what --model says the limit of; give --model too");
  return {};
}

Status read_llm(const ServerOptions& options, app::ServerBenchRequest& request) {
  app::LlmLoadRequest& llm = request.llm;
  llm.streaming = !options.no_stream;
  if (!options.prompt.empty()) {
    RIDGE_ASSIGN(llm.prompt, parse_token_range("--prompt", options.prompt));
  }
  if (!options.output_tokens.empty()) {
    RIDGE_ASSIGN(llm.output, parse_token_range("--output-tokens", options.output_tokens));
  }
  RIDGE_TRY(read_limit(options, llm.limit));
  if (llm.trace.empty()) return {};
  if (request.p99_ms) return invalid("--requests: its requests have times of their own; --p99-ms searches for a rate");
  if (request.threads > 1)
    return invalid("--requests: the order of its requests is kept by one thread; leave out --client-threads");
  if (request.rates_per_s.empty() && request.concurrency.size() > 1)
    return invalid("--concurrency: with --requests it is one number, of connections at most");
  return {};
}

// Refuses options that the server's API does not have.
Status fits_api(const CLI::App& app, const app::ServerBenchRequest& request) {
  const bool llm = !request.url.endpoint.empty();
  const std::span<const char* const> others =
      llm ? std::span<const char* const>(kOfInference) : std::span<const char* const>(kOfLlm);
  for (const char* option : others)
    if (app.get_option(option)->count() > 0)
      return invalid(fmt::format("{}: {} has no such option; it is for {} (ridge bench URL --help)", option,
                                 client::text_of(request.url),
                                 llm ? "servers of the Open Inference Protocol, /v2/models/NAME"
                                     : "language models, /v1/completions or /v1/chat/completions"));
  return {};
}

// The parsed options; an error here is wrong usage.
Result<app::ServerBenchRequest> request_of(const ServerOptions& options) {
  app::ServerBenchRequest request = options.request;
  RIDGE_ASSIGN(request.url, client::parse_server_url(options.url));
  if (!options.concurrency.empty()) {
    RIDGE_ASSIGN(request.concurrency, parse_whole_steps("--concurrency", options.concurrency));
  }
  if (!options.rate.empty()) {
    RIDGE_ASSIGN(request.rates_per_s, parse_steps("--rate", options.rate));
  }
  const bool open = request.p99_ms || !request.rates_per_s.empty();
  if (open && request.concurrency.size() > 1)
    return invalid("--concurrency: with --rate or --p99-ms it is one number, of connections at most");
  if (options.poisson && !open) return invalid("--poisson requires --rate or --p99-ms");
  if (!options.payload.empty()) {
    RIDGE_ASSIGN(request.payload, from_name<client::Payload>(names_of(client::Payload()), options.payload, "payload"));
  }
  request.arrival = options.poisson ? measure::Arrival::kPoisson : measure::Arrival::kConstant;
  RIDGE_TRY(read_llm(options, request));
  const bool llm = !request.url.endpoint.empty();
  request.timeout = from_seconds(options.timeout_ms.value_or(llm ? kLlmTimeoutMs : kTimeoutMs) / 1e3);
  const bool own_times = !request.llm.trace.empty() && request.rates_per_s.empty();
  request.max_time =
      from_seconds(options.seconds.value_or(own_times ? 0 : default_seconds(request) * (llm ? kLlmTimes : 1)));
  return request;
}

std::string decimal_ms(double ms) { return fmt::format("{:.{}f}", std::max(ms, 0.01), ms < 1 ? 2 : ms < 10 ? 1 : 0); }

// A search is followed by a run at the rate it found or, if it found none, by one caller; other loads by more callers
// and a goal.
std::vector<std::string> next_of(const ServerOptions& options, const ServerMeasurement& m) {
  const std::string words = "ridge bench " + app::shell_word(m.url) + options.again;
  if (m.search) {
    if (!m.search->highest_per_s) return {words + " --concurrency 1"};
    return {fmt::format("{} --rate {:.3g} -o server.json", words, *m.search->highest_per_s)};
  }
  std::vector<std::string> lines;
  if (options.concurrency.empty()) lines.push_back(words + " --concurrency 1..64");
  if (m.points.empty() || m.points.front().samples == 0) return lines;
  // Users come by themselves: what they see below the highest rate.
  if (m.token_load && !m.points.front().rate_per_s)
    lines.push_back(fmt::format("{} --rate {:.3g} --poisson", words, kBelowHighest * m.points.back().requests_per_s));
  if (!m.token_load) lines.push_back(words + " --p99-ms " + decimal_ms(3 * m.points.front().latency_ms.p50));
  return lines;
}

int exit_of(const ServerMeasurement& m) {
  const bool none =
      std::all_of(m.points.begin(), m.points.end(), [](const client::Point& point) { return point.samples == 0; });
  if (none || !m.ended_early.empty()) return kFailed;
  return m.search && !m.search->highest_per_s && !m.interrupted ? kNo : kDone;
}

int wrong_request(const Error& error) {
  fail("bench", error);
  return kUsage;
}

}  // namespace

Status show_bench_server(const Json& document) {
  RIDGE_ASSIGN(const ServerMeasurement measured, from_json<ServerMeasurement>(document));
  print_server_measurement(measured);
  return {};
}

bool names_server(std::span<const std::string> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return client::is_server_url(word); });
}

int bench_server(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return print_help("bench-server"), kDone;
  ServerOptions options;
  options.command = typed("bench", arguments);
  options.command.verb = "bench server";  // the kind of document
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, "bench", arguments); !parsed.go_on) return parsed.exit;
  options.again = given_options_but(app, kOfOneLoad);
  if (app.get_option("--seed")->count() > 0) options.request.llm.words = options.request.inputs.seed;
  Result<app::ServerBenchRequest> request = request_of(options);
  if (!request) return wrong_request(request.error());
  if (Status fits = fits_api(app, *request); !fits) return wrong_request(fits.error());
  if (Status ready = check_writable({options.output, options.trace, options.page.file}); !ready)
    return fail("bench", ready.error());
  if (request->url.endpoint.empty() && !request->model_file.empty())
    if (Status fetched = fetch_model("bench", request->model_file); !fetched) return fail("bench", fetched.error());
  std::vector<measure::TracedLoad> loads;
  if (!options.trace.empty()) request->trace = &loads;
  listen_for_interruption();
  const Result<ServerMeasurement> measured = app::bench_server(*request, interruptible("bench"));
  if (!measured)
    return measured.error().code == Code::kInvalid ? wrong_request(measured.error()) : fail("bench", measured.error());
  const std::vector<std::string> next = next_of(options, *measured);
  Json json = json_of(*measured);
  json["next"] = next;
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(csv_table(csv_columns_of(element_of("bench-server", "points")), json["points"]));
  } else {
    print_server_measurement(*measured);
    print_next(next);
  }
  remember(document(options.command, json));
  const Status kept = keep_and_draw(options.command, options.output, options.page, json);
  const Status traced =
      options.trace.empty() ? Status() : write_result(options.command, options.trace, app::trace_text(loads));
  for (const Status* status : {&kept, &traced})
    if (!*status) return fail("bench", status->error());
  return exit_of(*measured);
}

}  // namespace ridge::cli
