#include "generate/scheduler.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <new>

#include "generate/state.h"

namespace ridge::generate {

Scheduler::State::State(const Settings& given)
    : settings(given), line(settings.line), pool(settings.blocks, settings.cache.block_tokens) {
  assert(settings.cache.block_tokens > 0 && settings.most_sequences > 0);
  // Every decode has a token in every step.
  if (settings.most_tokens) settings.most_sequences = std::min(settings.most_sequences, *settings.most_tokens);
  running.reserve(static_cast<size_t>(settings.most_sequences));
  parts.reserve(running.capacity());
  failed.reserve(running.capacity());
  if (settings.overbooking > 0) deviations = normal_quantile_above(std::min(settings.overbooking, 0.5));
}

Scheduler::Scheduler(Settings settings) : state_(std::make_unique<State>(settings)) {}
Scheduler::~Scheduler() = default;

Status Scheduler::add(Request request, Nanoseconds now) { return state_->add(std::move(request), now); }

void Scheduler::cancel(Id id) {
  const auto found = state_->sequences.find(id);
  if (found == state_->sequences.end()) return;
  Sequence& sequence = *found->second;
  if (sequence.in_step) {
    sequence.cancelled = true;  // the step reads its tokens and blocks
  } else {
    state_->end(sequence, Finish::kCancelled);
  }
}

Step Scheduler::next(Nanoseconds now) {
  try {
    return state_->next(now);
  } catch (const std::bad_alloc&) {
    state_->fail_one();
    return {};
  }
}

std::vector<Event> Scheduler::done(const engine::Logits& logits, Nanoseconds now) { return state_->done(logits, now); }

const std::vector<Id>& Scheduler::failed() {
  assert(state_->under_way);
  state_->under_way = false;
  state_->failed.clear();
  for (const Part& part : state_->parts) {
    const bool cancelled = part.sequence->cancelled;
    if (!cancelled) state_->failed.push_back(part.sequence->request.id);
    state_->end(*part.sequence, cancelled ? Finish::kCancelled : Finish::kNone);
  }
  state_->parts.clear();
  return state_->failed;
}

std::vector<Event> Scheduler::take_ended() {
  std::vector<Event> events(std::make_move_iterator(state_->ended.begin()),
                            std::make_move_iterator(state_->ended.end()));
  state_->ended.clear();  // keeps its room
  return events;
}

Nanoseconds Scheduler::predicted_first_token(int64_t prompt_tokens, Nanoseconds now) const {
  return state_->first_token_after(state_->queue.work(), nullptr, prompt_tokens, now);
}

Figures Scheduler::figures() const {
  Figures figures = state_->counted;
  figures.running = static_cast<int64_t>(state_->running.size());
  figures.waiting = state_->queue.size();
  figures.blocks_total = state_->pool.total();
  figures.blocks_used = state_->pool.total() - state_->pool.free();
  return figures;
}

const StepLine& Scheduler::line() const { return state_->line.line(); }

}  // namespace ridge::generate
