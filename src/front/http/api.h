// Api: the endpoints of the Open Inference Protocol over a Service. Only translates.
//
// Thread-safe as Handler requires. The service must outlive it and the threads, these must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "front/access.h"
#include "front/access_log.h"
#include "front/client_policy.h"
#include "front/control.h"
#include "front/http/infer_endpoint.h"
#include "front/http/message.h"
#include "front/http/route.h"
#include "front/openai/endpoint.h"
#include "front/tracer.h"
#include "serve/service.h"

namespace ridge::front::http {

// Prometheus text, as of `asked` or later.
using MetricsText = std::function<std::string(TimePoint asked)>;

struct ApiOptions {
  std::string server_version = "0";
  uint64_t max_input_bytes = uint64_t{64} << 20;  // [bytes] of JSON, of raw bodies and of decoded bodies
  uint64_t max_body_bytes = uint64_t{8} << 30;    // [bytes] of bodies with binary tensors
  size_t io_threads = 1;                          // of the server that calls it
  size_t conversion_threads = 2;                  // that read large bodies and write large answers
  size_t conversions_waiting = 1024;              // at most; one more large body is refused with 503
  ClientPolicy shared_memory = ClientPolicy::kThisMachine;
  ClientPolicy model_control = ClientPolicy::kThisMachine;  // load and unload
  std::shared_ptr<const Keys> keys = {};                    // null: no call needs one
  std::shared_ptr<AccessLog> access_log = {};               // null: none
  std::shared_ptr<Tracer> tracer = {};                      // null: no traces
  std::shared_ptr<MemoryBudget> memory = {};                // the server's
};

class Api final : public Handler {
 public:
  // `metrics` answers GET /metrics.
  Api(serve::Service& service, ApiOptions options, ControlThreads& threads, MetricsText metrics);

  SizeLimit body_limit(const Request& head) override;
  std::optional<Response> refusal(const Request& head) override;
  void handle(const Request& request, Responder responder) override;
  void shape_error(const Request& request, Response& response) override;
  void ended(const Request& request, const Outcome& outcome) override;
  void end_round(size_t io_thread) override { infer_.end_round(io_thread); }
  void clients_left() override { service_.drop_cancelled(); }

 private:
  Response describe(const Route& route, bool from_this_machine, TimePoint asked) const;
  const Route& route_of(const Request& request);
  SizeLimit text_limit(Endpoint endpoint) const;  // of a body without tensors, decoded
  Status check_client(const Request& request, Endpoint endpoint) const;
  void control(const Request& request, const Route& route, Responder responder);

  serve::Service& service_;
  ApiOptions options_;
  ControlThreads& threads_;
  MetricsText metrics_;
  const std::string docs_;
  InferEndpoint infer_;
  openai::OpenAiEndpoint text_;
  // Last route that each I/O thread was asked for: clients ask the same again, and each request looks it up often.
  struct Asked {
    Method method = Method::kOther;
    std::string target;
    Route route;
  };
  std::vector<Asked> asked_;
};

// Answers GET /metrics alone: the handler of the metrics port.
class MetricsApi final : public Handler {
 public:
  MetricsApi(MetricsText metrics, std::shared_ptr<const Keys> keys = nullptr,
             std::shared_ptr<AccessLog> access_log = nullptr)
      : metrics_(std::move(metrics)), keys_(std::move(keys)), access_log_(std::move(access_log)) {}
  SizeLimit body_limit(const Request& head) override;
  std::optional<Response> refusal(const Request& head) override;
  void handle(const Request& request, Responder responder) override;
  void ended(const Request& request, const Outcome& outcome) override;

 private:
  MetricsText metrics_;
  std::shared_ptr<const Keys> keys_;
  std::shared_ptr<AccessLog> access_log_;
};

}  // namespace ridge::front::http
