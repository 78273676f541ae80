// Api: the Open Inference Protocol over gRPC, with grpc.health.v1 and reflection, behind a port of HTTP/2.
//
// Thread-safe, as StreamPort. The service and the threads must outlive it, the threads' jobs the service.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "front/access.h"
#include "front/access_log.h"
#include "front/body.h"
#include "front/client_policy.h"
#include "front/control.h"
#include "front/http/stream_port.h"
#include "front/job_threads.h"
#include "front/memory_budget.h"
#include "front/tracer.h"
#include "serve/round.h"
#include "serve/service.h"

namespace ridge::front::grpc {

struct ApiOptions {
  http::StreamPortOptions streams = {};
  std::string server_version = "0";
  size_t io_threads = 1;                                           // of the server that calls it
  uint64_t largest_message = std::numeric_limits<int32_t>::max();  // [bytes] as received
  uint64_t largest_unpacked = uint64_t{64} << 20;                  // [bytes] of a compressed message, unpacked
  std::shared_ptr<MemoryBudget> memory = {};                       // of all messages together; null: any amount
  std::shared_ptr<const Keys> keys = {};                           // null: no call needs one
  std::shared_ptr<AccessLog> access_log = {};                      // null: none
  std::shared_ptr<Tracer> tracer = {};                             // null: no traces
  bool packs_answers = false;                                      // where the client accepts it
  ClientPolicy shared_memory = ClientPolicy::kThisMachine;
  ClientPolicy model_control = ClientPolicy::kThisMachine;
};

class Api final : public http::StreamPort, public std::enable_shared_from_this<Api> {
 public:
  Api(serve::Service& service, ApiOptions options, ControlThreads& threads);

  std::shared_ptr<http::StreamHandler> open(http::StreamHost& host, int32_t stream) override;
  void end_round(size_t io_thread) override { rounds[io_thread].end(); }
  void clients_left() override { service.drop_cancelled(); }
  void tidy() override { bodies.tidy(); }

  // Answers the calls.
  serve::Service& service;
  const ApiOptions options;
  ControlThreads& control;
  BodyPool bodies;
  std::vector<serve::Round> rounds;  // of each I/O thread
  JobThreads convert;                // long requests and compressed answers, off the I/O threads; last: ends first
};

}  // namespace ridge::front::grpc
