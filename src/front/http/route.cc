#include "front/http/route.h"

#include <charconv>
#include <optional>
#include <vector>

#include "base/percent.h"

namespace ridge::front::http {
namespace {

Route refused(int status, std::string message) {
  Route route;
  route.status = status;
  route.message = std::move(message);
  return route;
}

// The path of a target in origin form or absolute form (RFC 9112, 3.2), without query and fragment.
std::string_view path_of(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"})
    if (target.starts_with(scheme)) {
      size_t slash = target.find('/', scheme.size());
      target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
  return target.substr(0, target.find_first_of("?#"));
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  segments.reserve(8);
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

Route found(Endpoint endpoint) {
  Route route;
  route.endpoint = endpoint;
  return route;
}

Route unknown_path(std::string_view path) {
  return refused(404, "no such path: '" + std::string(path) +
                          "'; models answer below /v2/models/NAME, GET /v2 describes the server");
}

std::optional<int64_t> parse_version(std::string_view text) {
  int64_t version = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), version);
  bool whole = failure == std::errc() && end == text.data() + text.size();
  if (!whole || version <= 0 || text[0] == '0') return std::nullopt;
  return version;
}

using Segments = std::vector<std::string_view>;

// …/models/M[/versions/V][/ready|config|stats|infer]; `segments` begins behind "models".
Route model_route(Segments segments, std::string_view path) {
  if (segments.size() == 1 && segments[0] == "stats") return found(Endpoint::kStatistics);
  if (segments.empty() || segments[0].empty()) return unknown_path(path);
  std::optional<std::string> model = percent_decoded(segments[0]);
  if (!model) return refused(400, "the model's name in '" + std::string(path) + "' is not valid percent-encoding");
  Route route = found(Endpoint::kModelMetadata);
  route.model = std::move(*model);
  size_t next = 1;
  if (segments.size() >= 2 && segments[1] == "versions") {
    if (segments.size() == 2) return unknown_path(path);
    std::optional<int64_t> version = parse_version(segments[2]);
    if (!version)
      return refused(400, "'" + std::string(segments[2]) + "' is not a version; it is a positive decimal number");
    route.version = *version;
    next = 3;
  }
  if (segments.size() == next) return route;
  std::string_view verb = segments[next];
  if (segments.size() > next + 1) return unknown_path(path);
  if (verb == "infer")
    route.endpoint = Endpoint::kInfer;
  else if (verb == "ready")
    route.endpoint = Endpoint::kModelReady;
  else if (verb == "config")
    route.endpoint = Endpoint::kModelConfig;
  else if (verb == "stats")
    route.endpoint = Endpoint::kStatistics;
  else
    return unknown_path(path);
  return route;
}

// …/repository/index and …/repository/models/M/load|unload; `segments` begins behind "repository".
Route repository_route(const Segments& segments, std::string_view path) {
  auto is_verb = [](std::string_view verb) { return verb == "load" || verb == "unload"; };
  if (segments.size() == 1 && segments[0] == "index") return found(Endpoint::kIndex);
  if (segments.size() == 3 && segments[0] == "models" && is_verb(segments[2])) {
    std::optional<std::string> model = percent_decoded(segments[1]);
    if (!model) return refused(400, "the model's name in '" + std::string(path) + "' is not valid percent-encoding");
    Route route = found(segments[2] == "load" ? Endpoint::kLoad : Endpoint::kUnload);
    route.model = std::move(*model);
    return route;
  }
  bool names_repository = (segments.size() == 2 && segments[1] == "index") ||
                          (segments.size() == 4 && segments[1] == "models" && is_verb(segments[3]));
  if (names_repository) return refused(501, "repository names in the path are not supported; leave the name out");
  return unknown_path(path);
}

// …/systemsharedmemory|cudasharedmemory[/region/R]/status|register|unregister; `segments` begins behind the first of them.
Route region_route(const Segments& segments, serve::RegionKind kind, std::string_view path) {
  const bool named = segments.size() == 3 && segments[0] == "region";
  if (!named && segments.size() != 1) return unknown_path(path);
  const std::string_view verb = segments.back();
  if (verb != "status" && verb != "register" && verb != "unregister") return unknown_path(path);
  std::optional<std::string> name = percent_decoded(named ? segments[1] : std::string_view());
  if (!name || (named && name->empty()))
    return refused(400, "the region's name in '" + std::string(path) + "' is empty or not valid percent-encoding");
  if (verb == "register" && !named)
    return refused(400, "'region name' is necessary to register a shared memory region: …/region/NAME/register");
  Route route = found(verb == "status"     ? Endpoint::kRegionStatus
                      : verb == "register" ? Endpoint::kRegionRegister
                                           : Endpoint::kRegionUnregister);
  route.region = std::move(*name);
  route.region_kind = kind;
  return route;
}

Route path_route(std::string_view path) {
  Segments segments = segments_of(path);
  if (segments.size() == 1 && segments[0] == "metrics") return found(Endpoint::kMetrics);
  if (segments.size() == 1 && segments[0] == "health") return found(Endpoint::kReady);
  if (segments[0] != "v2") return unknown_path(path);
  segments.erase(segments.begin());
  if (segments.empty() || (segments.size() == 1 && segments[0].empty())) return found(Endpoint::kServerMetadata);
  std::string_view first = segments[0];
  segments.erase(segments.begin());
  if (first == "health" && segments.size() == 1 && segments[0] == "live") return found(Endpoint::kLive);
  if (first == "health" && segments.size() == 1 && segments[0] == "ready") return found(Endpoint::kReady);
  if (first == "models") return model_route(std::move(segments), path);
  if (first == "logging" && segments.empty()) return found(Endpoint::kLogging);
  if (first == "repository") return repository_route(segments, path);
  if (first == "systemsharedmemory") return region_route(segments, serve::RegionKind::kSystem, path);
  if (first == "cudasharedmemory") return region_route(segments, serve::RegionKind::kCuda, path);
  return unknown_path(path);
}

bool wants_post(Endpoint endpoint) {
  return endpoint == Endpoint::kInfer || endpoint == Endpoint::kIndex || endpoint == Endpoint::kLoad ||
         endpoint == Endpoint::kUnload || endpoint == Endpoint::kRegionRegister ||
         endpoint == Endpoint::kRegionUnregister;
}

// The one path that is both read and written.
Route logging_route(Method method, Route route) {
  if (method == Method::kGet || method == Method::kHead) return route;
  if (method == Method::kPost) return found(Endpoint::kLoggingChange);
  route = refused(405, "'/v2/logging' is asked with GET and changed with POST");
  route.allow = "GET, HEAD, POST";
  return route;
}

}  // namespace

Groups groups_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kLive:
    case Endpoint::kReady:
    case Endpoint::kModelReady: return kHealthCalls;
    case Endpoint::kServerMetadata:
    case Endpoint::kModelMetadata:
    case Endpoint::kModelConfig: return kDescribingCalls;
    case Endpoint::kStatistics: return kStatisticsCalls;
    case Endpoint::kInfer: return kInferenceCalls;
    case Endpoint::kMetrics: return kMetricsCalls;
    case Endpoint::kIndex:
    case Endpoint::kLoad:
    case Endpoint::kUnload:
    case Endpoint::kLogging:
    case Endpoint::kLoggingChange:
    case Endpoint::kRegionStatus:
    case Endpoint::kRegionRegister:
    case Endpoint::kRegionUnregister: break;
  }
  return kOperatorCalls;
}

Route route(Method method, std::string_view target) {
  std::string_view path = path_of(target);
  Route route = path_route(path);
  if (route.status != 200) return route;
  if (route.endpoint == Endpoint::kLogging) return logging_route(method, std::move(route));
  bool post = wants_post(route.endpoint);
  bool allowed = post ? method == Method::kPost : method == Method::kGet || method == Method::kHead;
  if (allowed) return route;
  route = refused(405, "'" + std::string(path) + "' is asked with " + (post ? "POST" : "GET"));
  route.allow = post ? "POST" : "GET, HEAD";
  return route;
}

}  // namespace ridge::front::http
