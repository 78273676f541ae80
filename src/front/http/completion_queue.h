// CompletionQueue: the mailbox of an I/O thread. For the server's own sources, and those that answer over HTTP/2.
//
// put() and wake() are thread-safe; the rest is of the thread of `context`.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>

#include "base/mutex.h"
#include "front/http/message.h"

namespace ridge::front::http {

class IoThread;

// An answer on its way to a connection.
struct Completion {
  uint64_t connection = 0;
  std::optional<Response> response = {};  // or, when absent, the result of `finish`
  Finish finish = nullptr;                // absent too: more of an answer that is sent as it comes
  std::function<void()> work = nullptr;   // in place of the others; it knows itself whether its connection is there
};

// Shared by the thread and every Responder, so that an answer may arrive after its connection or the server is gone.
class CompletionQueue {
 public:
  void put(std::list<Completion>&& one);  // needs no memory; takes nothing after stop()
  void wake(uint64_t connection);         // more of its answer is there; likewise

  boost::asio::io_context context{1};  // 1 = run by one thread; posting from others stays allowed
  // Called on the context's thread only:
  void start(IoThread& thread);
  void stop();  // what was not delivered is dropped: it may hold this queue
  std::list<Completion> local;
  std::list<Completion> take_remote();
  bool take_missed() { return missed_.exchange(false); }  // of wake(), for lack of memory: any connection

 private:
  IoThread* thread_ = nullptr;  // null = stopped
  Mutex mutex_;
  std::list<Completion> remote_ RIDGE_GUARDED_BY(mutex_);
  bool stopped_ RIDGE_GUARDED_BY(mutex_) = false;
  std::atomic<bool> missed_ = false;
};

}  // namespace ridge::front::http
