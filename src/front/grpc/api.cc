#include "front/grpc/api.h"

#include <google/protobuf/stubs/logging.h>

#include "front/grpc/call.h"

namespace ridge::front::grpc {
namespace {

constexpr size_t kMostConversions = 1024;  // that wait, as for HTTP

}  // namespace

Api::Api(serve::Service& of, ApiOptions given, ControlThreads& threads)
    : StreamPort(given.streams),
      service(of),
      options(std::move(given)),
      control(threads),
      bodies(options.memory),
      rounds(options.io_threads),
      convert("convert", std::max<size_t>(2, options.io_threads), kMostConversions) {
  google::protobuf::SetLogHandler(nullptr);  // a client's text that is not UTF-8 is its error, not a line of ours
}

std::shared_ptr<http::StreamHandler> Api::open(http::StreamHost& host, int32_t stream) {
  return std::make_shared<Call>(*this, host, stream);
}

}  // namespace ridge::front::grpc
