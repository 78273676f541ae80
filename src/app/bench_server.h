// `ridge bench URL` without options and text: puts load on a served model. Prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/llm_server.h"
#include "app/run_control.h"
#include "app/server_inputs.h"
#include "base/result.h"
#include "client/server_measurement.h"
#include "client/server_url.h"
#include "measure/arrival.h"
#include "measure/trace.h"

namespace ridge::app {

struct ServerBenchRequest {
  client::ServerUrl url;
  InputRequest inputs;  // of the Open Inference Protocol; its seed also of a language model's prompts
  LlmLoadRequest llm;   // where the URL has an endpoint of OpenAI's API
  std::optional<client::Payload> payload;  // absent: binary, where the server takes it
  std::vector<int> concurrency;     // of each closed loop; of open loops one: connections at most; empty: 1, open 128
  std::vector<double> rates_per_s;  // of each open loop
  measure::Arrival arrival = measure::Arrival::kConstant;
  std::optional<double> p99_ms;     // search for the highest rate within it
  Nanoseconds max_time{};           // of all points together; 0: a trace's own time
  double half_width_percent = 0;    // of the mean latency, ends a point early; 0: none does
  std::optional<int64_t> requests;  // ends a point after at least this many
  size_t warm_up_requests = 0;      // at least
  Nanoseconds timeout = std::chrono::seconds(30);
  int threads = 1;                                    // of the client
  std::vector<measure::TracedLoad>* trace = nullptr;  // if given: filled in, a load per point
  std::string model_file;                             // whose limit is shown, for llm as know_limit(); empty: none is
};

// Wrong in itself, or for this server: what the caller should report as wrong usage has Code::kInvalid. Interrupted,
// what was measured until then.
Result<client::ServerMeasurement> bench_server(const ServerBenchRequest& request, const RunControl& control);

}  // namespace ridge::app
