// Traced requests → the body of a request to an OpenTelemetry collector: OTLP over HTTP as JSON
// (https://opentelemetry.io/docs/specs/otlp/, ExportTraceServiceRequest). Pure.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/clock.h"
#include "front/trace.h"

namespace ridge::front {

using ResourceAttributes = std::map<std::string, std::string>;

// One span for the request, and one for each stage that it went through.
size_t spans_of(const TraceRecord& record);

// `epoch`: 1970 on the records' clock.
std::string otlp_body(std::span<const TraceRecord> records, const ResourceAttributes& resource, TimePoint epoch);

}  // namespace ridge::front
