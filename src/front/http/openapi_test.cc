#include "front/http/openapi.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "front/http/route.h"

namespace ridge::front::http {
namespace {

using Operation = std::pair<std::string, std::string>;  // path, method

// Both directions: no route without documentation, no documentation without a route. "/" is a page for people.
TEST(OpenApi, DescribesTheRoutesThatThereAre) {
  std::set<Operation> routes, described;
  for (const RouteRow& row : route_table()) {
    if (row.path == "/") continue;
    const std::string path(row.path), method = row.method == Method::kPost ? "post" : "get";
    routes.insert({path, method});
    if (row.with_version) routes.insert({versioned(path), method});
  }
  const nlohmann::json document = nlohmann::json::parse(openapi_document("1.2"));
  EXPECT_EQ(document["info"]["version"], "1.2");
  std::set<std::string> ids;
  for (const auto& [path, item] : document["paths"].items())
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      described.insert({path, method});
      EXPECT_TRUE(ids.insert(operation["operationId"]).second) << operation["operationId"];
    }
  EXPECT_EQ(routes, described);
}

TEST(OpenApi, SaysWhichCallsNeedNoKey) {
  const nlohmann::json document = nlohmann::json::parse(openapi_document("1"));
  for (const RouteRow& row : route_table()) {
    if (row.path == "/") continue;
    const auto& operation = document["paths"][std::string(row.path)][row.method == Method::kPost ? "post" : "get"];
    EXPECT_EQ(operation.contains("security"), row.groups == kHealthCalls) << row.path;
    EXPECT_EQ(operation["responses"].contains("401"), row.groups != kHealthCalls) << row.path;
  }
}

TEST(OpenApi, HasTheMembersOfOpenAisRequestsAsTheyAreRead) {
  const nlohmann::json schemas = nlohmann::json::parse(openapi_document("1"))["components"]["schemas"];
  const nlohmann::json &chat = schemas["ChatRequest"]["properties"], &text = schemas["CompletionRequest"]["properties"];
  EXPECT_EQ(chat["n"], nlohmann::json::parse(R"({"type":["integer","null"],"minimum":1,"maximum":128,)"
                                             R"("description":"answers to each prompt"})"));
  EXPECT_EQ(text["top_p"], nlohmann::json::parse(R"({"type":["number","null"],"exclusiveMinimum":0,"maximum":1})"));
  EXPECT_EQ(text["max_tokens"]["minimum"], 0);
  EXPECT_EQ(chat["max_tokens"]["minimum"], 1);
  EXPECT_EQ(chat["user"]["maxLength"], 512);
  EXPECT_FALSE(chat["seed"].contains("minimum"));
  EXPECT_FALSE(chat.contains("audio")) << "it is refused";
  EXPECT_EQ(schemas["ChatRequest"]["required"], nlohmann::json({"messages"}));
  EXPECT_EQ(schemas["EmbeddingRequest"]["required"], nlohmann::json({"input"}));
  EXPECT_FALSE(schemas["TokenizeRequest"].contains("required"));
}

}  // namespace
}  // namespace ridge::front::http
