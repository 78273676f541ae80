// Call: one call of a client: a stream of HTTP/2 as messages and a status (gRPC's PROTOCOL-HTTP2.md).
//
// One thread (its connection's), but for what is said to be of any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "front/access.h"
#include "front/content_coding.h"
#include "front/grpc/api.h"
#include "front/grpc/infer_message.h"
#include "front/grpc/message_reader.h"
#include "front/http/deadline.h"
#include "front/http/stream_port.h"
#include "front/trace.h"

namespace ridge::front::grpc {

// A call's behaviour, by its method.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void begin() = 0;
  // Follows Call::read(); false: no more messages.
  virtual void received(bool ok) = 0;
  virtual void written() {}  // what Call::write() was given has left
  // The client gave up, or its time is over.
  virtual void cancelled() {}
  virtual void begin_drain() {}
  virtual void tick() {}
  // True if the client may leave it without a message as long as it likes.
  virtual bool waits_for_ever() const { return false; }
};

class Call final : public http::StreamHandler, public std::enable_shared_from_this<Call> {
 public:
  Call(Api& api, http::StreamHost& host, int32_t stream);

  // Gives the next message to the exchange, once.
  void read();
  void limit_messages(uint64_t longest) { longest_ = longest; }  // [bytes] as received
  MessageBytes take_message();
  // They do nothing once the call is over. One write at a time.
  void write(AnswerParts parts) { send(std::move(parts), false); }
  void finish(const Status& status);
  void write_and_finish(AnswerParts parts) { send(std::move(parts), true); }
  // Its work in progress need not be done.
  void client_left() { host_->client_left(); }
  void end_round_soon();
  serve::Round& round() { return api_.rounds[io_thread_]; }
  // Names the call's subject for the access log.
  void describe(const std::string& model, const std::string& request_id);
  // It ends with the call.
  void hold(std::shared_ptr<Trace> trace) { trace_ = std::move(trace); }

  // Any thread.
  Api& api() { return api_; }
  bool from_this_machine() const { return from_this_machine_; }
  TimePoint arrived() const { return arrived_; }
  TimePoint deadline() const { return deadline_; }  // max(): none
  TimePoint now() const { return clock_.now(); }
  bool draining() const { return host_ != nullptr && host_->drain_began() != TimePoint::max(); }
  Coding coding() const { return coding_; }  // of packed messages
  const std::string& path() const { return head_.path; }
  Status check_access(Groups groups) const;
  // A trace of a request of it; null: not traced.
  std::shared_ptr<Trace> begin_trace(const std::string& model, const std::string& request_id, TimePoint arrived) const;
  // Runs it on the call's thread, unless that has ended. Without memory for it the call fails.
  template <typename Work>
  void run(Work work) {
    try {
      run_later(std::move(work));
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
    }
  }

  // StreamHandler
  void take_field(std::string_view name, std::string_view value) override;
  void begin() override;
  void refuse_head() override;
  void take_body(std::span<const std::byte> bytes) override;
  void end_body() override;
  void sent() override;
  void closed(bool whole) override;
  void tick(TimePoint now) override;
  void begin_drain() override;

 private:
  // The fields that mean something.
  struct Head {
    std::string method, path, content_type, timeout, encoding, accept_encoding, authorization, api_key, trace_parent,
        trace_state;
  };

  void run_later(std::function<void()> work);
  void give_up();
  void send_status(const Status& status);
  Status read_head();
  Credentials credentials() const { return {head_.authorization, head_.api_key}; }
  void refuse();
  std::span<const std::byte> feed(std::span<const std::byte> bytes);
  void next_message();
  void pump();
  void fail(Error error);
  void send(AnswerParts parts, bool last);
  void send_packed(const AnswerParts& parts, bool last);
  void put(AnswerParts parts, bool packed, bool last);
  std::vector<http::Field> answer_head() const;
  bool is_late(TimePoint now);
  int status_of_cancelled() const;
  void log_end();

  Api& api_;
  http::StreamHost* host_;  // null: over
  const int32_t stream_;
  Clock& clock_;
  const std::shared_ptr<http::CompletionQueue> mailbox_;
  const size_t io_thread_;
  const bool from_this_machine_;
  const TimePoint arrived_;
  Head head_;
  TimePoint deadline_ = TimePoint::max();
  Coding coding_ = Coding::kIdentity, answer_coding_ = Coding::kIdentity;
  std::unique_ptr<Exchange> exchange_;  // null: refused by its head

  // Reading.
  uint64_t longest_;  // [bytes]
  MessageReader reader_;
  std::optional<MessageBytes> message_;  // that is not taken yet
  std::shared_ptr<Body> backlog_;        // behind it, and the client may not send much more; null: none
  size_t backlog_next_ = 0;
  bool wants_ = false, pumping_ = false, body_ended_ = false, had_message_ = false;
  http::Progress in_;

  // Writing.
  bool responded_ = false, finished_ = false;
  std::atomic<bool> out_of_memory_ = false;  // for what was to run here
  http::Progress out_;
  MemoryHold unsent_;  // of the memory for all, for what has not left

  // For the access log.
  std::string client_;
  int status_ = 0;
  uint64_t bytes_in_ = 0, bytes_out_ = 0;
  std::string model_, request_id_;
  std::shared_ptr<Trace> trace_;
};

Error out_of_memory();

// By the method's name; answers UNIMPLEMENTED if there is none (methods.cc).
std::unique_ptr<Exchange> make_exchange(Call& call);

}  // namespace ridge::front::grpc
