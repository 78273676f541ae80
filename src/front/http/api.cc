#include "front/http/api.h"

#include <nlohmann/json.hpp>

#include "front/http/content_coding.h"
#include "front/http/describe.h"
#include "front/http/infer_response.h"
#include "front/http/repository_request.h"

namespace ridge::front::http {
namespace {

Response error_of(const Error& error) { return error_response(http_status(error.code), error.message); }

// Of a body that cannot be decoded: HTTP has words of its own for what it refuses.
Response refusal_of_body(const Error& error) {
  if (error.code == Code::kUnsupported) return error_response(415, error.message);
  if (error.code == Code::kExhausted) return error_response(413, error.message);
  return error_of(error);
}

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
  return result ? json_response(shown_as(*result)) : error_of(result.error());
}

Response refusal(const Route& route) {
  Response response = error_response(route.status, route.message);
  response.allow = route.allow;
  return response;
}

Response metrics_response(const std::function<std::string()>& metrics) {
  Response response = text_response(metrics());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";  // Prometheus' text exposition format
  return response;
}

// A request on its way through the service.
struct Call {
  Responder responder;
  AnswerFormat format;
  Coding coding;
  Result<serve::InferResponse> answer{Error{}};

  Response respond() {
    if (!answer) return error_of(answer.error());
    Result<Response> response = encode_infer_response(std::move(*answer), format);
    if (!response) return error_of(response.error());
    apply_coding(*response, coding);
    return std::move(*response);
  }
};

bool has_tensors_behind_json(const Request& request) {
  return request.inference_length && *request.inference_length != "0";
}

Response model_readiness(const serve::Service& service, const Route& route) {
  if (service.model_ready(route.model, route.version)) return json_response({{"name", route.model}, {"ready", true}});
  Result<serve::ModelMetadata> known = service.metadata(route.model, route.version);
  if (!known) return error_of(known.error());
  return error_response(503, "model '" + route.model + "' is not ready");
}

// Clients look for this text on every failed load.
Error load_error(Error error, const std::string& model) {
  if (error.message.find("failed to load") == std::string::npos)
    error.message = "failed to load '" + model + "', " + error.message;
  return error;
}

Response run_index(const serve::Service& service, std::string_view body) {
  Result<bool> only_ready = read_index_request(body);
  return only_ready ? json_response(repository_index(service.index(*only_ready))) : error_of(only_ready.error());
}

Response run_load(serve::Service& service, const std::string& model, std::string_view body) {
  Result<serve::LoadRequest> request = read_load_request(body);
  if (!request) return error_of(load_error(request.error(), model));
  Status loaded = service.load(model, *request);
  return loaded ? text_response("{}") : error_of(load_error(loaded.error(), model));
}

Response run_unload(serve::Service& service, const std::string& model, std::string_view body) {
  Result<bool> dependents = read_unload_request(body);
  if (!dependents) return error_of(dependents.error());
  Status unloaded = service.unload(model, *dependents);
  return unloaded ? text_response("{}") : error_of(unloaded.error());
}

}  // namespace

int http_status(Code code) {
  switch (code) {
    case Code::kInvalid: return 400;
    case Code::kNotFound: return 404;
    case Code::kUnsupported: return 501;
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kExhausted: return 503;
    case Code::kFailed: return 500;
  }
  return 500;
}

Api::Api(serve::Service& service, ApiOptions options, std::function<std::string()> metrics)
    : service_(service), options_(std::move(options)), metrics_(std::move(metrics)), decoders_(options_.io_threads) {}

uint64_t Api::body_limit(const Request& head) {
  return has_tensors_behind_json(head) ? options_.max_body_bytes : options_.max_input_bytes;
}

void Api::handle(const Request& request, Responder responder) {
  Route route = http::route(request.method, request.target);
  if (route.status != 200) return responder.send(refusal(route));
  switch (route.endpoint) {
    case Endpoint::kInfer: return infer(request, route, std::move(responder));
    case Endpoint::kIndex:
    case Endpoint::kLoad:
    case Endpoint::kUnload: return control(request, route, std::move(responder));
    default: return responder.send(describe(route));
  }
}

Response Api::describe(const Route& route) const {
  switch (route.endpoint) {
    case Endpoint::kLive:
      return service_.live() ? text_response("{\"live\":true}") : error_response(503, "the server is not live");
    case Endpoint::kReady:
      return service_.ready() ? text_response("{\"ready\":true}") : error_response(503, "the server is not ready");
    case Endpoint::kModelReady: return model_readiness(service_, route);
    case Endpoint::kModelMetadata: return show(service_.metadata(route.model, route.version), model_metadata);
    case Endpoint::kModelConfig:
      return show(service_.config(route.model, route.version), [](const Json& config) { return config; });
    case Endpoint::kStatistics:
      return show(service_.statistics(route.model, route.version),
                  [](const std::vector<serve::ModelStatistics>& models) { return model_statistics(models); });
    case Endpoint::kMetrics: return metrics_response(metrics_);
    default: return json_response(server_metadata(options_.server_version));
  }
}

Result<std::shared_ptr<const Body>> Api::plain_body(const Request& request) const {
  static const std::shared_ptr<const Body> kEmpty = [] {
    auto body = std::make_shared<Body>();
    body->start(0);
    return body;
  }();
  if (!request.body) return kEmpty;
  if (!request.content_encoding) return std::shared_ptr<const Body>(request.body);
  std::optional<Coding> coding = coding_from_field(*request.content_encoding);
  if (!coding)
    return Error{Code::kUnsupported, "Content-Encoding '" + std::string(*request.content_encoding) +
                                         "' is not supported; use gzip, deflate or none"};
  if (*coding == Coding::kIdentity) return std::shared_ptr<const Body>(request.body);
  auto decoded = std::make_shared<Body>();
  size_t header = 0;
  if (request.inference_length) {
    if (Result<size_t> length = parse_header_length(*request.inference_length, options_.max_input_bytes); length)
      header = *length;
  }
  decoded->start(header);
  RIDGE_TRY(http::decode(*coding, request.body->bytes(), options_.max_input_bytes, *decoded));
  return std::shared_ptr<const Body>(std::move(decoded));
}

Result<DecodedRequest> Api::decode_raw_body(std::shared_ptr<const Body> body, const Route& route) const {
  RIDGE_ASSIGN(serve::ModelMetadata model, service_.metadata(route.model, route.version));
  RIDGE_ASSIGN(Json config, service_.config(route.model, route.version));
  RIDGE_ASSIGN(int64_t max_batch_size, json_member_or<int64_t>(config, "max_batch_size", 0));
  return decode_raw(std::move(body), model, max_batch_size > 0);
}

Result<DecodedRequest> Api::decode(const Request& request, const Route& route) {
  RIDGE_ASSIGN(std::shared_ptr<const Body> body, plain_body(request));
  if (!request.inference_length) {
    if (body->size() == 0) return Error{Code::kInvalid, "the request has no body; send a JSON object with 'inputs'"};
    return decoders_[request.io_thread].decode(std::move(body), std::nullopt);
  }
  RIDGE_ASSIGN(size_t header_length, parse_header_length(*request.inference_length, body->size()));
  if (header_length == 0) return decode_raw_body(std::move(body), route);
  if (header_length > options_.max_input_bytes)
    return Error{Code::kInvalid, "the JSON part has " + std::to_string(header_length) + " bytes; this server accepts " +
                                     std::to_string(options_.max_input_bytes) + " (--http-max-input-size)"};
  return decoders_[request.io_thread].decode(std::move(body), header_length);
}

void Api::infer(const Request& request, const Route& route, Responder responder) {
  Result<DecodedRequest> decoded = decode(request, route);
  if (!decoded) return responder.send(refusal_of_body(decoded.error()));
  Coding coding = request.accept_encoding ? preferred_coding(*request.accept_encoding) : Coding::kIdentity;
  auto call = std::make_shared<Call>(Call{std::move(responder), std::move(decoded->format), coding});
  serve::InferRequest& native = decoded->request;
  native.model = route.model;
  native.version = route.version;
  native.arrived = request.arrived;
  service_.infer(std::move(native), [call](Result<serve::InferResponse> answer) {
    call->answer = std::move(answer);
    Responder back = std::move(call->responder);
    back.send_later([call] { return call->respond(); });
  });
}

void Api::control(const Request& request, const Route& route, Responder responder) {
  Result<std::shared_ptr<const Body>> body = plain_body(request);
  if (!body) return responder.send(refusal_of_body(body.error()));
  auto held = std::make_shared<Responder>(std::move(responder));
  ControlThread& thread = route.endpoint == Endpoint::kLoad ? loads_ : control_;
  bool accepted = thread.run([this, held, body = *body, endpoint = route.endpoint, model = route.model] {
    if (endpoint == Endpoint::kIndex)
      held->send(run_index(service_, body->text()));
    else if (endpoint == Endpoint::kLoad)
      held->send(run_load(service_, model, body->text()));
    else
      held->send(run_unload(service_, model, body->text()));
  });
  if (!accepted) held->send(error_response(503, "too many repository calls are waiting; try again later"));
}

uint64_t MetricsApi::body_limit(const Request&) { return 64 * 1024; }

void MetricsApi::handle(const Request& request, Responder responder) {
  Route route = http::route(request.method, request.target);
  if (route.status == 200 && route.endpoint == Endpoint::kMetrics) return responder.send(metrics_response(metrics_));
  if (route.status == 405) return responder.send(refusal(route));
  responder.send(error_response(404, "this port answers GET /metrics"));
}

}  // namespace ridge::front::http
