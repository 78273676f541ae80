// The W3C context of a trace (https://www.w3.org/TR/trace-context/, level 1): traceparent and tracestate. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridge::front {

struct TraceContext {
  std::string trace_id;  // 32 hexadecimal digits, lower case
  std::string span_id;   // 16: the caller's span
  bool sampled = false;  // the caller records its part
};

// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". nullopt: it is not valid, and so counts as not sent.
std::optional<TraceContext> parse_traceparent(std::string_view field);

}  // namespace ridge::front
