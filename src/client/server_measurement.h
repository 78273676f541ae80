// ServerMeasurement: a served model under load, as its client and its server saw it. The contract of `ridge bench URL --json`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/tensor.h"
#include "client/protocol.h"
#include "client/token_figures.h"
#include "measure/measurement.h"

namespace ridge::client {

// The load's cost to this process, over the counted time.
struct ClientSide {
  int threads = 0;                // that drive the connections
  double cpus = 0;                // mean CPUs used by this process
  std::optional<double> waiting;  // mean threads that were ready but had no CPU; absent: the kernel does not say
  double send_ms = 0;             // mean, per request: giving it to the system
  double wait_ms = 0;             // until the first byte of its answer
  double receive_ms = 0;          // from then to its last byte
};
// Threads that are always busy, or waiting for a CPU, measure themselves.
constexpr double kBusyClient = 0.9;
inline bool is_bottleneck(const ClientSide& client) {
  return client.threads > 0 && client.cpus + client.waiting.value_or(0) >= kBusyClient * client.threads;
}
void visit_fields(auto& visit, Is<ClientSide> auto& client) {
  visit("threads", client.threads);
  visit("cpus", client.cpus);
  visit("waiting_for_cpu", client.waiting);
  visit("send_ms", client.send_ms);
  visit("wait_ms", client.wait_ms);
  visit("receive_ms", client.receive_ms);
  visit.derived("bottleneck", is_bottleneck(client));
}

// The server's own statistics over the counted time: means per request [ms].
struct ServerSide {
  int64_t requests = 0, failed = 0;
  int64_t rows = 0, executions = 0;  // of the model
  double queue_ms = 0, input_ms = 0, compute_ms = 0, output_ms = 0;
  std::map<std::string, int64_t> batches;  // executions by their number of rows
};
inline double mean_batch(const ServerSide& server) {
  return server.executions > 0 ? static_cast<double>(server.rows) / static_cast<double>(server.executions) : 0;
}
void visit_fields(auto& visit, Is<ServerSide> auto& server) {
  visit("requests", server.requests);
  visit("failed", server.failed);
  visit("rows", server.rows);
  visit("executions", server.executions);
  visit.derived("mean_batch", mean_batch(server));
  visit("queue_ms", server.queue_ms);
  visit("compute_input_ms", server.input_ms);
  visit("compute_infer_ms", server.compute_ms);
  visit("compute_output_ms", server.output_ms);
  visit("batches", server.batches);
}

// One load.
struct Point {
  int concurrency = 1;               // connections, each with one request in flight
  std::optional<double> rate_per_s;  // asked, of requests; absent: closed loop
  double requests_per_s = 0;         // answered
  double rows_per_s = 0;
  measure::Interval rows_ci95_per_s;  // of a closed loop; empty: not known, or given by the load
  int64_t samples = 0;                // counted requests that succeeded
  measure::Latency latency_ms;        // of a request; of an open loop from its intended time
  measure::PercentileIntervals latency_ci95_ms;
  double ci95_percent = 0;                      // half-width of the 95 % confidence interval of the mean latency
  std::optional<measure::Histogram> histogram;  // of the latencies of all samples; absent in older files
  std::optional<measure::OpenLoad> load;
  std::map<std::string, int64_t> failures;      // counted requests by status, or by what happened to the connection
  std::map<std::string, std::string> problems;  // the first message of each kind, of the whole load
  int64_t reconnects = 0;                       // connections opened again during the load
  ClientSide client;
  std::optional<ServerSide> server;  // absent: it has no statistics
  std::optional<double> percent_of_limit;
  std::optional<TokenFigures> tokens;  // of a language-model server; absent: it is none
  bool interrupted = false;
};
inline int64_t failed(const Point& point) {
  int64_t sum = 0;
  for (const auto& [kind, count] : point.failures) sum += count;
  return sum;
}
void visit_fields(auto& visit, Is<Point> auto& point) {
  visit("concurrency", point.concurrency);
  visit("rate_per_s", point.rate_per_s);
  visit("requests_per_s", point.requests_per_s);
  visit("throughput_per_s", point.rows_per_s);
  visit.optional("throughput_ci95_per_s", point.rows_ci95_per_s);
  visit("samples", point.samples);
  visit("latency_ms", point.latency_ms);
  visit.optional("latency_ci95_ms", point.latency_ci95_ms);
  visit.optional("ci95_percent", point.ci95_percent);
  visit("load", point.load);
  visit.derived("failed", failed(point));
  visit("failures", point.failures);
  visit("problems", point.problems);
  visit("reconnects", point.reconnects);
  visit("client", point.client);
  visit("server", point.server);
  visit("percent_of_limit", point.percent_of_limit);
  visit("interrupted", point.interrupted);
  visit.unless_empty("histogram", point.histogram);
  visit.unless_empty("tokens", point.tokens);
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
  double p99_ms = 0;                    // the goal
  std::optional<double> highest_per_s;  // of requests; absent: no rate meets it
  std::optional<double> lowest_failed_per_s;
  bool confirmed = false;  // it met the goal twice
  std::string limiter;     // of the next rate: queue, compute, outside, client, connections, failures, latency; stable
  std::string sentence;
};
void visit_fields(auto& visit, Is<RateAnswer> auto& answer) {
  visit("p99_ms", answer.p99_ms);
  visit("highest_rate_per_s", answer.highest_per_s);
  visit("lowest_failed_rate_per_s", answer.lowest_failed_per_s);
  visit("confirmed", answer.confirmed);
  visit("limiter", answer.limiter);
  visit("sentence", answer.sentence);
}

// The least time that this machine needs for the rows, whoever asks for them.
struct ServerLimit {
  std::string model;      // file
  int64_t batch = 1;      // rows of the largest execution; of a request where the server does not say
  double bound_ms = 0;    // of one execution, by all threads
  double rows_per_s = 0;  // at best
  cost::Limiter limiter = cost::Limiter::kUnknown;
};
void visit_fields(auto& visit, Is<ServerLimit> auto& limit) {
  visit("model", limit.model);
  visit("batch", limit.batch);
  visit("bound_ms", limit.bound_ms);
  visit("throughput_per_s", limit.rows_per_s);
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
  visit("weight_bytes", of.weight_bytes);
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
  visit("url", m.url);
  visit("server", m.server);
  visit("server_version", m.server_version);
  visit("on_this_machine", m.on_this_machine);
  visit("model", m.model);
  visit("model_version", m.model_version);
  visit("batch", m.batch);
  visit("inputs", m.inputs);
  visit("payload", m.payload);
  visit("requests", m.requests);
  visit("request_bytes", m.request_bytes);
  visit("answer_bytes", m.answer_bytes);
  visit("points", m.points);
  visit.unless_empty("search", m.search);
  visit.unless_empty("limit", m.limit);
  visit.unless_empty("token_load", m.token_load);
  visit.unless_empty("token_limit", m.token_limit);
  visit("notes", m.notes);
  visit.unless_empty("disturbance", m.disturbance);
  visit("interrupted", m.interrupted);
  visit("ended_early", m.ended_early);
}

}  // namespace ridge::client
