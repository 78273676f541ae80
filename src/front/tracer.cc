#include "front/tracer.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "front/span_id.h"
#include "front/trace_context.h"

namespace ridge::front {
namespace {

constexpr size_t kLongestState =
    512;  // [characters] of tracestate that must be passed on (W3C, 3.3.1.5); longer ones are not
constexpr uint64_t kSpansPerTrace = 7;  // of one that is dropped before its spans are made

template <typename Number>
Result<Number> number_of(const std::string& name, const std::vector<std::string>& values, Number least,
                         const char* expected) {
  Number number{};
  if (values.size() == 1) {
    const std::string& text = values[0];
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed == std::errc() && end == text.data() + text.size() && number >= least) return number;
  }
  return Error{Code::kInvalid, "'" + name + "' should be " + expected};
}

Result<bool> is_on(const std::vector<std::string>& levels) {
  if (levels == std::vector<std::string>{"OFF"}) return false;
  if (levels == std::vector<std::string>{"TIMESTAMPS"}) return true;
  return Error{Code::kInvalid,
               "'trace_level' should be [\"TIMESTAMPS\"] or [\"OFF\"]; tensors are not traced, as spans have no place "
               "for them"};
}

TraceSettings settings_of(bool on, uint64_t rate, int64_t count) {
  return {{"trace_level", {on ? "TIMESTAMPS" : "OFF"}},
          {"trace_rate", {std::to_string(rate)}},
          {"trace_count", {std::to_string(count)}},
          {"log_frequency", {"0"}},
          {"trace_file", {""}},
          {"trace_mode", {"opentelemetry"}}};
}

// Refuses changes of settings that are fixed.
Status check_fixed(const std::string& name, const std::vector<std::string>& values) {
  const bool unchanged = values.empty() || values == std::vector<std::string>{""};
  if (name == "log_frequency" && (unchanged || values == std::vector<std::string>{"0"})) return {};
  if (name == "log_frequency")
    return invalid("'log_frequency' can be 0 only: there is no file of traces, they go to the collector in batches");
  if (name == "trace_file" && unchanged) return {};
  if (name == "trace_file") return invalid("'trace_file' cannot be set: traces go to the collector, not to a file");
  if (name == "trace_mode" && (unchanged || values == std::vector<std::string>{"opentelemetry"})) return {};
  if (name == "trace_mode") return invalid("'trace_mode' can be opentelemetry only: there is no file of traces");
  return invalid("no setting of traces is called '" + name.substr(0, 80) + "'");
}

}  // namespace

// The way to the collector, for the tracer and its thread, which may outlive it in a send that does not return.
struct Tracer::Sender {
  const TraceOptions options;
  const Send send;
  Clock& clock;
  const std::shared_ptr<Backlog<TraceRecord>> backlog;
  Mutex mutex = {};
  SpanCounts counts RIDGE_GUARDED_BY(mutex) = {};
  uint64_t under_way RIDGE_GUARDED_BY(mutex) = 0;  // spans
  bool closed RIDGE_GUARDED_BY(mutex) = false;     // before all was sent: the rest is counted
  bool warned = false;                             // since the last batch that was taken

  void flush();
  void send_batch(const std::vector<TraceRecord>& records, bool drops);
  void drop_rest();
};

void Tracer::Sender::flush() {
  Backlog<TraceRecord>::Taken taken;
  {
    MutexLock lock(mutex);
    if (closed) return;
    taken = backlog->take();
    counts.dropped += taken.dropped * kSpansPerTrace;
    for (const TraceRecord& record : taken.values) under_way += spans_of(record);
  }
  for (size_t at = 0; at < taken.values.size(); at += options.most_in_batch) {
    const auto from = taken.values.begin() + static_cast<ptrdiff_t>(at);
    const auto to =
        taken.values.begin() + static_cast<ptrdiff_t>(std::min(taken.values.size(), at + options.most_in_batch));
    send_batch({std::make_move_iterator(from), std::make_move_iterator(to)}, at > 0 && warned);
  }
}

// `drops`: the collector did not take the batch before.
void Tracer::Sender::send_batch(const std::vector<TraceRecord>& records, bool drops) {
  const auto since_1970 = std::chrono::duration_cast<Nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  uint64_t spans = 0;
  for (const TraceRecord& record : records) spans += spans_of(record);
  const Status sent = drops ? Status(Error{Code::kUnavailable, ""})
                            : send(otlp_body(records, options.resource, clock.now() - since_1970));
  {
    MutexLock lock(mutex);
    if (closed) return;
    under_way -= spans;
    (sent ? counts.sent : counts.dropped) += spans;
  }
  if (!sent && !std::exchange(warned, true))
    log::warning("traces are dropped until their collector takes them: {}: {}", options.url, sent.error().message);
  if (sent && std::exchange(warned, false)) log::info("the collector takes traces again: {}", options.url);
}

void Tracer::Sender::drop_rest() {
  MutexLock lock(mutex);
  closed = true;
  const Backlog<TraceRecord>::Taken taken = backlog->take();
  uint64_t spans = under_way + taken.dropped * kSpansPerTrace;
  for (const TraceRecord& record : taken.values) spans += spans_of(record);
  counts.dropped += spans;
  if (spans > 0) log::warning("the last {} spans of traces are dropped: {} has not taken them", spans, options.url);
}

Tracer::Tracer(TraceOptions options, Send send, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      sender_(new Sender{.options = options_,
                         .send = std::move(send),
                         .clock = clock,
                         .backlog = std::make_shared<Backlog<TraceRecord>>(options_.most_waiting)}),
      server_{.on = options_.on, .rate = options_.rate, .count = options_.count},
      thread_([sender = sender_](const std::stop_token& stop) {
        Clock& real = system_clock();
        while (real.sleep_until(real.now() + sender->options.send_period, stop)) sender->flush();
        sender->flush();
        return Status();
      }) {}

void Tracer::close(Nanoseconds patience) {
  if (std::exchange(closed_, true)) return;
  thread_.request_stop();
  if (!thread_.outcome(patience)) sender_->drop_rest();
}

std::shared_ptr<Trace> Tracer::begin(const TraceRequest& request) {
  const std::optional<TraceContext> caller = parse_traceparent(request.parent);
  {
    MutexLock lock(mutex_);
    const auto row = models_.find(request.model);
    Level* const model = row == models_.end() ? nullptr : &row->second;
    if (!(model != nullptr && model->on ? *model->on : *server_.on)) return nullptr;
    Level& rated = model != nullptr && model->rate ? *model : server_;
    if (!(caller ? caller->sampled : rated.seen++ % *rated.rate == 0)) return nullptr;
    Level& counted = model != nullptr && model->count ? *model : server_;
    if (*counted.count >= 0 && counted.taken >= *counted.count) return nullptr;
    ++counted.taken;
  }
  TraceRecord record{.protocol = std::string(request.protocol),
                     .model = std::string(request.model),
                     .request_id = {},
                     .trace_id = caller ? caller->trace_id : new_trace_id(),
                     .span_id = new_span_id(),
                     .parent_id = caller ? caller->span_id : "",
                     .state = {},
                     .arrived = request.arrived,
                     .ended = {},
                     .stages = {},
                     .error = {}};
  if (caller && request.state.size() <= kLongestState) record.state = request.state;
  return std::make_shared<Trace>(std::move(record), sender_->backlog, clock_);
}

TraceSettings Tracer::settings(const std::string& model) const {
  MutexLock lock(mutex_);
  const auto row = models_.find(model);
  const Level none;
  const Level& own = row == models_.end() ? none : row->second;
  return settings_of(own.on.value_or(*server_.on), own.rate.value_or(*server_.rate),
                     own.count.value_or(*server_.count));
}

Status Tracer::change(const std::string& model, const TraceChanges& changes) {
  MutexLock lock(mutex_);
  const auto row = models_.find(model);
  Level next = model.empty() ? server_ : row == models_.end() ? Level{} : row->second;
  const Level first =
      model.empty() ? Level{.on = options_.on, .rate = options_.rate, .count = options_.count} : Level{};
  for (const auto& [name, values] : changes) {
    const bool clears = !values || values->empty();
    if (name == "trace_level") {
      next.on = first.on;
      if (clears) continue;
      RIDGE_ASSIGN(next.on, is_on(*values));
    } else if (name == "trace_rate") {
      next.rate = first.rate;
      next.seen = 0;
      if (clears) continue;
      RIDGE_ASSIGN(next.rate, number_of<uint64_t>(name, *values, 1, "a number N from 1: one request in N"));
    } else if (name == "trace_count") {
      next.count = first.count;
      next.taken = 0;
      if (clears) continue;
      RIDGE_ASSIGN(next.count, number_of<int64_t>(name, *values, -1, "a number of traces, or -1 for any"));
    } else {
      RIDGE_TRY(check_fixed(name, values.value_or(std::vector<std::string>{})));
    }
  }
  (model.empty() ? server_ : models_[model]) = next;
  return {};
}

void Tracer::flush() { sender_->flush(); }

SpanCounts Tracer::counts() const {
  MutexLock lock(sender_->mutex);
  return sender_->counts;
}

TraceSettings trace_settings(const Tracer* tracer, const std::string& model) {
  return tracer != nullptr ? tracer->settings(model) : settings_of(false, TraceOptions{}.rate, TraceOptions{}.count);
}

Status change_trace_settings(Tracer* tracer, const std::string& model, const TraceChanges& changes) {
  if (changes.empty()) return {};
  if (tracer != nullptr) return tracer->change(model, changes);
  return Error{Code::kUnavailable,
               "this server has no collector for traces: start it with --trace-config "
               "opentelemetry,url=http://HOST:4318/v1/traces"};
}

}  // namespace ridge::front
