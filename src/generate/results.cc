#include <algorithm>
#include <cassert>
#include <new>

#include "generate/state.h"

namespace ridge::generate {

std::vector<Event> Scheduler::State::done(const engine::Logits& logits, Nanoseconds now) {
  assert(under_way);
  try {
    line.add({load, to_seconds(now - began)});
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it learns nothing of this step
  }
  vocabulary = logits.rows == 0 ? 0 : logits.values.size() / static_cast<size_t>(logits.rows);
  std::vector<Event> events;
  int64_t row = 0;
  for (const Part& part : parts) {
    assert(row + part.samples <= logits.rows);
    const std::span<const float> rows = logits.values.subspan(row * vocabulary, part.samples * vocabulary);
    row += part.samples;
    part.sequence->in_step = false;
    if (part.sequence->cancelled) {
      end(*part.sequence, Finish::kCancelled);
      continue;
    }
    try {
      take_part(part, rows, events);
    } catch (const std::bad_alloc&) {
      end(*part.sequence, Finish::kFailed);
    }
  }
  under_way = false;
  parts.clear();
  return events;
}

std::span<const float> Scheduler::State::row(std::span<const float> rows, int64_t index) const {
  return rows.subspan(index * vocabulary, vocabulary);
}

void Scheduler::State::take_part(const Part& part, std::span<const float> rows, std::vector<Event>& events) {
  Sequence& sequence = *part.sequence;
  if (sequence.request.prompt_logprobs) take_prompt_chances(part, rows);
  sequence.computed += part.tokens - part.drafts;
  if (part.answers) {
    take_answers(part, rows, events);
  } else {
    fill(sequence);
  }
}

// Row i of a step is of position past + tokens − samples + i, and tells of the token after it.
void Scheduler::State::take_prompt_chances(const Part& part, std::span<const float> rows) {
  Sequence& sequence = *part.sequence;
  const int64_t first = sequence.computed + part.tokens - part.samples;
  for (int64_t i = 0; i < part.samples; ++i) {
    const int64_t next = first + i + 1;
    if (next >= sequence.prompt_tokens) return;
    if (static_cast<int64_t>(sequence.prompt_chances.size()) + 1 != next) continue;
    const int32_t token = sequence.tokens[next];
    const LogProbs chances(row(rows, i));
    sequence.prompt_chances.push_back({{token, chances.of(token)}, chances.most_likely(sequence.request.logprobs)});
  }
}

// The next token, and as far as the drafts are what is drawn the ones after it. A draft is one certain token, so to
// draw from the model's distribution and to compare is rejection sampling (arXiv:2211.17192): the answer is the same as
// without drafts, token for token.
void Scheduler::State::take_answers(const Part& part, std::span<const float> rows, std::vector<Event>& events) {
  Sequence& sequence = *part.sequence;
  const Request& request = sequence.request;
  if (sequence.stage == Stage::kPrefill && sequence.answered() == 0) counted.prompt_tokens += sequence.prompt_tokens;
  sequence.stage = Stage::kDecode;
  if (request.most_tokens == 0) {
    Event event{request.id};
    event.prompt_chances = std::move(sequence.prompt_chances);
    event.reused_tokens = sequence.reused;
    event.started = sequence.started;
    event.finish = Finish::kLength;
    fill(sequence);
    events.push_back(std::move(event));
    return end(sequence, Finish::kNone);
  }
  if (request.filter != nullptr && !request.filter->ready()) {
    const std::span<const float> logits = row(rows, part.samples - 1);
    sequence.undrawn.assign(logits.begin(), logits.end());
    return fill(sequence);
  }
  Finish finish = Finish::kNone;
  int64_t accepted = 0;
  for (int64_t i = 0; i <= part.drafts && finish == Finish::kNone; ++i) {
    Event event = event_of(sequence, row(rows, part.samples - part.drafts - 1 + i));
    finish = event.finish;
    const bool as_drafted = i < part.drafts && *event.token == sequence.fed[i + 1];
    events.push_back(std::move(event));
    if (!as_drafted) break;
    ++accepted;
    if (finish == Finish::kNone) ++sequence.computed;
  }
  if (part.drafts > 0) {
    ++counted.drafts;
    counted.drafted_tokens += part.drafts;
    counted.accepted_tokens += accepted;
    sequence.accepted += static_cast<double>(accepted);
    sequence.tried += static_cast<double>(accepted) + (accepted < part.drafts && finish == Finish::kNone ? 1 : 0);
  }
  fill(sequence);
  if (finish != Finish::kNone) end(sequence, Finish::kNone);
}

// Draws the next token and appends it.
Event Scheduler::State::event_of(Sequence& sequence, std::span<const float> logits) {
  const Request& request = sequence.request;
  if (request.filter != nullptr) {
    Event failed{.id = request.id, .finish = Finish::kFailed, .failure = request.filter->failure()};
    if (failed.failure) return failed;
  }
  const bool may_stop = sequence.answered() >= request.least_tokens;
  const bool penalties = has_penalties(request.sampling);
  Draw draw{logits, request.sampling, penalties ? &sequence.counts : nullptr, request.filter.get()};
  if (!may_stop) draw.forbidden = request.stop_tokens;
  draw.index = sequence.answered();
  const int32_t token = sampler.draw(draw);

  Event event{request.id, token};
  if (request.logprobs >= 0) {
    const LogProbs chances(logits);
    event.chance = TokenChance{token, chances.of(token)};
    event.alternatives = chances.most_likely(request.logprobs);
  }
  event.prompt_chances = std::exchange(sequence.prompt_chances, {});
  event.reused_tokens = sequence.reused;
  event.started = sequence.started;
  sequence.tokens.push_back(token);
  if (penalties) sequence.counts.add(token);
  ++counted.generated_tokens;
  if (std::ranges::find(request.stop_tokens, token) != request.stop_tokens.end()) {
    event.finish = Finish::kStop;
  } else if (sequence.answered() >= request.most_tokens) {
    event.finish = Finish::kLength;
  }
  if (request.filter != nullptr && event.finish == Finish::kNone) request.filter->accept(token);
  return event;
}

// Forgets the sequence; a finish goes to take_ended().
void Scheduler::State::end(Sequence& sequence, Finish finish) {
  if (finish != Finish::kNone) {
    ended.emplace_back().id = sequence.request.id;
    ended.back().finish = finish;
  }
  if (at_work == &sequence) at_work = nullptr;
  if (sequence.stage == Stage::kWaiting) {
    queue.remove(sequence);
  } else {
    lengths.add(sequence.answered(), sequence.request.most_tokens);
    release(sequence);
    std::erase(running, &sequence);
  }
  queue.leave(*sequence.share);
  sequences.erase(sequence.request.id);
}

// Memory ran out while a step was made: the sequence that it was for ends, and the rest waits for another step.
void Scheduler::State::fail_one() {
  parts.clear();
  for (Sequence* sequence : running) sequence->in_step = false;
  Sequence* const failed_one = at_work != nullptr ? at_work : !running.empty() ? running.back() : queue.first();
  if (failed_one != nullptr) end(*failed_one, Finish::kFailed);
}

}  // namespace ridge::generate
