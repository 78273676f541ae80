#include "front/http/infer_endpoint.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "front/error_text.h"
#include "front/http/coding_fields.h"
#include "front/http/infer_response.h"
#include "front/http/predict_response.h"
#include "front/infer_rules.h"

namespace ridge::front::http {
namespace {

// Work above these sizes goes to another thread. On one core of an AMD EPYC, release build, FP32 values: reading 64 KiB
// of JSON takes 0.10 ms, unpacking as much gzip 0.13 ms; writing 32 KiB of tensors as JSON takes 0.28 ms, packing that
// with gzip 0.7 ms more.
constexpr size_t kLargeText = 64 * 1024;     // [bytes] of text to read
constexpr size_t kMuchText = 1024 * 1024;    // [bytes] of text whose values, once freed, are worth giving back
constexpr size_t kLongestTraceError = 1024;  // [bytes]
constexpr size_t kLargeAnswer = 32 * 1024;   // [bytes] of tensors to write as text, or to pack

// Bytes to convert to text, or to code, for this answer.
size_t work_of(const serve::InferResponse& answer, const AnswerFormat& format, Coding coding) {
  size_t bytes = 0;
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    bool copied = coding == Coding::kIdentity && is_binary(format, i);
    if (!copied) bytes += answer.outputs[i].data.size();
  }
  return bytes;
}

Response out_of_memory() { return error_response(503, "not enough memory for this request"); }

}  // namespace

// A request in progress: the relevant parts of its head, and its current state.
struct InferEndpoint::Call {
  Route route;
  std::shared_ptr<const Body> body;
  std::optional<std::string> inference_length;
  std::string content_encoding;  // empty = none
  Coding answer_coding = Coding::kIdentity;
  TimePoint arrived;
  bool from_this_machine = false;
  std::stop_token client;
  Responder responder;
  serve::InferRequest request;
  AnswerFormat format;
  std::string id = {};
  Result<serve::InferResponse> answer{Error{}};

  std::shared_ptr<Trace> trace = {};  // null: not traced

  void send(Response response) { responder.send(described(std::move(response))); }
  Response respond() { return described(encoded()); }
  // Adds the text of the access log and the trace.
  Response described(Response response) {
    response.request_id = std::move(id);
    if (!trace) return response;
    trace->record.request_id = response.request_id;
    // A client's error is none of the span (OpenTelemetry's semantic conventions for HTTP servers).
    if (response.status >= 500) trace->record.error = error_text(response.error, kLongestTraceError);
    response.trace = std::move(trace);
    return response;
  }
  Result<Response> encoded_outputs() {
    return route.endpoint == Endpoint::kPredict ? encode_predict_response(*answer, format.predict)
                                                : encode_infer_response(std::move(*answer), format);
  }
  Response encoded() {
    if (!answer) return inference_error_response(answer.error());
    try {
      Result<Response> response = encoded_outputs();
      if (!response) return error_response(response.error());
      apply_coding(*response, answer_coding);
      return std::move(*response);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }
};

InferEndpoint::InferEndpoint(serve::Service& service, const InferOptions& options)
    : service_(service),
      options_(options),
      decoders_(options.io_threads),
      rounds_(options.io_threads),
      conversions_("convert", options.conversion_threads, options.conversions_waiting) {}

void InferEndpoint::handle(const Request& request, Route route, Responder responder) {
  auto call = std::make_shared<Call>(Call{.route = std::move(route),
                                          .body = request.body,
                                          .inference_length = {},
                                          .content_encoding = std::string(request.content_encoding.value_or("")),
                                          .arrived = request.arrived,
                                          .from_this_machine = request.from_this_machine,
                                          .client = request.client,
                                          .responder = std::move(responder),
                                          .request = {},
                                          .format = {}});
  if (options_.tracer)
    call->trace = options_.tracer->begin({.protocol = "http",
                                          .model = call->route.model,
                                          .parent = request.trace_parent,
                                          .state = request.trace_state,
                                          .arrived = request.arrived});
  const bool may_be_binary = call->route.endpoint == Endpoint::kInfer;
  if (may_be_binary && request.inference_length) call->inference_length = *request.inference_length;
  if (request.accept_encoding) call->answer_coding = preferred_coding(*request.accept_encoding);
  bool quick = is_quick_to_read(*call);
  if (quick && !read(*call, decoders_[request.io_thread])) return;
  if (quick && !has_many_elements(call->request)) return submit(call, &rounds_[request.io_thread]);
  bool accepted = conversions_.run([this, call, quick] { quick ? submit(call) : read_and_submit(call); });
  if (!accepted) call->send(error_response(503, "too many large requests are waiting to be parsed; try again later"));
}

// A coded body counts by its decoded size, whatever it declares: it is decoded up to the limit of a small body.
bool InferEndpoint::is_quick_to_read(Call& call) const {
  if (!call.body) return true;
  size_t text = call.body->size();
  bool coded = !call.content_encoding.empty();
  size_t header = 0;
  if (call.inference_length) {
    Result<size_t> length = parse_header_length(*call.inference_length, options_.max_input_bytes);
    if (length) header = *length;
    if (length && !coded) text = *length;  // the rest of the body is unchanged
  }
  if (text > kLargeText) return false;
  if (!coded) return true;
  Result<std::shared_ptr<const Body>> plain =
      unpacked(call.body, call.content_encoding, {std::min<uint64_t>(kLargeText, options_.max_input_bytes)}, header);
  if (!plain) return plain.error().code != Code::kExhausted;
  call.body = std::move(*plain);
  call.content_encoding.clear();
  return true;
}

void InferEndpoint::read_and_submit(const CallPtr& call) {
  if (call->client.stop_requested()) return;
  RequestDecoders decoders;  // their memory is freed with the large body
  if (call->body && call->body->size() > kMuchText) service_.freed_much();
  if (read(*call, decoders)) submit(call);
}

// False: the request was invalid, and is answered.
bool InferEndpoint::read(Call& call, RequestDecoders& decoders) const {
  try {
    Result<DecodedRequest> decoded = decode(call, decoders);
    if (decoded && uses_regions(decoded->request))
      if (Status allowed = check_regions_allowed(options_.shared_memory, call.from_this_machine); !allowed) {
        call.send(error_response(allowed.error()));
        return false;
      }
    if (decoded) {
      call.request = std::move(decoded->request);
      call.id = call.request.id;
      call.format = std::move(decoded->format);
      return true;
    }
    call.send(body_error_response(decoded.error()));
  } catch (const std::bad_alloc&) {
    call.send(out_of_memory());
  }
  return false;
}

Result<DecodedRequest> InferEndpoint::decode_raw_body(std::shared_ptr<const Body> body, const Route& route) const {
  RIDGE_ASSIGN(serve::ModelMetadata model, service_.metadata(route.model, route.version));
  return decode_raw(std::move(body), model);
}

Result<DecodedRequest> InferEndpoint::decode(Call& call, RequestDecoders& decoders) const {
  const uint64_t limit = options_.max_input_bytes;
  size_t align_at = 0;
  if (call.inference_length)
    if (Result<size_t> length = parse_header_length(*call.inference_length, limit); length) align_at = *length;
  RIDGE_ASSIGN(std::shared_ptr<const Body> body,
               unpacked(std::move(call.body), call.content_encoding, {limit, kInputSizeOption}, align_at));
  if (call.route.endpoint == Endpoint::kPredict) {
    RIDGE_ASSIGN(const serve::ModelMetadata model, service_.metadata(call.route.model, call.route.version));
    return decoders.predict.decode(*body, model);
  }
  if (!call.inference_length) {
    if (body->size() == 0) return Error{Code::kInvalid, "the request has no body; send a JSON object with 'inputs'"};
    return decoders.infer.decode(std::move(body), std::nullopt);
  }
  RIDGE_ASSIGN(size_t header_length, parse_header_length(*call.inference_length, body->size()));
  if (header_length == 0) return decode_raw_body(std::move(body), call.route);
  if (header_length > limit)
    return Error{Code::kInvalid, "the JSON part has " + std::to_string(header_length) + " bytes; this server accepts " +
                                     std::to_string(limit) + " (--http-max-input-size)"};
  return decoders.infer.decode(std::move(body), header_length);
}

void InferEndpoint::submit(const CallPtr& call, serve::Round* round) {
  serve::InferRequest request = std::move(call->request);
  request.model = std::move(call->route.model);
  request.version = call->route.version;
  request.arrived = call->arrived;
  request.cancelled = std::move(call->client);
  request.stages = stages_of(call->trace);
  request.round = round;
  service_.infer(std::move(request), [this, call](Result<serve::InferResponse> answer) {
    call->answer = std::move(answer);
    Responder back = std::move(call->responder);
    back.send_later([this, call](const ReplyTo& reply_to) { return this->answer(call, reply_to); });
  });
}

// On the connection's I/O thread, which does not outlive this endpoint.
std::optional<Response> InferEndpoint::answer(const CallPtr& call, const ReplyTo& reply_to) {
  if (!call->answer || work_of(*call->answer, call->format, call->answer_coding) <= kLargeAnswer)
    return call->respond();
  call->responder = Responder(reply_to);
  if (work_of(*call->answer, call->format, call->answer_coding) > kMuchText) service_.freed_much();
  bool accepted = conversions_.run([call] { call->responder.send(call->respond()); });
  if (!accepted) call->responder.send(call->respond());  // too many wait, but a finished answer is kept
  return std::nullopt;
}

}  // namespace ridge::front::http
