#include "client/grpc_wire.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <map>
#include <optional>
#include <vector>

namespace ridge::client {
namespace {

// The server's end of the connection, by the same library: answers every call as a script says, when its request is
// whole.
struct ScriptedAnswer {
  std::vector<std::pair<std::string, std::string>> head = {{":status", "200"}, {"content-type", "application/grpc"}};
  std::string data = {};
  std::vector<std::pair<std::string, std::string>> trailers = {{"grpc-status", "0"}};
  std::optional<uint32_t> reset = {};  // in place of the answer
  bool go_away = false;                // after it
};

class GrpcServer {
 public:
  explicit GrpcServer(ScriptedAnswer answer) : answer(std::move(answer)) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
          static_cast<GrpcServer*>(self)->head[{reinterpret_cast<const char*>(name), name_size}] = {
              reinterpret_cast<const char*>(value), value_size};
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t, const uint8_t* data, size_t size, void* self) {
          static_cast<GrpcServer*>(self)->body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
              (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
            static_cast<GrpcServer*>(self)->respond(frame->hd.stream_id);
          return 0;
        });
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~GrpcServer() { nghttp2_session_del(session_); }

  // Passes bytes to and fro, to the client `piece` by piece, until neither end has more to say.
  Wire::Event exchange(Wire& wire, size_t piece = SIZE_MAX) {
    while (true) {
      bool spoken = false;
      for (std::string_view bytes = wire.unsent(); !bytes.empty(); bytes = wire.unsent()) {
        spoken = true;
        EXPECT_EQ(nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        wire.sent(bytes.size());
      }
      const uint8_t* data = nullptr;
      for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &data)) > 0; spoken = true) {
        std::string_view bytes(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
        while (!bytes.empty()) {
          const std::string_view next = bytes.substr(0, piece);
          bytes.remove_prefix(next.size());
          if (const Wire::Event event = wire.feed(next); event != Wire::Event::kNeedMore) last_ = event;
        }
      }
      if (!spoken) return std::exchange(last_, Wire::Event::kNeedMore);
    }
  }

  ScriptedAnswer answer;
  std::map<std::string, std::string> head;
  std::string body;

 private:
  static std::vector<nghttp2_nv> fields(const std::vector<std::pair<std::string, std::string>>& list) {
    std::vector<nghttp2_nv> result;
    const auto bytes = [](const std::string& text) {
      return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
    };
    for (const auto& [name, value] : list)
      result.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
    return result;
  }

  void respond(int32_t stream) {
    if (answer.reset) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, *answer.reset);
      return;
    }
    unsent_ = answer.data;
    stream_ = stream;
    nghttp2_data_provider provider{};
    provider.source.ptr = this;
    provider.read_callback = [](nghttp2_session* session, int32_t id, uint8_t* to, size_t most, uint32_t* flags,
                                nghttp2_data_source* source, void*) {
      auto& self = *static_cast<GrpcServer*>(source->ptr);
      const size_t count = std::min(most, self.unsent_.size());
      std::copy_n(self.unsent_.data(), count, to);
      self.unsent_.erase(0, count);
      if (!self.unsent_.empty()) return static_cast<ssize_t>(count);
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (self.answer.trailers.empty()) return static_cast<ssize_t>(count);
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const auto trailers = fields(self.answer.trailers);
      nghttp2_submit_trailer(session, id, trailers.data(), trailers.size());
      return static_cast<ssize_t>(count);
    };
    const auto head = fields(answer.head);
    nghttp2_submit_response(session_, stream, head.data(), head.size(),
                            answer.data.empty() && answer.trailers.empty() ? nullptr : &provider);
    if (answer.go_away) nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR, nullptr, 0);
  }

  nghttp2_session* session_ = nullptr;
  std::string unsent_;
  int32_t stream_ = 0;
  Wire::Event last_ = Wire::Event::kNeedMore;
};

Response ask(ScriptedAnswer answer, Wire::Event expected = Wire::Event::kDone) {
  GrpcServer server(std::move(answer));
  const auto wire = grpc_wire("h:1", {.ok = 100, .other = 100});
  const Request request{"/s/M", grpc_message("ask")};
  wire->open();
  wire->begin(request);
  EXPECT_EQ(server.exchange(*wire), expected);
  return wire->response();
}

TEST(GrpcWire, CallsOneAfterAnotherOnOneConnection) {
  GrpcServer server({.data = grpc_message("answer")});
  const auto wire = grpc_wire("h:1", {.ok = 4, .other = 100});
  const Request request{"/s/M", grpc_message("ask")};
  wire->open();
  for (int i = 0; i < 3; ++i) {
    server.body.clear();
    wire->begin(request);
    EXPECT_FALSE(wire->answering());
    ASSERT_EQ(server.exchange(*wire, i == 1 ? 1 : SIZE_MAX), Wire::Event::kDone);
    EXPECT_TRUE(wire->answering());
    EXPECT_EQ(wire->response().status, 200);
    EXPECT_EQ(wire->response().body, "answ") << "as far as it is kept";
    EXPECT_EQ(wire->response().body_size, 6u);
    EXPECT_TRUE(wire->response().keep_alive);
    EXPECT_EQ(server.body, std::string("\0\0\0\0\3ask", 8));
  }
  EXPECT_EQ(server.head[":path"], "/s/M");
  EXPECT_EQ(server.head[":authority"], "h:1");
  EXPECT_EQ(server.head["te"], "trailers");
  EXPECT_EQ(server.head["content-type"], "application/grpc");
}

TEST(GrpcWire, LargeMessagesPassWhole) {
  const std::string large(3'000'000, 'x');
  GrpcServer server({.data = grpc_message(large)});
  const auto wire = grpc_wire("h:1", {.ok = SIZE_MAX, .other = 100});
  const Request request{"/s/M", grpc_message(large)};
  wire->open();
  wire->begin(request);
  ASSERT_EQ(server.exchange(*wire), Wire::Event::kDone);
  EXPECT_EQ(wire->response().body, large);
  EXPECT_EQ(server.body.size(), large.size() + 5);
}

TEST(GrpcWire, AStatusButOkIsTheAnswersWithItsMessage) {
  const Response full = ask({.trailers = {{"grpc-status", "14"}, {"grpc-message", "the queue is full%3A 100 %25"}}});
  EXPECT_EQ(full.status, kGrpcStatus + 14);
  EXPECT_EQ(failure_name(full.status), "UNAVAILABLE");
  EXPECT_EQ(error_text(full), "the queue is full: 100 %");
  EXPECT_TRUE(full.keep_alive);
  // Trailers alone, as of a call that fails at once.
  const Response unknown = ask({.head = {{":status", "200"}, {"grpc-status", "12"}}, .trailers = {}});
  EXPECT_EQ(failure_name(unknown.status), "UNIMPLEMENTED");
  EXPECT_EQ(code_of_status(unknown.status), Code::kInvalid);
}

TEST(GrpcWire, WhatIsNoCallsAnswerHasAStatusToo) {
  EXPECT_EQ(failure_name(ask({.reset = NGHTTP2_REFUSED_STREAM}).status), "UNAVAILABLE");
  EXPECT_EQ(failure_name(ask({.reset = NGHTTP2_ENHANCE_YOUR_CALM}).status), "RESOURCE_EXHAUSTED");
  const Response proxy = ask({.head = {{":status", "502"}}, .data = "bad gateway", .trailers = {}});
  EXPECT_EQ(proxy.status, 502);
  EXPECT_EQ(error_text(proxy), "bad gateway");
  EXPECT_EQ(failure_name(ask({.data = grpc_message("x"), .trailers = {}}).status), "UNKNOWN");
  EXPECT_EQ(failure_name(ask({.data = std::string("\1\0\0\0\1x", 6)}).status), "INTERNAL") << "compressed";
  EXPECT_EQ(failure_name(ask({.data = grpc_message("xy").substr(0, 6)}).status), "INTERNAL") << "cut short";
  EXPECT_EQ(failure_name(ask({.data = ""}).status), "INTERNAL") << "no message";
}

TEST(GrpcWire, AConnectionThatTheServerEndsIsNotUsedAgain) {
  EXPECT_FALSE(ask({.data = grpc_message("x"), .go_away = true}).keep_alive);
}

TEST(GrpcWire, AnHttp1ServerIsNone) {
  const auto wire = grpc_wire("h:1", {});
  const Request request{"/s/M", grpc_message("ask")};
  wire->open();
  wire->begin(request);
  while (!wire->unsent().empty()) wire->sent(wire->unsent().size());
  EXPECT_EQ(wire->feed("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), Wire::Event::kBad);
  EXPECT_EQ(wire->bad(), kNotGrpc);
  // A new connection begins anew.
  GrpcServer server({.data = grpc_message("x")});
  wire->open();
  wire->begin(request);
  EXPECT_EQ(server.exchange(*wire), Wire::Event::kDone);
}

}  // namespace
}  // namespace ridge::client
