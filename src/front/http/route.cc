#include "front/http/route.h"

#include <algorithm>
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

using enum Endpoint;
using enum Method;

constexpr auto kCuda = serve::RegionKind::kCuda;

// A path of letters stands before the one with a name in its place. Rows of one path follow one another.
constexpr RouteRow kRoutes[] = {
    {"/", kFrontPage, kGet, kPageCalls},
    {"/health", kReady, kGet, kHealthCalls},
    {"/metrics", kMetrics, kGet, kMetricsCalls},
    {"/version", kVersion, kGet, kDescribingCalls},
    {"/tokenize", kTokenize, kPost, kInferenceCalls},
    {"/detokenize", kDetokenize, kPost, kInferenceCalls},
    {"/v1/completions", kCompletions, kPost, kInferenceCalls},
    {"/v1/chat/completions", kChatCompletions, kPost, kInferenceCalls},
    {"/v1/embeddings", kEmbeddings, kPost, kInferenceCalls},
    {"/v1/models", kTextModels, kGet, kDescribingCalls},
    {"/v1/models/{model}", kModelStatus, kGet, kDescribingCalls, true},
    {"/v1/models/{model}:predict", kPredict, kPost, kInferenceCalls, true},
    {"/v2", kServerMetadata, kGet, kDescribingCalls},
    {"/v2/docs", kDocs, kGet, kDescribingCalls},
    {"/v2/health/live", kLive, kGet, kHealthCalls},
    {"/v2/health/ready", kReady, kGet, kHealthCalls},
    {"/v2/models/stats", kStatistics, kGet, kStatisticsCalls},
    {"/v2/models/{model}", kModelMetadata, kGet, kDescribingCalls, true},
    {"/v2/models/{model}/ready", kModelReady, kGet, kHealthCalls, true},
    {"/v2/models/{model}/config", kModelConfig, kGet, kDescribingCalls, true},
    {"/v2/models/{model}/stats", kStatistics, kGet, kStatisticsCalls, true},
    {"/v2/models/{model}/infer", kInfer, kPost, kInferenceCalls, true},
    {"/v2/repository/index", kIndex, kPost, kOperatorCalls},
    {"/v2/repository/models/{model}/load", kLoad, kPost, kOperatorCalls},
    {"/v2/repository/models/{model}/unload", kUnload, kPost, kOperatorCalls},
    {"/v2/logging", kLogging, kGet, kOperatorCalls},
    {"/v2/logging", kLoggingChange, kPost, kOperatorCalls},
    {"/v2/trace/setting", kTrace, kGet, kOperatorCalls},
    {"/v2/trace/setting", kTraceChange, kPost, kOperatorCalls},
    {"/v2/models/{model}/trace/setting", kTrace, kGet, kOperatorCalls},
    {"/v2/models/{model}/trace/setting", kTraceChange, kPost, kOperatorCalls},
    {"/v2/systemsharedmemory/status", kRegionStatus, kGet, kOperatorCalls},
    {"/v2/systemsharedmemory/region/{region}/status", kRegionStatus, kGet, kOperatorCalls},
    {"/v2/systemsharedmemory/region/{region}/register", kRegionRegister, kPost, kOperatorCalls},
    {"/v2/systemsharedmemory/unregister", kRegionUnregister, kPost, kOperatorCalls},
    {"/v2/systemsharedmemory/region/{region}/unregister", kRegionUnregister, kPost, kOperatorCalls},
    {"/v2/cudasharedmemory/status", kRegionStatus, kGet, kOperatorCalls, false, kCuda},
    {"/v2/cudasharedmemory/region/{region}/status", kRegionStatus, kGet, kOperatorCalls, false, kCuda},
    {"/v2/cudasharedmemory/region/{region}/register", kRegionRegister, kPost, kOperatorCalls, false, kCuda},
    {"/v2/cudasharedmemory/unregister", kRegionUnregister, kPost, kOperatorCalls, false, kCuda},
    {"/v2/cudasharedmemory/region/{region}/unregister", kRegionUnregister, kPost, kOperatorCalls, false, kCuda},
};

// Paths that the protocols have and this server does not answer, with the reason.
struct RefusedPath {
  std::string_view path;
  int status;
  const char* message;
};
constexpr const char* kNoRepositoryNames = "repository names in the path are not supported; leave the name out";
constexpr const char* kNoRegionName =
    "'region name' is necessary to register a shared memory region: …/region/NAME/register";
constexpr const char* kOnlyPredict = "of TensorFlow Serving's calls only :predict is supported";
constexpr const char* kNoGenerate =
    "Triton's generate is not supported; send tensors to …/infer, and prompts to /v1/completions";
constexpr RefusedPath kRefused[] = {
    {"/v1/models/{model}:classify", 501, kOnlyPredict},
    {"/v1/models/{model}:regress", 501, kOnlyPredict},
    {"/v2/models/{model}/generate", 501, kNoGenerate},
    {"/v2/models/{model}/generate_stream", 501, kNoGenerate},
    {"/v2/repository/{repository}/index", 501, kNoRepositoryNames},
    {"/v2/repository/{repository}/models/{model}/load", 501, kNoRepositoryNames},
    {"/v2/repository/{repository}/models/{model}/unload", 501, kNoRepositoryNames},
    {"/v2/systemsharedmemory/register", 400, kNoRegionName},
    {"/v2/cudasharedmemory/register", 400, kNoRegionName},
};

using Segments = std::vector<std::string_view>;

// Parts between slashes; a verb (":predict") at the end of a path of /v1 is one more.
Segments segments_of(std::string_view path) {
  Segments segments;
  segments.reserve(8);
  const bool has_verb = path.starts_with("/v1/");
  if (path.starts_with('/')) path.remove_prefix(1);
  for (size_t slash; (slash = path.find('/')) != std::string_view::npos; path.remove_prefix(slash + 1))
    segments.push_back(path.substr(0, slash));
  const size_t colon = has_verb ? path.rfind(':') : std::string_view::npos;
  segments.push_back(path.substr(0, colon));
  if (colon != std::string_view::npos) segments.push_back(path.substr(colon));
  return segments;
}

// The segments of a request's path without its version.
struct Path {
  Segments segments;
  std::optional<std::string_view> version;
};

Path path_without_version(std::string_view text) {
  Path path{segments_of(text), std::nullopt};
  Segments& segments = path.segments;
  if (segments.size() < 5 || segments[1] != "models" || segments[3] != "versions") return path;
  path.version = segments[4];
  segments.erase(segments.begin() + 3, segments.begin() + 5);
  return path;
}

// A name of a model is never empty; that of a region may be, so that the client is told.
bool matches(const Segments& pattern, const Segments& segments) {
  return std::equal(pattern.begin(), pattern.end(), segments.begin(), segments.end(),
                    [](std::string_view wanted, std::string_view found) {
                      return wanted.starts_with('{') ? wanted == "{region}" || !found.empty() : wanted == found;
                    });
}

// A row of a table with its path in segments.
template <typename Row>
struct Pattern {
  const Row* row;
  Segments segments;
};
template <typename Row>
std::vector<Pattern<Row>> patterns_of(std::span<const Row> rows) {
  std::vector<Pattern<Row>> patterns;
  for (const Row& row : rows) patterns.push_back({&row, segments_of(row.path)});
  return patterns;
}

// The first row of that path, or null.
const RouteRow* row_of(const Path& path) {
  static const std::vector<Pattern<RouteRow>> patterns = patterns_of<RouteRow>(kRoutes);
  for (const Pattern<RouteRow>& pattern : patterns)
    if ((!path.version || pattern.row->with_version) && matches(pattern.segments, path.segments)) return pattern.row;
  return nullptr;
}

Route unknown_path(std::string_view text, const Path& path) {
  static const std::vector<Pattern<RefusedPath>> patterns = patterns_of<RefusedPath>(kRefused);
  for (const Pattern<RefusedPath>& pattern : patterns)
    if (matches(pattern.segments, path.segments)) return refused(pattern.row->status, pattern.row->message);
  return refused(404, "no such path: '" + std::string(text) +
                          "'; models answer below /v2/models/NAME, GET /v2 describes the server");
}

std::optional<int64_t> parse_version(std::string_view text) {
  int64_t version = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), version);
  bool whole = failure == std::errc() && end == text.data() + text.size();
  if (!whole || version <= 0 || text[0] == '0') return std::nullopt;
  return version;
}

// The segment in the place of that name; empty where the row has no such place.
std::string_view segment_at(std::string_view name, const RouteRow& row, const Segments& segments) {
  const Segments pattern = segments_of(row.path);
  const auto at = std::find(pattern.begin(), pattern.end(), name);
  return at == pattern.end() ? std::string_view() : segments[static_cast<size_t>(at - pattern.begin())];
}

// The names in the path.
Route named_route(const RouteRow& row, const Path& path, std::string_view text) {
  Route route;
  route.endpoint = row.endpoint;
  route.groups = row.groups;
  route.region_kind = row.region_kind;
  std::optional<std::string> model = percent_decoded(segment_at("{model}", row, path.segments));
  if (!model) return refused(400, "the model's name in '" + std::string(text) + "' is not valid percent-encoding");
  route.model = std::move(*model);
  std::optional<std::string> region = percent_decoded(segment_at("{region}", row, path.segments));
  if (!region || (region->empty() && row.path.find("{region}") != std::string_view::npos))
    return refused(400, "the region's name in '" + std::string(text) + "' is empty or not valid percent-encoding");
  route.region = std::move(*region);
  if (!path.version) return route;
  const std::optional<int64_t> version = parse_version(*path.version);
  if (!version)
    return refused(400, "'" + std::string(*path.version) + "' is not a version; it is a positive decimal number");
  route.version = *version;
  return route;
}

bool takes(const RouteRow& row, Method method) {
  return method == row.method || (method == kHead && row.method == kGet);
}

Route wrong_method(std::string_view text, bool get, bool post) {
  Route route = refused(
      405, "'" + std::string(text) + "' is asked with " + (get ? "GET" : "POST") + (get && post ? " or POST" : ""));
  route.allow = get && post ? "GET, HEAD, POST" : get ? "GET, HEAD" : "POST";
  return route;
}

}  // namespace

std::string_view path_of(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"})
    if (target.starts_with(scheme)) {
      size_t slash = target.find('/', scheme.size());
      target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
  return target.substr(0, target.find_first_of("?#"));
}

bool is_of_openai(std::string_view target) {
  const std::string_view path = path_of(target);
  return (path.starts_with("/v1/") && !path.starts_with("/v1/models/")) || path == "/tokenize" || path == "/detokenize";
}

std::span<const RouteRow> route_table() { return kRoutes; }

std::string versioned(std::string path) {
  constexpr std::string_view kModel = "{model}";
  return path.insert(path.find(kModel) + kModel.size(), "/versions/{version}");
}

Route route(Method method, std::string_view target) {
  std::string_view text = path_of(target);
  if (text.empty()) return unknown_path(text, {});
  if (text == "/v2/") text = "/v2";
  const Path path = path_without_version(text);
  const RouteRow* row = row_of(path);
  if (row == nullptr) return unknown_path(text, path);
  Route route = named_route(*row, path, text);
  if (route.status != 200) return route;
  bool get = false, post = false;
  for (const std::string_view same = row->path; row != std::end(kRoutes) && row->path == same; ++row) {
    if (takes(*row, method)) {
      route.endpoint = row->endpoint;
      route.groups = row->groups;
      return route;
    }
    (row->method == kGet ? get : post) = true;
  }
  return wrong_method(text, get, post);
}

}  // namespace ridge::front::http
