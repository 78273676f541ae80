#include "front/grpc/call.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "front/error_text.h"
#include "front/grpc/message_coding.h"
#include "front/http/completion_queue.h"
#include "front/trace_context.h"

namespace ridge::front::grpc {
namespace {

// Percent-encoding trebles it in the trailers, of which clients accept 8 KiB.
constexpr size_t kLongestStatus = 2000;     // [bytes]
constexpr size_t kPackedFrom = 1024;        // [bytes] of an answer: packing less saves no packet
constexpr size_t kLongPacking = 32 * 1024;  // [bytes] of one that is packed on a thread of its own, as HTTP's
// Shortest way of a message from a client: its deadline is over there this much earlier than here.
constexpr std::chrono::milliseconds kShortWay{10};

enum GrpcStatus { kOk = 0, kCancelled = 1, kDeadlineExceeded = 4 };

int number_of(Code code) {
  switch (code) {
    case Code::kInvalid: return 3;           // INVALID_ARGUMENT
    case Code::kNotFound: return 5;          // NOT_FOUND
    case Code::kForbidden: return 7;         // PERMISSION_DENIED
    case Code::kExhausted: return 8;         // RESOURCE_EXHAUSTED
    case Code::kUnsupported: return 12;      // UNIMPLEMENTED
    case Code::kFailed: return 13;           // INTERNAL
    case Code::kUnavailable: return 14;      // UNAVAILABLE
    case Code::kUnauthenticated: return 16;  // UNAUTHENTICATED
    case Code::kTimeout: return kDeadlineExceeded;
    case Code::kCancelled: return kCancelled;
  }
  return 13;
}

constexpr std::string_view kStatusNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// All but printable ASCII without '%', as %XX.
std::string percent_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%')
      encoded += c;
    else
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return encoded;
}

// "8S", with one to eight digits. Absent: malformed.
std::optional<Nanoseconds> read_timeout(std::string_view text) {
  constexpr std::string_view kUnits = "numSMH";
  constexpr int64_t kNanoseconds[] = {1, 1'000, 1'000'000, 1'000'000'000, 60'000'000'000, 3'600'000'000'000};
  const size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  int64_t count = 0;
  const char* const end = text.data() + text.size() - 1;
  if (unit == kUnits.npos || text.size() < 2 || text.size() > 9) return std::nullopt;
  if (const auto [read, failed] = std::from_chars(text.data(), end, count);
      failed != std::errc{} || read != end || count < 0)
    return std::nullopt;
  constexpr int64_t kMost =
      std::chrono::nanoseconds(std::chrono::hours(24 * 365)).count();  // longer: as good as for ever
  return Nanoseconds(count > kMost / kNanoseconds[unit] ? kMost : count * kNanoseconds[unit]);
}

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (!content_type.starts_with(kType)) return false;
  content_type.remove_prefix(kType.size());
  return content_type.empty() || content_type[0] == ';' || content_type.starts_with("+proto");
}

}  // namespace

Error out_of_memory() {
  return {Code::kExhausted,
          "not enough memory for this request: the messages of all clients together take more than --max-body-memory"};
}

Call::Call(Api& api, http::StreamHost& host, int32_t stream)
    : api_(api),
      host_(&host),
      stream_(stream),
      clock_(*host.options().clock),
      mailbox_(host.mailbox()),
      io_thread_(host.io_thread()),
      from_this_machine_(host.from_this_machine()),
      arrived_(clock_.now()),
      longest_(api.options.largest_message),
      in_{.began = arrived_, .last_moved = {}, .moved = 0},
      unsent_(api.options.memory),
      client_(api.options.access_log ? host.client_address() : std::string_view()) {}

// ---- the head

void Call::take_field(std::string_view name, std::string_view value) {
  struct Row {
    std::string_view name;
    std::string Head::*field;
  };
  static constexpr Row kRows[] = {{":method", &Head::method},
                                  {":path", &Head::path},
                                  {"content-type", &Head::content_type},
                                  {"grpc-timeout", &Head::timeout},
                                  {"grpc-encoding", &Head::encoding},
                                  {"grpc-accept-encoding", &Head::accept_encoding},
                                  {"authorization", &Head::authorization},
                                  {"x-api-key", &Head::api_key},
                                  {"traceparent", &Head::trace_parent},
                                  {"tracestate", &Head::trace_state}};
  for (const Row& row : kRows)
    if (row.name == name && (head_.*row.field).empty()) head_.*row.field = value;
}

void Call::refuse_head() {
  if (head_.path.empty()) head_.path = "/";
  finish(Error{Code::kExhausted,
               "the call's metadata has more than " + std::to_string(api_.stream_options.limits.fields) + " bytes"});
}

void Call::begin() {
  if (head_.method != "POST" || !is_grpc(head_.content_type)) return;  // refused at its end
  if (Status fit = read_head(); !fit) return finish(fit);
  exchange_ = make_exchange(*this);
  exchange_->begin();
}

Status Call::read_head() {
  const std::optional<Coding> coding = coding_named(head_.encoding);
  if (!coding)
    return Error{Code::kUnsupported, "unknown grpc-encoding '" + error_text(head_.encoding, 100) +
                                         "'; accepted: " + std::string(kAcceptedCodings)};
  coding_ = *coding;
  if (api_.options.packs_answers) answer_coding_ = coding_for(head_.accept_encoding);
  if (head_.timeout.empty()) return {};
  const std::optional<Nanoseconds> timeout = read_timeout(head_.timeout);
  if (!timeout)
    return invalid("grpc-timeout should be one to eight digits and a unit (H, M, S, m, u, n), found '" +
                   error_text(head_.timeout, 20) + "'");
  deadline_ = arrived_ + *timeout;
  return {};
}

// Refuses anything but a gRPC call.
void Call::refuse() {
  finished_ = responded_ = true;
  status_ = number_of(Code::kInvalid);
  const http::Field fields[] = {{":status", head_.method == "POST" ? "415" : "405"}, {"content-type", "text/plain"}};
  http::Http2Session& session = host_->session();
  session.respond(stream_, fields, false);
  session.send(stream_, {{.text = "this port speaks gRPC: POST with content-type application/grpc\n"}});
  session.finish(stream_, {});
}

Status Call::check_access(Groups groups) const {
  return front::check_access(api_.options.keys.get(), groups, credentials());
}

// ---- reading

void Call::read() {
  wants_ = true;
  pump();
}

// While there is a message, what follows it waits. The rest.
std::span<const std::byte> Call::feed(std::span<const std::byte> bytes) {
  while (exchange_ && !message_ && !finished_ && !bytes.empty()) {
    Result<size_t> taken = reader_.feed(bytes, api_.bodies, longest_);
    if (!taken) {
      fail(std::move(taken).error());
      break;
    }
    host_->session().consumed(stream_, *taken);
    bytes = bytes.subspan(*taken);
    message_ = reader_.take();
    if (message_ && message_->packed && coding_ == Coding::kIdentity)
      fail({Code::kFailed, "a message is marked as compressed, but the call has no grpc-encoding"});
  }
  if (exchange_ && !finished_) return bytes;
  host_->session().consumed(stream_, bytes.size());
  return {};
}

void Call::take_body(std::span<const std::byte> bytes) {
  in_.moved += bytes.size();
  in_.last_moved = now();
  try {
    if (!backlog_) bytes = feed(bytes);
    if (!bytes.empty() && !backlog_) {
      backlog_ = api_.bodies.take();
      backlog_->start(0);
      backlog_next_ = 0;
    }
    if (!bytes.empty()) backlog_->append(bytes);
    pump();
  } catch (const std::bad_alloc&) {
    fail(out_of_memory());
  }
}

void Call::end_body() {
  body_ended_ = true;
  if (finished_) return;
  if (!exchange_) return refuse();
  if (!backlog_ && !message_ && reader_.partial()) return fail(invalid("the call ended within a message"));
  pump();
}

void Call::next_message() {
  if (!backlog_) return;
  const auto rest = backlog_->bytes().subspan(backlog_next_);
  backlog_next_ = backlog_->size() - feed(rest).size();
  if (backlog_next_ == backlog_->size()) backlog_ = nullptr;
}

void Call::pump() {
  if (std::exchange(pumping_, true)) return;
  while (wants_ && !finished_) {
    if (!message_) next_message();
    if (!message_ && (!body_ended_ || backlog_)) break;
    wants_ = false;
    exchange_->received(message_.has_value());
  }
  pumping_ = false;
  if (finished_) backlog_ = nullptr;
}

MessageBytes Call::take_message() {
  MessageBytes message = std::move(*message_);
  message_.reset();
  had_message_ = true;
  bytes_in_ += message.size;
  in_ = {.began = now(), .last_moved = {}, .moved = 0};
  return message;
}

// ---- writing

void Call::send(AnswerParts parts, bool last) {
  if (finished_ || host_ == nullptr) return;
  const size_t size = size_of(parts);
  if (answer_coding_ == Coding::kIdentity || size < kPackedFrom) return put(std::move(parts), false, last);
  if (size <= kLongPacking) return send_packed(parts, last);
  auto held = std::make_shared<AnswerParts>(std::move(parts));
  std::function<void()> job = [self = shared_from_this(), held, last] { self->send_packed(*held, last); };
  if (!api_.convert.run(std::function(job))) job();  // too many wait, but the answer is kept
}

// Any thread.
void Call::send_packed(const AnswerParts& parts, bool last) {
  std::vector<std::span<const std::byte>> pieces;
  for (const http::SentPart& part : parts) {
    pieces.push_back(std::as_bytes(std::span(part.text)));
    pieces.push_back(part.bytes);
  }
  const auto packed = std::make_shared<const std::string>(encode(answer_coding_, pieces));
  run([this, packed, last] {
    AnswerParts message(1);
    message[0].bytes = std::as_bytes(std::span(*packed));
    message[0].owner = packed;
    put(std::move(message), true, last);
  });
}

std::vector<http::Field> Call::answer_head() const {
  std::vector<http::Field> fields = {
      {":status", "200"}, {"content-type", "application/grpc"}, {"grpc-accept-encoding", kAcceptedCodings}};
  if (answer_coding_ != Coding::kIdentity) fields.push_back({"grpc-encoding", coding_name(answer_coding_)});
  return fields;
}

void Call::put(AnswerParts parts, bool packed, bool last) {
  if (finished_ || host_ == nullptr) return;
  const size_t size = size_of(parts);
  if (!unsent_.add(size)) return fail(out_of_memory());
  bytes_out_ += size;
  http::Http2Session& session = host_->session();
  if (!responded_) session.respond(stream_, answer_head(), false);
  responded_ = true;
  out_ = {.began = now(), .last_moved = {}, .moved = session.sent_bytes(stream_)};
  parts.front().text.insert(0, message_prefix(size, packed));
  session.send(stream_, std::move(parts));
  if (last) finish({});
}

// Without memory for the status, the stream is reset.
void Call::finish(const Status& status) {
  if (host_ == nullptr || std::exchange(finished_, true)) return;
  try {
    send_status(status);
  } catch (const std::bad_alloc&) {
    host_->session().reset(stream_);
  }
}

void Call::send_status(const Status& status) {
  status_ = status ? int{kOk} : number_of(status.error().code);
  reader_ = {};  // what came of a message counts in the memory for all until then
  if (!pumping_) backlog_ = nullptr;
  const std::string number = std::to_string(status_);
  std::string message, wait;
  std::vector<http::Field> fields;
  if (!responded_) fields = answer_head();
  fields.push_back({"grpc-status", number});
  if (!status) {
    message = percent_text(error_text(status.error().message, kLongestStatus));
    fields.push_back({"grpc-message", message});
    if (status.error().retry_after.count() > 0) {
      wait = std::to_string(std::chrono::ceil<std::chrono::milliseconds>(status.error().retry_after).count());
      fields.push_back({"grpc-retry-pushback-ms", wait});
    }
  }
  if (responded_)
    host_->session().finish(stream_, fields);
  else
    host_->session().respond(stream_, fields, true);
  responded_ = true;
}

void Call::sent() {
  unsent_.set(0);
  if (!finished_) exchange_->written();
}

// ---- the end

// Fails a call by the client's fault, or by its time.
void Call::fail(Error error) {
  if (exchange_ && !finished_) exchange_->cancelled();
  finish(std::move(error));
}

void Call::closed(bool whole) {
  unsent_.set(0);
  if (!whole) status_ = status_of_cancelled();
  try {
    if (exchange_ && !finished_) exchange_->cancelled();
    log_end();
    if (std::shared_ptr<Trace> trace = std::move(trace_)) trace->end();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): what the log and the trace say of it is lacking
  }
  finished_ = true;
  host_ = nullptr;
  backlog_ = nullptr;
  message_.reset();
}

void Call::tick(TimePoint now) {
  if (is_late(now)) return host_->session().reset(stream_);
  if (finished_) return;
  if (out_of_memory_) return give_up();
  if (now >= deadline_) return fail({Code::kTimeout, "the call's deadline has passed"});
  const bool waits = !exchange_ || (wants_ && (reader_.partial() || (!had_message_ && !exchange_->waits_for_ever())));
  if (waits && now >= http::deadline_of(http::Phase::kBody, in_, host_->options(), host_->drain_began()))
    return fail({Code::kTimeout, "the request was not received in time"});
  if (exchange_) exchange_->tick();
}

// True if the client does not take what was sent to it.
bool Call::is_late(TimePoint now) {
  const http::Http2Session& session = host_->session();
  if (session.unsent(stream_) == 0) return false;
  const uint64_t sent = session.sent_bytes(stream_);
  if (sent != out_.moved) {
    out_ = {.began = out_.began, .last_moved = now, .moved = sent};
    return false;
  }
  const TimePoint moved = std::max(out_.began, out_.last_moved);
  return now >= http::deadline_of(http::Phase::kWriting, {.began = moved, .last_moved = moved, .moved = 0},
                                  host_->options(), host_->drain_began());
}

void Call::begin_drain() {
  if (!finished_ && exchange_) exchange_->begin_drain();
}

// Status that a client assumes for a call whose status did not reach it. Clients end a call at their own deadline,
// which is earlier than the one here: by the way, and by 1 % at most, as it travels rounded up.
int Call::status_of_cancelled() const {
  if (deadline_ == TimePoint::max()) return kCancelled;
  const Nanoseconds rounded = (deadline_ - arrived_) / 100 + kShortWay;
  return deadline_ - now() <= rounded ? kDeadlineExceeded : kCancelled;
}

void Call::log_end() {
  const ApiOptions& options = api_.options;
  if (!options.access_log || head_.path.empty()) return;
  const std::string key = options.keys ? options.keys->current()->name_of(credentials()) : "";
  const std::optional<TraceContext> caller = parse_traceparent(head_.trace_parent);
  options.access_log->record({.client = client_,
                              .key = key,
                              .method = "GRPC",
                              .path = head_.path,
                              .model = model_,
                              .status = kStatusNames[status_],
                              .bytes_in = bytes_in_,
                              .bytes_out = bytes_out_,
                              .duration = now() - arrived_,
                              .request_id = request_id_,
                              .trace_id = trace_   ? std::string_view(trace_->record.trace_id)
                                          : caller ? std::string_view(caller->trace_id)
                                                   : std::string_view()});
}

std::shared_ptr<Trace> Call::begin_trace(const std::string& model, const std::string& request_id,
                                         TimePoint arrived) const {
  Tracer* const tracer = api_.options.tracer.get();
  if (tracer == nullptr) return nullptr;
  std::shared_ptr<Trace> trace = tracer->begin({.protocol = "grpc",
                                                .model = model,
                                                .parent = head_.trace_parent,
                                                .state = head_.trace_state,
                                                .arrived = arrived});
  if (trace) trace->record.request_id = request_id;
  return trace;
}

void Call::describe(const std::string& model, const std::string& request_id) {
  model_ = model;
  request_id_ = request_id;
}

void Call::end_round_soon() {
  if (host_ != nullptr) host_->end_round_soon();
}

void Call::run_later(std::function<void()> work) {
  std::list<http::Completion> one(1);
  one.front().work = [self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (const std::bad_alloc&) {
      self->give_up();
    }
  };
  mailbox_->put(std::move(one));
}

void Call::give_up() {
  try {
    fail(out_of_memory());
  } catch (const std::bad_alloc&) {
    if (host_ != nullptr) host_->session().reset(stream_);
  }
}

}  // namespace ridge::front::grpc
