// AnswerStream: an answer on its way from the threads that make it to the connection that sends it, piece by piece.
//
// The maker never waits. What the client does not read is kept up to kMostWaiting; a client that lets more than that
// wait is given up, and its connection closes. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"

namespace ridge::front::http {

class AnswerStream {
 public:
  static constexpr size_t kMostWaiting =
      size_t{1} << 20;  // [bytes]; 250,000 tokens of English without frames, a thousand with 20 logprobs each

  // `filler`: a text without meaning that may be sent at any time between pieces, to see if the client is still there;
  // empty: there is none.
  explicit AnswerStream(std::string_view filler = {}) : filler(filler) {}

  // Called by the maker. False: nothing reaches the client any more.
  bool write(std::string_view text);
  void end();      // that was the last
  void give_up();  // the rest cannot be made: the connection closes

  // Called by the connection. `wake` is called, on any thread, when there is something to take again.
  void open(std::function<void()> wake);
  struct Taken {
    std::string text;
    bool ended = false;     // that was the last
    bool given_up = false;  // more waited than may
  };
  Taken take();
  void close();  // nothing is taken any more

  const std::string_view filler;

 private:
  void tell(bool AnswerStream::*change);

  Mutex mutex_;
  std::shared_ptr<const std::function<void()>> wake_ RIDGE_GUARDED_BY(mutex_);
  std::string waiting_ RIDGE_GUARDED_BY(mutex_);
  bool ended_ RIDGE_GUARDED_BY(mutex_) = false;
  bool closed_ RIDGE_GUARDED_BY(mutex_) = false;
  bool given_up_ RIDGE_GUARDED_BY(mutex_) = false;
};

}  // namespace ridge::front::http
