// Api: the endpoints of the Open Inference Protocol over a Service. Translates and decides nothing else.
//
// Thread-safe as Handler asks. The service must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "front/http/control_thread.h"
#include "front/http/infer_request.h"
#include "front/http/message.h"
#include "front/http/route.h"
#include "serve/service.h"

namespace ridge::front::http {

struct ApiOptions {
  std::string server_version = "0";
  uint64_t max_input_bytes = uint64_t{64} << 20;  // [bytes] of JSON, of raw bodies and of decoded bodies
  uint64_t max_body_bytes = uint64_t{8} << 30;    // [bytes] of bodies with binary tensors
  size_t io_threads = 1;                          // of the server that calls it
};

class Api final : public Handler {
 public:
  // `metrics` answers GET /metrics with Prometheus text.
  Api(serve::Service& service, ApiOptions options, std::function<std::string()> metrics);

  uint64_t body_limit(const Request& head) override;
  void handle(const Request& request, Responder responder) override;

 private:
  Response describe(const Route& route) const;
  void infer(const Request& request, const Route& route, Responder responder);
  void control(const Request& request, const Route& route, Responder responder);
  Result<std::shared_ptr<const Body>> plain_body(const Request& request) const;
  Result<DecodedRequest> decode(const Request& request, const Route& route);
  Result<DecodedRequest> decode_raw_body(std::shared_ptr<const Body> body, const Route& route) const;

  serve::Service& service_;
  ApiOptions options_;
  std::function<std::string()> metrics_;
  std::vector<InferDecoder> decoders_;  // one per I/O thread
  ControlThread loads_;                 // load, which may take minutes
  ControlThread control_;               // index and unload, which do not wait for it
};

// Answers GET /metrics alone: the handler of the metrics port.
class MetricsApi final : public Handler {
 public:
  explicit MetricsApi(std::function<std::string()> metrics) : metrics_(std::move(metrics)) {}
  uint64_t body_limit(const Request& head) override;
  void handle(const Request& request, Responder responder) override;

 private:
  std::function<std::string()> metrics_;
};

// The protocol's status for an error.
int http_status(Code code);

}  // namespace ridge::front::http
