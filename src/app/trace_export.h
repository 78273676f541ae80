// Reads `--trace-config`, and reaches the collector of traces that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/server_url.h"
#include "front/tracer.h"

namespace ridge::app {

// The collector's address.
struct TraceTarget {
  client::ServerUrl url;
  std::string path;  // "/v1/traces"
};

struct TraceConfig {
  TraceTarget target;
  front::TraceOptions options;
};

// Values of the option as Triton's: "opentelemetry,url=http://HOST:4318/v1/traces", "rate=100". Absent: none is given.
Result<std::optional<TraceConfig>> parse_trace_config(const std::vector<std::string>& values);

// One request to the collector, over a connection of its own.
Status send_traces(const TraceTarget& target, const std::string& body);

}  // namespace ridge::app
