// Reads the body of an answer while it arrives, and judges it: a stream of tokens has times of its own. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace ridge::client {

class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual void begin(int64_t number) = 0;        // the next request, by the target's own count
  virtual void take(std::string_view body) = 0;  // the next bytes of an answer of status 200
  // The answer is complete; its request was given to the system at `sent`. 0, or a Failure and its reason.
  virtual int end(TimePoint sent, std::string& why) = 0;
};

}  // namespace ridge::client
