// Scheduler: which tokens of which sequences run in the next step of a decoder, and what became of them. Pure: no
// clock, no threads, no decoder; the caller runs the steps (serve/). Continuous batching (Orca, OSDI 2022) over blocks
// of a cache (arXiv:2309.06180) with chunked prefill (arXiv:2308.16369).
//
// A round: add() and cancel() as requests come and go; next() → a Step, which the caller runs; done() → events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "generate/shared_list.h"
#include "generate/step_line.h"

namespace ridge::generate {

using Id = uint64_t;

// How the next token is drawn: https://platform.openai.com/docs/api-reference, and the names of vLLM.
struct Sampling {
  double temperature = 1;  // 0: the most likely token
  double top_p = 1;
  int top_k = 0;  // 0: all
  double min_p = 0;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  double repetition_penalty = 1;
  uint64_t seed = 0;  // the same request with the same seed draws the same tokens where the logits are the same
  SharedList<std::pair<int32_t, float>> logit_bias = {};
};

// Tells which tokens may come next (response_format); one per sequence.
class TokenFilter {
 public:
  virtual ~TokenFilter() = default;
  // True once the tokens that may come next are known. Until then its sequence takes no part in steps; others do.
  virtual bool ready() { return true; }
  // Once ready: what may come next could not be found, and the request ends.
  virtual std::optional<Error> failure() { return std::nullopt; }
  // Once ready: sets what may not come next to −∞.
  virtual void mask(std::span<float> logits) = 0;
  virtual void accept(int32_t token) = 0;
};

struct Request {
  Id id = 0;                        // the caller's, unique
  SharedList<int32_t> prompt;       // at least one token
  int64_t most_tokens = 16;         // generated; 0: the prompt is computed only
  int64_t least_tokens = 0;         // before it, no stop token is drawn
  SharedList<int32_t> stop_tokens;  // of the model (unless ignore_eos) and of the request
  Sampling sampling;
  int logprobs = -1;                    // alternatives per token; −1: none, not even of the token drawn
  bool prompt_logprobs = false;         // of the prompt's tokens too (echo)
  std::shared_ptr<TokenFilter> filter;  // may be null
  std::string key;                      // of fair share: whose request it is; empty is a key too
  // Prompts find blocks of their own group alone. 0: that of all who name none; else above 2^63.
  uint64_t prefix_group = 0;
  Nanoseconds arrived{};                // on the caller's clock
  std::optional<Nanoseconds> deadline;  // of the first token, on the caller's clock
};

struct TokenChance {
  int32_t token = 0;
  float logprob = 0;  // natural logarithm, of the model's own distribution at temperature 1
};
struct PromptChance : TokenChance {
  std::vector<TokenChance> alternatives = {};  // most likely first
};
enum class Finish { kNone, kStop, kLength, kCancelled, kDeadline, kFailed };

struct Event {
  Id id = 0;
  std::optional<int32_t> token = {};           // drawn by this step
  std::optional<TokenChance> chance = {};      // of it, where logprobs are wanted
  std::vector<TokenChance> alternatives = {};  // most likely first
  // Comes with the first event of a step: the prompt's tokens but the first.
  std::vector<PromptChance> prompt_chances = {};
  int64_t reused_tokens = 0;          // of the prompt, that were in the cache
  Nanoseconds started{};              // when the next() was that gave the request its first step
  Finish finish = Finish::kNone;      // the request is forgotten with this event
  std::optional<Error> failure = {};  // of kFailed; absent: there was no memory for it
};

constexpr int64_t kUsualStepTokens = 512;  // as vLLM's and OpenVINO GenAI's defaults are (2048 and 256)

struct Settings {
  engine::CacheShape cache;
  int64_t blocks = 0;
  int64_t context = 0;                      // most tokens of a sequence
  int64_t most_sequences = 256;             // that run at the same time
  std::optional<int64_t> most_tokens = {};  // of a step; empty: from the goal and the step line, else kUsualStepTokens
  std::optional<Nanoseconds> token_goal = {};  // between two tokens of a sequence
  StepLine line;                               // of the decoder, as measured; refined by done()
  // Probability, at an admission, that the running answers outgrow the blocks, which costs preemptions; from the
  // lengths of answers so far. 0: every sequence gets in only with all blocks to its end, and none is ever preempted.
  double overbooking = 0.01;
  bool prefix_reuse = true;
  bool speculate = true;  // n-gram drafts, where the step line says that they pay
};

// Counted since the scheduler began; for /metrics.
struct Figures {
  int64_t running = 0, waiting = 0;
  int64_t blocks_used = 0, blocks_total = 0;
  uint64_t prompt_tokens = 0, generated_tokens = 0, reused_tokens = 0, queried_tokens = 0;
  uint64_t preemptions = 0, preempted_tokens = 0;                // tokens that had to be computed again
  uint64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;  // a draft: several tokens guessed at once
};

struct Step {
  std::vector<engine::StepSequence> sequences;  // views into the scheduler, until done()
  Nanoseconds predicted{};                      // by the step line
  StepLoad load;
  bool decode = false;  // tokens of answers only, none of prompts
  std::vector<Id> ids;  // of the sequences, in their order
};

// An allocation that fails throws in add(), which then has changed nothing, and in take_ended(), which loses nothing;
// elsewhere it ends one sequence.
class Scheduler {
 public:
  explicit Scheduler(Settings settings);
  ~Scheduler();

  // kInvalid: longer than the context, or than the whole cache; an id in use; sampling parameters out of range.
  // kUnavailable: the deadline cannot be met; the message has the prediction.
  Status add(Request request, Nanoseconds now);
  // Leaves the steps from the next one on; its event comes with the next take_ended(). Unknown ids are ignored.
  void cancel(Id id);
  // An empty step: there is nothing to run. Requests whose deadline passes in the queue end here.
  Step next(Nanoseconds now);
  // Ends the step that next() gave. Rows of `logits` as the step asked for them.
  std::vector<Event> done(const engine::Logits& logits, Nanoseconds now);
  // The step failed: its sequences end; everything else goes on. Their ids.
  const std::vector<Id>& failed();
  // Events besides those of done(): ends without a step, cancelled, late or failed, and tokens that waited.
  std::vector<Event> take_ended();

  // Time to the first token of a request of `prompt_tokens` behind all that wait; 0: the line is not known.
  Nanoseconds predicted_first_token(int64_t prompt_tokens, Nanoseconds now) const;
  Figures figures() const;
  const StepLine& line() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridge::generate
