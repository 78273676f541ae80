#include "client/server_target.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "client/http_wire.h"
#include "client/protocol.h"

namespace ridge::client {
namespace {

// A caller that could not connect pauses so long: to fail again and again at once would only keep the CPU busy.
constexpr auto kPause = std::chrono::milliseconds(10);
// One in kTimedEvery requests answered within kBrief has its stages timed: it takes three readings of the clock.
constexpr auto kBrief = std::chrono::milliseconds(1);
constexpr size_t kTimedEvery = 8;
constexpr auto kLook = std::chrono::milliseconds(5);          // for requests that have timed out
constexpr auto kConnectLook = std::chrono::milliseconds(50);  // for an interruption
constexpr size_t kCheckedBytes = 4096;                        // of an answer
constexpr uint64_t kOtherDescriptors = 64;                    // that the process needs besides

// Raises the soft limit of open files where it must.
Status allow_descriptors(int connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const uint64_t needed = static_cast<uint64_t>(connections) + kOtherDescriptors;
  if (limit.rlim_cur >= needed) return {};
  if (limit.rlim_max < needed)
    return Error{Code::kExhausted,
                 fmt::format("{} connections need {} open files, and this process may have {} (ulimit "
                             "-Hn); give a smaller --concurrency",
                             connections, needed, limit.rlim_max)};
  limit.rlim_cur = needed;
  setrlimit(RLIMIT_NOFILE, &limit);
  return {};
}

}  // namespace

// One thread's connections. Tags of the poller are their indices.
class ServerTarget::Group {
 public:
  Group(const ServerTargetOptions& options, Poller poller, int thread, int count)
      : options_(options), poller_(std::move(poller)), thread_(thread), slots_(static_cast<size_t>(count)) {
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (options_.reader) slots_[i].reader = options_.reader(thread);
      AnswerReader* const reader = slots_[i].reader.get();
      connections_.emplace_back(
          poller_, i, options_.address,
          reader != nullptr
              ? http_wire({}, reader)
              : protocol_of(options_.url.scheme).wire(options_.url, {.ok = options_.check ? kCheckedBytes : 0}));
    }
    next_ = static_cast<size_t>(thread);
  }

  Status connect_all() {
    const TimePoint until = SteadyClock::now() + options_.timeout;
    for (Connection& connection : connections_)
      if (connection.connect() == Connection::State::kFailed) return refused(connection);
    while (!std::all_of(connections_.begin(), connections_.end(), [](const auto& c) { return c.connected(); })) {
      if (options_.interrupted()) return Error{Code::kCancelled, "interrupted while connecting"};
      if (SteadyClock::now() >= until)
        return Error{
            Code::kTimeout,
            fmt::format("{} took none of {} connections within {:.3g} s: its queue of new connections is full, "
                        "or a firewall drops them",
                        text_of(options_.address), connections_.size(), to_seconds(options_.timeout))};
      for (const Poller::Change& change : poller_.wait(std::min<TimePoint>(until, SteadyClock::now() + kConnectLook)))
        if (connections_[change.tag].advance(change.hung_up) == Connection::State::kFailed)
          return refused(connections_[change.tag]);
    }
    return {};
  }

  void begin(size_t index) {
    Slot& slot = slots_[index];
    Connection& connection = connections_[index];
    slot.begun = SteadyClock::now();
    slot.in_flight = true;
    slot.number = thread_ + begun_++ * options_.threads;
    if (options_.make) slot.made = options_.make(slot.number);
    const Request& request = options_.make ? slot.made : (*options_.requests)[next_ % options_.requests->size()];
    ++next_;
    slot.timed = slot.reader || !brief_ || next_ % kTimedEvery == 0;
    if (slot.reader) slot.reader->begin(slot.number);
    handle(index, connection.send(request, slot.timed));
  }

  void wait(TimePoint until, const std::function<void(const Ended&)>& ended) {
    if (!failed_.empty()) until = std::min(until, failed_.front().at);
    for (const Poller::Change& change : poller_.wait(until)) {
      const size_t index = change.tag;
      const Connection::State state = connections_[index].advance(change.hung_up);
      if (state == Connection::State::kDone)
        answered(index, ended);
      else
        handle(index, state);
    }
    const TimePoint now = SteadyClock::now();
    time_out(now);
    // Later failures, added by `ended` through new requests, wait for the next call.
    for (size_t left = failed_.size(); left > 0 && failed_.front().at <= now; --left) {
      const Late failure = failed_.front();
      failed_.pop_front();
      ended({caller(failure.index), failure.kind, {}, slots_[failure.index].number});
    }
  }

  int64_t reconnects() const {
    int64_t sum = 0;
    for (const Connection& connection : connections_) sum += std::max<int64_t>(connection.opened() - 1, 0);
    return sum;
  }

  std::atomic<bool> gone_ = false;
  std::map<int, std::string> problems_;
  uint64_t answer_bytes_ = 0;

 private:
  struct Slot {
    TimePoint begun;
    bool in_flight = false, timed = false;
    int64_t number = 0;  // of its last request
    Request made;        // the last one, of options.make
    std::unique_ptr<AnswerReader> reader;
  };
  struct Late {  // a failure that is reported at a later time
    TimePoint at;
    size_t index;
    int kind;
  };

  int caller(size_t index) const { return static_cast<int>(index) * options_.threads + thread_; }

  Error refused(const Connection& connection) const {
    return Error{Code::kUnavailable, fmt::format("connect to {}: {}", text_of(options_.address), connection.problem())};
  }

  // Handles events that are not answers. An answer that is there at once waits in the socket for the next event.
  void handle(size_t index, Connection::State state) {
    if (state == Connection::State::kFailed)
      failed(index, connections_[index].failure(), connections_[index].problem());
    if (state == Connection::State::kDone && slots_[index].in_flight)
      failed(index, connections_[index].response().status, error_text(connections_[index].response()));
  }

  void answered(size_t index, const std::function<void(const Ended&)>& ended) {
    if (!slots_[index].in_flight) return;  // only connected
    const Connection& connection = connections_[index];
    const Response& response = connection.response();
    slots_[index].in_flight = false;
    refused_since_.reset();
    if (response.status != 200) {
      problems_.try_emplace(response.status, error_text(response));
      return ended({caller(index), response.status, {}, slots_[index].number});
    }
    std::string why;
    if (const int failure = failure_of(index, why); failure != 0) {
      problems_.try_emplace(failure, why);
      return ended({caller(index), failure, {}, slots_[index].number});
    }
    answer_bytes_ = response.body_size;
    if (!slots_[index].timed) return ended({caller(index), 0, {}, slots_[index].number});
    const TimePoint now = SteadyClock::now();
    brief_ = now - slots_[index].begun < kBrief;
    const TimePoint sent = std::max(connection.sent_at(), slots_[index].begun);
    const TimePoint first = std::clamp(connection.answered_at(), sent, now);
    ended({caller(index), 0, engine::RunTimes{sent - slots_[index].begun, first - sent, now - first},
           slots_[index].number});
  }

  // Judges an answer of status 200.
  int failure_of(size_t index, std::string& why) const {
    const Connection& connection = connections_[index];
    if (slots_[index].reader) return slots_[index].reader->end(connection.sent_at(), why);
    return options_.check ? options_.check(connection.response(), why) : 0;
  }

  void failed(size_t index, int kind, const std::string& why) {
    if (!std::exchange(slots_[index].in_flight, false)) return;
    problems_.try_emplace(kind, why);
    const TimePoint now = SteadyClock::now();
    if (kind == kNoConnection) {
      if (!refused_since_) refused_since_ = now;
      if (now - *refused_since_ >= options_.gone_after) gone_ = true;
    }
    const Late late{kind == kNoConnection ? now + kPause : now, index, kind};
    failed_.insert(std::upper_bound(failed_.begin(), failed_.end(), late,
                                    [](const Late& a, const Late& b) { return a.at < b.at; }),
                   late);
  }

  void time_out(TimePoint now) {
    if (now < next_look_) return;
    next_look_ = now + kLook;
    for (size_t index = 0; index < slots_.size(); ++index) {
      if (!slots_[index].in_flight || now - slots_[index].begun < options_.timeout) continue;
      connections_[index].close();
      failed(index, kTimeout, fmt::format("no answer within {:.4g} ms", to_ms(options_.timeout)));
    }
  }

  const ServerTargetOptions& options_;
  Poller poller_;
  const int thread_;
  std::vector<Slot> slots_;
  std::deque<Connection> connections_;
  TimePoint next_look_;      // for requests that have timed out
  std::deque<Late> failed_;  // in order of time
  std::optional<TimePoint> refused_since_;
  size_t next_ = 0;  // of the requests
  int64_t begun_ = 0;
  bool brief_ = false;  // the last timed request was
};

ServerTarget::ServerTarget(ServerTargetOptions options) : options_(std::move(options)) {}
ServerTarget::~ServerTarget() = default;

Result<std::unique_ptr<ServerTarget>> ServerTarget::open(ServerTargetOptions options) {
  options.threads = std::clamp(options.threads, 1, options.concurrency);
  RIDGE_TRY(allow_descriptors(options.concurrency));
  std::unique_ptr<ServerTarget> target(new ServerTarget(std::move(options)));
  const ServerTargetOptions& own = target->options_;
  for (int thread = 0; thread < own.threads; ++thread) {
    RIDGE_ASSIGN(Poller poller, Poller::open());
    const int count = (own.concurrency - thread + own.threads - 1) / own.threads;
    target->groups_.push_back(std::make_unique<Group>(own, std::move(poller), thread, count));
  }
  if (!own.connect_first) return target;
  for (const auto& group : target->groups_) RIDGE_TRY(group->connect_all());
  return target;
}

void ServerTarget::begin(int caller) {
  const auto number = static_cast<size_t>(caller);
  groups_[number % groups_.size()]->begin(number / groups_.size());
}

void ServerTarget::wait(int thread, TimePoint until, const std::function<void(const Ended&)>& ended) {
  groups_[static_cast<size_t>(thread)]->wait(until, ended);
}

bool ServerTarget::gone() const {
  return std::all_of(groups_.begin(), groups_.end(), [](const auto& group) { return group->gone_.load(); });
}

std::map<int, std::string> ServerTarget::problems() const {
  std::map<int, std::string> all;
  for (const auto& group : groups_) all.insert(group->problems_.begin(), group->problems_.end());
  return all;
}

int64_t ServerTarget::reconnects() const {
  int64_t sum = 0;
  for (const auto& group : groups_) sum += group->reconnects();
  return sum;
}

uint64_t ServerTarget::answer_bytes() const {
  uint64_t most = 0;
  for (const auto& group : groups_) most = std::max(most, group->answer_bytes_);
  return most;
}

}  // namespace ridge::client
