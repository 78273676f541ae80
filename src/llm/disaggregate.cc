#include "llm/disaggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <set>
#include <tuple>

namespace ridge::llm {
namespace {

double to_double(int64_t value) { return static_cast<double>(value); }

struct RequestState {
  double sent_s = 0, first_s = -1, last_s = 0;
  int64_t prompt = 0, output = 0;
  double to_compute = 0;  // tokens of the prompt that are not in a cache
  int64_t began = 0;      // decode steps of its worker before its first one
};

struct PrefillWorker {
  std::deque<size_t> waiting, running;
  double busy_s = 0;
};

struct DecodeWorker {
  std::deque<size_t> waiting;
  std::set<std::pair<int64_t, size_t>> running;  // by the step of their end
  double at_s = 0;                               // when the steps done were
  int64_t steps = 0;
  double cached = 0, used = 0;  // tokens that are there, and that are kept free for
  double step_s = 0;            // of the steps that run now
  int64_t version = 0;          // an event of an older one is void
  double decoding_time = 0, cached_time = 0, busy_s = 0;
};

enum class EventKind { kArrival, kPrefillEnd, kHandover, kDecode };
struct Event {
  double at = 0;
  EventKind kind = EventKind::kArrival;
  size_t index = 0;  // of a sequence or a worker
  int64_t version = 0;
  bool operator>(const Event& o) const {
    return std::tie(at, kind, index, version) > std::tie(o.at, o.kind, o.index, o.version);
  }
};

class Service {
 public:
  Service(const StepTable& prefill_steps, const Pool& prefill, const StepTable& decode_steps, const Pool& decode,
          double transfer_s, EngineKind engine, const EngineCosts& costs, const Workload& workload)
      : prefill_steps_(prefill_steps),
        decode_steps_(decode_steps),
        prefill_(prefill),
        decode_(decode),
        transfer_s_(transfer_s),
        workload_(workload),
        front_{.token_s = costs.token_us * 1e-6, .parallel = true},
        lag_steps_(costs.lag_steps),
        way_s_(1e-3 * (costs.fixed_ms + costs.router_ms + costs.handover_ms)),
        prefill_workers_(static_cast<size_t>(prefill.workers)),
        decode_workers_(static_cast<size_t>(decode.workers)) {
    for (const Request& request : requests_of(workload, engine)) {
      RequestState s;
      s.sent_s = request.sent_s;
      s.prompt = request.prompt;
      s.output = request.output;
      const double prompt = to_double(request.prompt);
      s.to_compute = prompt - std::min(prompt - 1, std::floor(prompt * workload.prefix_hit));
      sequences_.push_back(s);
    }
    closed_ = workload.trace.empty() && workload.concurrency > 0;
    const size_t first = closed_ ? static_cast<size_t>(workload.concurrency) : sequences_.size();
    while (sent_ < std::min(first, sequences_.size())) send(sequences_[sent_].sent_s);
  }

  Status run() {
    for (const RequestState& s : sequences_)
      if (decode_.cache_tokens > 0 && reservation(s) > decode_.cache_tokens)
        return Error{Code::kInvalid, fmt::format("a request of {} + {} tokens never fits: the cache holds {:.0f}",
                                                 s.prompt, s.output, decode_.cache_tokens)};
    while (done_ < sequences_.size()) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
    return ok_status();
  }

  DisaggregatedSimulation result() const {
    double end = 0;
    for (const RequestState& s : sequences_) end = std::max(end, s.last_s);
    DisaggregatedSimulation r;
    r.all = times_of(sequences_, end, lag_steps_);
    double decoding = 0, cached = 0;
    for (const PrefillWorker& worker : prefill_workers_)
      r.prefill_busy += worker.busy_s / end / to_double(prefill_.workers);
    for (const DecodeWorker& worker : decode_workers_) {
      r.decode_busy += worker.busy_s / end / to_double(decode_.workers);
      decoding += worker.decoding_time;
      cached += worker.cached_time;
    }
    r.all.mean_decoding = decoding / end / to_double(decode_.workers * decode_.replicas);
    r.all.mean_cached = decoding > 0 ? cached / decoding : 0;
    return r;
  }

 private:
  void send(double at) {
    RequestState& s = sequences_[sent_];
    s.sent_s = at;
    events_.push(
        {.at = front_.arrival(at + way_s_, s.prompt), .kind = EventKind::kArrival, .index = sent_++, .version = 0});
  }

  double reservation(const RequestState& s) const { return to_double(s.prompt + s.output); }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::kArrival: {
        const size_t worker = prefill_turn_++ % prefill_workers_.size();
        prefill_workers_[worker].waiting.push_back(event.index);
        if (prefill_workers_[worker].running.empty()) begin_prefill(worker, event.at);
        break;
      }
      case EventKind::kPrefillEnd: end_prefill(event.index, event.at); break;
      case EventKind::kHandover: {
        const size_t worker = decode_turn_++ % decode_workers_.size();
        decode_workers_[worker].waiting.push_back(event.index);
        advance(worker, event.at);
        break;
      }
      case EventKind::kDecode:
        if (event.version == decode_workers_[event.index].version) advance(event.index, event.at);
        break;
    }
  }

  // Prompts in order, each to the attention replica that has the fewest tokens, until one is full. A prompt above the
  // limit is computed alone in its replica, in chunks, while the others wait.
  void begin_prefill(size_t index, double now) {
    PrefillWorker& worker = prefill_workers_[index];
    const double limit = to_double(prefill_.chunk_tokens);
    std::vector<std::vector<size_t>> replicas(static_cast<size_t>(prefill_.replicas));
    std::vector<double> tokens(replicas.size(), 0);
    double all = 0;
    while (!worker.waiting.empty()) {
      const RequestState& s = sequences_[worker.waiting.front()];
      const size_t least = static_cast<size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
      if (tokens[least] > 0 && tokens[least] + s.to_compute > limit) break;
      tokens[least] += s.to_compute;
      all += s.to_compute;
      replicas[least].push_back(worker.waiting.front());
      worker.running.push_back(worker.waiting.front());
      worker.waiting.pop_front();
    }
    const size_t fullest = static_cast<size_t>(std::max_element(tokens.begin(), tokens.end()) - tokens.begin());
    const double balance = all / to_double(prefill_.replicas) / tokens[fullest];
    double seconds = 0;
    for (double computed = 0; computed < tokens[fullest]; computed += limit) {
      Step step;
      step.balance = balance;
      step.sustained = now > 0 ? worker.busy_s / now : 0;
      for (const size_t i : replicas[fullest]) {
        const RequestState& s = sequences_[i];
        const double part = std::min(limit, s.to_compute - computed);
        step.chunks.push_back({part, to_double(s.prompt) - s.to_compute + computed});
        if (computed + part >= s.to_compute) step.prompts_done += 1;
      }
      seconds += prefill_steps_.seconds(step);
    }
    worker.busy_s += seconds;
    events_.push({.at = now + seconds, .kind = EventKind::kPrefillEnd, .index = index, .version = 0});
  }

  void end_prefill(size_t index, double now) {
    PrefillWorker& worker = prefill_workers_[index];
    for (const size_t i : worker.running) {
      RequestState& s = sequences_[i];
      if (s.output > 1) {
        events_.push(
            {.at = now + transfer_s_ * to_double(s.prompt), .kind = EventKind::kHandover, .index = i, .version = 0});
        continue;
      }
      s.first_s = now;
      end(s, now);
    }
    worker.running.clear();
    if (!worker.waiting.empty()) begin_prefill(index, now);
  }

  void end(RequestState& s, double now) {
    s.last_s = now;
    ++done_;
    if (closed_ && sent_ < sequences_.size()) send(now);
  }

  // The steps until `now`, the one that runs then among them; then those that wait are taken, and the next steps begin.
  void advance(size_t index, double now) {
    DecodeWorker& worker = decode_workers_[index];
    if (worker.running.empty()) {
      worker.at_s = std::max(worker.at_s, now);
    } else {
      const auto passed = static_cast<int64_t>(std::ceil((now - worker.at_s) / worker.step_s - 1e-6));
      take_steps(worker, std::min(std::max<int64_t>(passed, 0), worker.running.begin()->first - worker.steps));
    }
    while (!worker.running.empty() && worker.running.begin()->first <= worker.steps) {
      RequestState& s = sequences_[worker.running.begin()->second];
      worker.running.erase(worker.running.begin());
      worker.used -= reservation(s);
      worker.cached -= to_double(s.prompt) + to_double(worker.steps - s.began) * workload_.tokens_per_step;
      end(s, worker.at_s);
    }
    if (worker.running.empty()) worker.cached = worker.used = 0;
    admit(worker);
    if (worker.running.empty()) return;
    begin_steps(worker, index);
  }

  void take_steps(DecodeWorker& worker, int64_t count) {
    if (count <= 0) return;
    const double before = worker.at_s, sequences = static_cast<double>(worker.running.size());
    worker.at_s += to_double(count) * worker.step_s;
    worker.steps += count;
    const double gained = to_double(count) * sequences * workload_.tokens_per_step, seconds = worker.at_s - before;
    worker.decoding_time += seconds * sequences;
    worker.cached_time += seconds * (worker.cached + 0.5 * gained);
    worker.busy_s += seconds;
    worker.cached += gained;
  }

  void admit(DecodeWorker& worker) {
    const size_t most = static_cast<size_t>(decode_.most_sequences * decode_.replicas);
    while (!worker.waiting.empty() && worker.running.size() < most) {
      RequestState& s = sequences_[worker.waiting.front()];
      if (decode_.cache_tokens > 0 && !worker.running.empty() &&
          worker.used + reservation(s) > decode_.cache_tokens * to_double(decode_.replicas))
        break;
      worker.used += reservation(s);
      worker.cached += to_double(s.prompt);
      s.began = worker.steps;
      s.first_s = worker.at_s;
      const double rest = to_double(s.output - 1);
      worker.running.emplace(
          worker.steps + std::max<int64_t>(1, std::llround(std::ceil(rest / workload_.tokens_per_step))),
          worker.waiting.front());
      worker.waiting.pop_front();
    }
  }

  // Until a sequence ends; an arrival cuts them short.
  void begin_steps(DecodeWorker& worker, size_t index) {
    const int64_t count = std::min(kMostStepsAtOnce, worker.running.begin()->first - worker.steps);
    const double all = static_cast<double>(worker.running.size());
    Step step;
    step.sequences = std::ceil(all / to_double(decode_.replicas));  // of the fullest replica
    step.balance = all / to_double(decode_.replicas) / step.sequences;
    step.cached = worker.cached / all * step.sequences + 0.5 * to_double(count - 1) * step.sequences *
                                                             workload_.tokens_per_step;  // in the middle of the steps
    worker.step_s = decode_steps_.seconds(step);
    events_.push({.at = worker.at_s + to_double(count) * worker.step_s,
                  .kind = EventKind::kDecode,
                  .index = index,
                  .version = ++worker.version});
  }

  const StepTable &prefill_steps_, &decode_steps_;
  const Pool &prefill_, &decode_;
  const double transfer_s_;
  const Workload& workload_;
  bool closed_ = true;
  FrontEnd front_;
  const double lag_steps_, way_s_;  // to the front end
  std::vector<RequestState> sequences_;
  size_t sent_ = 0, done_ = 0, prefill_turn_ = 0, decode_turn_ = 0;
  std::vector<PrefillWorker> prefill_workers_;
  std::vector<DecodeWorker> decode_workers_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Result<DisaggregatedSimulation> simulate_disaggregated(const StepTable& prefill_steps, const Pool& prefill,
                                                       const StepTable& decode_steps, const Pool& decode,
                                                       double transfer_s, EngineKind engine, const EngineCosts& costs,
                                                       const Workload& workload) {
  Service service(prefill_steps, prefill, decode_steps, decode, transfer_s, engine, costs, workload);
  RIDGE_TRY(service.run());
  return service.result();
}

}  // namespace ridge::llm
