#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <new>

#include "generate/state.h"

namespace ridge::generate {

Status Scheduler::State::check(const Request& request) const {
  if (sequences.contains(request.id)) return invalid(fmt::format("request {} already exists", request.id));
  if (request.prompt.empty()) return invalid("the prompt has no tokens; it needs at least one");
  if (request.most_tokens < 0 || request.least_tokens < 0 || request.least_tokens > request.most_tokens)
    return invalid(
        fmt::format("an answer of {} to {} tokens was asked for; the first may not be negative or above the second",
                    request.least_tokens, request.most_tokens));
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (request.most_tokens > settings.context - prompt)
    return invalid(
        fmt::format("{} prompt tokens and {} of the answer are {}, more than the model's context of {}; ask for less",
                    prompt, request.most_tokens, prompt + request.most_tokens, settings.context));
  const int64_t blocks = settings.cache.blocks_for(prompt + std::max<int64_t>(request.most_tokens - 1, 0));
  if (blocks > settings.blocks)
    return invalid(fmt::format(
        "{} prompt tokens and {} of the answer need {} blocks of {} tokens; the cache has {}: ask for less, or give "
        "the cache more memory",
        prompt, request.most_tokens, blocks, settings.cache.block_tokens, settings.blocks));
  return generate::check(request.sampling);
}

Status Scheduler::State::add(Request request, Nanoseconds now) {
  RIDGE_TRY(check(request));
  ended.reserve(std::max(ended.capacity(), 2 * (ended.size() + sequences.size() + 1)));
  auto sequence = std::make_unique<Sequence>();
  sequence->request = std::move(request);
  sequence->prompt_tokens = sequence->length();
  const Request& given = sequence->request;

  // Short prompts pass long ones that came earlier, but only by a multiple of the difference of their services (EDF
  // with due times of equal stretch: Bender, Chakrabarti, Muthukrishnan: Flow and stretch metrics, SODA 1998).
  constexpr double kStretch = 4;
  const double known = line.line().known() ? 1 : 0;
  const int64_t reused = static_cast<int64_t>(cached_prefix(*sequence).size()) * settings.cache.block_tokens;
  sequence->to_compute = sequence->length() - reused;
  const auto left = static_cast<double>(sequence->to_compute);
  const double pairs = left * (static_cast<double>(reused) + left / 2);
  const double service = known * (line.line().per_token * left + line.line().per_pair * pairs);
  sequence->due = given.arrived + from_seconds(kStretch * service);
  if (given.deadline) {
    sequence->latest_start = *given.deadline - from_seconds(service);
    const FairQueue::Work before = queue.work_before(*sequence->latest_start);
    const Nanoseconds expected = first_token_after(before, sequence.get(), sequence->to_compute, now);
    if (now + expected > *given.deadline) {
      Error error{Code::kUnavailable, fmt::format("the first token is expected after {:.0f} ms, but was wanted within "
                                                  "{:.0f} ms: {} requests with {} prompt tokens come "
                                                  "before, {} answers are under way; allow more time or send it later",
                                                  to_ms(expected), to_ms(*given.deadline - now), before.sequences,
                                                  before.tokens, running.size())};
      error.retry_after = now + expected - *given.deadline;
      return error;
    }
  }
  Sequence& kept = *sequences.emplace(given.id, std::move(sequence)).first->second;
  try {
    kept.share = &queue.enter(std::exchange(kept.request.key, {}));
    queue.add(kept);
  } catch (const std::bad_alloc&) {
    if (kept.share != nullptr) queue.leave(*kept.share);
    sequences.erase(kept.request.id);
    throw;
  }
  return {};
}

// Blocks that hold the beginning of its tokens. The last token is always computed: its logits are wanted.
std::vector<int32_t> Scheduler::State::cached_prefix(const Sequence& sequence) const {
  std::vector<int32_t> blocks;
  if (!settings.prefix_reuse || sequence.wants_prompt_rows()) return blocks;
  const int64_t block_tokens = settings.cache.block_tokens;
  uint64_t parent = sequence.request.prefix_group;
  for (int64_t from = 0; from + block_tokens < sequence.length(); from += block_tokens) {
    const auto found = pool.find(parent, sequence.known().subspan(from, block_tokens));
    if (!found) break;
    blocks.push_back(*found);
    parent = pool.content(*found);
  }
  return blocks;
}

// Expected blocks of a running or waiting sequence beyond those that it holds.
AnswerLengths::Expected Scheduler::State::blocks_to_come(const Sequence& sequence) const {
  const auto block_tokens = static_cast<double>(settings.cache.block_tokens);
  const auto held = static_cast<double>(sequence.blocks.size());
  const auto all = static_cast<double>(settings.cache.blocks_for(sequence.most_positions()));
  // A sequence that was preempted once is sure to end when it gets in again.
  if (settings.overbooking <= 0 || sequence.lost > 0) return {std::max(0.0, all - held), 0};
  const AnswerLengths::Expected answer = lengths.expected(sequence.answered(), sequence.request.most_tokens);
  const double blocks = std::ceil((static_cast<double>(sequence.prompt_tokens) + answer.tokens) / block_tokens);
  return {std::max(0.0, std::min(blocks, all) - held), answer.variance / (block_tokens * block_tokens)};
}

bool Scheduler::State::admit(Sequence& sequence) {
  at_work = &sequence;
  std::vector<int32_t> prefix = cached_prefix(sequence);
  AnswerLengths::Expected needed = blocks_to_come(sequence);
  for (const int32_t block : prefix) needed.tokens -= pool.references(block) > 0 ? 1 : 0;
  for (const Sequence* other : running) {
    const AnswerLengths::Expected more = blocks_to_come(*other);
    needed.tokens += more.tokens;
    needed.variance += more.variance;
  }
  const bool fits = needed.tokens + deviations * std::sqrt(needed.variance) <= static_cast<double>(pool.free());
  if (!fits && !running.empty()) return false;
  if (!sequence.admitted) {
    sequence.tokens.assign(sequence.request.prompt.begin(), sequence.request.prompt.end());
    if (has_penalties(sequence.request.sampling)) sequence.counts.add_prompt(sequence.tokens);
  }
  // Nothing below allocates memory.
  queue.remove(sequence);
  for (const int32_t block : prefix) pool.hold(block);
  sequence.blocks = std::move(prefix);
  sequence.filled = static_cast<int64_t>(sequence.blocks.size());
  sequence.computed = sequence.filled * settings.cache.block_tokens;
  sequence.stage = Stage::kPrefill;
  running.push_back(&sequence);
  if (sequence.admitted) {
    counted.preempted_tokens += std::max<int64_t>(sequence.lost - sequence.computed, 0);
  } else {
    sequence.admitted = true;
    sequence.reused = sequence.computed;
    sequence.started = began;
    counted.reused_tokens += sequence.computed;
    counted.queried_tokens += settings.prefix_reuse ? sequence.prompt_tokens : 0;
  }
  return true;
}

void Scheduler::State::preempt(Sequence& sequence) {
  ++counted.preemptions;
  sequence.undrawn.clear();
  sequence.lost = sequence.computed;
  release(sequence);
  std::erase(running, &sequence);
  sequence.stage = Stage::kWaiting;
  // Before all with a deadline; among its kind in the order of arrival.
  sequence.latest_start = Nanoseconds::min() / 2 + sequence.request.arrived;
  at_work = &sequence;
  queue.add(sequence);
}

// The running sequence whose preemption costs the fewest tokens; blocks that others hold too are not lost. Rather one
// that frees a block.
Sequence* Scheduler::State::least_recomputation() const {
  Sequence* best = nullptr;
  std::pair<bool, int64_t> least;
  for (Sequence* sequence : running) {
    const int64_t shared =
        std::ranges::count_if(sequence->blocks, [&](int32_t block) { return pool.references(block) > 1; });
    const std::pair cost(shared == static_cast<int64_t>(sequence->blocks.size()),
                         std::max<int64_t>(sequence->computed - shared * settings.cache.block_tokens, 0));
    if (best != nullptr && cost > least) continue;  // of equal ones the last to come
    best = sequence;
    least = cost;
  }
  return best;
}

// Takes blocks for that number of positions; false: some were missing, those there were are held.
bool Scheduler::State::grow(Sequence& sequence, int64_t positions) {
  while (static_cast<int64_t>(sequence.blocks.size()) * settings.cache.block_tokens < positions) {
    at_work = &sequence;
    if (sequence.blocks.size() == sequence.blocks.capacity()) sequence.blocks.reserve(2 * sequence.blocks.size() + 8);
    const auto block = pool.take();
    if (!block) return false;
    sequence.blocks.push_back(*block);
  }
  return true;
}

// Makes the content of blocks that became full known.
void Scheduler::State::fill(Sequence& sequence) {
  const int64_t block_tokens = settings.cache.block_tokens;
  for (; (sequence.filled + 1) * block_tokens <= sequence.computed; ++sequence.filled) {
    if (!settings.prefix_reuse) continue;
    const uint64_t parent =
        sequence.filled == 0 ? sequence.request.prefix_group : pool.content(sequence.blocks[sequence.filled - 1]);
    int32_t& block = sequence.blocks[sequence.filled];
    block = pool.fill(block, parent, std::span(sequence.tokens).subspan(sequence.filled * block_tokens, block_tokens));
  }
}

// The end goes back first, so that it is taken before the beginning, which more sequences can use.
void Scheduler::State::release(Sequence& sequence) {
  for (size_t i = sequence.blocks.size(); i-- > 0;) pool.release(sequence.blocks[i]);
  sequence.blocks.clear();
  sequence.filled = sequence.computed = 0;
}

// Time until running answers end that hold the missing blocks, at the pace of `step_seconds` per token.
double Scheduler::State::seconds_until_free(double blocks, double step_seconds) const {
  std::vector<std::pair<double, double>> ends;  // [steps], [blocks]
  double missing = blocks - static_cast<double>(pool.free());
  for (const Sequence* sequence : running) {
    missing += blocks_to_come(*sequence).tokens;
    const double answer = lengths.expected(sequence->answered(), sequence->request.most_tokens).tokens;
    ends.emplace_back(answer - static_cast<double>(sequence->answered()),
                      static_cast<double>(sequence->blocks.size()) + blocks_to_come(*sequence).tokens);
  }
  const bool full = static_cast<int64_t>(running.size()) >= settings.most_sequences;
  if (missing <= 0 && !full) return 0;
  std::ranges::sort(ends);
  double steps = 0;
  for (const auto& [end, freed] : ends) {
    steps = end;
    missing -= freed;
    if (missing <= 0) break;
  }
  return steps * step_seconds;
}

// The step under way, then steps that each have room for some prompt tokens beside the decodes, until `work` and
// `tokens` more are computed; later where blocks have to become free first.
Nanoseconds Scheduler::State::first_token_after(FairQueue::Work work, const Sequence* sequence, int64_t tokens,
                                                Nanoseconds now) const {
  const StepLine& pace = line.line();
  if (!pace.known()) return {};
  StepLoad decodes;
  for (const Sequence* other : running) {
    if (other->stage == Stage::kDecode) {
      decodes.add(1, static_cast<double>(other->computed));
    } else if (sequence == nullptr || queue.before(*other, *sequence)) {
      work.add(*other);
    }
  }
  const auto own = static_cast<double>(tokens);
  const double cost = pace.per_token * (work.tokens + own) + pace.per_pair * (work.pairs + own * own / 2);
  const auto room = static_cast<double>(chunk_within(decodes, 0, true));
  const double full_steps = std::floor(cost / (pace.per_token * room));
  const double rest = cost / pace.per_token - full_steps * room;
  StepLoad full = decodes, last = decodes;
  full.tokens += room;
  last.tokens += rest;
  last.rows += 1;
  const double blocks = static_cast<double>(settings.cache.blocks_for(tokens));
  const double wait = seconds_until_free(blocks, pace.seconds(decodes));
  const Nanoseconds step_left = under_way ? std::max(began + predicted - now, Nanoseconds{}) : Nanoseconds{};
  return step_left + from_seconds(wait + full_steps * pace.seconds(full) + (rest > 0 ? pace.seconds(last) : 0));
}

}  // namespace ridge::generate
