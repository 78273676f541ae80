#include "front/http/openapi.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "front/http/page_text.h"
#include "front/http/route.h"
#include "front/openai/request.h"

namespace ridge::front::http {
namespace {

// What stands in the table of members, not in page/openapi.json.
using openai::OpenAiCall;
constexpr std::pair<const char*, OpenAiCall> kRequests[] = {{"CompletionRequest", OpenAiCall::kCompletion},
                                                            {"ChatRequest", OpenAiCall::kChat},
                                                            {"EmbeddingRequest", OpenAiCall::kEmbedding},
                                                            {"TokenizeRequest", OpenAiCall::kTokenize},
                                                            {"DetokenizeRequest", OpenAiCall::kDetokenize}};

Json reference(std::string_view kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}
Json in_json(const Json& schema) { return {{"application/json", {{"schema", schema}}}}; }

// The value of that member, which is taken out; null if there is none.
Json taken(Json& object, const char* name) {
  Json value = object.value(name, Json());
  object.erase(name);
  return value;
}

// The short forms of page/openapi.json: `answer`, `body` and `optionalBody` are schemas of JSON, `errors` are statuses
// besides those for a key that is missing or does not suffice.
void expand(Json& operation) {
  for (const bool needed : {true, false})
    if (const Json body = taken(operation, needed ? "body" : "optionalBody"); !body.is_null())
      operation["requestBody"] = {{"required", needed}, {"content", in_json(body)}};
  Json responses = taken(operation, "responses");
  if (const Json answer = taken(operation, "answer"); !answer.is_null())
    responses["200"] = {{"description", "Done"}, {"content", in_json(answer)}};
  Json errors = taken(operation, "errors");
  if (!operation.contains("security"))
    for (const int status : {401, 403}) errors.push_back(status);
  const bool openai = operation["tags"].at(0) == "OpenAI";
  for (const Json& status : errors)
    responses[std::to_string(status.get<int>())] = reference("responses", openai ? "OpenAiError" : "Error");
  operation["responses"] = std::move(responses);
}

// The names in {} of a path are parameters.
Json parameters_of(std::string_view path) {
  Json parameters = Json::array();
  for (size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1))
    parameters.push_back(reference("parameters", path.substr(at + 1, path.find('}', at) - at - 1)));
  return parameters;
}

// The same path with its version; operations have ids of their own.
Json with_version(Json item) {
  for (auto& [method, operation] : item.items())
    operation["operationId"] = operation["operationId"].get<std::string>() + "OfVersion";
  return item;
}

}  // namespace

std::string openapi_document(const std::string& server_version) {
  Json document = Json::parse(page_text("openapi"));
  document["info"]["version"] = server_version;
  for (const auto& [name, call] : kRequests) document["components"]["schemas"][name] = openai::request_schema(call);
  Json& paths = document["paths"];
  for (const RouteRow& row : route_table())
    if (row.groups == kHealthCalls && row.path != "/")  // a page for people
      paths[std::string(row.path)]["get"]["security"] = Json::array();
  for (auto& [path, item] : paths.items())
    for (auto& [method, operation] : item.items()) expand(operation);
  for (const RouteRow& row : route_table())
    if (row.with_version) paths[versioned(std::string(row.path))] = with_version(paths.at(std::string(row.path)));
  for (auto& [path, item] : paths.items())
    if (const Json parameters = parameters_of(path); !parameters.empty()) item["parameters"] = parameters;
  return dump_json(document);
}

}  // namespace ridge::front::http
