// A client of gRPC for tests: one connection by nghttp2, whose calls are driven by the test's own thread.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "front/grpc/message_reader.h"

namespace ridge::front::grpc {

class TestClient {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  struct Call {
    std::map<std::string, std::string> fields;  // of head and trailers
    std::string received, unsent;
    bool half_closed = false, closed = false;
    uint32_t error = 0;

    int status() const { return fields.contains("grpc-status") ? std::stoi(fields.at("grpc-status")) : -1; }
  };

  explicit TestClient(uint16_t port, int32_t window = 1 << 20) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(window)};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &setting, 1);
    flush();
  }
  ~TestClient() {
    nghttp2_session_del(session_);
    ::close(socket_);
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // A call whose messages follow.
  int32_t start(const std::string& method, const Fields& more = {}) {
    Fields fields = {
        {":method", "POST"},    {":scheme", "http"}, {":path", "/inference.GRPCInferenceService/" + method},
        {":authority", "test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    for (const auto& [name, value] : more) {
      const auto same =
          std::find_if(fields.begin(), fields.end(), [&, given = name](const auto& f) { return f.first == given; });
      if (same == fields.end() || name == "a")
        fields.emplace_back(name, value);
      else
        same->second = value;
    }
    std::vector<nghttp2_nv> pairs;
    auto bytes = [](std::string& text) { return reinterpret_cast<uint8_t*>(text.data()); };
    for (auto& [name, value] : fields)
      pairs.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    nghttp2_data_provider body{.source = {.ptr = this}, .read_callback = read};
    const int32_t stream = nghttp2_submit_request(session_, nullptr, pairs.data(), pairs.size(), &body, nullptr);
    calls_[stream];
    flush();
    return stream;
  }
  void send(int32_t stream, std::string_view message, bool packed = false) {
    send_raw(stream, message_prefix(message.size(), packed).append(message));
  }
  void send_raw(int32_t stream, std::string_view bytes) {
    calls_[stream].unsent += bytes;
    nghttp2_session_resume_data(session_, stream);
    flush();
  }
  void half_close(int32_t stream) {
    calls_[stream].half_closed = true;
    nghttp2_session_resume_data(session_, stream);
    flush();
  }
  void cancel(int32_t stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
    flush();
  }
  // The next message of the answer; empty too: there is none.
  bool next(int32_t stream, std::string& message) {
    Call& call = calls_[stream];
    while (true) {
      uint32_t size = 0;
      for (size_t i = 1; i < 5 && call.received.size() >= 5; ++i)
        size = size << 8 | static_cast<uint8_t>(call.received[i]);
      if (call.received.size() >= 5 && call.received.size() >= 5 + size_t{size}) {
        message = call.received.substr(5, size);
        call.received.erase(0, 5 + size_t{size});
        return true;
      }
      if (call.closed || !receive()) return false;
    }
  }
  // Its end.
  const Call& wait(int32_t stream) {
    while (!calls_[stream].closed && receive()) {
    }
    return calls_[stream];
  }
  // Sends one message, half-closes and waits.
  const Call& ask(const std::string& method, std::string_view message, std::string& answer, const Fields& more = {}) {
    const int32_t stream = start(method, more);
    send(stream, message);
    half_close(stream);
    next(stream, answer);
    return wait(stream);
  }
  bool is_open() const { return open_; }
  // True if the server ends the connection.
  bool at_end() {
    while (receive()) {
    }
    return !open_;
  }

 private:
  static TestClient& self(void* user) { return *static_cast<TestClient*>(user); }
  static int on_field(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* user) {
    auto text = [](const uint8_t* data, size_t size) { return std::string(reinterpret_cast<const char*>(data), size); };
    self(user).calls_[frame->hd.stream_id].fields[text(name, name_size)] = text(value, value_size);
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size, void* user) {
    self(user).calls_[stream].received.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int on_close(nghttp2_session*, int32_t stream, uint32_t error, void* user) {
    self(user).calls_[stream].closed = true;
    self(user).calls_[stream].error = error;
    return 0;
  }
  static ssize_t read(nghttp2_session*, int32_t stream, uint8_t* to, size_t most, uint32_t* flags, nghttp2_data_source*,
                      void* user) {
    Call& call = self(user).calls_[stream];
    const size_t count = std::min(most, call.unsent.size());
    std::memcpy(to, call.unsent.data(), count);
    call.unsent.erase(0, count);
    if (call.unsent.empty() && call.half_closed) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return count == 0 && !call.half_closed ? ssize_t{NGHTTP2_ERR_DEFERRED} : static_cast<ssize_t>(count);
  }

  void flush() {
    const uint8_t* data = nullptr;
    for (ssize_t size; (size = nghttp2_session_mem_send(session_, &data)) > 0;)
      for (ssize_t sent = 0; sent < size;) {
        const ssize_t count = ::send(socket_, data + sent, static_cast<size_t>(size - sent), MSG_NOSIGNAL);
        if (count <= 0) return void(open_ = false);
        sent += count;
      }
  }
  bool receive() {
    std::array<uint8_t, 65536> bytes;
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
    if (count <= 0) open_ = false;
    if (count <= 0 || nghttp2_session_mem_recv(session_, bytes.data(), static_cast<size_t>(count)) < 0) return false;
    flush();
    return true;
  }

  int socket_;
  bool open_ = false;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Call> calls_;
};

}  // namespace ridge::front::grpc
