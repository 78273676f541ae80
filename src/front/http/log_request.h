// The body of a change of the log's settings → native values. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "front/log_settings.h"

namespace ridge::front::http {

// {"log_info": bool, "log_verbose_level": number, "log_format": text, …}; null: not changed.
Result<LogSettings> read_log_request(std::string_view body);

}  // namespace ridge::front::http
