#include "app/bench_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/percent.h"
#include "client/inference_server.h"

namespace ridge::app {
namespace {

constexpr auto kAskTimeout = std::chrono::seconds(10);
constexpr auto kStatisticsTimeout = std::chrono::seconds(1);  // while the load runs: an interruption waits for it

// The only model, where none is named.
Status choose_model(client::Exchange& exchange) {
  const client::ServerUrl& url = exchange.url();
  if (!url.model.empty()) return {};
  const Result<std::vector<std::string>> names = client::ready_models(exchange);
  if (!names)
    return invalid(fmt::format("name the model, {}/v2/models/NAME: the server does not list its models ({})",
                               client::server_text(url), names.error().message));
  if (names->empty())
    return Error{Code::kUnavailable,
                 fmt::format("the server at {} has no model that is ready", client::server_text(url))};
  if (names->size() > 1)
    return invalid(fmt::format("the server at {0} has {1} models: {2}; name one, e.g. {0}/v2/models/{3}",
                               client::server_text(url), names->size(), fmt::join(*names, ", "), names->front()));
  exchange.choose(percent_encoded(names->front()));
  return {};
}

Result<std::vector<client::InferRequest>> make_requests(const ServerUnderTest& found, client::Payload payload) {
  std::vector<client::InferRequest> requests;
  for (size_t i = 0; i < found.inputs.requests; ++i) {
    std::vector<const Tensor*> tensors;
    for (const std::vector<Tensor>& column : found.inputs.columns) tensors.push_back(&column[i % column.size()]);
    RIDGE_ASSIGN(client::InferRequest request,
                 found.exchange.protocol().infer(found.exchange.url(), found.model.inputs, tensors, payload));
    requests.push_back(std::move(request));
  }
  return requests;
}

Status try_payload(ServerUnderTest& found, client::Payload payload) {
  RIDGE_ASSIGN(std::vector<client::InferRequest> made, make_requests(found, payload));
  RIDGE_ASSIGN(found.version, client::infer_once(found.exchange, made.front().request));
  found.payload = payload;
  found.request_bytes = static_cast<int64_t>(made.front().body_size);
  std::vector<client::Request> requests;
  for (client::InferRequest& one : made) requests.push_back(std::move(one.request));
  found.requests = std::make_shared<const std::vector<client::Request>>(std::move(requests));
  return {};
}

// The first inference: shows that the server takes the request, and in which form.
Status choose_payload(ServerUnderTest& found, std::optional<client::Payload> wanted) {
  const Status first = try_payload(found, wanted.value_or(client::Payload::kBinary));
  if (first || wanted || first.error().code != Code::kInvalid)
    return first ? first : wrap(first.error(), found.exchange.protocol().infer_text(found.exchange.url()));
  if (!try_payload(found, client::Payload::kJson))
    return wrap(first.error(), found.exchange.protocol().infer_text(found.exchange.url()));
  found.inputs.notes.push_back("Tensors are sent as JSON: the server refused binary ones (" + first.error().message +
                               ").");
  return {};
}

// connect → its models → first answer
Result<ServerUnderTest> find_llm(const ServerBenchRequest& request, client::Exchange exchange) {
  RIDGE_ASSIGN(LlmServer llm, find_llm_server(exchange, request.llm, request.inputs.seed));
  ServerUnderTest found{.exchange = std::move(exchange),
                        .server = {.name = llm.owner, .version = {}, .extensions = {}},
                        .model = {.name = llm.model, .versions = {}, .inputs = {}, .outputs = {}},
                        .version = {},
                        .inputs = {},
                        .payload = client::Payload::kJson,
                        .requests = {},
                        .llm = {}};
  found.inputs.notes = llm.notes;
  found.request_bytes = static_cast<int64_t>(llm_request(llm, 0, 0).bytes.size());
  found.llm = std::move(llm);
  return found;
}

}  // namespace

// connect → describe → inputs → first inference
Result<ServerUnderTest> find_server(const ServerBenchRequest& request, const model::Graph* graph) {
  const Nanoseconds timeout = std::max<Nanoseconds>(request.timeout, kAskTimeout);
  RIDGE_ASSIGN(client::Exchange exchange, client::Exchange::open(request.url, timeout));
  if (!request.url.endpoint.empty()) return find_llm(request, std::move(exchange));
  RIDGE_ASSIGN(client::ServerInfo server, client::describe_server(exchange));
  RIDGE_TRY(choose_model(exchange));
  RIDGE_ASSIGN(client::ServedModel model, client::describe_model(exchange, server));
  RIDGE_ASSIGN(ServerInputs inputs, server_inputs(model, request.inputs, graph));
  ServerUnderTest found{.exchange = std::move(exchange),
                        .server = std::move(server),
                        .model = std::move(model),
                        .version = {},
                        .inputs = std::move(inputs),
                        .requests = {},
                        .llm = {}};
  RIDGE_TRY(choose_payload(found, request.payload));
  found.inputs.columns.clear();  // they are in the requests
  found.exchange.limit(kStatisticsTimeout);
  return found;
}

}  // namespace ridge::app
