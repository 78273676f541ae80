#include "cli/bench_server_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "cli/figure_table.h"
#include "cli/terminal.h"
#include "client/judgement.h"

namespace ridge::cli {
namespace {

using client::Point;
using client::ServerMeasurement;

// Percentiles of fewer samples are not those of the server.
constexpr int64_t kSamplesForP99 = 100;

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
                     load.trace.empty() ? "drawn words" : "lengths of " + load.trace);
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

// Each figure's limit: shares of means.
void add_token_limit(const client::TokenFigures& tokens, double percent, std::vector<std::vector<std::string>>& rows) {
  const client::TokenLimit& limit = *tokens.limit;
  rows.push_back({"share of the limit", format_percent(percent),
                  fmt::format("derived: at most {} output tokens/s of such a load, limited by {}",
                              format_count(limit.output_per_s), cost::limiter_name(limit.load))});
  if (limit.ttft_percent)
    rows.push_back({"  first token", format_percent(*limit.ttft_percent),
                    fmt::format("derived: at least {} for a prompt of {:.0f} tokens alone, limited by {}",
                                format_ms(limit.ttft_ms),
                                static_cast<double>(tokens.prompt_tokens) / static_cast<double>(tokens.requests),
                                cost::limiter_name(limit.prefill))});
  if (limit.tpot_percent)
    rows.push_back({"  per output token", format_percent(*limit.tpot_percent),
                    fmt::format("derived: at least {} for a step of {:.3g} at once, limited by {}",
                                format_ms(*limit.tpot_ms), limit.decoding, cost::limiter_name(limit.decode))});
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
  if (point.tokens && point.tokens->limit) add_token_limit(*point.tokens, point.percent_of_limit.value_or(0), rows);
  if (m.limit && point.percent_of_limit) {
    rows.push_back({"bound", format_ms(m.limit->bound_ms),
                    fmt::format("derived: an execution of {} on all CPUs, limited by {}",
                                counted(m.limit->batch, "row"), cost::limiter_name(m.limit->limiter))});
    rows.push_back(
        {"share of the limit", format_percent(*point.percent_of_limit), "measured rate / rate at the bound"});
  }
  return table({}, rows, "lrl");
}

// A batch of one has as many rows as requests; the rate of an open loop is the load, that of tokens has no interval.
std::string point_table(const ServerMeasurement& m) {
  std::set<std::string> left_out;
  if (m.batch == 1) left_out.insert("/throughput_per_s");
  if (m.token_load) left_out.insert("/throughput_ci95_per_s");
  if (m.points.front().rate_per_s) left_out.insert("/concurrency");
  return figure_table("bench-server", "points", json_of(m.points), left_out);
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

}  // namespace

void print_server_measurement(const ServerMeasurement& m) {
  print(heading(m) + "\n");
  print(m.points.size() == 1 ? summary(m, m.points.front()) : point_table(m));
  if (m.points.size() > 1)
    print(
        "times: measured from sending to the whole answer, at a rate from the intended time; queue and compute: "
        "reported by the server, mean");
  if (m.limit && m.points.size() > 1)
    print(fmt::format("limit: {} by all CPUs, derived from {} at {} per execution",
                      format_row_rate(m.limit->rows_per_s), m.limit->model, counted(m.limit->batch, "row")));
  if (m.token_limit)
    print(
        fmt::format("limit: derived from {} with {} weights, {} a step, and a cache in {}, on {}; shares compare means",
                    m.token_limit->model, m.token_limit->weights, format_bytes(m.token_limit->weight_bytes),
                    m.token_limit->cache, m.token_limit->device));
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

}  // namespace ridge::cli
