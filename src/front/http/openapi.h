// The OpenAPI 3.1 document of what the server answers: page/openapi.json, with the paths that name a version. Pure.
#pragma once

#include <string>

namespace ridge::front::http {

std::string openapi_document(const std::string& server_version);

}  // namespace ridge::front::http
