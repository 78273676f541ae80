#include "hw/limits.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "hw/crew.h"
#include "hw/memory_kernels.h"
#include "hw/peak_kernels.h"

namespace ridge::hw {
namespace {

constexpr const char* kStep = "peak rates and bandwidths";
constexpr double kBurstSeconds = 1.5e-3;
constexpr int kBurstsPerVisit = 3;
constexpr int64_t kClockAdditions = 64 * 1024;  // about 20 µs
constexpr double kStillGrowing = 1.003;         // a figure that grew by more asks for further rounds
constexpr int kQuietRounds = 3;
constexpr double kHopeless = 0.85;  // of the best, after kTrialRounds: the kernel is dropped
constexpr int kTrialRounds = 2;

// One kernel that may be the answer to a question.
struct Candidate {
  std::string kernel;
  std::function<void(Crew::Member&, int64_t repeats)> work;
  double units_per_repeat = 0;  // FLOPs or bytes, per thread
  bool reads_only = false;      // of memory kernels
  int64_t working_set = 0;      // [bytes], all threads
  int64_t repeats = 0;          // of one burst; 0 = not calibrated yet
  std::vector<double> rates;    // of every burst [units/s], all threads
  double best_rate = 0;
  double clock_hz = 0;  // during the best burst, mean of the threads
  bool dropped = false;
};

// What is asked: a precision or a level with a number of threads.
struct Question {
  int threads = 1;
  bool is_peak = false;
  Precision precision = Precision::kFp32;
  std::string level;
  std::vector<Candidate> candidates;
  double best() const {
    double rate = 0;
    for (const Candidate& candidate : candidates) rate = std::max(rate, candidate.best_rate);
    return rate;
  }
};

std::vector<Question> peak_questions(const Machine& machine, int threads) {
  std::vector<Question> questions;
  for (const PeakKernel* kernel : peak_kernels_for(machine.cpu.isa)) {
    if (questions.empty() || questions.back().precision != kernel->precision) {
      Question question;
      question.threads = threads;
      question.is_peak = true;
      question.precision = kernel->precision;
      questions.push_back(std::move(question));
    }
    Candidate candidate;
    candidate.kernel = kernel->name;
    candidate.units_per_repeat = kernel->flops_per_iteration;
    candidate.work = [run = kernel->run](Crew::Member&, int64_t repeats) { run(repeats); };
    questions.back().candidates.push_back(std::move(candidate));
  }
  return questions;
}

Candidate memory_candidate(const MemoryKernel& kernel, int64_t bytes, int threads) {
  Candidate candidate;
  candidate.kernel = kernel.name;
  candidate.units_per_repeat = static_cast<double>(bytes);
  candidate.reads_only = kernel.traffic == Traffic::kRead;
  candidate.working_set = bytes * threads;
  candidate.work = [run = kernel.run, size = static_cast<size_t>(bytes)](Crew::Member& member, int64_t repeats) {
    run(member.memory().data(), size, repeats);
  };
  return candidate;
}

std::vector<Question> memory_questions(const Machine& machine, int threads) {
  std::vector<Question> questions;
  for (const WorkingSet& set : working_sets(machine, threads)) {
    if (questions.empty() || questions.back().level != set.level) {
      Question question;
      question.threads = threads;
      question.level = set.level;
      questions.push_back(std::move(question));
    }
    for (const MemoryKernel* kernel : memory_kernels_for(machine.cpu.isa))
      if (kernel->traffic != Traffic::kTriadNonTemporal || set.level == "DRAM")  // such stores pass the caches by
        questions.back().candidates.push_back(memory_candidate(*kernel, set.bytes_per_thread, threads));
  }
  return questions;
}

double burst_seconds(Crew& crew, const Candidate& candidate, int64_t repeats) {
  Nanoseconds taken{};
  crew.run(1, [&](Crew::Member& member) {
    TimePoint start = Clock::now();
    candidate.work(member, repeats);
    taken = Clock::now() - start;
  });
  return to_seconds(taken);
}

// How often the kernel repeats in one burst.
int64_t calibrate(Crew& crew, const Candidate& candidate) {
  int64_t repeats = 1;
  double seconds = burst_seconds(crew, candidate, repeats);
  while (seconds < kBurstSeconds / 8) {
    repeats *= 4;
    seconds = burst_seconds(crew, candidate, repeats);
  }
  return std::max<int64_t>(1, std::llround(static_cast<double>(repeats) * kBurstSeconds / seconds));
}

struct Burst {
  TimePoint start, end;
  double clock_hz = 0;
};

// The clock while the kernel's effect on it (heat, licence for wide vectors) still lasts: right after the burst.
double observe_clock() {
  TimePoint start = Clock::now();
  if (!run_addition_chain(kClockAdditions)) return 0;
  return static_cast<double>(kClockAdditions) / to_seconds(Clock::now() - start);
}

// Takes one burst of all threads into account: everything done, over the time from the first start to the last end.
void record(Candidate& candidate, const std::vector<std::vector<Burst>>& threads, size_t number) {
  TimePoint start = threads[0][number].start, end = threads[0][number].end;
  double clock_hz = 0;
  for (const std::vector<Burst>& bursts : threads) {
    start = std::min(start, bursts[number].start);
    end = std::max(end, bursts[number].end);
    clock_hz += bursts[number].clock_hz / static_cast<double>(threads.size());
  }
  double units =
      candidate.units_per_repeat * static_cast<double>(candidate.repeats) * static_cast<double>(threads.size());
  double rate = units / to_seconds(end - start);
  candidate.rates.push_back(rate);
  if (rate <= candidate.best_rate) return;
  candidate.best_rate = rate;
  candidate.clock_hz = clock_hz;
}

void visit(Crew& crew, int thread_count, Candidate& candidate) {
  if (candidate.repeats == 0) candidate.repeats = calibrate(crew, candidate);
  std::vector<std::vector<Burst>> threads(static_cast<size_t>(thread_count), std::vector<Burst>(kBurstsPerVisit));
  crew.run(thread_count, [&](Crew::Member& member) {
    if (candidate.repeats > 1) candidate.work(member, 1);  // fills the caches; a single pass would only evict
    for (Burst& burst : threads[static_cast<size_t>(member.index())]) {
      member.start_together();
      burst.start = Clock::now();
      candidate.work(member, candidate.repeats);
      burst.end = Clock::now();
      burst.clock_hz = observe_clock();
    }
  });
  for (size_t number = 0; number < kBurstsPerVisit; ++number) record(candidate, threads, number);
}

void drop_hopeless(Question& question) {
  double best_read = 0, best_other = 0;
  for (const Candidate& candidate : question.candidates) {
    double& best = candidate.reads_only ? best_read : best_other;
    best = std::max(best, candidate.best_rate);
  }
  for (Candidate& candidate : question.candidates)
    candidate.dropped = candidate.best_rate < kHopeless * (candidate.reads_only ? best_read : best_other);
}

// Visits every question once. True if one of them found a clearly better answer than before.
bool ask_all(Crew& crew, std::vector<Question>& questions, const std::function<void(double share_of_round)>& progress) {
  bool grew = false;
  for (size_t i = 0; i < questions.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(questions.size()));
    double before = questions[i].best();
    for (Candidate& candidate : questions[i].candidates)
      if (!candidate.dropped) visit(crew, questions[i].threads, candidate);
    grew |= questions[i].best() > before * kStillGrowing;
  }
  return grew;
}

// Half of the interquartile range over the median: single bursts that lost the processor do not count.
double spread_percent(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  size_t count = rates.size();
  return 100 * (rates[count * 3 / 4] - rates[count / 4]) / rates[count / 2] / 2;
}

const Candidate* best_of(const Question& question, bool reads_only) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : question.candidates)
    if (candidate.reads_only == reads_only && (!best || candidate.best_rate > best->best_rate)) best = &candidate;
  return best;
}

Peak answer_peak(const Question& question) {
  const Candidate& best = *best_of(question, false);
  return {question.precision, question.threads,           best.best_rate, best.kernel,
          Origin::kMeasured,  spread_percent(best.rates), best.clock_hz};
}

Bandwidth answer_bandwidth(const Question& question) {
  const Candidate* read = best_of(question, true);
  const Candidate* triad = best_of(question, false);
  const Candidate& best = read->best_rate >= triad->best_rate ? *read : *triad;
  Bandwidth bandwidth;
  bandwidth.level = question.level;
  bandwidth.threads = question.threads;
  bandwidth.bytes_per_s = best.best_rate;
  bandwidth.kernel = best.kernel;
  bandwidth.spread_percent = spread_percent(best.rates);
  bandwidth.working_set_bytes = best.working_set;
  bandwidth.read_bytes_per_s = read->best_rate;
  bandwidth.triad_bytes_per_s = triad->best_rate;
  return bandwidth;
}

std::vector<Question> all_questions(const Machine& machine, const std::vector<int>& thread_counts) {
  std::vector<Question> questions;
  for (auto part : {peak_questions, memory_questions})
    for (int threads : thread_counts)
      for (Question& question : part(machine, threads)) questions.push_back(std::move(question));
  return questions;
}

// What each member needs for the largest working set it takes part in.
std::vector<size_t> memory_needs(const std::vector<Question>& questions, int members) {
  std::vector<size_t> needs(static_cast<size_t>(members), 0);
  for (const Question& question : questions)
    for (const Candidate& candidate : question.candidates)
      for (int member = 0; member < question.threads; ++member) {
        size_t& need = needs[static_cast<size_t>(member)];
        need = std::max(need, static_cast<size_t>(candidate.working_set / question.threads));
      }
  return needs;
}

}  // namespace

Result<Limits> measure_limits(const Machine& machine, const MeasureOptions& options) {
  if (peak_kernels_for(machine.cpu.isa).empty())
    return Error{Code::kUnsupported,
                 "measure " + machine.cpu.model +
                     ": this build of ridge has no measuring kernels for its architecture (x86-64 only)"};
  int all = usable_threads(machine);
  std::vector<int> thread_counts = all == 1 ? std::vector{1} : std::vector{1, all};
  std::vector<int> processors(machine.cpu.core_processors.begin(), machine.cpu.core_processors.begin() + all);
  std::vector<Question> questions = all_questions(machine, thread_counts);
  RIDGE_ASSIGN(std::unique_ptr<Crew> crew, Crew::gather(processors, memory_needs(questions, all)));

  TimePoint start = Clock::now();
  int quiet = 0;
  for (int round = 0; round < options.least_rounds || quiet < kQuietRounds; ++round) {
    double used = to_seconds(Clock::now() - start) / options.most_seconds;
    if (round > 0 && used >= 1) break;
    bool grew = ask_all(*crew, questions, [&](double share_of_round) {
      double by_rounds = (round + share_of_round) / (options.least_rounds + kQuietRounds);
      if (options.progress) options.progress(kStep, std::min(0.99, std::max(used, by_rounds)));
    });
    quiet = grew ? 0 : quiet + 1;
    if (round + 1 >= kTrialRounds) std::for_each(questions.begin(), questions.end(), drop_hopeless);
  }
  Limits limits;
  for (const Question& question : questions) {
    if (question.is_peak)
      limits.peaks.push_back(answer_peak(question));
    else
      limits.bandwidths.push_back(answer_bandwidth(question));
  }
  return limits;
}

}  // namespace ridge::hw
