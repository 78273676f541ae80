// ServerMeasurement: a served model under load, as its client and its server saw it. The contract of `ridge bench URL
// --json`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/tensor.h"
#include "client/protocol.h"
#include "client/token_figures.h"
#include "measure/measurement.h"

namespace ridge::client {

// The load's cost to this process, over the counted time.
struct ClientSide {
  int threads = 0;
  double cpus = 0;
  std::optional<double> waiting;
  double send_ms = 0, wait_ms = 0, receive_ms = 0;
};
// Threads that are always busy, or waiting for a CPU, measure themselves.
constexpr double kBusyClient = 0.9;
inline bool is_bottleneck(const ClientSide& client) {
  return client.threads > 0 && client.cpus + client.waiting.value_or(0) >= kBusyClient * client.threads;
}
void visit_fields(auto& visit, Is<ClientSide> auto& client) {
  visit("threads", client.threads, means("that drive the connections"));
  visit("cpus", client.cpus, means("mean that the process used").column("client CPUs").in("CPUs"));
  visit("waiting_for_cpu", client.waiting, means("mean threads that were ready without a CPU; null: not reported"));
  visit("send_ms", client.send_ms,
        means("mean per request (where they are answered within 1 ms: of one in 8): giving it to the system"));
  visit("wait_ms", client.wait_ms, means("likewise: until the first byte of the answer"));
  visit("receive_ms", client.receive_ms, means("likewise: from then to the last byte"));
  visit.derived("bottleneck", Derived{is_bottleneck(client),
                                      means("true: `cpus` and `waiting_for_cpu` are 0.9 of `threads` or more")});
}

// The server's own statistics over the counted time.
struct ServerSide {
  int64_t requests = 0, failed = 0, rows = 0, executions = 0;
  double queue_ms = 0, input_ms = 0, compute_ms = 0, output_ms = 0;
  std::map<std::string, int64_t> batches;
};
inline double mean_batch(const ServerSide& server) {
  return server.executions > 0 ? static_cast<double>(server.rows) / static_cast<double>(server.executions) : 0;
}
void visit_fields(auto& visit, Is<ServerSide> auto& server) {
  visit("requests", server.requests);
  visit("failed", server.failed);
  visit("rows", server.rows);
  visit("executions", server.executions);
  visit("queue_ms", server.queue_ms, means("mean per request").column("queue").low_is_better());
  visit("compute_input_ms", server.input_ms, means("mean per request").low_is_better());
  visit("compute_infer_ms", server.compute_ms, means("mean per request").column("compute").low_is_better());
  visit("compute_output_ms", server.output_ms, means("mean per request").low_is_better());
  visit.derived("mean_batch", Derived{mean_batch(server), means("mean rows of an execution").column("batch")});
  visit("batches", server.batches, means("executions by their number of rows"));
}

// One load.
struct Point {
  int concurrency = 1;
  std::optional<double> rate_per_s;
  double requests_per_s = 0, rows_per_s = 0;
  measure::Interval rows_ci95_per_s;
  int64_t samples = 0;
  measure::Latency latency_ms;
  measure::PercentileIntervals latency_ci95_ms;
  double ci95_percent = 0;
  std::optional<measure::Histogram> histogram;  // absent in older files
  std::optional<measure::OpenLoad> load;
  std::map<std::string, int64_t> failures;
  std::map<std::string, std::string> problems;
  int64_t reconnects = 0;
  ClientSide client;
  std::optional<ServerSide> server;
  std::optional<double> percent_of_limit;
  std::optional<TokenFigures> tokens;
  bool interrupted = false;
};
inline int64_t failed(const Point& point) {
  int64_t sum = 0;
  for (const auto& [kind, count] : point.failures) sum += count;
  return sum;
}
void visit_fields(auto& visit, Is<Point> auto& point) {
  visit("concurrency", point.concurrency,
        means("connections, each with one request in flight at most").column("callers").csv());
  visit("rate_per_s", point.rate_per_s,
        means("requests per second asked for; null: closed loop").column("asked/s").csv());
  visit("requests_per_s", point.requests_per_s,
        means("requests per second that were answered with status 200, or OK of gRPC")
            .column("answered/s")
            .csv()
            .high_is_better());
  visit("throughput_per_s", point.rows_per_s,
        means("rows per second of these").column("rows/s").csv().high_is_better());
  visit.optional("throughput_ci95_per_s", point.rows_ci95_per_s,
                 means("the rows' 95 % interval, of a closed loop; null at a rate, which gives it")
                     .column("rows/s at 95 %")
                     .csv("throughput"));
  visit.unless_empty(
      "tokens", point.tokens,
      means("of a language-model server only, over the counted requests that succeeded").groups_columns().csv());
  visit("samples", point.samples, means("counted requests that succeeded").csv());
  visit("latency_ms", point.latency_ms,
        means("of these requests, from sending (at a rate: from the intended time) to the last byte of the answer")
            .part_columns("p50 p90 p95 p99 max")
            .csv());
  visit.optional("latency_ci95_ms", point.latency_ci95_ms,
                 means("95 % intervals").part_columns("p99", "{} at 95 %").csv());
  visit.optional("ci95_percent", point.ci95_percent,
                 means("half-width of the 95 % interval of the mean latency").csv().or_null());
  visit("load", point.load, means("at a rate, as of `bench MODEL`: connections are the callers"));
  visit.derived("failed",
                Derived{failed(point), means("counted requests that failed").column("failed").csv().low_is_better()});
  visit("failures", point.failures,
        means("their number by status (`503`; of gRPC `UNAVAILABLE`), or `timeout`, `no connection`, `connection "
              "closed`, `not HTTP`, `not gRPC`, `malformed answer` (without outputs), `error in the answer`; of "
              "language models also `no [DONE]`, `no tokens`, `no usage`"));
  visit("problems", point.problems, means("the first message of each kind, the warm-up's included"));
  visit("reconnects", point.reconnects, means("connections that were opened again, the warm-up's included"));
  visit("server", point.server,
        means("change of the server's statistics meanwhile; null: it has none").groups_columns());
  visit("client", point.client, means("what the load cost this process").groups_columns());
  visit("percent_of_limit", point.percent_of_limit,
        means("100 · throughput_per_s / limit.throughput_per_s; of a language model that of the output tokens")
            .column("share of the limit")
            .csv());
  visit("interrupted", point.interrupted, means("true: the point was cut short"));
  visit.unless_empty("histogram", point.histogram, means("of the latencies of all samples, as of `bench MODEL`"));
}

struct RequestInput {
  std::string name;
  std::string type;  // as on the wire: "FP32"
  Shape shape;
  std::string source;  // "random, seed 1", a file
};
void visit_fields(auto& visit, Is<RequestInput> auto& input) {
  visit("name", input.name);
  visit("datatype", input.type);
  visit("shape", input.shape);
  visit("source", input.source);
}

// The search for the highest rate.
struct RateAnswer {
  double p99_ms = 0;
  std::optional<double> highest_per_s, lowest_failed_per_s;
  bool confirmed = false;
  std::string limiter;  // stable
  std::string sentence;
};
void visit_fields(auto& visit, Is<RateAnswer> auto& answer) {
  visit("p99_ms", answer.p99_ms, means("the goal"));
  visit("highest_rate_per_s", answer.highest_per_s,
        means("the highest rate at which at most one request in a hundred was later than that or failed, and 95 % of "
              "the rate was answered; null: none was found"));
  visit("lowest_failed_rate_per_s", answer.lowest_failed_per_s, means("the lowest rate above it that did not"));
  visit("confirmed", answer.confirmed, means("true: it did twice"));
  visit("limiter", answer.limiter,
        means("of the rate that did not: `queue`, `compute` (the server's times), `outside` (neither: network, HTTP, "
              "busy CPUs), `client`, `connections`, `failures`, `latency` (nothing more is known)"));
  visit("sentence", answer.sentence);
}

// The least time that this machine needs for the rows, whoever asks for them.
struct ServerLimit {
  std::string model;  // file
  int64_t batch = 1;
  double bound_ms = 0, rows_per_s = 0;
  cost::Limiter limiter = cost::Limiter::kUnknown;
};
void visit_fields(auto& visit, Is<ServerLimit> auto& limit) {
  visit("model", limit.model);
  visit("batch", limit.batch, means("rows of the largest execution that the server reports; else of a request"));
  visit("bound_ms", limit.bound_ms, means("least time of such an execution, by all CPUs of this machine"));
  visit("throughput_per_s", limit.rows_per_s, means("the rows per second that follow"));
  visit("limiter", limit.limiter);
}

// Whose limit stands beside the figures of tokens.
struct TokenLimitOf {
  std::string model;           // as it was given: a folder, its config.json, a GGUF file
  std::string weights, cache;  // their forms: "bf16", "u8"
  double weight_bytes = 0;     // that a step of one token reads
  std::string device;
};
void visit_fields(auto& visit, Is<TokenLimitOf> auto& of) {
  visit("model", of.model);
  visit("weights", of.weights);
  visit("cache", of.cache);
  visit("weight_bytes", of.weight_bytes, means("that a step of one token reads"));
  visit("device", of.device);
}

struct ServerMeasurement {
  std::string url;
  std::string server, server_version;  // as it calls itself
  bool on_this_machine = false;
  std::string model, model_version;
  int64_t batch = 1;  // rows of a request
  std::vector<RequestInput> inputs;
  Payload payload = Payload::kBinary;
  int64_t requests = 1;                         // different ones, sent in turn
  int64_t request_bytes = 0, answer_bytes = 0;  // of the first request's body and of its answer's
  std::vector<Point> points;                    // in the order in which they were measured
  std::optional<RateAnswer> search;
  std::optional<ServerLimit> limit;
  std::optional<TokenLoad> token_load;  // of a language-model server; absent: it is none
  std::optional<TokenLimitOf> token_limit;
  std::vector<std::string> notes;
  // This machine's disturbance; if the server runs here too, that of a moment before the load. Absent in older files.
  std::optional<machine::Disturbance> disturbance;
  bool interrupted = false;
  std::string ended_early;  // why not all points were measured; empty: all were, or it was interrupted
};
void visit_fields(auto& visit, Is<ServerMeasurement> auto& m) {
  visit("url", m.url, means("what was asked"));
  visit("server", m.server, means("as it calls itself; of a language-model server `owned_by` of /v1/models"));
  visit("server_version", m.server_version);
  visit("on_this_machine", m.on_this_machine, means("true: both ends of the connection have one address"));
  visit("model", m.model);
  visit("model_version", m.model_version, means("the version that answered"));
  visit("batch", m.batch, means("rows of a request"));
  visit("inputs", m.inputs, means("of a request; `source`: `random, seed N`, or the files"));
  visit("payload", m.payload);
  visit("requests", m.requests, means("different ones, sent in turn"));
  visit("request_bytes", m.request_bytes, means("size of the first one's body; of gRPC the message's"));
  visit("answer_bytes", m.answer_bytes, means("of the last answer's"));
  visit("points", m.points, means("one per load, in the order of measuring"));
  visit.unless_empty("search", m.search, means("with `--p99-ms`"));
  visit.unless_empty("limit", m.limit, means("with `--model`"));
  visit.unless_empty("token_load", m.token_load,
                     means("of a language-model server (OpenAI's API) only: what is asked; tokens of prompts and "
                           "answers are drawn evenly, or from the file `trace`; `ignore_eos` false: the server refuses "
                           "it, so that answers may be shorter"));
  visit.unless_empty(
      "token_limit", m.token_limit,
      means("of a language model with `--model` only: what the limits beside its figures are derived from"));
  visit("notes", m.notes, means("on the inputs and the payload, as sentences"));
  visit.unless_empty("disturbance", m.disturbance,
                     means("as of `bench MODEL`, of the client's machine; where the server runs there too, of half a "
                           "second before the load: under load the server would count"));
  visit("interrupted", m.interrupted, means("by Ctrl-C"));
  visit("ended_early", m.ended_early, means("why not every point was measured: the server was gone; empty: all were"));
}

}  // namespace ridge::client
