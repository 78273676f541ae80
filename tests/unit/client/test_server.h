// A server for tests: answers each request as a script says, on a free port of this machine, one thread per connection.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "client/server_url.h"

namespace ridge::client {

struct Reply {
  std::string bytes;     // sent as they are
  bool close = false;    // then closes the connection
  bool hold = false;     // then answers no more
  bool endless = false;  // sends `bytes` again and again
};

inline std::string answer(int status, const std::string& body, const std::string& fields = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         fields + "\r\n" + body;
}

class TestServer {
 public:
  // `script` gets the head and body of each request, and its number; called under a lock. Of a body at most `most_body`
  // bytes are awaited.
  explicit TestServer(std::function<Reply(const std::string& request, int number)> script, size_t most_body = SIZE_MAX)
      : script_(std::move(script)), most_body_(most_body) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 512) != 0) return;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_.host = "127.0.0.1";
    url_.port = ntohs(address.sin_port);
    url_.model = "m";
    acceptor_ = std::jthread([this] { accept(); });
  }
  ~TestServer() { stop(); }

  // Closes the port and all connections.
  void stop() {
    if (stopped_.exchange(true)) return;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (int socket : sockets_) shutdown(socket, SHUT_RDWR);
    threads_.clear();
    for (int socket : sockets_) ::close(socket);
  }

  const ServerUrl& url() const { return url_; }
  int connections() const { return connections_; }
  int requests() {
    MutexLock lock(mutex_);
    return requests_;
  }

 private:
  void accept() {
    while (true) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      ++connections_;
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int socket) {
    std::string pending;
    while (true) {
      size_t end = 0, length = 0;
      while ((end = pending.find("\r\n\r\n")) == std::string::npos)
        if (!receive(socket, pending)) return;
      if (const size_t at = pending.find("Content-Length: "); at < end)
        length = std::min(most_body_, std::stoul(pending.substr(at + 16)));
      while (pending.size() < end + 4 + length)
        if (!receive(socket, pending)) return;
      Reply reply;
      {
        MutexLock lock(mutex_);
        reply = script_(pending.substr(0, end + 4 + length), requests_++);
      }
      pending.erase(0, end + 4 + length);
      if (reply.hold) continue;
      do
        if (!reply.bytes.empty() && ::send(socket, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL) < 0) return;
      while (reply.endless);
      if (reply.close) return void(shutdown(socket, SHUT_RDWR));
    }
  }

  static bool receive(int socket, std::string& pending) {
    std::array<char, 4096> chunk;
    const ssize_t got = recv(socket, chunk.data(), chunk.size(), 0);
    if (got <= 0) return false;
    pending.append(chunk.data(), static_cast<size_t>(got));
    return true;
  }

  std::function<Reply(const std::string&, int)> script_;
  const size_t most_body_;
  ServerUrl url_;
  int listener_ = -1;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> connections_ = 0;
  Mutex mutex_;
  int requests_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::vector<int> sockets_;  // of the accepting thread, until it has ended
  std::vector<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace ridge::client
