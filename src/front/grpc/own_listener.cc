#include "front/grpc/own_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace ridge::front::grpc {
namespace {

constexpr std::chrono::milliseconds kAcceptLook{100};  // between looks at whether the server ends, and after a failure

}  // namespace

OwnListener::OwnListener(Listener listener, ::grpc::ServerBuilder& builder,
                         const std::shared_ptr<::grpc::ServerCredentials>& credentials)
    : listener_(std::move(listener)),
      acceptor_(builder.experimental().AddExternalConnectionAcceptor(
          ::grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials)) {}

void OwnListener::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void OwnListener::run(const std::stop_token& stop) {
  bool warned = false;
  while (!stop.stop_requested()) {
    pollfd listening{listener_.socket.number(), POLLIN, 0};
    if (poll(&listening, 1, static_cast<int>(kAcceptLook.count())) <= 0) continue;
    Descriptor client(accept4(listening.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
      if (!std::exchange(warned, true))
        log::warning("grpc {}: cannot accept connections: {}; raise the limit of open files (ulimit -n)",
                     listener_.name, std::strerror(errno));
      std::this_thread::sleep_for(kAcceptLook);
      continue;
    }
    const int yes = 1;
    if (listener_.family != AF_UNIX) setsockopt(client.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener_.socket.number();
    connection.fd = client.release();  // gRPC closes it
    acceptor_->HandleNewConnection(&connection);
  }
}

}  // namespace ridge::front::grpc
