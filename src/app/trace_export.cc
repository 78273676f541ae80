#include "app/trace_export.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/read_number.h"
#include "client/exchange.h"
#include "client/protocol.h"

namespace ridge::app {
namespace {

constexpr std::chrono::seconds kCollectorPatience{2};  // with the collector
constexpr const char* kDefaultUrl = "http://localhost:4318/v1/traces";
constexpr std::string_view kMode = "opentelemetry";

template <typename Number>
Status set_number(std::string_view text, Number least, Number& into) {
  if (read_number(text, into) && into >= least) return {};
  return invalid("expected a number from " + std::to_string(least));
}

Status set_level(std::string_view text, TraceConfig& config) {
  config.options.on = text == "TIMESTAMPS";
  if (config.options.on || text == "OFF") return {};
  return invalid("expected TIMESTAMPS or OFF; tensors are not traced, as spans have no place for them");
}

Status set_url(std::string_view text, TraceConfig& config) {
  config.options.url = text;
  if (text.starts_with("https://"))
    return invalid("https is not supported; name a collector on this machine, which forwards by TLS");
  if (text.starts_with("http://")) text.remove_prefix(std::string_view("http://").size());
  const size_t slash = std::min(text.find('/'), text.size());
  config.target.path = slash < text.size() ? text.substr(slash) : "/v1/traces";
  const std::string server = "http://" + std::string(text.substr(0, slash));
  Result<client::ServerUrl> url = client::parse_server_url(server);
  if (!url) return std::move(url).error();
  config.target.url = std::move(*url);
  return {};
}

// "service.name=shop"
Status set_resource(std::string_view text, TraceConfig& config) {
  const size_t equal = text.find('=');
  if (equal == 0 || equal == std::string_view::npos) return invalid("expected KEY=VALUE");
  config.options.resource[std::string(text.substr(0, equal))] = text.substr(equal + 1);
  return {};
}

struct Setting {
  std::string_view name;
  bool of_mode;  // stands behind "opentelemetry,"
  Status (*set)(std::string_view value, TraceConfig& config);
};
constexpr Setting kSettings[] = {
    {"level", false, set_level},
    {"rate", false,
     [](std::string_view text, TraceConfig& to) { return set_number<uint64_t>(text, 1, to.options.rate); }},
    {"count", false,
     [](std::string_view text, TraceConfig& to) { return set_number<int64_t>(text, -1, to.options.count); }},
    {"mode", false,
     [](std::string_view text, TraceConfig&) {
       return text == kMode ? Status() : invalid("expected opentelemetry: there is no file of traces");
     }},
    {"url", true, set_url},
    {"resource", true, set_resource},
    {"bsp_schedule_delay", true,
     [](std::string_view text, TraceConfig& to) {
       int64_t milliseconds = 0;
       Status set = set_number<int64_t>(text, 10, milliseconds);
       to.options.send_period = std::chrono::milliseconds(milliseconds);
       return set;
     }},
    {"bsp_max_queue_size", true,
     [](std::string_view text, TraceConfig& to) { return set_number<size_t>(text, 1, to.options.most_waiting); }},
    {"bsp_max_export_batch_size", true,
     [](std::string_view text, TraceConfig& to) { return set_number<size_t>(text, 1, to.options.most_in_batch); }},
};

Status set(std::string_view value, TraceConfig& config) {
  std::string_view text = value;
  bool of_mode = false;
  if (const size_t comma = text.find(','); comma < text.find('=')) {
    if (text.substr(0, comma) != kMode)
      return invalid("traces go to a collector of OpenTelemetry only: opentelemetry,url=" + std::string(kDefaultUrl));
    of_mode = true;
    text.remove_prefix(comma + 1);
  }
  const size_t equal = std::min(text.find('='), text.size());
  const auto* row = std::find_if(std::begin(kSettings), std::end(kSettings), [&](const Setting& each) {
    return each.name == text.substr(0, equal) && each.of_mode == of_mode;
  });
  if (row != std::end(kSettings) && equal < text.size()) return row->set(text.substr(equal + 1), config);
  std::string names;
  for (const Setting& each : kSettings)
    names +=
        (names.empty() ? "" : ", ") + std::string(each.of_mode ? "opentelemetry," : "") + std::string(each.name) + "=";
  return invalid("expected one of " + names);
}

}  // namespace

Result<std::optional<TraceConfig>> parse_trace_config(const std::vector<std::string>& values) {
  if (values.empty()) return std::optional<TraceConfig>();
  TraceConfig config;
  RIDGE_TRY(set_url(kDefaultUrl, config));
  for (const std::string& value : values)
    if (Status done = set(value, config); !done) return wrap(std::move(done).error(), "--trace-config " + value);
  return std::optional(std::move(config));
}

Status send_traces(const TraceTarget& target, const std::string& body) {
  RIDGE_ASSIGN(client::Exchange exchange, client::Exchange::open(target.url, kCollectorPatience));
  client::Request request;
  request.bytes = client::http_request(target.url, "POST", target.path, body, "Content-Type: application/json\r\n");
  RIDGE_ASSIGN(const client::Response answer, exchange.ask(request));
  if (answer.status / 100 == 2) return {};
  return Error{Code::kFailed, "the collector answered with status " + std::to_string(answer.status)};
}

}  // namespace ridge::app
