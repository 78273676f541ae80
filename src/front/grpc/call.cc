#include "front/grpc/call.h"

#include <new>
#include <optional>

#include "base/percent.h"
#include "front/error_text.h"
#include "front/grpc/handover.h"
#include "front/trace_context.h"

namespace ridge::front::grpc {
namespace {

// Percent-encoding trebles it in the trailers, of which clients accept 8 KiB.
constexpr size_t kLongestStatus = 2000;  // [bytes]
constexpr size_t kPackedFrom = 1024;     // [bytes] of an answer: packing less saves no packet
constexpr uint64_t kSlowestBytesPerMs =
    1024 * 1024 / 1000;  // at which a client takes its answer while the server drains
// Of a message from a client: its deadline is over there so much earlier than here.
constexpr std::chrono::milliseconds kShortWay{10};

// A message's slices, which count in the budget while they are held.
class HeldSlices {
 public:
  HeldSlices(std::vector<::grpc::Slice> slices, size_t size, std::shared_ptr<MemoryBudget> memory)
      : slices_(std::move(slices)), size_(size), memory_(std::move(memory)) {}
  ~HeldSlices() {
    if (memory_) memory_->give_back(size_);
  }
  HeldSlices(const HeldSlices&) = delete;
  HeldSlices& operator=(const HeldSlices&) = delete;

  Pieces pieces() const {
    Pieces pieces;
    for (const ::grpc::Slice& slice : slices_)
      pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    return pieces;
  }

 private:
  std::vector<::grpc::Slice> slices_;
  size_t size_;
  std::shared_ptr<MemoryBudget> memory_;
};

::grpc::StatusCode code_of(Code code) {
  switch (code) {
    case Code::kInvalid: return ::grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound: return ::grpc::StatusCode::NOT_FOUND;
    case Code::kUnsupported: return ::grpc::StatusCode::UNIMPLEMENTED;
    case Code::kUnavailable: return ::grpc::StatusCode::UNAVAILABLE;
    case Code::kExhausted: return ::grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::kTimeout: return ::grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::kCancelled: return ::grpc::StatusCode::CANCELLED;
    case Code::kUnauthenticated: return ::grpc::StatusCode::UNAUTHENTICATED;
    case Code::kForbidden: return ::grpc::StatusCode::PERMISSION_DENIED;
    case Code::kFailed: return ::grpc::StatusCode::INTERNAL;
  }
  return ::grpc::StatusCode::INTERNAL;
}

bool is_of_this_machine(std::string_view peer) {
  return peer.starts_with("ipv4:127.") || peer.starts_with("ipv6:[::1]") || peer.starts_with("ipv6:%5B::1%5D") ||
         peer.starts_with("ipv6:[::ffff:127.") || peer.starts_with("ipv6:%5B::ffff:127.") || peer.starts_with("unix:");
}

// As gRPC names a peer: "ipv4:127.0.0.1:34354", "ipv6:%5B::1%5D:34354", "unix:…".
std::string address_of(const std::string& peer) {
  if (peer.starts_with("unix:")) return "unix";
  std::string text = percent_decoded(peer).value_or(peer);
  if (!text.starts_with("ipv4:") && !text.starts_with("ipv6:")) return text;
  text = text.substr(5, text.rfind(':') - 5);
  return text.starts_with('[') ? text.substr(1, text.size() - 2) : text;
}

std::string_view name_of(::grpc::StatusCode code) {
  constexpr std::string_view kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto number = static_cast<size_t>(code);
  return number < std::size(kNames) ? kNames[number] : "UNKNOWN";
}

// Of the metadata that the client sent; empty: not there.
std::string_view metadata_of(const ::grpc::GenericServerContext& context, const char* name) {
  const auto& metadata = context.client_metadata();
  const auto row = metadata.find(name);
  return row == metadata.end() ? std::string_view() : std::string_view(row->second.data(), row->second.size());
}

Credentials credentials_of(const ::grpc::GenericServerContext& context) {
  return {metadata_of(context, "authorization"), metadata_of(context, "x-api-key")};
}

grpc_compression_level level_of(Compression compression) {
  switch (compression) {
    case Compression::kNone: return GRPC_COMPRESS_LEVEL_NONE;
    case Compression::kLow: return GRPC_COMPRESS_LEVEL_LOW;
    case Compression::kMedium: return GRPC_COMPRESS_LEVEL_MED;
    case Compression::kHigh: return GRPC_COMPRESS_LEVEL_HIGH;
  }
  return GRPC_COMPRESS_LEVEL_NONE;
}

}  // namespace

Error out_of_memory() { return {Code::kExhausted, "not enough memory for this request"}; }

::grpc::Status status_of(const Error& error) {
  return {code_of(error.code), error_text(error.message, kLongestStatus)};
}

void Call::Operation::done(bool ok) {
  const std::shared_ptr<Call> held = std::move(call);
  (held.get()->*then)(ok);
}

void Call::request() {
  auto wire = std::make_unique<Wire>();
  Wire& to = *wire;
  {
    MutexLock lock(mutex_);
    wire_ = std::move(wire);
  }
  accept_.call = shared_from_this();
  to.context.AsyncNotifyWhenDone(&ended_);
  loop_.generic().RequestCall(&to.context, &to.stream, &loop_.queue(), &loop_.queue(), &accept_);
}

void Call::accepted(bool ok) {
  if (!ok) return;  // the server ends
  arrived_ = loop_.now();
  loop_.accept_one();
  if (loop_.shared().options.access_log) {
    MutexLock lock(mutex_);
    client_ = address_of(wire_->context.peer());
  }
  ended_.call = shared_from_this();
  loop_.add(ended_.call);
  exchange_ = make_exchange(*this);
  exchange_->begin();
  if (loop_.cutting_off()) cancel();
}

Call::Wire* Call::begin(Operation& operation) {
  MutexLock lock(mutex_);
  if (over_ || finished_) return nullptr;
  if (&operation == &finish_) finished_ = true;
  ++under_way_;
  operation.call = shared_from_this();
  given_to_grpc(static_cast<Tag*>(&operation));
  return wire_.get();
}

void Call::read() {
  if (Wire* wire = begin(read_)) wire->stream.Read(&wire->received, &read_);
}

::grpc::WriteOptions Call::options_for(Wire& wire, size_t size) {
  {
    MutexLock lock(mutex_);
    bytes_out_ += size;
    write_ends_ =
        loop_.now() + loop_.shared().options.drain_timeout + std::chrono::milliseconds(size / kSlowestBytesPerMs);
  }
  ::grpc::WriteOptions options;
  const Compression compression = loop_.shared().options.compression;
  if (compression == Compression::kNone) return options;
  wire.context.set_compression_level(level_of(compression));
  if (size < kPackedFrom) options.set_no_compression();
  return options;
}

void Call::write(const ::grpc::ByteBuffer& message) {
  Wire* wire = begin(write_);
  if (wire == nullptr) return;
  const ::grpc::WriteOptions options = options_for(*wire, message.Length());
  wire->stream.Write(message, options, &write_);
}

void Call::finish(const Status& status) {
  Wire* wire = begin(finish_);
  if (wire == nullptr) return;
  if (!status && status.error().retry_after.count() > 0) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(status.error().retry_after);
    wire->context.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait.count()));
  }
  const ::grpc::Status sent = status ? ::grpc::Status::OK : status_of(status.error());
  {
    MutexLock lock(mutex_);
    status_ = sent.error_code();
  }
  wire->stream.Finish(sent, &finish_);
}

void Call::write_and_finish(const ::grpc::ByteBuffer& message) {
  Wire* wire = begin(finish_);
  if (wire == nullptr) return;
  {
    MutexLock lock(mutex_);
    status_ = ::grpc::StatusCode::OK;
  }
  const ::grpc::WriteOptions options = options_for(*wire, message.Length());
  wire->stream.WriteAndFinish(message, options, ::grpc::Status::OK, &finish_);
}

void Call::read_done(bool ok) {
  try {
    exchange_->received(ok);
  } catch (const std::bad_alloc&) {
    finish(out_of_memory());
  }
  settle();
}

void Call::write_done(bool ok) {
  if (ok) exchange_->written();
  settle();
}

void Call::finish_done(bool) { settle(); }

void Call::ended(bool) {
  bool cancelled = false;
  {
    MutexLock lock(mutex_);
    over_ = true;
    cancelled = wire_->context.IsCancelled();
    if (cancelled) status_ = status_of_cancelled();
    ++under_way_;  // this one
  }
  if (cancelled) exchange_->cancelled();
  settle();
}

// What its client sees of a call whose status did not reach it. Clients end a call at their own deadline, which is earlier than the one
// here: by the way, and by 1 % at most, as it travels rounded up (gRPC's timeout_encoding.cc).
::grpc::StatusCode Call::status_of_cancelled() const {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = wire_->context.deadline();
  if (deadline == system_clock::time_point::max()) return ::grpc::StatusCode::CANCELLED;
  const auto left = std::chrono::duration_cast<Nanoseconds>(deadline - system_clock::now());
  const Nanoseconds rounded = (left + (loop_.now() - arrived_)) / 100 + kShortWay;
  return left <= rounded ? ::grpc::StatusCode::DEADLINE_EXCEEDED : ::grpc::StatusCode::CANCELLED;
}

// One operation has ended.
void Call::settle() {
  std::unique_ptr<Wire> unused;
  {
    MutexLock lock(mutex_);
    --under_way_;
    if (!over_ || under_way_ > 0) return;
    unused = std::move(wire_);
  }
  log_end(*unused);
  end_trace();
  loop_.remove(*this);
}

void Call::log_end(Wire& wire) {
  const ServerOptions& options = loop_.shared().options;
  if (!options.access_log) return;
  const std::string key = options.keys ? options.keys->current()->name_of(credentials_of(wire.context)) : "";
  const std::optional<TraceContext> caller = parse_traceparent(metadata_of(wire.context, "traceparent"));
  MutexLock lock(mutex_);
  options.access_log->record({.client = client_,
                              .key = key,
                              .method = "GRPC",
                              .path = wire.context.method(),
                              .model = model_,
                              .status = name_of(status_),
                              .bytes_in = bytes_in_,
                              .bytes_out = bytes_out_,
                              .duration = loop_.now() - arrived_,
                              .request_id = request_id_,
                              .trace_id = trace_   ? std::string_view(trace_->record.trace_id)
                                          : caller ? std::string_view(caller->trace_id)
                                                   : std::string_view()});
}

std::shared_ptr<Trace> Call::begin_trace(const std::string& model, const std::string& request_id,
                                         TimePoint arrived) const {
  Tracer* const tracer = loop_.shared().options.tracer.get();
  if (tracer == nullptr) return nullptr;
  MutexLock lock(mutex_);
  if (!wire_) return nullptr;
  std::shared_ptr<Trace> trace = tracer->begin({.protocol = "grpc",
                                                .model = model,
                                                .parent = metadata_of(wire_->context, "traceparent"),
                                                .state = metadata_of(wire_->context, "tracestate"),
                                                .arrived = arrived});
  if (trace) trace->record.request_id = request_id;
  return trace;
}

void Call::hold(std::shared_ptr<Trace> trace) {
  MutexLock lock(mutex_);
  if (!over_) trace_ = std::move(trace);
}

void Call::end_trace() {
  std::shared_ptr<Trace> trace;
  {
    MutexLock lock(mutex_);
    trace.swap(trace_);
  }
  if (trace) trace->end();
}

void Call::describe(const std::string& model, const std::string& request_id) {
  if (!loop_.shared().options.access_log) return;
  MutexLock lock(mutex_);
  model_ = model;
  request_id_ = request_id;
}

Result<MessageBytes> Call::take_message() {
  std::vector<::grpc::Slice> slices;
  size_t size = 0;
  {
    MutexLock lock(mutex_);
    size = wire_->received.Length();
    bytes_in_ += size;
    if (!wire_->received.Dump(&slices).ok()) slices.clear();
    wire_->received.Clear();
  }
  const std::shared_ptr<MemoryBudget>& memory = loop_.shared().options.memory;
  if (memory && !memory->take(size))
    return Error{Code::kExhausted,
                 "not enough memory for this request: the requests of all clients together take more than "
                 "--max-body-memory"};
  const auto held = std::make_shared<HeldSlices>(std::move(slices), size, memory);
  return MessageBytes{held->pieces(), size, held};
}

const std::string& Call::method() const {
  MutexLock lock(mutex_);
  return wire_->context.method();
}

Status Call::check_access(Groups groups) const {
  const Keys* keys = loop_.shared().options.keys.get();
  if (keys == nullptr) return {};
  MutexLock lock(mutex_);
  return front::check_access(keys, groups, credentials_of(wire_->context));
}

TimePoint Call::deadline() const {
  using std::chrono::system_clock;
  MutexLock lock(mutex_);
  const system_clock::time_point deadline = wire_->context.deadline();
  const auto left = deadline - system_clock::now();
  if (deadline == system_clock::time_point::max() || left > std::chrono::hours(24 * 365)) return TimePoint::max();
  return loop_.now() + std::chrono::duration_cast<Nanoseconds>(left);
}

bool Call::from_this_machine() const {
  MutexLock lock(mutex_);
  return wire_ && is_of_this_machine(wire_->context.peer());
}

void Call::cut_off_if_late(TimePoint drain_began) {
  if (exchange_->busy()) return;
  TimePoint latest = drain_began + loop_.shared().options.drain_timeout;
  {
    MutexLock lock(mutex_);
    latest = std::max(latest, write_ends_);
  }
  if (loop_.now() > latest) cancel();
}

void Call::cancel() {
  MutexLock lock(mutex_);
  if (wire_) wire_->context.TryCancel();
}

}  // namespace ridge::front::grpc
