#include <algorithm>
#include <cassert>
#include <cmath>
#include <new>
#include <queue>
#include <tuple>

#include "generate/state.h"

namespace ridge::generate {

Step Scheduler::State::next(Nanoseconds now) {
  assert(!under_way);
  began = now;
  at_work = nullptr;
  parts.clear();
  load = {};
  end_expired(now);
  draw_late();
  find_blocks_for_decodes();
  add_decodes();
  try {
    add_drafts();
  } catch (const std::bad_alloc&) {  // a step does without them
    at_work = nullptr;
  }
  add_prefills();
  const bool late = std::ranges::any_of(running, [](const Sequence* sequence) { return !sequence->undrawn.empty(); });
  while (parts.empty() && running.size() > 1 && !late) {  // they wait for each other's blocks
    preempt(*least_recomputation());
    add_prefills();
  }
  Step step;
  if (parts.empty()) return step;
  step.sequences.reserve(parts.size());
  step.ids.reserve(parts.size());
  charge();
  for (const Part& part : parts) {
    Sequence& sequence = *part.sequence;
    sequence.in_step = true;
    std::span<const int32_t> tokens = std::span(sequence.tokens).subspan(sequence.computed);
    if (part.drafts > 0) tokens = sequence.fed;
    step.sequences.push_back({sequence.computed, tokens.first(part.tokens), sequence.blocks, part.samples});
    step.ids.push_back(sequence.request.id);
  }
  predicted = step.predicted = line.line().known() ? from_seconds(line.line().seconds(load)) : Nanoseconds{};
  step.load = load;
  step.decode = std::ranges::all_of(parts, [](const Part& part) { return part.sequence->stage == Stage::kDecode; });
  under_way = true;
  return step;
}

void Scheduler::State::end_expired(Nanoseconds now) {
  while (Sequence* sequence = queue.expired(now)) end(*sequence, Finish::kDeadline);
}

// Tokens whose filters were not ready when their step was done.
void Scheduler::State::draw_late() {
  for (size_t i = running.size(); i > 0; --i) {
    Sequence& sequence = *running[i - 1];
    if (sequence.undrawn.empty() || !sequence.request.filter->ready()) continue;
    at_work = &sequence;
    ended.push_back(event_of(sequence, std::exchange(sequence.undrawn, {})));
    if (ended.back().finish != Finish::kNone) end(sequence, Finish::kNone);
  }
}

// Every decode whose next token is drawn runs in every step; where blocks are missing, others are preempted.
void Scheduler::State::find_blocks_for_decodes() {
  const auto missing = [&] {
    return std::ranges::count_if(running, [&](const Sequence* sequence) {
      return sequence->stage == Stage::kDecode &&
             static_cast<int64_t>(sequence->blocks.size()) * settings.cache.block_tokens < sequence->length();
    });
  };
  while (missing() > pool.free()) {
    assert(running.size() > 1);  // add() refuses what does not fit alone
    preempt(*least_recomputation());
  }
}

void Scheduler::State::add_decodes() {
  for (Sequence* sequence : running) {
    if (sequence->stage != Stage::kDecode || !sequence->undrawn.empty()) continue;
    [[maybe_unused]] const bool grown = grow(*sequence, sequence->length());
    assert(grown);
    load.add(1, static_cast<double>(sequence->computed));
    parts.push_back({sequence, 1, 1, 0, true});
  }
}

namespace {

constexpr int64_t kMostDrafts = 8;

// Chance that a draft is accepted after accepted ones; it starts from one accepted and one not (assumed).
double acceptance(const Sequence& sequence) { return (1 + sequence.accepted) / (2 + sequence.tried); }

}  // namespace

// Tokens of drafts join one by one, the most likely first, while the expected tokens per second of decodes rise:
//   (expected + chance) / seconds(with it) > expected / seconds(without).
// For one sequence alone this is: seconds(k + 1 tokens) / seconds(1) < expected accepted + 1.
void Scheduler::State::add_drafts() {
  const StepLine& pace = line.line();
  if (!settings.speculate || !pace.known() || parts.empty()) return;
  std::priority_queue<std::tuple<double, int64_t>>
      open;  // chance of the next draft, index of the part from the back: equal ones in order
  for (size_t i = 0; i < parts.size(); ++i) {
    Sequence& sequence = *parts[i].sequence;
    sequence.tried *= 0.98;  // so that one whose drafts fail tries again later
    sequence.accepted *= 0.98;
    const int64_t left = sequence.request.most_tokens - sequence.answered();
    if (sequence.request.filter == nullptr && left > 1) open.emplace(acceptance(sequence), -static_cast<int64_t>(i));
  }
  auto expected = static_cast<double>(parts.size());
  double seconds = pace.seconds(load);
  const double most_seconds = settings.token_goal ? std::max(seconds, goal_seconds()) : 1e300;
  const auto most_tokens = static_cast<double>(settings.most_tokens.value_or(INT32_MAX));
  while (!open.empty() && load.tokens < most_tokens) {
    const auto [chance, index] = open.top();
    open.pop();
    Part& part = parts[-index];
    Sequence& sequence = *part.sequence;
    StepLoad more = load;
    more.tokens += 1;
    more.rows += 1;
    more.pairs += static_cast<double>(sequence.computed + part.drafts + 1);
    const double longer = pace.seconds(more);
    if ((expected + chance) * seconds <= expected * longer || longer > most_seconds) return;
    if (part.drafts == 0) {
      const int64_t most = std::min(kMostDrafts, sequence.request.most_tokens - sequence.answered() - 1);
      std::vector<int32_t> draft = sequence.drafts.draft(sequence.tokens, most);
      if (draft.empty()) continue;
      draft.insert(draft.begin(), sequence.tokens.back());
      sequence.fed = std::move(draft);
    }
    if (part.tokens >= static_cast<int64_t>(sequence.fed.size())) continue;
    if (!grow(sequence, sequence.length() + part.drafts + 1)) continue;
    ++part.tokens;
    ++part.samples;
    ++part.drafts;
    load = more;
    expected += chance;
    seconds = longer;
    open.emplace(chance * acceptance(sequence), index);
  }
}

// Longest predicted time of a step that keeps to the goal although the line is off by its usual error.
double Scheduler::State::goal_seconds() const { return to_seconds(*settings.token_goal) / (1 + line.usual_error()); }

// New tokens of a sequence with `past` computed ones that may join a step of `load`. The first chunk of a step is never
// empty, so that prompts go on however low the goal.
int64_t Scheduler::State::chunk_within(const StepLoad& step, double past, bool first) const {
  const StepLine& pace = line.line();
  if (settings.most_tokens || !settings.token_goal || !pace.known()) {
    const int64_t left = settings.most_tokens.value_or(kUsualStepTokens) - static_cast<int64_t>(step.tokens);
    return std::max<int64_t>(left, first && !settings.most_tokens ? settings.cache.block_tokens : 0);
  }
  const double within = pace.tokens_within(goal_seconds(), step, past);
  const auto tokens = static_cast<int64_t>(std::min(within, 1e9));
  const int64_t least =
      std::min<int64_t>(settings.cache.block_tokens, 8);  // for fewer, reading the past costs too much
  if (first) return std::max(tokens, least);
  return tokens < least ? 0 : tokens;
}

// Prompts under way, and of those that wait the next of its kind, compete by the order of the queue. But prompts that
// the step can finish pass one that it cannot, the shortest first, in three steps of four: otherwise a long one that is
// late on a busy server would keep all others out until its last token.
void Scheduler::State::add_prefills() {
  constexpr int kMostPassed = 3;
  std::vector<Sequence*> prefills;
  for (Sequence* sequence : running) {
    if (sequence->stage == Stage::kPrefill) prefills.push_back(sequence);
  }
  const auto first = [&](const Sequence* a, const Sequence* b) { return queue.before(*a, *b); };
  bool closed = false, any = false;
  const auto room_for = [&](const Sequence& sequence) {
    return chunk_within(load, static_cast<double>(sequence.computed), !any);
  };
  const Sequence* passed = nullptr;
  while (true) {
    closed |= static_cast<int64_t>(running.size()) >= settings.most_sequences;
    const auto best = std::ranges::min_element(prefills, first);
    Sequence* sequence = best == prefills.end() ? nullptr : *best;
    Sequence* waiting = closed ? nullptr : queue.first();
    if (waiting != nullptr && (sequence == nullptr || queue.before(*waiting, *sequence))) sequence = waiting;
    if (sequence == nullptr) break;
    if (passed_steps < kMostPassed && !sequence->latest_start && room_for(*sequence) < sequence->left()) {
      Sequence* other = shortest(prefills, closed);
      if (other != sequence && other->left() <= room_for(*other)) passed = std::exchange(sequence, other);
    }
    if (room_for(*sequence) == 0) break;
    if (sequence->stage == Stage::kWaiting && !admit(*sequence)) {
      closed = true;
      continue;
    }
    std::erase(prefills, sequence);
    any |= add_chunk(*sequence, room_for(*sequence)) > 0;
    if (sequence == passed) passed = nullptr;
  }
  passed_steps = passed != nullptr ? passed_steps + 1 : 0;
}

// The prompt with the fewest tokens to compute.
Sequence* Scheduler::State::shortest(std::span<Sequence* const> prefills, bool closed) const {
  const auto best = std::ranges::min_element(prefills, ShortestFirst{});
  Sequence* waiting = closed ? nullptr : queue.shortest();
  if (best == prefills.end() || (waiting != nullptr && ShortestFirst{}(waiting, *best))) return waiting;
  return *best;
}

// Tokens of it that the step computes; 0: room or blocks are missing.
int64_t Scheduler::State::add_chunk(Sequence& sequence, int64_t room) {
  constexpr int64_t kMostRows = 64;  // of logits for one prompt: of 150 k values each 38 MB
  int64_t tokens = std::min(room, sequence.pending());
  const auto chances = static_cast<int64_t>(sequence.prompt_chances.size());
  const bool rows_of_prompt = sequence.wants_prompt_rows();
  if (rows_of_prompt) tokens = std::min(tokens, kMostRows);
  if (!grow(sequence, sequence.computed + tokens))
    tokens = static_cast<int64_t>(sequence.blocks.size()) * settings.cache.block_tokens - sequence.computed;
  if (tokens <= 0) return 0;
  const bool answers = tokens == sequence.pending();
  int64_t samples = answers ? 1 : 0;
  if (rows_of_prompt) samples = std::max<int64_t>(sequence.computed + tokens - std::max(sequence.computed, chances), 0);
  load.add(static_cast<double>(tokens), static_cast<double>(sequence.computed), static_cast<double>(samples));
  parts.push_back({&sequence, tokens, samples, 0, answers});
  return tokens;
}

// Charges the step to the keys: each sequence's own work, and an equal part of what no sequence causes alone.
void Scheduler::State::charge() {
  constexpr double kTokenSeconds = 1e-3;  // as long as the line is not known: any, as only ratios count
  const StepLine& pace = line.line();
  const double common = pace.known() ? std::max(pace.fixed, pace.floor) / static_cast<double>(parts.size()) : 0;
  for (const Part& part : parts) {
    StepLoad own;
    own.add(static_cast<double>(part.tokens), static_cast<double>(part.sequence->computed),
            static_cast<double>(part.samples));
    const double seconds = pace.known() ? pace.added(own) : kTokenSeconds * own.tokens;
    const bool chosen = part.sequence->stage == Stage::kPrefill && !part.sequence->latest_start;
    queue.charge(*part.sequence->share, common + seconds, chosen);
  }
}

}  // namespace ridge::generate
