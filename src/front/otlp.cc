#include "front/otlp.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "front/span_id.h"

namespace ridge::front {
namespace {

constexpr int kInternal = 1, kServer = 2;  // Span.SpanKind
constexpr int kError = 2;                  // Status.StatusCode

struct Stage {
  const char* name;
  TimePoint from, to;
};

// In their order; those of a request that was not run are not there.
std::array<Stage, 6> stages_of(const TraceRecord& record) {
  const serve::StageTimes& times = record.stages;
  return {{{"receive", record.arrived, times.queued},
           {"queue", times.queued, times.started},
           {"input", times.started, times.inputs_ready},
           {"infer", times.inputs_ready, times.computed},
           {"output", times.computed, times.outputs_ready},
           {"send", times.outputs_ready, record.ended}}};
}

bool was_run(const TraceRecord& record) { return record.stages.started != TimePoint{}; }

Json text_attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}
// 64-bit integers are texts in the JSON form of protobuf.
Json number_attribute(const std::string& key, int64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

Json span_of(const TraceRecord& record, const std::string& name, int kind, const std::string& id,
             const std::string& parent, TimePoint from, TimePoint to, TimePoint epoch) {
  auto nanoseconds = [&](TimePoint time) { return std::to_string((time - epoch).count()); };
  Json span;
  span["traceId"] = record.trace_id;
  span["spanId"] = id;
  if (!parent.empty()) span["parentSpanId"] = parent;
  if (!record.state.empty()) span["traceState"] = record.state;
  span["name"] = name;
  span["kind"] = kind;
  span["startTimeUnixNano"] = nanoseconds(from);
  span["endTimeUnixNano"] = nanoseconds(std::max(from, to));
  return span;
}

// Names of attributes as Triton's, where it has them.
Json attributes_of(const TraceRecord& record) {
  Json attributes = Json::array();
  attributes.push_back(text_attribute("triton.model_name", record.model));
  if (record.stages.version > 0) attributes.push_back(number_attribute("triton.model_version", record.stages.version));
  if (!record.request_id.empty()) attributes.push_back(text_attribute("triton.request_id", record.request_id));
  attributes.push_back(text_attribute("ridge.protocol", record.protocol));
  if (was_run(record)) {
    attributes.push_back(number_attribute("ridge.batch_rows", record.stages.batch_rows));
    attributes.push_back(number_attribute("ridge.batch_requests", record.stages.batch_requests));
  }
  return attributes;
}

void append_spans(Json& spans, const TraceRecord& record, TimePoint epoch) {
  Json request =
      span_of(record, "InferRequest", kServer, record.span_id, record.parent_id, record.arrived, record.ended, epoch);
  request["attributes"] = attributes_of(record);
  if (!record.error.empty()) request["status"] = {{"code", kError}, {"message", record.error}};
  spans.push_back(std::move(request));
  if (!was_run(record)) return;
  for (const Stage& stage : stages_of(record))
    spans.push_back(span_of(record, stage.name, kInternal, new_span_id(), record.span_id, stage.from, stage.to, epoch));
}

}  // namespace

size_t spans_of(const TraceRecord& record) { return 1 + (was_run(record) ? stages_of(record).size() : 0); }

std::string otlp_body(std::span<const TraceRecord> records, const ResourceAttributes& resource, TimePoint epoch) {
  Json spans = Json::array();
  for (const TraceRecord& record : records) append_spans(spans, record, epoch);
  Json attributes = Json::array();
  for (const auto& [key, value] : resource) attributes.push_back(text_attribute(key, value));
  Json scope = {{"scope", {{"name", "ridge"}}}, {"spans", std::move(spans)}};
  Json of_resource = {{"resource", {{"attributes", std::move(attributes)}}}, {"scopeSpans", Json::array({scope})}};
  return dump_json({{"resourceSpans", Json::array({of_resource})}});
}

}  // namespace ridge::front
