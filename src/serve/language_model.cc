#include "serve/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/utc.h"
#include "serve/server.h"
#include "serve/text_request_check.h"

namespace ridge::serve {
namespace {

using generate::Finish;

constexpr std::chrono::milliseconds kIdleRound{10};  // until a scheduler that had nothing to run is asked again

class Ticket final : public TextTicket {
 public:
  explicit Ticket(std::shared_ptr<TextInbox> inbox) : inbox_(std::move(inbox)) {}
  ~Ticket() override { inbox_->cancel(number_); }
  void cancel() override { inbox_->cancel(number_); }
  void set(uint64_t number) { number_.front() = number; }

 private:
  const std::shared_ptr<TextInbox> inbox_;
  std::list<uint64_t> number_{0};  // until it is cancelled; 0: of no request
};

// Short enough to need no memory of its own.
Error no_memory() { return {Code::kUnavailable, "out of memory"}; }

// Without memory for that, what the sink belongs to answers when it is let go.
void end_sink(TextSink& sink, Status status, const TextUsage& usage) {
  try {
    sink.end(std::move(status), usage);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see above
  }
}

uint64_t random_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

bool has_no_content(const Json& message) { return message["content"].is_null(); }

// vLLM's form for templates that know only texts.
std::string joined_parts(const Json& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text.append(i == 0 ? "" : "\n").append(parts[i]["text"].get_ref<const std::string&>());
  return text;
}

uint64_t TextEnds::*counter_of(Finish finish) {
  switch (finish) {
    case Finish::kStop: return &TextEnds::stopped;
    case Finish::kLength: return &TextEnds::full;
    case Finish::kCancelled: return &TextEnds::cancelled;
    case Finish::kDeadline: return &TextEnds::late;
    case Finish::kNone:
    case Finish::kFailed: break;
  }
  return &TextEnds::failed;
}

}  // namespace

// A request in work.
struct LanguageModel::Stream {
  struct Choice {
    Choice(const text::Tokenizer& tokenizer, const TextRequest& request, int index) : text(tokenizer, request, index) {}
    TextChoice text;
    generate::Id id = 0;  // 0: the scheduler does not have it
    ChoiceTimes times;
    bool ended = false;
  };

  uint64_t number = 0;
  TextRequest request;
  generate::SharedList<int32_t> stop_tokens;  // those of the model too
  std::shared_ptr<TextSink> sink;
  TimePoint arrived;
  std::vector<Choice> choices;
  size_t added = 0, open = 0;  // choices
  bool begun = false;
  TextUsage usage;
};

LanguageModel::LanguageModel(LoadedLanguageModel loaded, DeadlineTimer& timer, Clock& clock, RunLimit limit)
    : Servable({.text = this, .encoder = Error{Code::kUnsupported, "language models have no embeddings"}}),
      loaded_(std::move(loaded)),
      timer_(timer),
      clock_(clock),
      created_(now_in_ms_since_epoch() / 1000),
      inbox_(std::make_shared<TextInbox>(loaded_.queue_limit, clock)),
      limit_(std::move(limit)),
      watch_(limit_.most, 1),
      forms_(loaded_.texts.tokens, limit_.most, clock_, [inbox = inbox_] { inbox->wake(); }),
      scheduler_(loaded_.generation) {
  figures_.note(scheduler_.figures(), scheduler_.line());
}

LanguageModel::~LanguageModel() {
  close();
  join();
}

void LanguageModel::start() {
  {
    MutexLock lock(end_mutex_);
    state_ = ThreadState::kWorks;
  }
  thread_ = std::jthread([this] {
    work();
    const std::shared_ptr<LanguageModel> last = leave();  // may free this version, at the very end
  });
}

// Gives up what kept the version for its thread alone.
std::shared_ptr<LanguageModel> LanguageModel::leave() {
  MutexLock lock(end_mutex_);
  if (state_ == ThreadState::kWorks) state_ = ThreadState::kEnded;
  end_.notify_all();
  return std::exchange(self_, nullptr);
}

void LanguageModel::join() {
  if (!thread_.joinable()) return;
  bool ended = false;
  {
    MutexLock lock(end_mutex_);
    while (state_ == ThreadState::kWorks) end_.wait(lock);
    ended = state_ == ThreadState::kEnded;
  }
  ended ? thread_.join() : thread_.detach();
}

// A template that cannot have a content of null gets an empty one.
Result<std::string> LanguageModel::prompt_of(Json variables) const {
  const LanguageFiles& texts = loaded_.texts;
  if (!texts.chat) return texts.chat.error();
  if (!variables.contains("bos_token")) variables["bos_token"] = texts.begin_text;
  if (!variables.contains("eos_token")) variables["eos_token"] = texts.end_text;
  Json& messages = variables["messages"];
  if (!texts.reads_parts)
    for (Json& message : messages)
      if (message["content"].is_array()) message["content"] = joined_parts(message["content"]);
  Result<std::string> text = texts.chat->render(variables);
  if (text || std::ranges::none_of(messages, has_no_content)) return text;
  for (Json& message : messages)
    if (has_no_content(message)) message["content"] = "";
  return texts.chat->render(variables);
}

Result<std::unique_ptr<TextTicket>> LanguageModel::generate(TextRequest request, std::shared_ptr<TextSink> sink) {
  const TextLimits limits{name(), context(), loaded_.decoder->info().vocabulary, !loaded_.texts.stop_tokens.empty()};
  if (const std::optional<int64_t> most = loaded_.texts.recommended.most_tokens)
    request.most_tokens = std::min(request.most_tokens.value_or(*most), *most);
  RIDGE_TRY(check_text_request(limits, request));
  if (!request.has_seed) request.sampling.seed = random_seed();
  auto ticket = std::make_unique<Ticket>(inbox_);
  const TextInbox::Added added = inbox_->add(std::move(request), std::move(sink));
  switch (added.refusal) {
    case TextInbox::Refusal::kNone: break;
    case TextInbox::Refusal::kClosed:
      return Error{Code::kUnavailable, fmt::format("model '{}' is being unloaded", name())};
    case TextInbox::Refusal::kFull:
      figures_.refuse();
      return Error{Code::kUnavailable, fmt::format("{} requests to model '{}' wait already, which is the most",
                                                   loaded_.queue_limit, name())};
  }
  ticket->set(added.number);
  return std::unique_ptr<TextTicket>(std::move(ticket));
}

void LanguageModel::close() { inbox_->close(); }

void LanguageModel::abort() {
  inbox_->abort();
  loaded_.decoder->terminate();
}

void LanguageModel::work() {
  bool goes_on = true;
  while (goes_on) try {
      goes_on = round();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): no request is at work, the next round does it
    }
}

// False: that was the last.
bool LanguageModel::round() {
  if (!take_news()) return false;
  const generate::Step step = scheduler_.next(now());
  const auto deliver_ended = [&] {
    for (const generate::Event& event : scheduler_.take_ended()) deliver(event, clock_.now());
  };
  deliver_ended();  // tokens of earlier steps, before those of this one
  idle_ = step.sequences.empty();
  if (!idle_ && !run(step)) return false;
  deliver_ended();
  figures_.note(scheduler_.figures(), scheduler_.line());
  return true;
}

// False: everything is done, and nothing comes any more.
bool LanguageModel::take_news() {
  const TimePoint due = streams_.empty() ? TimePoint::max() : idle_ ? clock_.now() + kIdleRound : TimePoint::min();
  TextInbox::News news = inbox_->take(due);
  for (TextArrival& arrival : news.arrivals) begin(std::move(arrival));
  for (const uint64_t number : news.cancelled) cancel(number);
  if (news.aborted) end_all(shutting_down());
  return !news.closed || !streams_.empty();
}

void LanguageModel::begin(TextArrival arrival) {
  const uint64_t number = arrival.number;
  const std::shared_ptr<TextSink> sink = arrival.sink;
  try {
    begin_stream(std::move(arrival));
  } catch (const std::bad_alloc&) {
    if (const auto found = streams_.find(number); found != streams_.end())
      return end_stream(*found->second, no_memory(), &TextEnds::failed);
    inbox_->begun();
    end_sink(*sink, no_memory(), {});
  }
}

// Choices after the first wait for its first token where they can share its prompt's blocks.
void LanguageModel::begin_stream(TextArrival arrival) {
  auto made = std::make_unique<Stream>();
  Stream& stream = *made;
  stream.number = arrival.number;
  stream.request = std::move(arrival.request);
  stream.stop_tokens = stop_tokens_of(stream.request);
  stream.sink = std::move(arrival.sink);
  stream.arrived = arrival.arrived;
  stream.usage.prompt_tokens = static_cast<int64_t>(stream.request.prompt.size());
  stream.open = static_cast<size_t>(stream.request.choices);
  for (size_t i = 0; i < stream.open; ++i)
    stream.choices.emplace_back(loaded_.texts.tokenizer, stream.request, static_cast<int>(i));
  streams_[stream.number] = std::move(made);
  const bool shares =
      loaded_.generation.prefix_reuse && stream.usage.prompt_tokens > loaded_.generation.cache.block_tokens;
  for (size_t i = 0; i < (shares ? 1 : stream.open); ++i)
    if (Status added = add_choice(stream, i); !added) {
      figures_.refuse();
      return end_stream(stream, std::move(added), nullptr);
    }
}

generate::SharedList<int32_t> LanguageModel::stop_tokens_of(const TextRequest& request) const {
  if (request.ignore_eos && !request.form) return request.stop_tokens;
  if (request.stop_tokens.empty()) return loaded_.texts.stop_tokens;
  std::vector<int32_t> all(request.stop_tokens.begin(), request.stop_tokens.end());
  all.insert(all.end(), loaded_.texts.stop_tokens.begin(), loaded_.texts.stop_tokens.end());
  return all;
}

Status LanguageModel::add_choice(Stream& stream, size_t choice) {
  const TextRequest& request = stream.request;
  generate::Request wanted;
  wanted.id = ++last_id_;
  wanted.prompt = request.prompt;
  wanted.most_tokens = request.most_tokens.value_or(context() - stream.usage.prompt_tokens);
  wanted.least_tokens = request.least_tokens;
  wanted.stop_tokens = stream.stop_tokens;
  wanted.sampling = request.sampling;
  wanted.sampling.seed += choice;
  wanted.logprobs = request.logprobs;
  wanted.prompt_logprobs = request.prompt_logprobs && choice == 0;
  if (request.form)
    wanted.filter = forms_.filter(*request.form, {wanted.stop_tokens.begin(), wanted.stop_tokens.end()});
  wanted.key = request.key;
  wanted.prefix_group = request.prefix_group;
  wanted.arrived = stream.arrived.time_since_epoch();
  if (request.first_token_within && choice == 0) wanted.deadline = wanted.arrived + *request.first_token_within;
  stream.choices[choice].id = last_id_;
  stream.choices[choice].times.arrived = stream.arrived;
  places_[last_id_] = {&stream, choice};
  Status added = scheduler_.add(std::move(wanted), now());
  if (!added) places_.erase(last_id_);
  ++stream.added;
  return added;
}

void LanguageModel::cancel(uint64_t number) {
  if (const auto found = streams_.find(number); found != streams_.end())
    end_stream(*found->second, Error{Code::kCancelled, "client has left"}, &TextEnds::cancelled);
}

// False: the step was given up, and with it the version.
bool LanguageModel::run(const generate::Step& step) {
  const TimePoint begin = clock_.now();
  figures_.begin_step(begin);
  double bound_s = 0;
  const Result<engine::Logits> logits = logits_of(step, begin, bound_s);
  const RunWatch::End ended = watch_.end(0);
  if (ended == RunWatch::End::kGivenUp) return false;  // the server, its clock and timer may be gone
  const TimePoint end = clock_.now();
  figures_.end_step(end, {static_cast<int64_t>(step.load.tokens), step.predicted, bound_s, step.decode});
  if (bound_s > 0) note_bound(step, to_seconds(end - begin), bound_s);
  if (logits) {
    const std::vector<generate::Event> events = scheduler_.done(*logits, end.time_since_epoch());
    figures_.note(scheduler_.figures(), scheduler_.line());  // before the answers: who has one may look
    for (const generate::Event& event : events) deliver(event, end);
    return true;
  }
  const auto why = [&]() -> Error {
    try {
      return inbox_->aborted() ? shutting_down() : ended == RunWatch::End::kBrokenOff ? too_long() : logits.error();
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  };
  for (const generate::Id id : scheduler_.failed())
    if (const auto place = places_.find(id); place != places_.end())
      end_stream(*place->second.stream, why(), &TextEnds::failed);
  return true;
}

Result<engine::Logits> LanguageModel::logits_of(const generate::Step& step, TimePoint begin, double& bound_s) {
  try {
    if (loaded_.bound) bound_s = loaded_.bound(step.sequences);
    if (const auto due = watch_.begin(0, {}, 0, begin)) timer_.schedule(*due, weak_from_this());
    return loaded_.decoder->step(step.sequences);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

// Adds the step to each answer that it computed.
void LanguageModel::note_bound(const generate::Step& step, double seconds, double bound_s) {
  for (const generate::Id id : step.ids) {
    const auto place = places_.find(id);
    if (place == places_.end()) continue;
    TextUsage& usage = place->second.stream->usage;
    usage.step_seconds += seconds;
    usage.bound_seconds += bound_s;
  }
}

void LanguageModel::deliver(const generate::Event& event, TimePoint now) {
  const auto found = places_.find(event.id);
  if (found == places_.end()) return;  // it was cancelled, or ended by a stop text
  Stream& stream = *found->second.stream;
  const uint64_t number = stream.number;
  try {
    take_event(stream, found->second.choice, event, now);
  } catch (const std::bad_alloc&) {
    if (const auto left = streams_.find(number); left != streams_.end())
      end_stream(*left->second, no_memory(), &TextEnds::failed);
  }
}

void LanguageModel::take_event(Stream& stream, size_t index, const generate::Event& event, TimePoint now) {
  if (event.finish == Finish::kFailed)
    return end_stream(stream, event.failure.value_or(no_memory()), &TextEnds::failed);
  if (event.finish == Finish::kDeadline)
    return end_stream(
        stream,
        Error{Code::kUnavailable,
              fmt::format("model '{}' could not start this request in time (first_token_within_ms: {:.3g})", name(),
                          1e3 * to_seconds(stream.request.first_token_within.value_or(Nanoseconds{})))},
        &TextEnds::late);
  Stream::Choice& choice = stream.choices[index];
  if (event.token) {
    if (choice.text.tokens() == 0) {
      choice.times.first_token = now;
      choice.times.started = TimePoint(event.started);
    } else {
      figures_.add_token(now - choice.times.last_token);
    }
    choice.times.last_token = now;
    ++stream.usage.completion_tokens;
  }
  if (!stream.begun) begin_answer(stream, event, now);
  std::optional<TextPiece> piece = choice.text.add(event);
  stream.usage.total_seconds = to_seconds(now - stream.arrived);
  const Finish finish = piece ? piece->finish : Finish::kNone;
  if (piece) stream.sink->piece(std::move(*piece), stream.usage);
  while (stream.added < stream.choices.size())
    if (Status added = add_choice(stream, stream.added); !added)
      return end_stream(stream, std::move(added), &TextEnds::failed);
  if (finish != Finish::kNone) end_choice(stream, index, finish, now);
}

void LanguageModel::begin_answer(Stream& stream, const generate::Event& event, TimePoint now) {
  stream.begun = true;
  inbox_->begun();
  stream.usage.cached_tokens = event.reused_tokens;
  stream.usage.first_token_seconds = stream.usage.total_seconds = to_seconds(now - stream.arrived);
  stream.sink->begin(stream.usage, prompt_tokens(loaded_.texts.tokenizer, stream.request, event));
}

void LanguageModel::end_choice(Stream& stream, size_t index, Finish finish, TimePoint now) {
  Stream::Choice& choice = stream.choices[index];
  scheduler_.cancel(choice.id);  // of a stop text; else it has forgotten it
  places_.erase(choice.id);
  choice.ended = true;
  figures_.end(counter_of(finish), choice.times, stream.usage.prompt_tokens, choice.text.tokens(), now);
  if (--stream.open == 0) end_stream(stream, {}, counter_of(finish));
}

// `cause`: of the choices that have not ended; null: they were never taken.
void LanguageModel::end_stream(Stream& stream, Status status, uint64_t TextEnds::*cause) {
  const TimePoint now = clock_.now();
  for (const Stream::Choice& choice : stream.choices) {
    if (choice.ended) continue;
    scheduler_.cancel(choice.id);
    places_.erase(choice.id);
    if (cause != nullptr) figures_.end(cause, choice.times, stream.usage.prompt_tokens, choice.text.tokens(), now);
  }
  if (!stream.begun) inbox_->begun();
  const Nanoseconds latency = now - stream.arrived;
  stream.usage.total_seconds = to_seconds(latency);
  if (status)
    statistics_.record_ensemble(1, latency, {}, static_cast<uint64_t>(now_in_ms_since_epoch()));
  else
    statistics_.record_failures(cause == &TextEnds::cancelled ? FailureReason::kCancelled
                                : cause == &TextEnds::failed  ? FailureReason::kBackend
                                                              : FailureReason::kRejected,
                                1, latency);
  const std::unique_ptr<Stream> last = std::move(streams_.extract(stream.number).mapped());
  end_sink(*last->sink, std::move(status), last->usage);
}

void LanguageModel::end_all(const Error& why) {
  while (!streams_.empty()) end_stream(*streams_.begin()->second, why, &TextEnds::failed);
}

Error LanguageModel::too_long() const {
  return {Code::kUnavailable, fmt::format("model '{}' failed: a step took longer than {:g} s (--run-timeout-secs)",
                                          name(), to_seconds(limit_.most))};
}

void LanguageModel::expire(TimePoint now) {
  if (watch_.watches()) check_step(now);
}

void LanguageModel::check_step(TimePoint now) {
  const RunWatch::Overdue overdue = watch_.check(now);
  if (!overdue.to_break_off.empty()) {
    log::warning("model '{}' version {}: a step took longer than {:g} s (--run-timeout-secs) and is broken off", name(),
                 settings().version, to_seconds(limit_.most));
    loaded_.decoder->terminate();
    watch_.broken_off(0);
  }
  if (!overdue.given_up.empty()) give_up();
  if (overdue.next) timer_.schedule(*overdue.next, weak_from_this());
}

// The engine did not end the step: the version serves no more, and its memory stays for the step. Its thread touches
// nothing any more.
void LanguageModel::give_up() {
  {
    MutexLock lock(end_mutex_);
    if (state_ == ThreadState::kWorks) self_ = shared_from_this();  // else it has ended just now
  }
  const std::string reason = fmt::format(
      "a step took longer than {:g} s (--run-timeout-secs) and did not end when it was broken off; load the model "
      "again",
      to_seconds(limit_.most));
  log::error("model '{}' version {} is given up: {}", name(), settings().version, reason);
  if (limit_.given_up) limit_.given_up(*this, reason);  // before its requests are answered
  inbox_->close();
  for (TextArrival& arrival : inbox_->take(TimePoint::min()).arrivals)
    end_sink(*arrival.sink, Error{Code::kUnavailable, reason}, {});
  end_all(too_long());
  MutexLock lock(end_mutex_);
  if (state_ == ThreadState::kWorks) state_ = ThreadState::kGivenUp;
  end_.notify_all();
}

ModelStatistics LanguageModel::statistics() const {
  ModelStatistics statistics = statistics_.snapshot();
  statistics.name = name();
  statistics.version = settings().version;
  statistics.pending = inbox_->waiting();
  if (loaded_.bound) statistics.bound_ns = figures_.bound_ns();
  statistics.load_ns = static_cast<uint64_t>(loaded_.load_time.count());
  statistics.file_bytes = loaded_.file_bytes;
  statistics.metric_tags = settings().metric_tags;
  return statistics;
}

TextFigures LanguageModel::figures() const {
  TextFigures figures = figures_.snapshot(clock_.now());
  figures.model = name();
  figures.version = settings().version;
  figures.metric_tags = settings().metric_tags;
  figures.bound_known = loaded_.bound != nullptr;
  return figures;
}

}  // namespace ridge::serve
