// The gRPC stack alone: answers every inference at once with its inputs (model "identity"), so that what is measured is
// sockets, gRPC, and the protocol's decoding and encoding.
//
//   grpc_echo [PORT] [--threads N]          without a port: any free one
//
// Prints the port; runs until it is killed.
//   perf_analyzer -i grpc -m identity -u 127.0.0.1:PORT --concurrency-range 16 --shape x:16
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "front/fake_service.h"
#include "front/grpc/api.h"
#include "front/http/server.h"
#include "until_signalled.h"

namespace {

using namespace ridge;

// perf_analyzer asks for statistics, and believes in no model whose requests are not counted.
class CountingService final : public front::FakeService {
 public:
  void infer(serve::InferRequest request, serve::InferDone done) override {
    ++count_;
    FakeService::infer(std::move(request), std::move(done));
  }
  Result<std::vector<serve::ModelStatistics>> statistics(const std::string&, int64_t) const override {
    serve::ModelStatistics row;
    row.name = "identity";
    row.version = 1;
    row.inference_count = row.execution_count = count_;
    for (serve::DurationStatistic* of :
         {&row.success, &row.queue, &row.compute_input, &row.compute_infer, &row.compute_output})
      of->count = count_;
    return std::vector<serve::ModelStatistics>{row};
  }

 private:
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  front::http::ServerOptions options{.name = "grpc", .listen = {.address = "127.0.0.1", .port = 0}};
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) == "--threads" && i + 1 < count)
      options.threads = std::atoi(arguments[++i]);
    else
      options.listen.port = static_cast<uint16_t>(std::atoi(arguments[i]));
  }
  CountingService service;
  service.models["identity"] = {
      "identity", {1}, "echo_platform", {{"x", DataType::kFp32, {-1, 16}}}, {{"y", DataType::kFp32, {-1, 16}}}};
  front::ControlThreads control;
  const UntilSignalled until_signalled;
  const auto server = front::http::Server::start(
      options, std::make_shared<front::grpc::Api>(
                   service, front::grpc::ApiOptions{.io_threads = static_cast<size_t>(options.threads)}, control));
  return until_signalled.serve(server);
}
