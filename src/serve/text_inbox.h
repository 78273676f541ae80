// TextInbox: callers' input to the step thread of a language model: new requests, and cancelled ones.
//
// Thread-safe. Tickets share it with the model and may outlive that.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/text_model.h"

namespace ridge::serve {

struct TextArrival {
  uint64_t number = 0;  // of the request, unique in its inbox
  TextRequest request;
  std::shared_ptr<TextSink> sink;
  TimePoint arrived;
};

class TextInbox {
 public:
  // `limit`: of requests that wait for their first token, each with its choices.
  TextInbox(size_t limit, Clock& clock) : limit_(limit), clock_(clock) {}

  enum class Refusal { kNone, kClosed, kFull };
  struct Added {
    uint64_t number = 0;
    Refusal refusal = Refusal::kNone;
  };
  Added add(TextRequest request, std::shared_ptr<TextSink> sink);
  // The request of this number, a list of one, which is taken: nothing is allocated where a request ends.
  void cancel(std::list<uint64_t>& number);
  // take() returns.
  void wake();
  // A request that take() gave waits no more.
  void begun();
  // No more requests are taken.
  void close();
  // close(), and the step thread ends those that it has.
  void abort();

  struct News {
    std::vector<TextArrival> arrivals;
    std::list<uint64_t> cancelled;
    bool closed = false, aborted = false, woken = false;
  };
  // Waits until there are news, or `due`; not once it is closed.
  News take(TimePoint due);
  size_t waiting() const;
  bool aborted() const;

 private:
  bool has_news() const RIDGE_REQUIRES(mutex_);

  const size_t limit_;
  Clock& clock_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  News news_ RIDGE_GUARDED_BY(mutex_);
  uint64_t last_number_ RIDGE_GUARDED_BY(mutex_) = 0;
  size_t waiting_ RIDGE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ridge::serve
