#include "front/http/openapi.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "front/http/page_text.h"
#include "front/http/route.h"

namespace ridge::front::http {
namespace {

// The same path with its version; operations have ids of their own.
Json with_version(Json item) {
  item["parameters"].push_back({{"$ref", "#/components/parameters/version"}});
  for (auto& [method, operation] : item.items())
    if (method != "parameters") operation["operationId"] = operation["operationId"].get<std::string>() + "OfVersion";
  return item;
}

}  // namespace

std::string openapi_document(const std::string& server_version) {
  Json document = Json::parse(page_text("openapi"));
  document["info"]["version"] = server_version;
  for (const RouteRow& row : route_table())
    if (row.with_version) {
      const std::string path(row.path);
      document["paths"][versioned(path)] = with_version(document["paths"].at(path));
    }
  return dump_json(document);
}

}  // namespace ridge::front::http
