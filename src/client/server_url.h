// The address of a served model: "http://HOST:PORT/v2/models/NAME/versions/V", or grpc://, or of OpenAI's API
// "http://HOST:PORT/v1/chat/completions" → its parts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::client {

enum class Scheme { kHttp, kGrpc };

struct ServerUrl {
  Scheme scheme = Scheme::kHttp;
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 80;
  std::string prefix;   // of the path, before /v2 or /v1: of a proxy; usually empty, with gRPC always
  std::string model;    // as in the path, percent-encoded; empty: none is named
  std::string version;  // empty: the server chooses
  // OpenAI's endpoint: "/v1/completions" or "/v1/chat/completions". Empty: the Open Inference Protocol is meant.
  std::string endpoint;
};

// True if it means a server, not a file to download: http or https with an API's path or none, or grpc.
bool is_server_url(std::string_view text);
// Errors: a scheme or an API that is not supported, no host, a port out of range, another path.
Result<ServerUrl> parse_server_url(std::string_view text);

std::string host_and_port(const ServerUrl& url);  // as in a URL
std::string server_text(const ServerUrl& url);    // "http://HOST:PORT"
// "http://HOST:PORT/v2/models/NAME", "http://HOST:PORT/v1/completions".
std::string text_of(const ServerUrl& url);
// The path of the model, "/v2/models/NAME/versions/V", followed by `tail`.
std::string model_path(const ServerUrl& url, std::string_view tail = "");

}  // namespace ridge::client
