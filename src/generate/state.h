// State of a Scheduler. Its functions lie by subject: admission.cc (who gets in, with which blocks), step_policy.cc (a
// step's content), results.cc (its outcome), scheduler.cc (the rest).
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "generate/answer_lengths.h"
#include "generate/block_pool.h"
#include "generate/fair_queue.h"
#include "generate/sampler.h"
#include "generate/scheduler.h"
#include "generate/sequence.h"

namespace ridge::generate {

// A sequence's part in the step.
struct Part {
  Sequence* sequence = nullptr;
  int64_t tokens = 0;    // new
  int64_t samples = 0;   // rows of logits
  int64_t drafts = 0;    // among the tokens, at their end
  bool answers = false;  // its last rows give the next tokens
};

struct Scheduler::State {
  explicit State(const Settings& given);

  // admission.cc
  Status check(const Request& request) const;
  Status add(Request request, Nanoseconds now);
  std::vector<int32_t> cached_prefix(const Sequence& sequence) const;
  bool admit(Sequence& sequence);
  void preempt(Sequence& sequence);
  Sequence* least_recomputation() const;
  bool grow(Sequence& sequence, int64_t positions);
  void fill(Sequence& sequence);
  void release(Sequence& sequence);
  AnswerLengths::Expected blocks_to_come(const Sequence& sequence) const;
  double seconds_until_free(double blocks, double step_seconds) const;
  Nanoseconds first_token_after(FairQueue::Work work, const Sequence* sequence, int64_t tokens, Nanoseconds now) const;

  // step_policy.cc
  Step next(Nanoseconds now);
  void end_expired(Nanoseconds now);
  void draw_late();
  void find_blocks_for_decodes();
  void add_decodes();
  void add_drafts();
  void add_prefills();
  int64_t add_chunk(Sequence& sequence, int64_t room);
  Sequence* shortest(std::span<Sequence* const> prefills, bool closed) const;
  int64_t chunk_within(const StepLoad& load, double past, bool first) const;
  double goal_seconds() const;
  void charge();

  // results.cc
  std::vector<Event> done(const engine::Logits& logits, Nanoseconds now);
  void take_part(const Part& part, std::span<const float> rows, std::vector<Event>& events);
  void take_prompt_chances(const Part& part, std::span<const float> rows);
  void take_answers(const Part& part, std::span<const float> rows, std::vector<Event>& events);
  Event event_of(Sequence& sequence, std::span<const float> row);
  std::span<const float> row(std::span<const float> rows, int64_t index) const;
  void end(Sequence& sequence, Finish finish);
  void fail_one();

  Settings settings;
  RefinedLine line;
  BlockPool pool;
  FairQueue queue;
  AnswerLengths lengths;
  Sampler sampler;
  double deviations = 0;  // that admission keeps beyond what is expected
  std::unordered_map<Id, std::unique_ptr<Sequence>> sequences;
  std::vector<Sequence*> running;  // in the order of their admission
  std::vector<Part> parts;         // of the step under way
  StepLoad load;
  int passed_steps = 0;  // in a row, in which a prompt that was due first had to wait for shorter ones
  Nanoseconds began{}, predicted{};
  bool under_way = false;
  size_t vocabulary = 0;        // of the logits at hand
  std::vector<Event> ended;     // for take_ended(); with room for all sequences
  std::vector<Id> failed;       // of the last step that failed; with room for all that run
  Sequence* at_work = nullptr;  // what memory is asked for, for
  Figures counted;
};

}  // namespace ridge::generate
