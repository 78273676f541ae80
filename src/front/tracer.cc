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

// Of settings that are as they are.
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

Tracer::Tracer(TraceOptions options, Send send, Clock& clock)
    : options_(std::move(options)),
      send_(std::move(send)),
      clock_(clock),
      backlog_(std::make_shared<Backlog<TraceRecord>>(options_.most_waiting)),
      server_{.on = options_.on, .rate = options_.rate, .count = options_.count},
      thread_([this](const std::stop_token& stop) {
        Clock& real = system_clock();
        while (real.sleep_until(real.now() + options_.send_period, stop)) flush();
      }) {}

Tracer::~Tracer() {
  thread_.request_stop();
  thread_.join();
  flush();
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
  return std::make_shared<Trace>(std::move(record), backlog_, clock_);
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
      RIDGE_ASSIGN(next.rate, number_of<uint64_t>(name, *values, 1, "a number from 1: one request in so many"));
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

void Tracer::flush() {
  Backlog<TraceRecord>::Taken taken = backlog_->take();
  if (taken.dropped > 0) {
    MutexLock lock(mutex_);
    counts_.dropped += taken.dropped * kSpansPerTrace;
  }
  for (size_t at = 0; at < taken.values.size(); at += options_.most_in_batch) {
    const auto from = taken.values.begin() + static_cast<ptrdiff_t>(at);
    const auto to =
        taken.values.begin() + static_cast<ptrdiff_t>(std::min(taken.values.size(), at + options_.most_in_batch));
    send_batch({std::make_move_iterator(from), std::make_move_iterator(to)}, at > 0 && warned_);
  }
}

// `drops`: the collector did not take the batch before.
void Tracer::send_batch(const std::vector<TraceRecord>& records, bool drops) {
  const auto since_1970 = std::chrono::duration_cast<Nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  uint64_t spans = 0;
  for (const TraceRecord& record : records) spans += spans_of(record);
  const Status sent = drops ? Status(Error{Code::kUnavailable, ""})
                            : send_(otlp_body(records, options_.resource, clock_.now() - since_1970));
  if (!sent && !std::exchange(warned_, true))
    log::warning("traces are dropped until their collector takes them: {}: {}", options_.url, sent.error().message);
  if (sent && std::exchange(warned_, false)) log::info("the collector takes traces again: {}", options_.url);
  MutexLock lock(mutex_);
  (sent ? counts_.sent : counts_.dropped) += spans;
}

SpanCounts Tracer::counts() const {
  MutexLock lock(mutex_);
  return counts_;
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
