// The bodies of the repository endpoints → native values. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::front::http {

// {"ready": bool}? of an index request; an empty body means false.
Result<bool> read_index_request(std::string_view body);
// {"parameters": {"config": text, "file:V/NAME": base64}}? of a load request.
Result<serve::LoadRequest> read_load_request(std::string_view body);
// {"parameters": {"unload_dependents": bool}}? of an unload request.
Result<bool> read_unload_request(std::string_view body);

}  // namespace ridge::front::http
