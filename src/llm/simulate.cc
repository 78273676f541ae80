#include "llm/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <queue>
#include <set>

#include "base/random.h"

namespace ridge::llm {
namespace {

constexpr int64_t kRequestsPerSequence = 10;  // of InferenceX
constexpr int64_t kOpenRequests = 2000;

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  double uniform() { return static_cast<double>(split_mix(seed_ + ++n_ * kGoldenGamma) >> 11) * 0x1p-53; }
  int64_t between(int64_t low, int64_t high) {
    return std::min(high, low + static_cast<int64_t>(uniform() * static_cast<double>(high - low + 1)));
  }
  double exponential(double rate) { return -std::log1p(-uniform()) / rate; }

 private:
  uint64_t seed_, n_ = 0;
};

// A request on its way.
struct Sequence {
  double sent_s = 0, first_s = -1, last_s = 0;
  int64_t prompt = 0, output = 0;
  double computed = 0;    // tokens of the prompt that are in the cache
  double to_compute = 0;  // the prompt, and after a preemption what was decoded before
  double decoded = 0;     // when it began to decode (again), beside the first
  int64_t began = 0;      // decode steps before that
  int64_t ends = 0;       // decode steps when it is done
  int64_t admitted = 0;   // order of admission
};

// Requests of equal lengths do not stay in step where prompts share steps with decoding; prompts computed alone hold
// all sequences meanwhile, and these stay together. (Seen in the public runs with fixed lengths: with waves kept
// together, the time to the first token of prompts of 1024 tokens that share steps is predicted four times too long;
// without them it is a quarter of what prompts need that are computed alone.)
constexpr double kLosesStep = 0.1;  // of the output length, either way

// In which a GPU's clock follows its power (assumed).
constexpr double kClockSeconds = 1;

class Server {
 public:
  Server(const StepSeconds& seconds, const EngineCosts& costs, const Scheduler& scheduler, const Workload& workload)
      : seconds_(seconds),
        scheduler_(scheduler),
        rules_(rules_of(scheduler.engine)),
        workload_(workload),
        front_{.token_s = costs.token_us * 1e-6, .parallel = workload.routed},
        lag_steps_(costs.lag_steps),
        steps_ahead_(costs.steps_ahead),
        way_s_(1e-3 * (costs.fixed_ms + (workload.routed ? costs.router_ms : 0))) {
    for (const Request& request : requests_of(workload, scheduler.engine)) {
      Sequence s;
      s.sent_s = request.sent_s;
      s.prompt = request.prompt;
      s.output = request.output;
      s.to_compute = static_cast<double>(request.prompt);
      s.computed = std::min(s.to_compute - 1, std::floor(s.to_compute * workload.prefix_hit));
      sequences_.push_back(s);
    }
    closed_ = workload.trace.empty() && workload.concurrency > 0;
    const size_t first = closed_ ? static_cast<size_t>(workload.concurrency) : sequences_.size();
    while (sent_ < std::min(first, sequences_.size())) send(sequences_[sent_].sent_s);
  }

  Status run() {
    while (done_ < sequences_.size()) {
      receive();
      Step step = next_step();
      if (step.sequences == 0 && step.chunks.empty()) {
        RIDGE_TRY(wait());
        continue;
      }
      const int64_t count = step.chunks.empty() ? steps_at_once() : 1;
      if (holds_) waited_ += count;
      // In the middle of the steps taken together.
      step.cached += 0.5 * static_cast<double>(count - 1) * step.sequences * workload_.tokens_per_step;
      step.sustained = sustained_;
      const double one = seconds_(step), seconds = one * static_cast<double>(count);
      now_ += seconds;
      composed_s_ = now_ - steps_ahead_ * one;
      const double kept = std::exp(-seconds / kClockSeconds);
      sustained_ = kept * sustained_ + (step.chunks.empty() ? 0 : 1 - kept);
      decoding_time_ += seconds * (step.sequences > 0 ? decoding() : 0);
      cached_time_ += seconds * (step.sequences > 0 ? step.cached / step.sequences * decoding() : 0);
      if (step.sequences > 0) decode(count, decoding());
      since_receive_ = step.chunks.empty() ? since_receive_ + count : scheduler_.receive_interval;
      end_prompts();
      end_sequences();
    }
    return ok_status();
  }

  Simulation result() const {
    Simulation r = times_of(sequences_, now_, lag_steps_);
    r.preemptions = preemptions_;
    r.mean_decoding = decoding_time_ / now_ / replicas();
    r.mean_cached = decoding_time_ > 0 ? cached_time_ / decoding_time_ : 0;
    return r;
  }

 private:
  double decoding() const { return static_cast<double>(decoding_.size()); }
  double replicas() const { return static_cast<double>(scheduler_.replicas); }
  double room() const { return scheduler_.cache_tokens * replicas(); }  // 0: no limit

  void send(double at) {
    Sequence& s = sequences_[sent_];
    s.sent_s = at;
    const double reached_s = at + way_s_;
    arrivals_.emplace(front_.parallel ? front_.arrival(reached_s, s.prompt) : reached_s, sent_++);
  }

  // Arrival of the next request at the scheduler.
  double next_arrival() const {
    const auto& [at, index] = *arrivals_.begin();
    return front_.parallel ? at : front_.arrival(at, sequences_[index].prompt);
  }

  // The tokens that a sequence takes from the cache when it is admitted.
  double reservation(const Sequence& s) const {
    const double all = static_cast<double>(s.prompt + s.output);
    return rules_.takes_blocks ? s.to_compute : all;
  }

  bool admissible(const Sequence& s) const {
    const size_t running = decoding_.size() + prompts_.size();
    if (running >= static_cast<size_t>(scheduler_.most_sequences * scheduler_.replicas)) return false;
    return room() <= 0 || used_ + reservation(s) <= room();
  }

  void receive() {
    if (rules_.prompts_alone && since_receive_ < scheduler_.receive_interval && !decoding_.empty()) return;
    while (!arrivals_.empty() && next_arrival() <= composed_s_) {
      front_.free_s = next_arrival();
      waiting_.push_back(arrivals_.begin()->second);
      arrivals_.erase(arrivals_.begin());
    }
    since_receive_ = 0;
  }

  Status wait() {
    if (!waiting_.empty()) {
      const Sequence& s = sequences_[waiting_.front()];
      return Error{Code::kInvalid, fmt::format("a request of {} + {} tokens never fits: the cache holds {:.0f}",
                                               s.prompt, s.output, scheduler_.cache_tokens)};
    }
    now_ = composed_s_ = std::max(now_, next_arrival());
    since_receive_ = scheduler_.receive_interval;
    return ok_status();
  }

  Step next_step() {
    Step step;
    double budget = static_cast<double>(scheduler_.chunk_tokens) * replicas();
    if (!rules_.prompts_alone) budget -= decoding() * workload_.tokens_per_step;
    for (Part& part : prompts_) budget -= take(part, budget, step);
    holds_ = holds_prompts();
    if (!holds_) waited_ = 0;
    while (!holds_ && budget > 0 && !waiting_.empty() && admissible(sequences_[waiting_.front()])) {
      Sequence& s = sequences_[waiting_.front()];
      const double rest = s.to_compute - s.computed;
      if (rules_.whole_prompts && rest > budget &&
          (!step.chunks.empty() || rest <= static_cast<double>(scheduler_.chunk_tokens)))
        break;
      used_ += reservation(s);
      s.admitted = ++admissions_;
      prompts_.push_back({waiting_.front(), 0});
      waiting_.pop_front();
      budget -= take(prompts_.back(), budget, step);
    }
    if (!(rules_.prompts_alone && !step.chunks.empty())) {
      make_room();
      step.sequences = decoding();
      step.cached = cached_;
    }
    if (scheduler_.replicas > 1) to_fullest_replica(step);
    return step;
  }

  // Reduces a step of all replicas to the fullest one: sequences are even, prompts go where the fewest tokens are.
  void to_fullest_replica(Step& step) const {
    const double all = step.sequences, each = std::ceil(all / replicas());
    if (all > 0) step.cached *= each / all;
    step.sequences = each;
    std::vector<Step> parts(static_cast<size_t>(scheduler_.replicas));
    std::vector<double> tokens(parts.size(), 0);
    double sum = all * workload_.tokens_per_step;
    for (const Step::Chunk& chunk : step.chunks) {
      const auto least = static_cast<size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
      tokens[least] += chunk.tokens;
      sum += chunk.tokens;
      parts[least].chunks.push_back(chunk);
    }
    const auto fullest = static_cast<size_t>(std::max_element(tokens.begin(), tokens.end()) - tokens.begin());
    step.chunks = parts[fullest].chunks;
    step.prompts_done = std::ceil(step.prompts_done / replicas());
    const double own = each * workload_.tokens_per_step + tokens[fullest];
    if (own > 0) step.balance = sum / replicas() / own;
  }

  // True if prompts wait for more of them.
  bool holds_prompts() const {
    if (waited_ >= scheduler_.batch_wait_steps || waiting_.empty() || decoding_.empty() || !prompts_.empty())
      return false;
    // Other replicas decode meanwhile; if one has nothing to decode, nothing is held.
    if (scheduler_.replicas > 1)
      return decoding() >= replicas() && waiting_.size() < static_cast<size_t>(scheduler_.replicas);
    double tokens = decoding() * workload_.tokens_per_step;
    for (const size_t i : waiting_) tokens += sequences_[i].to_compute - sequences_[i].computed;
    return tokens < scheduler_.batch_wait_share * static_cast<double>(scheduler_.chunk_tokens);
  }

  struct Part {
    size_t index = 0;
    double tokens = 0;  // in this step
  };
  double take(Part& part, double budget, Step& step) {
    const Sequence& s = sequences_[part.index];
    part.tokens = std::max(0.0, std::min(budget, s.to_compute - s.computed));
    if (part.tokens > 0) step.chunks.push_back({part.tokens, s.computed});
    if (part.tokens > 0 && s.computed + part.tokens >= s.to_compute) step.prompts_done += 1;
    return part.tokens;
  }

  // The last one admitted is preempted where no blocks are left.
  void make_room() {
    if (!rules_.takes_blocks || room() <= 0) return;
    while (decoding_.size() > 1 && used_ + decoding() * workload_.tokens_per_step > room()) {
      const auto last = std::max_element(decoding_.begin(), decoding_.end(), [&](const auto& a, const auto& b) {
        return sequences_[a.second].admitted < sequences_[b.second].admitted;
      });
      Sequence& s = sequences_[last->second];
      const double holds = held(s);
      s.decoded += static_cast<double>(steps_done_ - s.began) * workload_.tokens_per_step;
      s.to_compute = holds;
      s.computed = 0;
      used_ -= holds;
      cached_ -= holds;
      waiting_.push_front(last->second);
      decoding_.erase(last);
      ++preemptions_;
    }
  }

  double held(const Sequence& s) const {
    return s.to_compute + static_cast<double>(steps_done_ - s.began) * workload_.tokens_per_step;
  }

  // Until a sequence ends, a request arrives or the cache is full.
  int64_t steps_at_once() const {
    if (decoding_.empty()) return 1;
    int64_t count = std::min(kMostStepsAtOnce, decoding_.begin()->first - steps_done_);
    if (!arrivals_.empty()) {
      Step next;
      next.sequences = decoding();
      next.cached = cached_;
      if (scheduler_.replicas > 1) to_fullest_replica(next);
      const double one = seconds_(next);
      const double until = std::max(0.0, next_arrival() - now_) / one;
      int64_t steps = until < 1e6 ? static_cast<int64_t>(until) + 1 : kMostStepsAtOnce;
      if (rules_.prompts_alone) steps = std::max(steps, scheduler_.receive_interval - since_receive_);
      count = std::min(count, steps);
    }
    if (holds_) count = std::min(count, scheduler_.batch_wait_steps - waited_);
    if (rules_.takes_blocks && scheduler_.cache_tokens > 0) {
      count = std::min(count, static_cast<int64_t>((room() - used_) / (decoding() * workload_.tokens_per_step)));
    }
    return std::max<int64_t>(count, 1);
  }

  void decode(int64_t count, double sequences) {
    steps_done_ += count;
    const double tokens = static_cast<double>(count) * sequences * workload_.tokens_per_step;
    cached_ += tokens;
    if (rules_.takes_blocks) used_ += tokens;
  }

  void end_prompts() {
    while (!prompts_.empty()) {
      Part& part = prompts_.front();
      Sequence& s = sequences_[part.index];
      if (s.computed + part.tokens < s.to_compute) break;
      s.computed = s.to_compute;
      if (s.first_s < 0) s.first_s = now_;
      s.began = steps_done_;
      const double rest = std::max(0.0, static_cast<double>(s.output - 1) - s.decoded);
      s.ends = steps_done_ + static_cast<int64_t>(std::ceil(rest / workload_.tokens_per_step));
      cached_ += s.to_compute;
      decoding_.emplace(s.ends, part.index);
      prompts_.pop_front();
    }
    for (Part& part : prompts_) {
      sequences_[part.index].computed += part.tokens;
      part.tokens = 0;
    }
  }

  void end_sequences() {
    while (!decoding_.empty() && decoding_.begin()->first <= steps_done_) {
      Sequence& s = sequences_[decoding_.begin()->second];
      decoding_.erase(decoding_.begin());
      s.last_s = now_;
      const double holds = held(s);
      cached_ -= holds;
      used_ -= rules_.takes_blocks ? holds : reservation(s);
      ++done_;
      if (closed_ && sent_ < sequences_.size()) send(now_);
    }
    if (decoding_.empty()) cached_ = 0;
  }

  const StepSeconds& seconds_;
  const Scheduler& scheduler_;
  const EngineRules& rules_;
  const Workload& workload_;
  bool closed_ = true;
  std::vector<Sequence> sequences_;
  size_t sent_ = 0, done_ = 0;
  FrontEnd front_;
  const double lag_steps_, steps_ahead_, way_s_;  // to the front end
  std::set<std::pair<double, size_t>> arrivals_;  // at the front end, behind a router at the scheduler
  std::deque<size_t> waiting_;
  std::deque<Part> prompts_;                       // admitted, their prompts not yet computed
  std::set<std::pair<int64_t, size_t>> decoding_;  // by the step of their end
  double now_ = 0, cached_ = 0, used_ = 0;
  double composed_s_ = 0;  // when the next step was: requests that came later wait for another
  double sustained_ = 0;   // share of the last kClockSeconds in steps with prompts
  double decoding_time_ = 0, cached_time_ = 0;
  bool holds_ = false;
  int64_t waited_ = 0;  // steps that prompts have waited for more of them
  int64_t steps_done_ = 0, since_receive_ = 1 << 30, admissions_ = 0, preemptions_ = 0;
};

}  // namespace

std::vector<Request> requests_of(const Workload& w, EngineKind engine) {
  if (!w.trace.empty()) return w.trace;
  Random random(w.seed);
  int64_t count = w.requests;
  if (count == 0) count = w.concurrency > 0 ? kRequestsPerSequence * w.concurrency : kOpenRequests;
  std::vector<Request> requests;
  double at = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (w.concurrency == 0) at += random.exponential(w.requests_per_s);
    const int64_t prompt = random.between(w.prompt_min, w.prompt_max);
    int64_t low = w.output_min, high = w.output_max;
    if (low == high && w.concurrency > 0 && !rules_of(engine).prompts_alone) {
      low = std::max<int64_t>(1, std::llround((1 - kLosesStep) * static_cast<double>(low)));
      high = std::llround((1 + kLosesStep) * static_cast<double>(high));
    }
    requests.push_back({.sent_s = at, .prompt = prompt, .output = random.between(low, high)});
  }
  return requests;
}

double FrontEnd::arrival(double sent_s, int64_t prompt) const {
  const double begin = parallel ? sent_s : std::max(sent_s, free_s);
  return begin + kFrontSeconds + token_s * static_cast<double>(prompt);
}

Summary summary_of(std::vector<double> values) {
  Summary s;
  if (values.empty()) return s;
  for (const double value : values) s.mean += value / static_cast<double>(values.size());
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
  };
  s.p50 = at(0.5);
  s.p99 = at(0.99);
  return s;
}

Result<Simulation> simulate(const StepSeconds& seconds, const EngineCosts& costs, const Scheduler& scheduler,
                            const Workload& workload) {
  Server server(seconds, costs, scheduler, workload);
  RIDGE_TRY(server.run());
  return server.result();
}

}  // namespace ridge::llm
