// CompletionQueue: the mailbox of an I/O thread. Included by the server's own sources, and by those that answer over HTTP/2.
//
// put() is thread-safe; the rest is of the thread of `context`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "front/http/message.h"

namespace ridge::front::http {

class IoThread;

// Answers on their way to connections. Shared by the thread and by every Responder, so that an answer may arrive after its
// connection, or the whole server, is gone.
class CompletionQueue {
 public:
  struct Item {
    uint64_t connection = 0;
    std::optional<Response> response = {};  // or, when absent, the result of `finish`
    Finish finish = nullptr;                // absent too: more of an answer that is sent as it comes
    std::function<void()> work = nullptr;   // in place of the others; it knows itself whether its connection is there
  };

  void put(Item item);

  boost::asio::io_context context{1};  // 1 = run by one thread; posting from others stays allowed
  // Of the context's thread only:
  void start(IoThread& thread);
  void stop();
  std::vector<Item> local;
  std::vector<Item> take_remote();

 private:
  IoThread* thread_ = nullptr;  // null = stopped
  Mutex mutex_;
  std::vector<Item> remote_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::front::http
