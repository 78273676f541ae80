// Sequence: a request on its way through the scheduler. Data of the scheduler's parts; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generate/n_gram_drafts.h"
#include "generate/scheduler.h"
#include "generate/token_counts.h"

namespace ridge::generate {

struct Share;  // fair_queue.h

enum class Stage { kWaiting, kPrefill, kDecode };

struct Sequence {
  Request request;
  std::vector<int32_t> tokens;  // of prompt and answer; while it waits for the first time, none: the prompt is shared
  int64_t prompt_tokens = 0;
  int64_t computed = 0;         // tokens whose keys and values are in its blocks
  std::vector<int32_t> blocks;  // held
  int64_t filled = 0;           // the first blocks, this many, are full, and known to the pool by their content
  Stage stage = Stage::kWaiting;
  bool in_step = false, cancelled = false;
  bool queued = false;  // in the FairQueue

  Share* share = nullptr;
  Nanoseconds due{};                             // its place among those of its key
  int64_t to_compute = 0;                        // tokens of the prompt that were not in the cache when it came
  std::optional<Nanoseconds> latest_start = {};  // with a deadline, or preempted: goes before all without

  int64_t reused = 0;             // of the prompt, at the first admission
  bool admitted = false;          // once
  Nanoseconds started{};          // then
  int64_t lost = 0;               // tokens that a preemption threw away
  std::vector<int32_t> fed = {};  // the last token and its drafts, in a step
  NGramDrafts drafts;
  double tried = 0, accepted = 0;  // drafts, with forgetting
  TokenCounts counts;
  std::vector<PromptChance> prompt_chances = {};
  std::vector<float> undrawn = {};  // logits of the next token, until the filter is ready

  std::span<const int32_t> known() const {
    return admitted ? std::span(tokens) : std::span<const int32_t>(request.prompt);
  }
  int64_t length() const { return static_cast<int64_t>(known().size()); }
  int64_t answered() const { return length() - prompt_tokens; }
  int64_t pending() const { return length() - computed; }
  // Tokens left to compute, as far as known before it has blocks.
  int64_t left() const { return stage == Stage::kWaiting ? to_compute : pending(); }
  // The rows of prompt positions are wanted too.
  bool wants_prompt_rows() const {
    return request.prompt_logprobs && answered() == 0 &&
           static_cast<int64_t>(prompt_chances.size()) + 1 < prompt_tokens;
  }
  // Positions that it computes at most: the last token of an answer is not.
  int64_t most_positions() const { return prompt_tokens + std::max<int64_t>(request.most_tokens - 1, 0); }
};

}  // namespace ridge::generate
