#include "front/http/api.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "front/http/coding_fields.h"
#include "front/http/describe.h"
#include "front/http/log_request.h"
#include "front/http/openapi.h"
#include "front/http/page_text.h"
#include "front/http/region_request.h"
#include "front/http/repository_request.h"
#include "front/http/trace_request.h"
#include "front/log_settings.h"
#include "front/openai/response.h"
#include "front/trace_context.h"
#include "front/traced_model.h"

namespace ridge::front::http {
namespace {

constexpr uint64_t kLongestCall = 64 * 1024;  // [bytes] of an operator's call without files: a few names and numbers

Response json_response(const Json& json) {
  Response response;
  response.text = dump_json(json);
  return response;
}

Response text_response(std::string text) {
  Response response;
  response.text = std::move(text);
  return response;
}

template <typename T, typename Show>
Response show(const Result<T>& result, Show shown_as) {
  return result ? json_response(shown_as(*result)) : error_response(result.error());
}

Response route_error(const Route& route) {
  Response response = error_response(route.status, route.message);
  response.allow = route.allow;
  return response;
}

Response metrics_response(const MetricsText& metrics, TimePoint asked) {
  Response response = text_response(metrics(asked));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";  // Prometheus' text exposition format
  return response;
}

Response page_response() {
  Response response = text_response(std::string(page_text("front")));
  response.content_type = "text/html; charset=utf-8";
  return response;
}

bool has_tensors_behind_json(const Request& request) {
  return request.inference_length && *request.inference_length != "0";
}

Response model_readiness(const serve::Service& service, const Route& route) {
  if (service.model_ready(route.model, route.version)) return json_response({{"name", route.model}, {"ready", true}});
  Result<serve::ModelMetadata> known = service.metadata(route.model, route.version);
  if (!known) return error_response(known.error());
  return error_response(503, "model '" + route.model + "' is not ready");
}

// A language model has OpenAI's model object, which holds the same. The form is TensorFlow Serving's
// ModelService.GetModelStatus, in the JSON of its protobuf.
Response model_status(const serve::Service& service, const Route& route) {
  std::vector<serve::IndexEntry> versions = service.index(false);
  std::erase_if(versions, [&](const serve::IndexEntry& entry) {
    const bool asked = route.version == 0 || entry.version == route.version;
    return entry.name != route.model || entry.version == 0 || !asked;
  });
  Json card = route.version == 0 ? openai::model_card(service, route.model) : Json();
  if (!versions.empty() && !card.is_null()) card.update(model_version_status(versions));
  if (!card.is_null()) return json_response(card);
  if (!versions.empty()) return json_response(model_version_status(versions));
  const Result<serve::ModelMetadata> known = service.metadata(route.model, route.version);
  return known ? error_response(404, "no version of model '" + route.model + "' is known")
               : error_response(known.error());
}

Response run_index(const serve::Service& service, std::string_view body) {
  Result<bool> only_ready = read_index_request(body);
  return only_ready ? json_response(repository_index(service.index(*only_ready))) : error_response(only_ready.error());
}

Response run_load(serve::Service& service, const std::string& model, std::string_view body) {
  Result<serve::LoadRequest> request = read_load_request(body);
  Status loaded = request ? service.load(model, *request) : request.error();
  return loaded ? text_response("{}") : error_response(load_failed(model, std::move(loaded).error()));
}

Response run_unload(serve::Service& service, const std::string& model, std::string_view body) {
  Result<bool> dependents = read_unload_request(body);
  if (!dependents) return error_response(dependents.error());
  Status unloaded = service.unload(model, *dependents);
  return unloaded ? text_response("{}") : error_response(unloaded.error());
}

Response run_register(serve::Service& service, const Route& route, std::string_view body) {
  Result<serve::RegionRequest> region = read_region_request(route.region_kind, route.region, body);
  if (!region) return error_response(region.error());
  Status registered = service.register_region(std::move(*region));
  return registered ? text_response("{}") : error_response(registered.error());
}

Response run_unregister(serve::Service& service, const Route& route) {
  service.unregister_regions(route.region_kind, route.region);
  return text_response("{}");
}

Response log_response() {
  Json settings = Json::object();
  for (const auto& [name, value] : log_settings()) std::visit([&](const auto& each) { settings[name] = each; }, value);
  return json_response(settings);
}

Response run_log_change(std::string_view body) {
  Result<LogSettings> changes = read_log_request(body);
  Status changed = changes ? change_log_settings(*changes) : std::move(changes).error();
  return changed ? log_response() : error_response(changed.error());
}

// A single value is a text, as Triton's; trace_level is a list.
Response trace_response(const Tracer* tracer, const std::string& model) {
  Json json = Json::object();
  for (auto& [name, values] : trace_settings(tracer, model))
    json[name] = name == "trace_level" ? Json(values) : Json(values.front());
  return json_response(json);
}

Response run_trace_change(const serve::Service& service, Tracer* tracer, const std::string& model,
                          std::string_view body) {
  Status changed = check_traced_model(service, model);
  if (changed) {
    Result<TraceChanges> changes = read_trace_request(body);
    changed = changes ? change_trace_settings(tracer, model, *changes) : std::move(changes).error();
  }
  return changed ? trace_response(tracer, model) : error_response(changed.error());
}

Response run_control(serve::Service& service, Tracer* tracer, const Route& route, std::string_view body) {
  switch (route.endpoint) {
    case Endpoint::kIndex: return run_index(service, body);
    case Endpoint::kLoad: return run_load(service, route.model, body);
    case Endpoint::kLoggingChange: return run_log_change(body);
    case Endpoint::kTraceChange: return run_trace_change(service, tracer, route.model, body);
    case Endpoint::kRegionRegister: return run_register(service, route, body);
    case Endpoint::kRegionUnregister: return run_unregister(service, route);
    default: return run_unload(service, route.model, body);
  }
}

// Paths and methods that do not exist are refused without a key.
std::optional<Response> refusal_of(const Keys& keys, const Route& route, const Request& head) {
  if (route.status != 200) return std::nullopt;
  const Status allowed = check_access(&keys, route.groups, head.credentials);
  return allowed ? std::nullopt : std::optional(error_response(allowed.error()));
}

std::string_view name_of(Method method) {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kHead: return "HEAD";
    case Method::kPost: return "POST";
    case Method::kOther: return "OTHER";
  }
  return "OTHER";
}

void log_call(AccessLog& log, const Keys* keys, const Route& route, const Request& request, const Outcome& outcome) {
  const std::string key = keys == nullptr ? "" : keys->current()->name_of(request.credentials);
  const std::string status = std::to_string(outcome.status);
  std::string trace_id;
  if (outcome.response != nullptr && outcome.response->trace)
    trace_id = outcome.response->trace->record.trace_id;
  else if (const std::optional<TraceContext> caller = parse_traceparent(request.trace_parent))
    trace_id = caller->trace_id;
  log.record({.client = request.client_address,
              .key = key,
              .method = name_of(request.method),
              .path = path_of(request.target),
              .model = outcome.response == nullptr || !route.model.empty() ? std::string_view(route.model)
                                                                           : std::string_view(outcome.response->model),
              .status = status,
              .bytes_in = outcome.bytes_in,
              .bytes_out = outcome.bytes_out,
              .duration = outcome.duration,
              .request_id = outcome.response == nullptr ? std::string_view() : outcome.response->request_id,
              .trace_id = trace_id});
}

std::optional<openai::OpenAiCall> openai_call(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kCompletions: return openai::OpenAiCall::kCompletion;
    case Endpoint::kChatCompletions: return openai::OpenAiCall::kChat;
    case Endpoint::kEmbeddings: return openai::OpenAiCall::kEmbedding;
    case Endpoint::kTokenize: return openai::OpenAiCall::kTokenize;
    case Endpoint::kDetokenize: return openai::OpenAiCall::kDetokenize;
    default: return std::nullopt;
  }
}

bool is_inference(Endpoint endpoint) {
  return endpoint == Endpoint::kInfer || endpoint == Endpoint::kPredict || openai_call(endpoint);
}

bool is_of_regions(Endpoint endpoint) {
  return endpoint == Endpoint::kRegionStatus || endpoint == Endpoint::kRegionRegister ||
         endpoint == Endpoint::kRegionUnregister;
}

}  // namespace

Api::Api(serve::Service& service, ApiOptions options, ControlThreads& threads, MetricsText metrics)
    : service_(service),
      options_(std::move(options)),
      threads_(threads),
      metrics_(std::move(metrics)),
      docs_(openapi_document(options_.server_version)),
      infer_(service, {.max_input_bytes = options_.max_input_bytes,
                       .io_threads = options_.io_threads,
                       .conversion_threads = options_.conversion_threads,
                       .conversions_waiting = options_.conversions_waiting,
                       .shared_memory = options_.shared_memory,
                       .tracer = options_.tracer}),
      text_(service, {.max_input_bytes = options_.max_input_bytes,
                      .threads = options_.conversion_threads,
                      .most_waiting = options_.conversions_waiting,
                      .keys = options_.keys,
                      .tracer = options_.tracer,
                      .memory = options_.memory}),
      asked_(options_.io_threads) {}

// Until the next call of the same thread.
const Route& Api::route_of(const Request& request) {
  Asked& last = asked_[request.io_thread];
  if (last.target.empty() || last.method != request.method || last.target != request.target)
    last = {request.method, std::string(request.target), http::route(request.method, request.target)};
  return last.route;
}

SizeLimit Api::text_limit(Endpoint endpoint) const {
  if (const std::optional<openai::OpenAiCall> call = openai_call(endpoint)) return text_.body_limit(*call);
  const bool may_be_long = is_inference(endpoint) || endpoint == Endpoint::kLoad;
  if (may_be_long || options_.max_input_bytes < kLongestCall) return {options_.max_input_bytes, kInputSizeOption};
  return {kLongestCall};
}

SizeLimit Api::body_limit(const Request& head) {
  const Endpoint endpoint = route_of(head).endpoint;
  const bool tensors = endpoint == Endpoint::kInfer && has_tensors_behind_json(head);
  return tensors ? SizeLimit{options_.max_body_bytes} : text_limit(endpoint);
}

std::optional<Response> Api::refusal(const Request& head) {
  if (!options_.keys) return std::nullopt;
  return refusal_of(*options_.keys, route_of(head), head);
}

Status Api::check_client(const Request& request, Endpoint endpoint) const {
  if (is_of_regions(endpoint)) return check_regions_allowed(options_.shared_memory, request.from_this_machine);
  if (endpoint == Endpoint::kLoggingChange || endpoint == Endpoint::kTraceChange)
    return check_log_allowed(options_.model_control, request.from_this_machine);
  if (endpoint == Endpoint::kLoad || endpoint == Endpoint::kUnload) {
    RIDGE_TRY(check_control_allowed(options_.model_control, request.from_this_machine));
    return service_.check_control();  // before anything is read of a body that may be long
  }
  return {};
}

void Api::shape_error(const Request& request, Response& response) {
  if (is_of_openai(request.target)) response.text = openai::openai_error(response);
}

void Api::ended(const Request& request, const Outcome& outcome) {
  if (outcome.response != nullptr && outcome.response->trace) outcome.response->trace->end();
  if (options_.access_log) log_call(*options_.access_log, options_.keys.get(), route_of(request), request, outcome);
}

void Api::handle(const Request& request, Responder responder) {
  const Route& route = route_of(request);
  if (route.status != 200) return responder.send(route_error(route));
  if (request.method == Method::kPost && request.cross_site)
    return responder.send(
        error_response(403, "requests from pages of other servers (Origin, Sec-Fetch-Site) are refused"));
  if (Status allowed = check_client(request, route.endpoint); !allowed) {
    const bool is_load = route.endpoint == Endpoint::kLoad;
    return responder.send(error_response(is_load ? load_failed(route.model, allowed.error()) : allowed.error()));
  }
  if (const std::optional<openai::OpenAiCall> call = openai_call(route.endpoint))
    return text_.handle(request, *call, std::move(responder));
  if (is_inference(route.endpoint)) return infer_.handle(request, route, std::move(responder));
  switch (route.endpoint) {
    case Endpoint::kIndex:
    case Endpoint::kLoad:
    case Endpoint::kUnload:
    case Endpoint::kLoggingChange:
    case Endpoint::kTraceChange:
    case Endpoint::kRegionRegister:
    case Endpoint::kRegionUnregister: return control(request, route, std::move(responder));
    default: return responder.send(describe(route, request.from_this_machine, request.arrived));
  }
}

Response Api::describe(const Route& route, bool from_this_machine, TimePoint asked) const {
  switch (route.endpoint) {
    case Endpoint::kLive:
      return service_.live() ? text_response("{\"live\":true}") : error_response(503, "the server is not live");
    case Endpoint::kReady:
      return service_.ready() ? text_response("{\"ready\":true}") : error_response(503, "the server is not ready");
    case Endpoint::kModelReady: return model_readiness(service_, route);
    case Endpoint::kModelStatus: return model_status(service_, route);
    case Endpoint::kTextModels: return openai::models_response(service_);
    case Endpoint::kVersion: return json_response({{"version", options_.server_version}});
    case Endpoint::kModelMetadata: return show(service_.metadata(route.model, route.version), model_metadata);
    case Endpoint::kModelConfig:
      return show(service_.config(route.model, route.version), [](const Json& config) { return config; });
    case Endpoint::kStatistics:
      return show(service_.statistics(route.model, route.version),
                  [](const std::vector<serve::ModelStatistics>& models) { return model_statistics(models); });
    case Endpoint::kMetrics: return metrics_response(metrics_, asked);
    case Endpoint::kFrontPage: return page_response();
    case Endpoint::kDocs: return text_response(docs_);
    case Endpoint::kLogging: return log_response();
    case Endpoint::kTrace: {
      const Status known = check_traced_model(service_, route.model);
      return known ? trace_response(options_.tracer.get(), route.model) : error_response(known.error());
    }
    case Endpoint::kRegionStatus:
      return show(service_.regions(route.region_kind, route.region),
                  [](const std::vector<serve::RegionRequest>& regions) { return json_of(regions); });
    default:
      return json_response(server_metadata(
          options_.server_version, is_allowed(options_.shared_memory, from_this_machine), options_.tracer != nullptr));
  }
}

void Api::control(const Request& request, const Route& route, Responder responder) {
  if (route.endpoint == Endpoint::kLoad)
    if (const std::optional<Error> refused = no_load_is_possible(service_))
      return responder.send(error_response(*refused));
  auto held = std::make_shared<Responder>(std::move(responder));
  std::string coding(request.content_encoding.value_or(""));
  JobThreads& thread = route.endpoint == Endpoint::kLoad ? threads_.loads : threads_.control;
  const SizeLimit limit = text_limit(route.endpoint);
  // The threads may outlive this Api.
  bool accepted = thread.run([&service = service_, tracer = options_.tracer, limit, held, body = request.body,
                              coding = std::move(coding), route] {
    Result<std::shared_ptr<const Body>> plain = unpacked(body, coding, limit, 0);
    held->send(plain ? run_control(service, tracer.get(), route, (*plain)->text())
                     : body_error_response(plain.error()));
  });
  if (!accepted) held->send(error_response(too_many_calls()));
}

SizeLimit MetricsApi::body_limit(const Request&) { return {kLongestCall}; }

std::optional<Response> MetricsApi::refusal(const Request& head) {
  if (!keys_) return std::nullopt;
  return refusal_of(*keys_, http::route(head.method, head.target), head);
}

void MetricsApi::ended(const Request& request, const Outcome& outcome) {
  if (access_log_) log_call(*access_log_, keys_.get(), http::route(request.method, request.target), request, outcome);
}

void MetricsApi::handle(const Request& request, Responder responder) {
  Route route = http::route(request.method, request.target);
  if (route.status == 200 && route.endpoint == Endpoint::kMetrics)
    return responder.send(metrics_response(metrics_, request.arrived));
  if (route.status == 405) return responder.send(route_error(route));
  responder.send(error_response(404, "this port answers GET /metrics"));
}

}  // namespace ridge::front::http
