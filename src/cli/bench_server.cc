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
#include "base/read_number.h"
#include "base/units.h"
#include "cli/interruption.h"
#include "cli/kept.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/page_options.h"
#include "cli/steps.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "client/judgement.h"

namespace ridge::cli {
namespace {

using client::Point;
using client::ServerMeasurement;

// For the lines at the end: the load that was measured, and how long.
constexpr std::string_view kOfOneLoad[] = {"--concurrency", "--rate",       "--p99-ms", "--poisson",
                                           "--seconds",     "--iterations", "--warmup", "--ci"};
constexpr double kSecondsOfOne = 10, kSecondsOfEach = 5, kSecondsOfSearch = 40;  // by default
constexpr double kLlmTimes = 3;  // of these for a language model, whose answers take seconds
constexpr double kTimeoutMs = 30'000, kLlmTimeoutMs = 300'000;
// Options that belong to one kind of server.
constexpr const char* kOfInference[] = {"--batch", "--shape", "--input", "--payload", "--model"};
constexpr const char* kOfLlm[] = {"--model-name", "--prompt",  "--output-tokens", "--requests",
                                  "--no-stream",  "--ttft-ms", "--tpot-ms"};
constexpr double kBelowHighest = 0.7;  // of a closed loop's rate
// Percentiles of fewer samples are not those of the server.
constexpr int64_t kSamplesForP99 = 100;
constexpr int64_t kMostTokens = 10'000'000;  // of a prompt, of an answer

constexpr const char* kCsv =
    "concurrency rate_per_s requests_per_s throughput_per_s "
    "throughput_low_per_s=/throughput_ci95_per_s/low throughput_high_per_s=/throughput_ci95_per_s/high "
    "samples mean_ms=/latency_ms/mean p50_ms=/latency_ms/p50 p90_ms=/latency_ms/p90 p95_ms=/latency_ms/p95 "
    "p99_ms=/latency_ms/p99 p99_low_ms=/latency_ci95_ms/p99/low p99_high_ms=/latency_ci95_ms/p99/high "
    "max_ms=/latency_ms/max ci95_percent failed percent_of_limit";
constexpr const char* kLlmCsv =
    " output_tokens_per_s=/tokens/output_tokens_per_s prompt_tokens_per_s=/tokens/prompt_tokens_per_s "
    "ttft_p50_ms=/tokens/ttft_ms/p50 ttft_p90_ms=/tokens/ttft_ms/p90 ttft_p99_ms=/tokens/ttft_ms/p99 "
    "itl_p50_ms=/tokens/itl_ms/p50 itl_p90_ms=/tokens/itl_ms/p90 itl_p99_ms=/tokens/itl_ms/p99 "
    "tpot_p50_ms=/tokens/tpot_ms/p50 tpot_p90_ms=/tokens/tpot_ms/p90 tpot_p99_ms=/tokens/tpot_ms/p99 "
    "goodput_per_s=/tokens/goodput_per_s late_p99_ms=/tokens/late_ms/p99";

struct ServerOptions {
  app::Command command;
  app::ServerBenchRequest request;
  std::string url, concurrency, rate, payload;
  bool poisson = false;
  std::optional<double> seconds;
  std::optional<double> timeout_ms;
  std::string prompt, output_tokens;  // N or A..B
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
  app.add_option("--model-name", options.request.llm.model);
  CLI::Option* prompt = app.add_option("--prompt", options.prompt);
  CLI::Option* output = app.add_option("--output-tokens", options.output_tokens);
  app.add_option("--requests", options.request.llm.trace)->excludes(prompt)->excludes(output);
  CLI::Option* whole = app.add_flag("--no-stream", options.no_stream);
  app.add_option("--ttft-ms", options.request.llm.goals.ttft_ms)->check(positive())->excludes(whole);
  app.add_option("--tpot-ms", options.request.llm.goals.tpot_ms)->check(positive())->excludes(whole);
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

// "1024", or "128..1024".
Result<client::TokenRange> token_range(const char* option, const std::string& text) {
  const size_t dots = text.find("..");
  client::TokenRange range;
  const std::string_view whole = text;
  const bool good = read_number(whole.substr(0, dots), range.low) &&
                    read_number(dots == text.npos ? whole : whole.substr(dots + 2), range.high);
  if (!good || range.low < 1 || range.high < range.low || range.high > kMostTokens)
    return invalid(fmt::format("{} {}: give a number of tokens, or a range of them: 128..1024; at most {}", option,
                               text, kMostTokens));
  return range;
}

Status read_llm(const ServerOptions& options, app::ServerBenchRequest& request) {
  app::LlmLoadRequest& llm = request.llm;
  llm.streaming = !options.no_stream;
  if (!options.prompt.empty()) {
    RIDGE_ASSIGN(llm.prompt, token_range("--prompt", options.prompt));
  }
  if (!options.output_tokens.empty()) {
    RIDGE_ASSIGN(llm.output, token_range("--output-tokens", options.output_tokens));
  }
  if (llm.trace.empty()) return {};
  if (request.p99_ms) return invalid("--requests: its requests have times of their own; --p99-ms searches for a rate");
  if (request.threads > 1)
    return invalid("--requests: the order of its requests is kept by one thread; leave out --client-threads");
  if (request.rates_per_s.empty() && request.concurrency.size() > 1)
    return invalid("--concurrency: with --requests it is one number, of connections at most");
  return {};
}

// What was given that the server's API does not have.
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

std::string failures_text(const Point& point) {
  std::string text;
  for (const auto& [kind, count] : point.failures)
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, kind);
  return text;
}

std::string client_text(const client::ClientSide& side) {
  std::string text = fmt::format("{:.2f} CPUs", side.cpus);
  if (side.waiting) text += fmt::format(", {:.2f} waiting for one", *side.waiting);
  return text;
}

// ------------------------------------------------------------------------------------------------------ one point

std::string request_text(const ServerMeasurement& m) {
  std::string inputs;
  for (const client::RequestInput& input : m.inputs)
    inputs += fmt::format("{}{} {} {} ({})", inputs.empty() ? "" : ", ", input.name, input.type,
                          shape_text(input.shape), input.source);
  return inputs;
}

std::string tokens_text(const client::TokenRange& range) {
  return range.low == range.high ? std::to_string(range.low) : fmt::format("{} to {}", range.low, range.high);
}

std::string llm_heading(const ServerMeasurement& m, const client::TokenLoad& load) {
  return fmt::format("{} · {}{}{} · {}\nasked: prompts of {} tokens, answers of {}, {}", m.url, m.model,
                     m.server.empty() ? "" : " of " + m.server, m.on_this_machine ? " on this machine" : "",
                     load.streaming ? "streamed" : "not streamed", tokens_text(load.prompt), tokens_text(load.output),
                     load.trace.empty() ? "words drawn by seed" : "lengths of " + load.trace);
}

std::string heading(const ServerMeasurement& m) {
  if (m.token_load) return llm_heading(m, *m.token_load);
  std::string text = fmt::format(
      "{} · {} {}{} · version {} · batch {} · {} tensors, {} sent, {} received", m.url, m.server, m.server_version,
      m.on_this_machine ? " on this machine" : "", m.model_version, m.batch, name_of(names_of(m.payload), m.payload),
      format_bytes(static_cast<double>(m.request_bytes)), format_bytes(static_cast<double>(m.answer_bytes)));
  text += "\ninputs: " + request_text(m);
  if (m.requests > 1) text += fmt::format("; {} different requests in turn", m.requests);
  return text;
}

std::string batches_text(const client::ServerSide& server) {
  std::string text;
  for (const auto& [rows, runs] : server.batches)
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", runs, rows);
  return text;
}

void add_server_rows(const client::ServerSide& server, std::vector<std::vector<std::string>>& rows) {
  rows.push_back({"server: queue", format_ms(server.queue_ms), "reported by the server, mean per request"});
  rows.push_back({"  input", format_ms(server.input_ms), "likewise"});
  rows.push_back({"  compute", format_ms(server.compute_ms), "likewise"});
  rows.push_back({"  output", format_ms(server.output_ms), "likewise"});
  rows.push_back({"  batch", fmt::format("{:.3g}", mean_batch(server)),
                  server.batches.empty() ? "mean rows of an execution"
                                         : "mean rows of an execution; executions × rows: " + batches_text(server)});
}

// "7.90 ms to 8.13 ms at 95 %"; "": not known.
std::string server_interval(const measure::Interval& interval, std::string (*format)(double)) {
  if (interval.low && interval.high)
    return fmt::format("{} to {} at 95 %", format(*interval.low), format(*interval.high));
  return interval.low ? "at least " + format(*interval.low) + " at 95 %" : "";
}

std::string measured_text(const measure::Interval& interval, std::string (*format)(double), const std::string& what) {
  const std::string text = server_interval(interval, format);
  return "measured" + (text.empty() ? "" : ", " + text) + (what.empty() ? "" : "; " + what);
}

// First token, gaps, what the load itself was late by: "12.3 ms  p90 …".
void add_token_rows(const client::TokenFigures& t, std::vector<std::vector<std::string>>& rows) {
  rows.push_back({"output tokens", format_count(t.output_per_s) + "/s",
                  fmt::format("{} by the server's usage in {}", format_count(static_cast<double>(t.output_tokens)),
                              counted(t.requests, "answer"))});
  rows.push_back({"prompt tokens", format_count(t.prompt_per_s) + "/s",
                  format_count(static_cast<double>(t.prompt_tokens)) + " by the server's usage"});
  const auto add = [&](const char* name, const std::optional<measure::Latency>& l, const char* what) {
    if (!l) return;
    rows.push_back(
        {name, format_ms(l->p50),
         fmt::format("p90 {}, p99 {}, mean {}: {}", format_ms(l->p90), format_ms(l->p99), format_ms(l->mean), what)});
  };
  add("first token p50", t.ttft_ms, "from sending; at a rate from the intended time");
  add("inter-token p50", t.itl_ms, "between events with text, of all streams");
  add("per output token p50", t.tpot_ms, "first to last / (tokens - 1), of a request");
  if (t.goodput_per_s) rows.push_back({"goodput", format_count(*t.goodput_per_s) + "/s", "requests within the goals"});
  add("sent late p50", t.late_ms, "this client's own, from the intended time to the sending");
}

std::string summary(const ServerMeasurement& m, const Point& point) {
  const measure::Latency& l = point.latency_ms;
  const std::string interval =
      std::isfinite(point.ci95_percent) ? fmt::format("± {} at 95 %, ", format_percent(point.ci95_percent)) : "";
  std::vector<std::vector<std::string>> rows = {
      {"latency", format_ms(l.mean),
       fmt::format("measured, {}{}{}", interval, counted(point.samples, "request"),
                   point.interrupted ? ", interrupted" : "")},
      {"  p50", format_ms(l.p50), measured_text(point.latency_ci95_ms.p50, format_ms, "")},
      {"  p90", format_ms(l.p90), measured_text(point.latency_ci95_ms.p90, format_ms, "")},
      {"  p95", format_ms(l.p95), measured_text(point.latency_ci95_ms.p95, format_ms, "")},
      {"  p99", format_ms(l.p99), measured_text(point.latency_ci95_ms.p99, format_ms, "")},
      {"  min max", format_ms(l.min), format_ms(l.max)},
      {"throughput", m.token_load ? format_count(point.requests_per_s) + "/s" : format_row_rate(point.rows_per_s),
       measured_text(point.rows_ci95_per_s, m.token_load ? format_count : format_row_rate,
                     m.token_load  ? "requests answered"
                     : m.batch > 1 ? format_count(point.requests_per_s) + " requests answered/s"
                                   : "one row per request")}};
  if (point.tokens) add_token_rows(*point.tokens, rows);
  if (point.load) {
    rows.push_back({"load", format_count(*point.rate_per_s) + "/s",
                    fmt::format("asked, {}; latency counts from the intended time",
                                measure::kept_up(*point.load) ? "kept up" : "not kept up")});
    rows.push_back({"  queueing", format_ms(point.load->queueing_ms),
                    fmt::format("measured, mean: from the intended time to the sending, by one of {} connections",
                                point.concurrency)});
  }
  rows.push_back({"failed", std::to_string(failed(point)), failures_text(point)});
  rows.push_back(
      {"client", client_text(point.client), fmt::format("measured; {}", counted(point.client.threads, "thread"))});
  rows.push_back(
      {"  send wait receive", format_ms(point.client.send_ms),
       fmt::format("{}  {}  measured, mean", format_ms(point.client.wait_ms), format_ms(point.client.receive_ms))});
  if (point.server) add_server_rows(*point.server, rows);
  if (m.limit && point.percent_of_limit) {
    rows.push_back({"bound", format_ms(m.limit->bound_ms),
                    fmt::format("derived: an execution of {} on all CPUs, limited by {}",
                                counted(m.limit->batch, "row"), cost::limiter_name(m.limit->limiter))});
    rows.push_back(
        {"share of the limit", format_percent(*point.percent_of_limit), "measured rate / rate at the bound"});
  }
  return table({}, rows, "lrl");
}

// ----------------------------------------------------------------------------------------------------- many points

std::string range_text(const measure::Interval& interval, std::string (*format)(double)) {
  if (interval.low && interval.high) return fmt::format("{} to {}", format(*interval.low), format(*interval.high));
  return interval.low ? "≥ " + format(*interval.low) : "";
}

std::string token_ms(const Point& point, std::optional<measure::Latency> client::TokenFigures::*times,
                     double measure::Latency::*percentile) {
  return point.tokens && (*point.tokens).*times ? format_ms((*((*point.tokens).*times)).*percentile) : "";
}

// A column of the table of points; left out where no point has it.
struct Column {
  const char* head;
  std::string (*cell)(const Point&);  // empty: this point has none
};

const std::vector<Column>& columns() {
  static const std::vector<Column> kColumns = {
      {"callers", [](const Point& p) { return p.rate_per_s ? "" : std::to_string(p.concurrency); }},
      {"asked/s", [](const Point& p) { return p.rate_per_s ? format_count(*p.rate_per_s) : ""; }},
      {"answered/s", [](const Point& p) { return format_count(p.requests_per_s); }},
      {"rows/s",
       [](const Point& p) { return p.rows_per_s > 1.001 * p.requests_per_s ? format_count(p.rows_per_s) : ""; }},
      {"rows/s at 95 %", [](const Point& p) { return p.tokens ? "" : range_text(p.rows_ci95_per_s, format_count); }},
      {"tokens/s", [](const Point& p) { return p.tokens ? format_count(p.tokens->output_per_s) : ""; }},
      {"goodput/s",
       [](const Point& p) {
         return p.tokens && p.tokens->goodput_per_s ? format_count(*p.tokens->goodput_per_s) : "";
       }},
      {"TTFT p50", [](const Point& p) { return token_ms(p, &client::TokenFigures::ttft_ms, &measure::Latency::p50); }},
      {"TTFT p99", [](const Point& p) { return token_ms(p, &client::TokenFigures::ttft_ms, &measure::Latency::p99); }},
      {"ITL p50", [](const Point& p) { return token_ms(p, &client::TokenFigures::itl_ms, &measure::Latency::p50); }},
      {"ITL p99", [](const Point& p) { return token_ms(p, &client::TokenFigures::itl_ms, &measure::Latency::p99); }},
      {"TPOT p50", [](const Point& p) { return token_ms(p, &client::TokenFigures::tpot_ms, &measure::Latency::p50); }},
      {"p50", [](const Point& p) { return p.samples > 0 ? format_ms(p.latency_ms.p50) : "-"; }},
      {"p90", [](const Point& p) { return p.samples > 0 ? format_ms(p.latency_ms.p90) : "-"; }},
      {"p99", [](const Point& p) { return p.samples > 0 ? format_ms(p.latency_ms.p99) : "-"; }},
      {"p99 at 95 %", [](const Point& p) { return range_text(p.latency_ci95_ms.p99, format_ms); }},
      {"max", [](const Point& p) { return p.samples > 0 ? format_ms(p.latency_ms.max) : "-"; }},
      {"failed", [](const Point& p) { return failed(p) > 0 ? std::to_string(failed(p)) : ""; }},
      {"queue", [](const Point& p) { return p.server ? format_ms(p.server->queue_ms) : ""; }},
      {"compute", [](const Point& p) { return p.server ? format_ms(p.server->compute_ms) : ""; }},
      {"batch", [](const Point& p) { return p.server ? fmt::format("{:.3g}", mean_batch(*p.server)) : ""; }},
      {"client CPUs", [](const Point& p) { return fmt::format("{:.2f}", p.client.cpus); }},
      {"share of the limit",
       [](const Point& p) { return p.percent_of_limit ? format_percent(*p.percent_of_limit) : ""; }},
  };
  return kColumns;
}

std::string point_table(const std::vector<Point>& points) {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows(points.size());
  for (const Column& column : columns()) {
    std::vector<std::string> cells;
    for (const Point& point : points) cells.push_back(column.cell(point));
    if (std::all_of(cells.begin(), cells.end(), [](const std::string& cell) { return cell.empty(); })) continue;
    head.emplace_back(column.head);
    for (size_t i = 0; i < points.size(); ++i) rows[i].push_back(cells[i].empty() ? "-" : cells[i]);
  }
  return table(head, rows, std::string(head.size(), 'r'));
}

// ------------------------------------------------------------------------------------------------------- sentences

std::string search_text(const client::RateAnswer& answer) {
  const std::string goal = format_ms(answer.p99_ms);
  if (!answer.highest_per_s)
    return fmt::format("No rate was found at which 99 % of the requests are answered within {}. {}", goal,
                       answer.sentence);
  return fmt::format("Highest rate at which 99 % of the requests are answered within {}: {}/s ({}). {}", goal,
                     format_count(*answer.highest_per_s),
                     answer.confirmed ? "measured twice" : "not confirmed: the visits ended", answer.sentence);
}

void print_point_notes(const ServerMeasurement& m) {
  for (const Point& point : m.points) {
    const std::string at = point.rate_per_s ? fmt::format("at {}/s", format_count(*point.rate_per_s))
                                            : "at " + counted(point.concurrency, "caller");
    for (const auto& [kind, text] : point.problems)
      if (point.failures.contains(kind))
        print(fmt::format("failed {}: {} × {}, the first with: {}", at, point.failures.at(kind), kind, text));
    if (point.tokens && counts_differ(*point.tokens))
      print(fmt::format(
          "note: {} the server's usage counts {} tokens, and {} events had text: {:.3g} tokens per event; inter-token "
          "times are those of events",
          at, point.tokens->output_tokens, point.tokens->events,
          static_cast<double>(point.tokens->output_tokens) / static_cast<double>(point.tokens->events)));
    if (point.tokens && point.tokens->requests < point.samples)
      print(fmt::format("note: {} the token figures are those of the first {} requests", at, point.tokens->requests));
    if (point.samples > 0 && is_bottleneck(point.client))
      print(
          fmt::format("note: {} the load generator was the bottleneck ({}): the server may be faster; give "
                      "--client-threads {}, or measure from another machine",
                      at, client_text(point.client), 2 * point.client.threads));
    if (point.reconnects > point.samples / 2 && point.reconnects > 0)
      print(fmt::format(
          "note: {} the server closed its connections, and {} were opened again; that takes time of each request", at,
          point.reconnects));
    if (point.samples > 0 && point.samples < kSamplesForP99)
      print(fmt::format("note: {} p99 is that of {}; give --seconds more", at, counted(point.samples, "request")));
  }
}

void render(const ServerMeasurement& m) {
  print(heading(m) + "\n");
  print(m.points.size() == 1 ? summary(m, m.points.front()) : point_table(m.points));
  if (m.points.size() > 1)
    print(
        "times: measured from sending to the whole answer, at a rate from the intended time; queue and compute: "
        "reported by the server, mean");
  if (m.limit && m.points.size() > 1)
    print(fmt::format("limit: {} by all CPUs, derived from {} at {} per execution",
                      format_row_rate(m.limit->rows_per_s), m.limit->model, counted(m.limit->batch, "row")));
  for (const std::string& note : m.notes) print("note: " + note);
  print_point_notes(m);
  if (machine::disturbed(m.disturbance))
    print(fmt::format("note: {}{}.", warning_text(machine::sentence(*m.disturbance)),
                      m.on_this_machine ? " (before the load)" : ""));
  if (const Point* knee = client::knee(m.points); knee != nullptr)
    print(fmt::format(
        "\nFewest callers within 5 % of the highest throughput, as far as the 95 % intervals tell: {} ({}/s, p99 {}).",
        knee->concurrency, format_count(knee->requests_per_s), format_ms(knee->latency_ms.p99)));
  if (m.search) print("\n" + search_text(*m.search));
  if (!m.ended_early.empty()) print("\nended early: " + m.ended_early);
  if (m.interrupted) print("\ninterrupted: what is above was measured until then");
}

std::string decimal_ms(double ms) { return fmt::format("{:.{}f}", std::max(ms, 0.01), ms < 1 ? 2 : ms < 10 ? 1 : 0); }

// After a search the rate that was found, by itself; where none was, what one caller sees. Else more callers, and a goal.
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
      std::all_of(m.points.begin(), m.points.end(), [](const Point& point) { return point.samples == 0; });
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
  render(measured);
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
  Result<app::ServerBenchRequest> request = request_of(options);
  if (!request) return wrong_request(request.error());
  if (Status fits = fits_api(app, *request); !fits) return wrong_request(fits.error());
  if (Status ready = check_writable({options.output, options.trace, options.page.file}); !ready)
    return fail("bench", ready.error());
  if (!request->model_file.empty())
    if (Status fetched = fetch_model("bench", request->model_file); !fetched) return fail("bench", fetched.error());
  std::vector<measure::TracedLoad> loads;
  if (!options.trace.empty()) request->trace = &loads;
  listen_for_interruption();
  const Result<ServerMeasurement> measured = app::bench_server(*request, interruptible("bench"));
  if (!measured)
    return measured.error().code == Code::kInvalid ? wrong_request(measured.error()) : fail("bench", measured.error());
  const Json json = json_of(*measured);
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(csv_table(std::string(kCsv) + (measured->token_load ? kLlmCsv : ""), json["points"]));
  } else {
    render(*measured);
    print_next(next_of(options, *measured));
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
