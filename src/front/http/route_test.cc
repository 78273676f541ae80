#include "front/http/route.h"

#include <gtest/gtest.h>

namespace ridge::front::http {
namespace {

struct RouteCase {
  Method method;
  const char* target;
  Endpoint endpoint;
  const char* model;
  int64_t version;
};

TEST(Route, FindsEveryEndpoint) {
  for (const RouteCase& expected :
       std::vector<RouteCase>{{Method::kGet, "/v2", Endpoint::kServerMetadata, "", 0},
                              {Method::kGet, "/v2/", Endpoint::kServerMetadata, "", 0},
                              {Method::kHead, "/v2", Endpoint::kServerMetadata, "", 0},
                              {Method::kGet, "/", Endpoint::kFrontPage, "", 0},
                              {Method::kGet, "http://host", Endpoint::kFrontPage, "", 0},
                              {Method::kGet, "/v2/docs", Endpoint::kDocs, "", 0},
                              {Method::kGet, "/v2?a=b#c", Endpoint::kServerMetadata, "", 0},
                              {Method::kGet, "http://host:8000/v2", Endpoint::kServerMetadata, "", 0},
                              {Method::kGet, "/v2/health/live", Endpoint::kLive, "", 0},
                              {Method::kGet, "/v2/health/ready", Endpoint::kReady, "", 0},
                              {Method::kGet, "/health", Endpoint::kReady, "", 0},
                              {Method::kGet, "/metrics", Endpoint::kMetrics, "", 0},
                              {Method::kGet, "/v2/models/a.b-c_d", Endpoint::kModelMetadata, "a.b-c_d", 0},
                              {Method::kGet, "/v2/models/m/versions/3", Endpoint::kModelMetadata, "m", 3},
                              {Method::kGet, "/v2/models/m/ready", Endpoint::kModelReady, "m", 0},
                              {Method::kGet, "/v2/models/m/versions/12/ready", Endpoint::kModelReady, "m", 12},
                              {Method::kGet, "/v2/models/m/config", Endpoint::kModelConfig, "m", 0},
                              {Method::kGet, "/v2/models/m/versions/1/stats", Endpoint::kStatistics, "m", 1},
                              {Method::kGet, "/v2/models/stats", Endpoint::kStatistics, "", 0},
                              {Method::kGet, "/v2/models/stats/stats", Endpoint::kStatistics, "stats", 0},
                              {Method::kPost, "/v2/models/a%20b%2Fc/infer?x", Endpoint::kInfer, "a b/c", 0},
                              {Method::kPost, "/v2/models/m/versions/1/infer", Endpoint::kInfer, "m", 1},
                              {Method::kGet, "/v1/models", Endpoint::kTextModels, "", 0},
                              {Method::kPost, "/v1/completions", Endpoint::kCompletions, "", 0},
                              {Method::kPost, "/v1/chat/completions", Endpoint::kChatCompletions, "", 0},
                              {Method::kPost, "/tokenize", Endpoint::kTokenize, "", 0},
                              {Method::kPost, "/detokenize", Endpoint::kDetokenize, "", 0},
                              {Method::kGet, "/version", Endpoint::kVersion, "", 0},
                              {Method::kGet, "/v1/models/m", Endpoint::kModelStatus, "m", 0},
                              {Method::kGet, "/v1/models/m/versions/3", Endpoint::kModelStatus, "m", 3},
                              {Method::kPost, "/v1/models/a%2Fb:predict", Endpoint::kPredict, "a/b", 0},
                              {Method::kPost, "/v1/models/a:b:predict", Endpoint::kPredict, "a:b", 0},
                              {Method::kPost, "/v1/models/a/versions/12:predict", Endpoint::kPredict, "a", 12},
                              {Method::kPost, "/v2/repository/index", Endpoint::kIndex, "", 0},
                              {Method::kPost, "/v2/repository/models/m/load", Endpoint::kLoad, "m", 0},
                              {Method::kPost, "/v2/repository/models/m/unload", Endpoint::kUnload, "m", 0}}) {
    Route found = route(expected.method, expected.target);
    EXPECT_EQ(found.status, 200) << expected.target << ": " << found.message;
    EXPECT_EQ(found.endpoint, expected.endpoint) << expected.target;
    EXPECT_EQ(found.model, expected.model) << expected.target;
    EXPECT_EQ(found.version, expected.version) << expected.target;
  }
}

TEST(Route, FindsRegionsOfSharedMemory) {
  Route found = route(Method::kGet, "/v2/systemsharedmemory/status");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.endpoint, Endpoint::kRegionStatus);
  EXPECT_EQ(found.region, "");
  EXPECT_EQ(found.region_kind, serve::RegionKind::kSystem);
  found = route(Method::kPost, "/v2/cudasharedmemory/region/a%2Fb/register");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.endpoint, Endpoint::kRegionRegister);
  EXPECT_EQ(found.region, "a/b");
  EXPECT_EQ(found.region_kind, serve::RegionKind::kCuda);
  EXPECT_EQ(route(Method::kPost, "/v2/systemsharedmemory/unregister").endpoint, Endpoint::kRegionUnregister);
  EXPECT_EQ(route(Method::kPost, "/v2/systemsharedmemory/region/r/unregister").region, "r");
  EXPECT_EQ(route(Method::kGet, "/v2/systemsharedmemory/region/r/register").status, 405);
  EXPECT_EQ(route(Method::kPost, "/v2/cudasharedmemory/status").status, 405);
  EXPECT_EQ(route(Method::kPost, "/v2/systemsharedmemory/register").status, 400);
  EXPECT_EQ(route(Method::kPost, "/v2/systemsharedmemory/region//register").status, 400);
  EXPECT_EQ(route(Method::kGet, "/v2/systemsharedmemory/region/%00/status").status, 400);
  for (const char* target :
       {"/v2/systemsharedmemory", "/v2/systemsharedmemory/region/r", "/v2/systemsharedmemory/x/r/status",
        "/v2/systemsharedmemory/region/r/status/x", "/v2/cudasharedmemory/x"})
    EXPECT_EQ(route(Method::kGet, target).status, 404) << target;
}

TEST(Route, RefusesWhatIsNotThere) {
  for (const char* target :
       {"", "//", "*", "/v1", "/v2/x", "/v2/health", "/v2/health/x", "/v2/models", "/v2/models/", "/v2/models//infer",
        "/v2/models/m/x", "/v2/models/m/infer/x", "/v2/models/m/versions", "/v2/models/m/versions/1/x",
        "/v2/repository", "/v2/repository/models/m", "/v2/logging/x", "/v2/trace", "/v2/trace/setting/x"})
    EXPECT_EQ(route(Method::kGet, target).status, 404) << target;
}

TEST(Route, RefusesBadVersionsAndNames) {
  for (const char* version : {"abc", "0", "-1", "+1", "01", "1.0", "", "123456789012345678901234567890"})
    EXPECT_EQ(route(Method::kGet, "/v2/models/m/versions/" + std::string(version)).status, 400) << version;
  for (const char* model : {"%", "%2", "%zz", "a%00b"})
    EXPECT_EQ(route(Method::kGet, "/v2/models/" + std::string(model)).status, 400) << model;
}

TEST(Route, RefusesWrongMethodsAndNamesTheRightOnes) {
  EXPECT_EQ(route(Method::kPost, "/v2").status, 405);
  EXPECT_EQ(route(Method::kPost, "/v2").allow, "GET, HEAD");
  for (Method method : {Method::kGet, Method::kHead, Method::kOther})
    EXPECT_EQ(route(method, "/v2/models/m/infer").allow, "POST");
}

TEST(Route, RefusesOtherCallsOfTensorFlowServing) {
  for (const char* target : {"/v1/models/m:classify", "/v1/models/m/versions/1:regress"})
    EXPECT_EQ(route(Method::kPost, target).status, 501) << target;
  for (const char* target : {"/v1/models/:predict", "/v1/models/m/predict", "/v1/models/m:x", "/v1/models/m/labels/x"})
    EXPECT_EQ(route(Method::kPost, target).status, 404) << target;
  EXPECT_EQ(route(Method::kPost, "/v1/models/m/versions/0:predict").status, 400);
  EXPECT_EQ(route(Method::kGet, "/v1/models/m:predict").allow, "POST");
}

// A path without its names' braces would be answered by the row before it.
TEST(Route, EveryRowOfTheTableIsReached) {
  for (const RouteRow& row : route_table()) {
    const Route found = route(row.method, row.path);
    EXPECT_EQ(found.status, 200) << row.path << ": " << found.message;
    EXPECT_EQ(found.endpoint, row.endpoint) << row.path;
    EXPECT_EQ(found.groups, row.groups) << row.path;
    EXPECT_EQ(found.region_kind, row.region_kind) << row.path;
  }
}

TEST(Route, RefusesRepositoryNames) {
  EXPECT_EQ(route(Method::kPost, "/v2/repository/r/index").status, 501);
  EXPECT_EQ(route(Method::kPost, "/v2/repository/r/models/m/load").status, 501);
}

}  // namespace
}  // namespace ridge::front::http
