// The bodies of the shared memory endpoints → native values. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::front::http {

// {"key", "offset"?, "byte_size"} of system shared memory, {"raw_handle": {"b64"}, "device_id", "byte_size"} of a GPU.
Result<serve::RegionRequest> read_region_request(serve::RegionKind kind, const std::string& name,
                                                 std::string_view body);

}  // namespace ridge::front::http
