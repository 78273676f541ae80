// InferEndpoint: POST …/infer and …:predict, from the body to the answer.
//
// Small bodies are read and small answers written on the I/O thread of their connection, because handing them over
// would cost more. Large ones go to a few separate threads, so that they do not block other requests; on their
// connection later requests wait for them. Thread-safe as Handler requires. The service must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "front/client_policy.h"
#include "front/http/infer_request.h"
#include "front/http/message.h"
#include "front/http/predict_request.h"
#include "front/http/route.h"
#include "front/job_threads.h"
#include "front/tracer.h"
#include "serve/round.h"
#include "serve/service.h"

namespace ridge::front::http {

struct InferOptions {
  uint64_t max_input_bytes = 0;   // of JSON, of raw bodies and of decoded bodies
  size_t io_threads = 1;          // of the server that calls it
  size_t conversion_threads = 1;  // that read large bodies and write large answers
  size_t conversions_waiting = 1;
  ClientPolicy shared_memory = ClientPolicy::kThisMachine;
  std::shared_ptr<Tracer> tracer = {};  // null: no traces
};

// For one thread.
struct RequestDecoders {
  InferDecoder infer;
  PredictDecoder predict;
};

class InferEndpoint {
 public:
  InferEndpoint(serve::Service& service, const InferOptions& options);

  void handle(const Request& request, Route route, Responder responder);
  void end_round(size_t io_thread) { rounds_[io_thread].end(); }

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  bool is_quick_to_read(Call& call) const;
  void read_and_submit(const CallPtr& call);
  bool read(Call& call, RequestDecoders& decoders) const;
  Result<DecodedRequest> decode(Call& call, RequestDecoders& decoders) const;
  Result<DecodedRequest> decode_raw_body(std::shared_ptr<const Body> body, const Route& route) const;
  void submit(const CallPtr& call, serve::Round* round = nullptr);
  std::optional<Response> answer(const CallPtr& call, const ReplyTo& reply_to);

  serve::Service& service_;
  const InferOptions options_;
  std::vector<RequestDecoders> decoders_;  // one per I/O thread
  std::vector<serve::Round> rounds_;       // likewise
  JobThreads conversions_;                 // last: ends first
};

}  // namespace ridge::front::http
