// OwnListener: connections of a socket that gRPC does not listen on itself: a path's, with its permissions, or one that the service
// manager passed. Included only by this folder's own sources, as completion_loop.h.
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <thread>

#include "front/listener.h"

namespace ridge::front::grpc {

class OwnListener {
 public:
  // Before the builder starts the server.
  OwnListener(Listener listener, ::grpc::ServerBuilder& builder,
              const std::shared_ptr<::grpc::ServerCredentials>& credentials);
  // After it. Ends with the object.
  void start();

 private:
  void run(const std::stop_token& stop);

  Listener listener_;
  std::unique_ptr<::grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::jthread thread_;
};

}  // namespace ridge::front::grpc
