#include "front/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>

namespace ridge::front {
namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 4096;
constexpr int kSocketType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

std::string name_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

Error listen_error(const std::string& name, int error) {
  std::string message = "listen on " + name + ": " + std::strerror(error);
  if (error == EADDRINUSE)
    message += "; another program uses the port: stop it or choose another port (0 = any free one)";
  if (error == EACCES) message += "; ports below 1024 need privileges: choose a higher one";
  return {Code::kFailed, message};
}

Result<tcp::endpoint> endpoint_of(const std::string& address, uint16_t port) {
  boost::system::error_code failed;
  const auto parsed = boost::asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, failed);
  if (failed)
    return Error{Code::kInvalid, "'" + address +
                                     "' is not an address to listen on; use e.g. 0.0.0.0, 127.0.0.1 or "
                                     "unix:/run/ridge.sock"};
  return tcp::endpoint(parsed, port);
}

Result<Descriptor> bound_to(const tcp::endpoint& endpoint) {
  Descriptor socket(::socket(endpoint.protocol().family(), kSocketType, 0));
  if (!socket) return listen_error(name_of(endpoint), errno);
  const int yes = 1;
  setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket.number(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0)
    return listen_error(name_of(endpoint), errno);
  return socket;
}

// The listener of a bound socket.
Result<Listener> described(Descriptor socket) {
  Listener listener;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return Error{Code::kInvalid, std::string("not a socket: ") + std::strerror(errno)};
  listener.family = own.ss_family;
  if (own.ss_family == AF_UNIX) {
    const auto* path = reinterpret_cast<const sockaddr_un*>(&own)->sun_path;
    listener.name = "unix:" + std::string(path, strnlen(path, sizeof(sockaddr_un::sun_path)));
  } else if (own.ss_family == AF_INET || own.ss_family == AF_INET6) {
    tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &own, std::min<size_t>(size, endpoint.capacity()));
    listener.port = endpoint.port();
    listener.name = name_of(endpoint);
  } else {
    return Error{Code::kInvalid, "the socket is neither of IP nor a Unix socket"};
  }
  listener.socket = std::move(socket);
  return listener;
}

// True if a process listens on it; else an ended process has left it.
bool answers(const sockaddr_un& address) {
  const Descriptor probe(::socket(AF_UNIX, kSocketType, 0));
  return connect(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

Error path_error(const std::string& path, int error) {
  return {Code::kFailed, "listen on unix:" + path + ": " + std::strerror(error)};
}

// Takes away what an ended process has left.
Status make_place(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return errno == ENOENT ? Status() : path_error(path, errno);
  if (!S_ISSOCK(found.st_mode))
    return Error{Code::kFailed, "listen on unix:" + path + ": the path is a file, not a socket; choose another path"};
  if (answers(address))
    return Error{Code::kFailed,
                 "listen on unix:" + path + ": another program listens there: stop it or choose another path"};
  return unlink(path.c_str()) == 0 || errno == ENOENT ? Status() : path_error(path, errno);
}

Result<Listener> listen_on_path(const ListenOptions& options) {
  std::string path = options.address.substr(options.address.find(':') + 1);
  if (path.starts_with("//")) path.erase(0, 2);  // unix:///run/ridge.sock
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error{Code::kInvalid, "'" + options.address + "': the path of a Unix socket has 1 to " +
                                     std::to_string(sizeof address.sun_path - 1) + " bytes"};
  std::memcpy(address.sun_path, path.data(), path.size());
  RIDGE_TRY(make_place(path, address));
  Descriptor socket(::socket(AF_UNIX, kSocketType, 0));
  if (!socket || bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return path_error(path, errno);
  SocketFile file(path);
  // No client gets in before listen().
  if (chmod(path.c_str(), options.unix_mode) != 0 || listen(socket.number(), kBacklog) != 0)
    return path_error(path, errno);
  RIDGE_ASSIGN(Listener listener, described(std::move(socket)));
  listener.file = std::move(file);
  return listener;
}

}  // namespace

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat own {};
  if (lstat(path_.c_str(), &own) != 0) return;
  device_ = own.st_dev;
  inode_ = own.st_ino;
}

SocketFile::~SocketFile() {
  struct stat found {};
  if (!path_.empty() && lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_)
    unlink(path_.c_str());
}

Result<Listener> listen_on(const ListenOptions& options) {
  if (is_unix_address(options.address)) return listen_on_path(options);
  RIDGE_ASSIGN(tcp::endpoint endpoint, endpoint_of(options.address, options.port));
  RIDGE_ASSIGN(Descriptor socket, bound_to(endpoint));
  if (listen(socket.number(), kBacklog) != 0) return listen_error(name_of(endpoint), errno);
  return described(std::move(socket));
}

Result<Listener> listen_on_passed(Descriptor socket) {
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
      getsockopt(socket.number(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
    return Error{Code::kInvalid,
                 "the service manager did not pass a listening stream socket; the socket unit "
                 "needs ListenStream= and Accept=no"};
  fcntl(socket.number(), F_SETFL, fcntl(socket.number(), F_GETFL) | O_NONBLOCK);
  return described(std::move(socket));
}

}  // namespace ridge::front
