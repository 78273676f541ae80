#include "client/server_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace ridge::client {
namespace {

struct SchemeRow {
  std::string_view name;
  bool may_be_file;
  std::optional<Scheme> scheme;  // absent: refused, and why
  const char* refused;
  uint16_t port;  // where none is given
};
constexpr std::array<SchemeRow, 4> kSchemes = {{
    {"http://", true, Scheme::kHttp, nullptr, 80},
    {"grpc://", false, Scheme::kGrpc, nullptr, 8001},  // Triton's
    {"https://", true, {}, "https is not supported; measure behind the proxy that ends TLS, by http", 443},
    {"grpcs://", false, {}, "gRPC with TLS is not supported; measure behind the proxy that ends TLS, by grpc", 443},
}};

constexpr std::array<std::string_view, 2> kApis = {"/v2", "/v1"};
// OpenAI paths after /v1; the first is the default.
constexpr std::array<std::string_view, 2> kEndpoints = {"/completions", "/chat/completions"};

const SchemeRow* scheme_of(std::string_view text) {
  const auto found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                  [&](const SchemeRow& row) { return text.substr(0, row.name.size()) == row.name; });
  return found == kSchemes.end() ? nullptr : found;
}

// Where the API's segment begins; npos: it is not in the path.
size_t find_segment(std::string_view path, std::string_view segment) {
  for (size_t at = path.find(segment); at != path.npos; at = path.find(segment, at + 1)) {
    const size_t end = at + segment.size();
    if (end == path.size() || path[end] == '/') return at;
  }
  return path.npos;
}

bool is_model_file(std::string_view path) {
  return path.ends_with(".onnx") || path.ends_with(".xml") || path.find(".onnx#") != path.npos;
}

Error unfit(std::string_view text, const std::string& why) {
  return invalid(fmt::format("{}: {}; give http://HOST:PORT/v2/models/NAME, or grpc:// and the gRPC port", text, why));
}

// "host:8000", "[::1]:8000", "host".
Status read_authority(std::string_view text, std::string_view authority, ServerUrl& url) {
  std::string_view port;
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == authority.npos) return unfit(text, "the address lacks its ']'");
  const size_t colon = authority.find(':', bracket);
  if (colon != authority.npos) port = authority.substr(colon + 1);
  url.host = bracket > 0 ? authority.substr(1, bracket - 1) : authority.substr(0, colon);
  if (url.host.empty()) return unfit(text, "there is no host");
  if (url.host.find('@') != url.host.npos) return unfit(text, "user names are not supported");
  if (colon == authority.npos) return {};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0)
    return unfit(text, fmt::format("'{}' is not a port", port));
  return {};
}

// "/models/NAME/versions/V[/infer]", what follows the API's segment.
Status read_model(std::string_view text, std::string_view path, ServerUrl& url) {
  constexpr std::string_view kModels = "/models/", kVersions = "/versions/";
  if (path.ends_with("/infer")) path.remove_suffix(6);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || path == "/models") return {};
  if (!path.starts_with(kModels)) return unfit(text, fmt::format("'/v2{}' is not the path of a model", path));
  path.remove_prefix(kModels.size());
  url.model = path.substr(0, path.find('/'));
  path.remove_prefix(url.model.size());
  if (path.starts_with(kVersions)) {
    url.version = path.substr(kVersions.size());
    const bool digits =
        std::all_of(url.version.begin(), url.version.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return unfit(text, fmt::format("'{}' is not a version", url.version));
  } else if (!path.empty()) {
    return unfit(text, fmt::format("'{}' does not belong behind a model's name", path));
  }
  return {};
}

// "/completions", what follows /v1.
Status read_endpoint(std::string_view text, std::string_view path, ServerUrl& url) {
  if (url.scheme == Scheme::kGrpc) return unfit(text, "OpenAI's API is spoken by HTTP");
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto endpoint = path.empty() ? kEndpoints.begin() : std::find(kEndpoints.begin(), kEndpoints.end(), path);
  if (endpoint == kEndpoints.end())
    return Error{
        Code::kUnsupported,
        fmt::format("{}: of the APIs below /v1 only OpenAI's /v1/completions and /v1/chat/completions are "
                    "supported; '/v1{}' is neither. A model of the Open Inference Protocol is at /v2/models/NAME",
                    text, path)};
  url.endpoint = fmt::format("/v1{}", *endpoint);
  return {};
}

}  // namespace

bool is_server_url(std::string_view text) {
  const SchemeRow* scheme = scheme_of(text);
  if (scheme == nullptr) return false;
  if (!scheme->may_be_file) return true;
  const std::string_view rest = text.substr(scheme->name.size());
  const std::string_view path = rest.substr(std::min(rest.find('/'), rest.size()));
  if (path.empty() || path == "/") return true;
  return !is_model_file(path) && std::any_of(kApis.begin(), kApis.end(), [&](std::string_view api) {
    return find_segment(path, api) != path.npos;
  });
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  const SchemeRow* scheme = scheme_of(text);
  if (scheme == nullptr) return unfit(text, "this is not the address of a server");
  if (!scheme->scheme) return Error{Code::kUnsupported, fmt::format("{}: {}", text, scheme->refused)};
  ServerUrl url;
  url.scheme = *scheme->scheme;
  url.port = scheme->port;
  const std::string_view rest = text.substr(scheme->name.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  RIDGE_TRY(read_authority(text, rest.substr(0, slash), url));
  const std::string_view path = rest.substr(slash);
  if (path.find_first_of(" \t\r\n?#") != path.npos) return unfit(text, "a model's path has no blanks, '?' or '#'");
  for (const std::string_view api : kApis) {
    const size_t at = find_segment(path, api);
    if (at == path.npos) continue;
    url.prefix = path.substr(0, at);
    if (api == "/v1") {
      RIDGE_TRY(read_endpoint(text, path.substr(at + api.size()), url));
      return url;
    }
    if (!url.prefix.empty() && url.scheme == Scheme::kGrpc)
      return unfit(text, fmt::format("gRPC's calls have no path that begins with '{}'", url.prefix));
    RIDGE_TRY(read_model(text, path.substr(at + api.size()), url));
    return url;
  }
  if (!path.empty() && path != "/") return unfit(text, fmt::format("'{}' is not the path of a model", path));
  return url;
}

std::string host_and_port(const ServerUrl& url) {
  const bool v6 = url.host.find(':') != url.host.npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", url.host, v6 ? "]" : "", url.port);
}

std::string server_text(const ServerUrl& url) {
  const auto found =
      std::find_if(kSchemes.begin(), kSchemes.end(), [&](const SchemeRow& row) { return row.scheme == url.scheme; });
  return fmt::format("{}{}", found->name, host_and_port(url));
}

std::string text_of(const ServerUrl& url) {
  if (!url.endpoint.empty()) return server_text(url) + url.prefix + url.endpoint;
  return server_text(url) + (url.model.empty() ? url.prefix + "/v2" : model_path(url));
}

std::string model_path(const ServerUrl& url, std::string_view tail) {
  std::string path = url.prefix + "/v2/models/" + url.model;
  if (!url.version.empty()) path += "/versions/" + url.version;
  return path.append(tail);
}

}  // namespace ridge::client
