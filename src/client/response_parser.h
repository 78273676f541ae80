// ResponseParser: bytes of a connection → one HTTP response after another.
//
// Sans I/O over Boost.Beast's parser. Of a body it keeps the beginning, or nothing: a load counts answers, and copying their tensors
// would cost the server's CPU. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ridge::client {

struct Response {
  int status = 0;
  std::optional<size_t> json_size;  // Inference-Header-Content-Length [bytes]
  size_t body_size = 0;             // [bytes] received
  std::string body;                 // its beginning, as far as it is kept
  bool keep_alive = true;
};

class ResponseParser {
 public:
  // [bytes] of a body to keep: of status 200, and of others, whose text says what went wrong.
  struct Keep {
    size_t ok = 0, other = 4096;
  };
  enum class Event { kNeedMore, kDone, kBad };
  struct Step {
    Event event = Event::kNeedMore;
    size_t consumed = 0;  // bytes of the input that need not be shown again
  };

  explicit ResponseParser(Keep keep);
  ~ResponseParser();

  void reset();  // for the next response
  // `input` starts with the unconsumed rest.
  Step feed(std::string_view input);
  // The connection has ended. kDone: so has the response, whose length this was.
  Event end();

  const Response& response() const;  // complete after kDone

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::client
