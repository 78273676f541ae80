// The log's settings as the protocols' logging extension names them. Of the process; thread-safe.
//
// The log has one threshold: a level is on with all levels above it. Lines go to standard error, as text or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace ridge::front {

using LogValue = std::variant<bool, uint64_t, std::string>;
using LogSettings = std::vector<std::pair<std::string, LogValue>>;

// log_file, log_info, log_warning, log_error, log_verbose_level, log_format.
LogSettings log_settings();
// All of them or, with an error, none.
Status change_log_settings(const LogSettings& changes);

}  // namespace ridge::front
