#include "limits/limits.h"

#include <algorithm>
#include <cassert>
#include <memory>

#include "base/clock.h"
#include "limits/burst.h"
#include "limits/memory_kernels.h"
#include "limits/peak_kernels.h"
#include "limits/pinned_threads.h"
#include "limits/rates.h"

namespace ridge::limits {
namespace {

constexpr const char* kStepName = "peak rates and bandwidths";
constexpr size_t kDramParts = 8;         // of a working set of six last caches: each part is 3/4 of one
constexpr int64_t kDramWarmUpParts = 3;  // more than two caches: nothing that other kernels left is still there

// What is asked: a precision or a level with a number of threads.
struct Question {
  int threads = 1;
  bool is_peak = false;
  Precision precision = Precision::kFp32;
  std::string level;
  std::vector<Candidate> candidates;
  double best() const {
    double rate = 0;
    for (const Candidate& candidate : candidates) rate = std::max(rate, candidate.best_rate());
    return rate;
  }
};

std::vector<Question> peak_questions(const machine::Machine& machine, int threads) {
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
    candidate.work = [run = kernel->run](PinnedThreads::Worker&, int64_t repeats) { run(repeats); };
    questions.back().candidates.push_back(std::move(candidate));
  }
  return questions;
}

// What a kernel is run for on a working set, and on which memory.
struct MemoryUse {
  const MemoryKernel& kernel;
  Figure figure;
  int64_t bytes = 0;  // per thread
  std::byte* memory(const PinnedThreads::Worker& member) const {
    return (figure == Figure::kLimit ? member.memory() : member.ordinary_memory()).data();
  }
};

Candidate memory_candidate(const MemoryUse& use, int threads) {
  Candidate candidate;
  candidate.kernel = use.kernel.name;
  candidate.figure = use.figure;
  candidate.units_per_repeat = static_cast<double>(use.bytes);
  candidate.working_set = use.bytes * threads;
  candidate.work = [use](PinnedThreads::Worker& member, int64_t repeats) {
    use.kernel.run(use.memory(member), static_cast<size_t>(use.bytes), repeats);
  };
  return candidate;
}

// For DRAM one pass would be a long burst. So each repeat takes the next part of the working set, round and round: a part
// comes again when all others have passed through the caches.
void use_in_parts(Candidate& candidate, const MemoryUse& use, int threads) {
  const auto part = static_cast<size_t>(use.bytes) / kDramParts / kWorkingSetStep * kWorkingSetStep;
  if (part == 0) return;
  candidate.units_per_repeat = static_cast<double>(part);
  candidate.repeats = 1;
  candidate.warm_up = kDramWarmUpParts;
  candidate.sustained = true;
  auto next = std::make_shared<std::vector<size_t>>(static_cast<size_t>(threads), 0);
  candidate.work = [use, part, next](PinnedThreads::Worker& member, int64_t repeats) {
    size_t& number = (*next)[static_cast<size_t>(member.index())];
    for (; repeats > 0; --repeats) use.kernel.run(use.memory(member) + part * (number++ % kDramParts), part, 1);
  };
}

Figure figure_of(Traffic traffic) {
  if (traffic == Traffic::kRead) return Figure::kLimit;
  return traffic == Traffic::kPlainRead ? Figure::kPlainRead : Figure::kTriad;
}

std::vector<MemoryUse> uses_of(const machine::Machine& machine, const WorkingSet& set) {
  std::vector<MemoryUse> uses;
  for (const MemoryKernel* kernel : memory_kernels_for(machine.cpu.isa))
    if (kernel->traffic != Traffic::kTriadNonTemporal || set.level == "DRAM")  // such stores pass the caches by
      uses.push_back({*kernel, figure_of(kernel->traffic), set.bytes_per_thread});
  return uses;
}

std::vector<Question> memory_questions(const machine::Machine& machine, int threads) {
  std::vector<Question> questions;
  for (const WorkingSet& set : working_sets(machine, threads)) {
    if (questions.empty() || questions.back().level != set.level) {
      Question question;
      question.threads = threads;
      question.level = set.level;
      questions.push_back(std::move(question));
    }
    for (const MemoryUse& use : uses_of(machine, set)) {
      Candidate candidate = memory_candidate(use, threads);
      if (set.level == "DRAM") use_in_parts(candidate, use, threads);
      questions.back().candidates.push_back(std::move(candidate));
    }
  }
  return questions;
}

const Candidate& best_of(const Question& question, Figure figure) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : question.candidates)
    if (candidate.figure == figure && (!best || candidate.best_rate() > best->best_rate())) best = &candidate;
  assert(best);  // every question is asked with at least one kernel per figure
  return *best;
}

void drop_hopeless(Question& question) {
  for (Candidate& candidate : question.candidates)
    candidate.dropped = candidate.best_rate() < kHopeless * best_of(question, candidate.figure).best_rate();
}

// Visits every question once. True if one of them found a clearly better answer than before.
bool ask_all(PinnedThreads& workers, std::vector<Question>& questions,
             const std::function<void(double share_of_round)>& progress) {
  bool grew = false;
  for (size_t i = 0; i < questions.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(questions.size()));
    double before = questions[i].best();
    for (Candidate& candidate : questions[i].candidates)
      if (!candidate.dropped) visit(workers, questions[i].threads, candidate);
    grew |= questions[i].best() > before * kStillGrowing;
  }
  return grew;
}

machine::Peak answer_peak(const Question& question) {
  const Candidate& best = best_of(question, Figure::kLimit);
  return {question.precision, question.threads,      best.best_rate(), best.kernel,
          Origin::kMeasured,  best.spread_percent(), best.clock_hz()};
}

machine::Bandwidth answer_bandwidth(const Question& question) {
  const Candidate& best_read = best_of(question, Figure::kLimit);
  const Candidate& plain = best_of(question, Figure::kPlainRead);
  const Candidate& read = plain.best_rate() > best_read.best_rate() ? plain : best_read;
  machine::Bandwidth bandwidth;
  bandwidth.level = question.level;
  bandwidth.threads = question.threads;
  bandwidth.bytes_per_s = read.best_rate();
  bandwidth.plain_bytes_per_s = plain.typical_rate();
  bandwidth.triad_bytes_per_s = best_of(question, Figure::kTriad).typical_rate();
  bandwidth.kernel = read.kernel;
  bandwidth.spread_percent = read.spread_percent();
  bandwidth.working_set_bytes = read.working_set;
  return bandwidth;
}

std::vector<Question> all_questions(const machine::Machine& machine, const std::vector<int>& thread_counts) {
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

Result<Limits> measure_limits(const machine::Machine& machine, const MeasureOptions& options) {
  if (peak_kernels_for(machine.cpu.isa).empty())
    return Error{Code::kUnsupported,
                 "measure " + machine.cpu.model +
                     ": this build of ridge has no measuring kernels for its architecture (x86-64 only)"};
  int all = machine::usable_threads(machine);
  std::vector<int> thread_counts = all == 1 ? std::vector{1} : std::vector{1, all};
  std::vector<int> cpus(machine.cpu.core_cpus.begin(), machine.cpu.core_cpus.begin() + all);
  std::vector<Question> questions = all_questions(machine, thread_counts);
  RIDGE_ASSIGN(std::unique_ptr<PinnedThreads> workers, PinnedThreads::gather(cpus, memory_needs(questions, all)));

  TimePoint start = SteadyClock::now();
  auto used = [start] { return to_seconds(SteadyClock::now() - start); };
  RoundRule rounds(options.least_rounds, options.most_seconds);
  while (rounds.another(used())) {
    bool grew = ask_all(*workers, questions, [&](double share_of_round) {
      if (options.progress) options.progress(kStepName, rounds.share_done(used(), share_of_round));
    });
    rounds.round_done(grew);
    if (rounds.trial_over()) std::for_each(questions.begin(), questions.end(), drop_hopeless);
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

}  // namespace ridge::limits
