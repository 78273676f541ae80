// ResponseParser: bytes of a connection → one HTTP response after another.
//
// Sans I/O over Boost.Beast's parser. Of a body it keeps the beginning, or nothing: a load counts answers, and copying
// their tensors would cost the server's CPU. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "client/answer_reader.h"
#include "client/wire.h"

namespace ridge::client {

class ResponseParser {
 public:
  using Event = Wire::Event;
  struct Step {
    Event event = Event::kNeedMore;
    size_t consumed = 0;  // bytes of the input that need not be shown again
  };

  // `reader`, if given, gets the bodies of status 200 as they come, and outlives it.
  explicit ResponseParser(const BodyLimits& keep, AnswerReader* reader = nullptr);
  ~ResponseParser();

  void reset();  // for the next response
  // `input` starts with the unconsumed rest.
  Step feed(std::string_view input);
  // The connection has ended. kDone: so has the response, whose length this was.
  Event end();

  Response& response();  // complete after kDone
  const Response& response() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::client
