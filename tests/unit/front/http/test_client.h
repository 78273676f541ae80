// A client for tests: a blocking socket that sends exactly the given bytes, and reads responses one by one.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ridge::front::http {

struct ClientResponse {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
};

class TestClient {
 public:
  explicit TestClient(uint16_t port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }
  // The port in a socket's address.
  in_port_t own_port() const {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    return getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size) == 0 ? own.sin_port : in_port_t{0};
  }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void finish_sending() { shutdown(socket_, SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // nullopt: the connection ended (or was silent for a minute) before a whole response was there.
  std::optional<ClientResponse> read(bool head_only = false) {
    size_t end = 0;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
      if (!receive()) return std::nullopt;
    ClientResponse response = parse(std::string_view(unread_).substr(0, end + 2));
    unread_.erase(0, end + 4);
    if (head_only || response.status == 100) return response;
    size_t length = std::stoul("0" + response.fields["content-length"]);
    while (unread_.size() < length)
      if (!receive()) return std::nullopt;
    response.body = unread_.substr(0, length);
    unread_.erase(0, length);
    return response;
  }

  // The next chunk of a body in chunks, behind read(true); empty: it was the last. nullopt: the connection ended
  // before.
  std::optional<std::string> read_chunk() {
    size_t end = 0;
    while ((end = unread_.find("\r\n")) == std::string::npos)
      if (!receive()) return std::nullopt;
    const size_t length = std::stoul(unread_.substr(0, end), nullptr, 16);
    while (unread_.size() < end + 2 + length + 2)
      if (!receive()) return std::nullopt;
    std::string chunk = unread_.substr(end + 2, length);
    unread_.erase(0, end + 2 + length + 2);
    return chunk;
  }
  // All chunks that are left. nullopt: the connection ended before the last.
  std::optional<std::string> read_chunks() {
    std::string body;
    while (true) {
      std::optional<std::string> chunk = read_chunk();
      if (!chunk) return std::nullopt;
      if (chunk->empty()) return body;
      body += *chunk;
    }
  }
  // Input until the connection ends.
  std::string read_to_end() {
    while (receive()) {
    }
    return std::exchange(unread_, {});
  }

  std::optional<ClientResponse> ask(std::string_view bytes) {
    send(bytes);
    return read();
  }

  // Something can be read at once: bytes, or the end.
  bool readable() const {
    pollfd look{.fd = socket_, .events = POLLIN, .revents = 0};
    return !unread_.empty() || poll(&look, 1, 0) > 0;
  }

  // No more data, and the server has closed its side.
  bool at_end() { return unread_.empty() && !receive() && ended_; }

 private:
  bool receive() {
    std::array<char, 65536> chunk;
    ssize_t got = 0;
    do got = recv(socket_, chunk.data(), chunk.size(), 0);
    while (got < 0 && errno == EINTR);  // with a time limit also after the process was stopped for a while
    ended_ = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    if (got <= 0) return false;
    unread_.append(chunk.data(), static_cast<size_t>(got));
    return true;
  }

  static ClientResponse parse(std::string_view head) {
    ClientResponse response;
    response.status = std::stoi(std::string(head.substr(9, 3)));
    head.remove_prefix(head.find("\r\n") + 2);
    while (!head.empty()) {
      std::string_view line = head.substr(0, head.find("\r\n"));
      head.remove_prefix(line.size() + 2);
      std::string name(line.substr(0, line.find(':')));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      response.fields[name] = std::string(line.substr(line.find(':') + 2));
    }
    return response;
  }

  int socket_;
  bool connected_ = false;
  bool ended_ = false;
  std::string unread_;
};

// A POST with a Content-Length. `fields`: more header lines, each ended by CRLF.
inline std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

inline std::string get(std::string_view path, std::string_view fields = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) + "\r\n";
}

}  // namespace ridge::front::http
