// The HTTP stack alone: answers every request at once, so that what is measured is sockets, parsing and nothing else.
//
//   http_echo [PORT] [--threads N] [--infer]          without a port: any free one
//
// Default: a POST's body comes back as it is. --infer: the inference endpoints over a service that answers its inputs
// (model "identity"), which adds the protocol's decoding and encoding. Prints the port; runs until it is killed.
//   wrk -t1 -c16 -d5s --latency -s identity_post.lua http://127.0.0.1:PORT/v2/models/identity/infer
#include <cstdlib>
#include <memory>
#include <string_view>

#include "front/fake_service.h"
#include "front/http/api.h"
#include "front/http/server.h"
#include "until_signalled.h"

namespace {

using namespace ridge::front::http;

class Echo final : public Handler {
 public:
  ridge::front::SizeLimit body_limit(const Request&) override { return {uint64_t{1} << 30}; }
  void handle(const Request& request, Responder responder) override {
    Response response;
    response.content_type = "application/octet-stream";
    if (request.body) {
      response.blobs.push_back(request.body->bytes());
      response.owners.push_back(request.body);
    }
    responder.send(std::move(response));
  }
};

}  // namespace

int main(int count, char** arguments) {
  ServerOptions options{.listen = {.address = "127.0.0.1", .port = 0}};
  bool infer = false;
  for (int i = 1; i < count; ++i) {
    std::string_view name = arguments[i];
    if (name == "--infer")
      infer = true;
    else if (name == "--threads" && i + 1 < count)
      options.threads = std::atoi(arguments[++i]);
    else
      options.listen.port = static_cast<uint16_t>(std::atoi(arguments[i]));
  }
  ridge::front::FakeService service;
  ridge::front::ControlThreads control;
  std::shared_ptr<Handler> handler = std::make_shared<Echo>();
  if (infer) {
    ApiOptions api{.io_threads = static_cast<size_t>(options.threads)};
    handler = std::make_shared<Api>(service, api, control, [](ridge::TimePoint) { return std::string(); });
  }
  const UntilSignalled until_signalled;
  const auto server = Server::start(options, handler);
  return until_signalled.serve(server);
}
