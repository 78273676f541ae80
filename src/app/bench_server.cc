#include "app/bench_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "app/bench_target.h"
#include "app/known_machine.h"
#include "app/next_steps.h"
#include "base/units.h"
#include "client/exchange.h"
#include "client/inference_server.h"
#include "client/judgement.h"
#include "client/server_target.h"
#include "cost/costs.h"
#include "engine/model_file.h"
#include "machine/disturbance.h"
#include "measure/load.h"
#include "measure/rate_search.h"
#include "measure/statistics.h"
#include "model/reader.h"

namespace ridge::app {
namespace {

using client::Point;
using client::ServerMeasurement;

constexpr int kOpenConnections = 128, kOpenStreams = 1024;       // an answer of a language model takes seconds
constexpr int kMostVisits = 14;                                  // of a search, the first closed loop included
constexpr auto kWatchedBefore = std::chrono::milliseconds(500);  // 50 ticks of the kernel's counters

// One load of the plan.
struct Step {
  int concurrency = 1;
  std::optional<double> rate_per_s;
  std::vector<Nanoseconds> arrivals;  // of a trace, in place of the rate's, which is their mean
};

std::string text_of(const Step& step) {
  if (step.rate_per_s) return format_rate(*step.rate_per_s, "requests");
  return counted(step.concurrency, "caller");
}

// ------------------------------------------------------------------------------------------------------- one load

// CPU time of this process [s], and of its threads that waited for a CPU.
struct CpuTime {
  double run_s = 0, wait_s = 0;
  bool knows_waiting = false;
  TimePoint at;
};

CpuTime cpu_time(Clock& clock) {
  CpuTime time;
  timespec run{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &run);
  time.run_s = static_cast<double>(run.tv_sec) + static_cast<double>(run.tv_nsec) * 1e-9;
  for (const auto& [id, thread] : machine::read_threads(machine::proc_root())) {
    time.wait_s += thread.wait_s;
    time.knows_waiting = true;
  }
  time.at = clock.now();
  return time;
}

client::ClientSide client_side(const CpuTime& before, const CpuTime& after, const measure::LoadResult& load,
                               int threads) {
  client::ClientSide side;
  side.threads = threads;
  const double seconds = to_seconds(after.at - before.at);
  if (seconds > 0) {
    side.cpus = (after.run_s - before.run_s) / seconds;
    if (after.knows_waiting) side.waiting = std::max(0.0, (after.wait_s - before.wait_s) / seconds);
  }
  side.send_ms = to_ms(load.mean_times.input);
  side.wait_ms = to_ms(load.mean_times.compute);
  side.receive_ms = to_ms(load.mean_times.output);
  return side;
}

// Puts the loads of a plan on a server, one after another.
class Loads {
 public:
  Loads(const ServerBenchRequest& request, ServerUnderTest& found, const RunControl& control,
        machine::DisturbanceWatch* watch)
      : request_(request), server_(found), control_(control), watch_(watch) {}

  // Warming up takes a fifth of the time at most. The latencies stay in load().
  Result<Point> measure(const Step& step, Nanoseconds time, const std::string& what, double share_begun, double share) {
    client::ServerTargetOptions options;
    options.url = server_.exchange.url();
    options.address = server_.exchange.address();
    options.requests = server_.requests;
    options.concurrency = step.concurrency;
    options.threads = request_.threads;
    // At a fixed rate most connections stay idle, and llama.cpp's server has a thread for each.
    options.connect_first = !server_.llm || !step.rate_per_s;
    options.timeout = request_.timeout;
    options.interrupted = [&] { return control_.stopped(); };
    std::vector<std::vector<client::TokenRecord>> records(static_cast<size_t>(request_.threads));
    if (server_.llm) {
      options.make = [this, load = loads_++](int64_t number) { return llm_request(*server_.llm, load, number); };
      options.reader = [&](int thread) {
        return std::make_unique<client::TokenStream>(server_.llm->load.streaming, *control_.clock,
                                                     records[static_cast<size_t>(thread)]);
      };
    } else {
      options.check = [&](const client::Response& answer, std::string& why) {
        return server_.exchange.protocol().failure_of(answer, why);
      };
    }
    RIDGE_ASSIGN(const std::unique_ptr<client::ServerTarget> target, client::ServerTarget::open(std::move(options)));
    measure::LoadOptions how = load_options(step, time);
    how.interrupted = [&] { return control_.stopped() || target->gone(); };
    how.progress = [&](double done) { control_.report(what, share_begun + share * done); };
    CpuTime begin, end;
    std::optional<client::Statistics> before, after;
    how.counting_begins = [&] { before = look(begin); };
    how.before_end = [&] {
      end = cpu_time(*control_.clock);
      after = statistics();
      if (watch_ != nullptr) watch_->look();
    };
    RIDGE_ASSIGN(load_, measure::run_load(*target, request_.threads, how, *control_.clock));
    gone_ = target->gone();
    std::optional<client::TokenFigures> tokens;
    if (server_.llm) tokens = figures_of(records);
    if (request_.trace != nullptr)
      request_.trace->push_back({fmt::format("{}, {}", server_.model.name, text_of(step)),
                                 step.concurrency,
                                 std::move(load_.runs),
                                 {},
                                 client::failure_name});
    Point point = describe(step, *target);
    point.tokens = tokens;
    if (begin.at != TimePoint())
      point.client = client_side(begin, end, load_, std::min(request_.threads, step.concurrency));
    if (before && after) point.server = client::difference(*before, *after);
    return point;
  }

  const measure::LoadResult& load() const { return load_; }
  bool gone() const { return gone_; }
  int64_t answer_bytes() const { return answer_bytes_; }

 private:
  measure::LoadOptions load_options(const Step& step, Nanoseconds time) const {
    measure::LoadOptions how;
    how.concurrency = step.concurrency;
    if (step.arrivals.empty()) how.rate_per_s = step.rate_per_s;
    how.arrivals = step.arrivals;
    how.arrival = request_.arrival;
    how.seed = request_.inputs.seed;
    how.keep_runs = request_.trace != nullptr || server_.llm;
    how.warm_up.emplace();
    how.warm_up->max_time = std::min<Nanoseconds>(how.warm_up->max_time, time / 5);
    how.warm_up->min_runs = std::max(how.warm_up->min_runs, request_.warm_up_requests);
    how.stop.max_time = time - time / 5;
    how.stop.half_width_percent = request_.requests ? 0 : request_.half_width_percent;
    if (request_.requests) how.stop.max_samples = *request_.requests;
    if (step.arrivals.empty()) return how;
    how.warm_up.reset();  // every request of a trace counts
    how.stop.max_time = time > Nanoseconds(0) ? time : step.arrivals.back() + 2 * request_.timeout;
    return how;
  }

  client::TokenFigures figures_of(std::vector<std::vector<client::TokenRecord>>& records) const {
    for (size_t thread = 1; thread < records.size(); ++thread)
      std::move(records[thread].begin(), records[thread].end(), std::back_inserter(records.front()));
    return client::token_figures(load_.runs, records.front(), load_.rate_per_s, server_.llm->load.goals);
  }

  std::optional<client::Statistics> look(CpuTime& time) {
    std::optional<client::Statistics> found = statistics();
    time = cpu_time(*control_.clock);
    return found;
  }

  std::optional<client::Statistics> statistics() {
    if (!has_extension(server_.server, "statistics")) return std::nullopt;
    Result<client::Statistics> found = client::statistics(server_.exchange, server_.version);
    if (!found) return std::nullopt;
    return *found;
  }

  Point describe(const Step& step, const client::ServerTarget& target) {
    Point point;
    point.concurrency = step.concurrency;
    point.rate_per_s = step.rate_per_s;
    point.requests_per_s = load_.rate_per_s;
    point.rows_per_s = load_.rate_per_s * static_cast<double>(server_.inputs.batch);
    point.samples = static_cast<int64_t>(load_.latencies_ms.size());
    if (point.samples > 0) {
      point.latency_ms = measure::latency_of(load_.latencies_ms);
      point.latency_ci95_ms = measure::percentile_intervals(load_.latencies_ms);
      point.histogram = measure::histogram_of(load_.latencies_ms);
    }
    point.ci95_percent = load_.half_width_percent;
    if (!step.rate_per_s) point.rows_ci95_per_s = measure::rate_interval(point.rows_per_s, point.ci95_percent);
    if (step.rate_per_s)
      point.load = measure::OpenLoad{*step.rate_per_s, load_.rate_per_s, load_.busy_share, load_.mean_queueing_ms};
    for (const auto& [kind, count] : load_.failures) point.failures[client::failure_name(kind)] = count;
    for (const auto& [kind, text] : target.problems()) point.problems[client::failure_name(kind)] = text;
    point.reconnects = target.reconnects();
    point.interrupted = load_.interrupted;
    answer_bytes_ = static_cast<int64_t>(target.answer_bytes());
    return point;
  }

  const ServerBenchRequest& request_;
  ServerUnderTest& server_;
  const RunControl& control_;
  machine::DisturbanceWatch* watch_;
  measure::LoadResult load_;
  int64_t loads_ = 0;  // begun
  bool gone_ = false;
  int64_t answer_bytes_ = 0;
};

// ------------------------------------------------------------------------------------------------------- the plan

int open_connections(const ServerBenchRequest& request) {
  if (!request.concurrency.empty()) return request.concurrency.front();
  return request.url.endpoint.empty() ? kOpenConnections : kOpenStreams;
}

// The requests of a trace at its own times.
Step trace_step(int connections, const std::vector<llm::Request>& trace) {
  Step step{std::min<int>(connections, static_cast<int>(trace.size())), {}, {}};
  for (const llm::Request& one : trace) step.arrivals.push_back(from_seconds(one.sent_s));
  const double seconds = std::max(trace.back().sent_s, 1e-3);
  step.rate_per_s = static_cast<double>(trace.size()) / seconds;
  return step;
}

std::vector<Step> steps_of(const ServerBenchRequest& request, const std::optional<LlmServer>& llm) {
  std::vector<Step> steps;
  const int open = open_connections(request);
  for (double rate : request.rates_per_s) steps.push_back({open, rate, {}});
  if (steps.empty() && llm && !llm->trace.empty()) steps.push_back(trace_step(open, llm->trace));
  if (!steps.empty()) return steps;
  for (int callers : request.concurrency) steps.push_back({callers, {}, {}});
  if (steps.empty()) steps.emplace_back();
  return steps;
}

// True if to go on.
bool keep(ServerMeasurement& m, const Loads& loads, Point point) {
  m.interrupted = point.interrupted && !loads.gone();
  if (loads.gone())
    m.ended_early = fmt::format("at {} callers no connection could be opened for a second: {}", point.concurrency,
                                point.problems["no connection"]);
  const bool go_on = !point.interrupted;
  if (point.samples > 0 || !point.failures.empty()) m.points.push_back(std::move(point));
  return go_on;
}

Status sweep(const ServerBenchRequest& request, const std::optional<LlmServer>& llm, Loads& loads,
             ServerMeasurement& m) {
  const std::vector<Step> steps = steps_of(request, llm);
  const double share = 1.0 / static_cast<double>(steps.size());
  const auto count = static_cast<int64_t>(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    RIDGE_ASSIGN(Point point, loads.measure(steps[i], request.max_time / count, text_of(steps[i]),
                                            share * static_cast<double>(i), share));
    if (!keep(m, loads, std::move(point))) return {};
  }
  return {};
}

void conclude(ServerMeasurement& m, const measure::RateSearch& search,
              const std::optional<client::LimitedBy>& limiter) {
  m.search->highest_per_s = search.highest();
  m.search->lowest_failed_per_s = search.lowest_failed();
  m.search->confirmed = search.confirmed();
  if (limiter) m.search->limiter = limiter->id, m.search->sentence = limiter->sentence;
}

// One caller first: what a request takes without any other, and with it where to begin.
Status search_rate(const ServerBenchRequest& request, Loads& loads, ServerMeasurement& m) {
  m.search.emplace().p99_ms = *request.p99_ms;
  const Nanoseconds each = request.max_time / kMostVisits;
  const double share = 1.0 / kMostVisits;
  RIDGE_ASSIGN(const Point alone, loads.measure({}, each, text_of(Step{}), 0, share));
  if (!keep(m, loads, alone) || alone.samples == 0) return {};
  if (alone.latency_ms.p50 > *request.p99_ms) {
    m.search->limiter = "latency";
    m.search->sentence = "One request at a time already takes " + format_ms(alone.latency_ms.p50) + " at the median.";
    return {};
  }
  measure::RateSearchOptions options;
  options.first_per_s = alone.requests_per_s / 2;
  options.least_per_s = alone.requests_per_s / 64;
  options.most_visits = kMostVisits - 1;
  measure::RateSearch search(options);
  std::optional<client::LimitedBy> limiter;
  const int connections = open_connections(request);
  while (const std::optional<double> rate = search.next()) {
    const Step step{connections, rate, {}};
    RIDGE_ASSIGN(const Point point, loads.measure(step, each, text_of(step), share * (search.visits() + 1), share));
    if (!keep(m, loads, point)) break;
    const client::Verdict verdict = client::judge(point, loads.load().latencies_ms, *request.p99_ms);
    search.report(verdict.met);
    if (search.lowest_failed() == rate) limiter = client::limited_by(point, verdict.why);
  }
  conclude(m, search, limiter);
  return {};
}

// ------------------------------------------------------------------------------------------------------ the limit

// Rows of the largest execution that the server reports: no batch that it made was cheaper per row.
int64_t largest_batch(const ServerMeasurement& m) {
  int64_t rows = m.batch;
  for (const Point& point : m.points)
    if (point.server)
      for (const auto& [batch, runs] : point.server->batches) rows = std::max<int64_t>(rows, std::stoll(batch));
  return rows;
}

Status set_beside_limit(const ServerBenchRequest& request, const ServerUnderTest& found,
                        const model::UnboundModel& model, const RunControl& control, ServerMeasurement& m) {
  client::ServerLimit limit;
  limit.model = request.model_file;
  limit.batch = largest_batch(m);
  model::Binding binding;
  for (size_t i = 0; i < found.model.inputs.size(); ++i) {
    Shape shape = m.inputs[i].shape;
    if (!shape.empty() && found.model.inputs[i].shape.front() < 0) shape.front() = limit.batch;
    binding.shapes[found.model.inputs[i].name] = shape;
  }
  RIDGE_ASSIGN(const model::Graph graph, model.bind(binding));
  RIDGE_ASSIGN(const machine::Machine machine, know_machine(false, control));
  const int threads = machine::usable_threads(machine);
  RIDGE_ASSIGN(const cost::DeviceLimits limits, cost::limits_of(machine, threads));
  const cost::Bound bound = cost::bound(cost::count(graph), limits);
  limit.bound_ms = bound.ms;
  limit.limiter = bound.limiter;
  if (bound.ms > 0)
    limit.rows_per_s = static_cast<double>(limit.batch) / bound.ms * 1e3 * machine::quota_factor(machine, threads);
  if (limit.rows_per_s > 0)
    for (Point& point : m.points) point.percent_of_limit = 100 * point.rows_per_s / limit.rows_per_s;
  m.limit = limit;
  if (std::any_of(m.points.begin(), m.points.end(),
                  [](const Point& p) { return p.percent_of_limit.value_or(0) > 100; }))
    m.notes.push_back(
        "More than 100 % of the limit is impossible for the CPUs of this machine: the server computes elsewhere, or "
        "the stored "
        "limits are too low (ridge bench device --fresh).");
  return {};
}

ServerMeasurement describe(const ServerUnderTest& found) {
  ServerMeasurement m;
  m.url = client::text_of(found.exchange.url());
  m.server = found.server.name;
  m.server_version = found.server.version;
  m.on_this_machine = found.exchange.on_this_machine();
  m.model = found.model.name;
  m.model_version = found.version;
  m.batch = found.inputs.batch;
  m.inputs = found.inputs.described;
  m.payload = found.payload;
  if (found.requests) m.requests = static_cast<int64_t>(found.requests->size());
  if (found.llm) m.token_load = found.llm->load;
  m.request_bytes = found.request_bytes;
  m.notes = found.inputs.notes;
  return m;
}

// Measures other processes while the server has nothing to do for us. Under load its own work would count among theirs,
// and which process it is cannot be told for sure (containers, forwarded ports).
machine::Disturbance before_the_load(Clock& clock) {
  machine::DisturbanceWatch watch;
  clock.sleep_for(kWatchedBefore);
  return watch.end();
}

}  // namespace

// find the server → load → beside the limit
Result<ServerMeasurement> bench_server(const ServerBenchRequest& request, const RunControl& control) {
  std::optional<model::UnboundModel> file;
  std::optional<model::Graph> graph;
  const bool llm = !request.url.endpoint.empty();
  if (!llm && !request.model_file.empty()) {
    RIDGE_ASSIGN(file, engine::read_model(request.model_file));
    model::Binding binding;
    binding.batch = request.inputs.batch.value_or(1);
    binding.insist_on_batch = false;
    RIDGE_ASSIGN(graph, file->bind(binding));
  }
  control.report("connect", 0);
  RIDGE_ASSIGN(ServerUnderTest found, find_server(request, graph ? &*graph : nullptr));
  ServerMeasurement m = describe(found);
  if (!request.model_file.empty() && !m.on_this_machine && !request.llm.limit.device)
    return invalid(fmt::format("--model {}: the limit of this machine says nothing about a server on another one{}",
                               request.model_file, llm ? "; --device NAME is its GPU (ridge gpus)" : ""));
  std::optional<llm::cpu::KnownLimit> token_limit;
  if (llm && !request.model_file.empty()) {
    RIDGE_ASSIGN(const llm::cpu::KnownLimit known, know_limit(request.model_file, request.llm.limit, control));
    token_limit.emplace(known);
  }
  std::optional<machine::DisturbanceWatch> watch;
  if (m.on_this_machine)
    m.disturbance = before_the_load(*control.clock);
  else
    watch.emplace();
  Loads loads(request, found, control, watch ? &*watch : nullptr);
  const Status loaded = request.p99_ms ? search_rate(request, loads, m) : sweep(request, found.llm, loads, m);
  if (!loaded && m.points.empty()) return loaded.error();
  if (!loaded) m.ended_early = loaded.error().message;  // the finished points stay
  m.answer_bytes = loads.answer_bytes();
  if (watch) m.disturbance = watch->end();
  if (m.points.empty() && m.interrupted) return Error{Code::kCancelled, "interrupted before the first answer"};
  if (m.points.empty()) return Error{Code::kUnavailable, m.ended_early};
  if (token_limit) set_beside_limit(*token_limit, m);
  if (file && !m.interrupted)
    if (Status beside = set_beside_limit(request, found, *file, control, m); !beside)
      m.notes.push_back("no limit beside the figures: " + beside.error().message);
  return m;
}

}  // namespace ridge::app
