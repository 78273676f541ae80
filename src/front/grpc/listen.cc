#include "front/grpc/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace ridge::front::grpc {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<SocketAddress> parse(const std::string& address, uint16_t port) {
  SocketAddress parsed;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&parsed.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&parsed.storage);
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    parsed.size = sizeof *v4;
    return parsed;
  }
  if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) != 1) return std::nullopt;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  parsed.size = sizeof *v6;
  return parsed;
}

Error listen_error(const std::string& target, int error) {
  std::string message = "listen on " + target + ": " + std::strerror(error);
  if (error == EADDRINUSE)
    message += "; another program uses the port: stop it or choose another port (0 = any free one)";
  if (error == EACCES) message += "; ports below 1024 need privileges: choose a higher one";
  return {Code::kFailed, message};
}

}  // namespace

Result<std::string> check_listening(const std::string& address, uint16_t port) {
  const std::string numeric = address == "localhost" ? "127.0.0.1" : address;
  const std::optional<SocketAddress> parsed = parse(numeric, port);
  if (!parsed)
    return Error{Code::kInvalid, "'" + address + "' is not an IP address to listen on; use e.g. 0.0.0.0 or 127.0.0.1"};
  const bool is_v6 = parsed->storage.ss_family == AF_INET6;
  const std::string target = (is_v6 ? "[" + numeric + "]" : numeric) + ":" + std::to_string(port);
  const int socket = ::socket(parsed->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return listen_error(target, errno);
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&parsed->storage), parsed->size) == 0;
  const int error = errno;
  close(socket);
  if (!bound) return listen_error(target, error);
  return target;
}

}  // namespace ridge::front::grpc
