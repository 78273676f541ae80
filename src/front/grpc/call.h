// Call: one call of a client, from the request for it to its last operation, whatever its method. Included only by this folder's own
// sources, as completion_loop.h.
//
// Operations are started by the loop's thread or by the thread that has the answer, and end on the loop's thread. What belongs to
// gRPC is freed there, when the call is over and no operation is under way; an answer that comes later finds it gone. So a worker
// never waits for a client, and a server that ends never waits for a worker.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "front/grpc/completion_loop.h"
#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

// What a call does, by its method. On the loop's thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void begin() = 0;
  // Of Call::read(); false: no more messages.
  virtual void received(bool ok) = 0;
  virtual void written() {}
  // The client gave up, or its deadline has passed.
  virtual void cancelled() {}
  virtual void begin_drain() {}
  virtual void tick() {}
  // Whether it waits for the server, not for the client.
  virtual bool busy() const { return false; }
};

class Call final : public std::enable_shared_from_this<Call> {
 public:
  explicit Call(Loop& loop)
      : loop_(loop),
        mailbox_(loop.mailbox()),
        packs_answers_(loop.shared().options.compression != Compression::kNone) {}

  // Asks the server for a call; once.
  void request();

  // Any thread. They do nothing once the call is over. One write at a time; finish() once, after the last write has ended.
  void write(const ::grpc::ByteBuffer& message);
  void finish(const Status& status);
  void write_and_finish(const ::grpc::ByteBuffer& message);
  bool from_this_machine() const;  // false once the call is over
  // What it is about, for the access log.
  void describe(const std::string& model, const std::string& request_id);
  // A trace of a request of it; null: not traced.
  std::shared_ptr<Trace> begin_trace(const std::string& model, const std::string& request_id, TimePoint arrived) const;
  // It ends with the call.
  void hold(std::shared_ptr<Trace> trace);
  Mailbox& mailbox() { return *mailbox_; }  // of its loop
  bool packs_answers() const { return packs_answers_; }

  // The loop's thread.
  void read();
  // The message of the read that has ended. Bytes of memory are taken from the budget until its owner is gone. kExhausted.
  Result<MessageBytes> take_message();
  const std::string& method() const;
  // Whether the client's key opens calls of these groups.
  Status check_access(Groups groups) const;
  TimePoint arrived() const { return arrived_; }
  TimePoint deadline() const;  // on the steady clock; max() = none
  Loop& loop() { return loop_; }

  void tick() { exchange_->tick(); }
  void begin_drain() { exchange_->begin_drain(); }
  // Once draining: cancelled if the client has neither sent its request nor taken its answer in the time for it.
  void cut_off_if_late(TimePoint drain_began);
  void cancel();
  void set_slot(size_t slot) { slot_ = slot; }
  size_t slot() const { return slot_; }

 private:
  // gRPC's part.
  struct Wire {
    ::grpc::GenericServerContext context;
    ::grpc::GenericServerAsyncReaderWriter stream{&context};
    ::grpc::ByteBuffer received;
  };
  struct Operation final : Tag {
    explicit Operation(void (Call::*does)(bool ok)) : then(does) {}
    void done(bool ok) override;

    void (Call::*then)(bool ok);
    std::shared_ptr<Call> call;  // while it is under way
  };

  void accepted(bool ok);
  void read_done(bool ok);
  void write_done(bool ok);
  void finish_done(bool ok);
  void ended(bool ok);
  Wire* begin(Operation& operation);
  void settle();
  ::grpc::WriteOptions options_for(Wire& wire, size_t size);
  void log_end(Wire& wire);
  ::grpc::StatusCode status_of_cancelled() const RIDGE_REQUIRES(mutex_);
  void end_trace();

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  const bool packs_answers_;
  Operation accept_{&Call::accepted}, read_{&Call::read_done}, write_{&Call::write_done}, finish_{&Call::finish_done},
      ended_{&Call::ended};
  std::unique_ptr<Exchange> exchange_;
  TimePoint arrived_{};
  size_t slot_ = 0;  // in the loop

  mutable Mutex mutex_;
  std::unique_ptr<Wire> wire_ RIDGE_GUARDED_BY(mutex_);  // null: over
  int under_way_ RIDGE_GUARDED_BY(mutex_) = 0;           // operations
  bool over_ RIDGE_GUARDED_BY(mutex_) = false;
  bool finished_ RIDGE_GUARDED_BY(mutex_) = false;
  // For the access log.
  std::string client_ RIDGE_GUARDED_BY(mutex_);  // while there is no connection any more, too
  ::grpc::StatusCode status_ RIDGE_GUARDED_BY(mutex_) = ::grpc::StatusCode::CANCELLED;
  uint64_t bytes_in_ RIDGE_GUARDED_BY(mutex_) = 0, bytes_out_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::string model_ RIDGE_GUARDED_BY(mutex_), request_id_ RIDGE_GUARDED_BY(mutex_);
  std::shared_ptr<Trace> trace_ RIDGE_GUARDED_BY(mutex_);
  TimePoint write_ends_ RIDGE_GUARDED_BY(mutex_) = TimePoint::min();  // at the latest, if the client takes it
};

// A status of gRPC for an error. The message is UTF-8 and short: its trailers must not be larger than clients accept.
::grpc::Status status_of(const Error& error);

Error out_of_memory();

// By the method's name; answers UNIMPLEMENTED if there is none (method.cc).
std::unique_ptr<Exchange> make_exchange(Call& call);

}  // namespace ridge::front::grpc
