// A session for tests, in memory: each stream sends back what it gets, one part a piece.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "front/http/http2_session.h"

namespace ridge::front::http {

struct StreamsForTest {
  class Echo final : public StreamHandler {
   public:
    Echo(StreamsForTest& all, int32_t stream) : all_(all), stream_(stream) { ++all.opened; }
    void take_field(std::string_view, std::string_view) override {}
    void begin() override {
      const Field fields[] = {{":status", "200"}};
      all_.session.respond(stream_, fields, false);
    }
    void refuse_head() override {
      ++all_.refused;
      all_.session.reset(stream_);
    }
    void take_body(std::span<const std::byte> bytes) override {
      all_.session.consumed(stream_, bytes.size());
      const auto copy = std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      all_.session.send(stream_, {{.text = "", .bytes = std::as_bytes(std::span(*copy)), .owner = copy}});
    }
    void end_body() override {
      const Field trailers[] = {{"grpc-status", "0"}};
      all_.session.finish(stream_, trailers);
    }
    void sent() override {}
    void closed(bool whole) override { all_.whole += whole ? 1 : 0; }

   private:
    StreamsForTest& all_;
    int32_t stream_;
  };

  ~StreamsForTest() { session.close_streams(); }

  bool receive(std::string_view bytes) { return session.receive(std::as_bytes(std::span(bytes))); }
  // All that is to be sent.
  std::string send() {
    std::string text;
    for (Http2Output output;; output.clear()) {
      session.produce(output, 100'000);
      session.report_sent();
      if (output.empty()) return text;
      output.for_each([&](const void* data, size_t size) { text.append(static_cast<const char*>(data), size); });
    }
  }

  int opened = 0, refused = 0, whole = 0;
  Http2Session session{{}, [this](int32_t stream) { return std::make_shared<Echo>(*this, stream); }, [] {}};
};

}  // namespace ridge::front::http
