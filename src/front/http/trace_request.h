// Body of POST …/trace/setting: a member per setting, a text or a list; null is the server's own again. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "front/tracer.h"

namespace ridge::front::http {

Result<TraceChanges> read_trace_request(std::string_view body);

}  // namespace ridge::front::http
