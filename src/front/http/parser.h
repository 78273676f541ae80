// RequestParser: bytes of a connection → the head of a request and, for chunked bodies, the pieces of the body.
// Bodies with a Content-Length do not pass through here: the connection reads them straight into their Body.
//
// Sans I/O, over Boost.Beast's parser for heads and ChunkReader for bodies; reused from request to request. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "front/body.h"
#include "front/http/message.h"

namespace ridge::front::http {

// The connection's needs from the head of a request.
struct Head {
  Method method = Method::kOther;
  std::string target;
  std::optional<std::string> inference_length, content_encoding, accept_encoding, host, origin, authorization, api_key,
      trace_parent, trace_state;
  std::optional<uint64_t> content_length;  // [bytes]
  bool chunked = false;
  bool keep_alive = false;
  bool http_1_0 = false;
  bool expects_continue = false;
  bool of_page = false;     // a browser sends it for a page
  bool cross_site = false;  // Sec-Fetch-Site says so, or Origin names another server than Host
  bool renamed = false;  // for a page that calls this server by a name which need not be this machine's (DNS rebinding)
};

class RequestParser {
 public:
  enum class Event { kNeedMore, kHead, kMessage, kBad };
  struct Step {
    Event event = Event::kNeedMore;
    size_t consumed = 0;  // bytes of the input that need not be shown again
  };

  explicit RequestParser(uint32_t header_limit);
  ~RequestParser();

  // Ready for the next request.
  void reset();
  // Feeds the head; `input` starts with the unconsumed rest. kHead: head() is complete.
  Step feed_head(std::string_view input);
  // Feeds a chunked body after kHead. kMessage: trailers and all have been read. Content beyond `limit` [bytes] is
  // counted and dropped.
  Step feed_chunks(std::string_view input, Body& body, uint64_t limit);

  const Head& head() const;
  uint64_t body_received() const;  // [bytes] of chunked content, dropped ones included
  // After kBad: why, and the status to answer.
  const std::string& problem() const;
  int problem_status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::front::http
