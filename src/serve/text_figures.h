// Figures of one version of a language model since it was loaded; for /metrics.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generate/scheduler.h"
#include "generate/step_line.h"
#include "serve/service.h"

namespace ridge::serve {

// Requests that ended, by cause. One for each choice of a request.
struct TextEnds {
  uint64_t stopped = 0;    // by a stop text or a stop token
  uint64_t full = 0;       // most tokens, or the context
  uint64_t cancelled = 0;  // the client left
  uint64_t failed = 0;     // the step failed, or the server ended
  uint64_t late = 0;       // its deadline passed in the queue
};

struct TextFigures {
  std::string model;
  int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> metric_tags;
  generate::Figures scheduler;
  uint64_t refused = 0;  // requests that were not taken: they would have come too late, or too many wait
  TextEnds ends;
  // Histograms are cumulative, as in ModelStatistics. Of requests that gave a token [s]; one value for each choice.
  Histogram first_token;       // from arrival to the first token
  Histogram between_tokens;    // one value for each token after the first
  Histogram per_output_token;  // of a request: mean of the above
  Histogram whole;             // from arrival to the end
  Histogram queue;             // from arrival to the step that computes its first tokens
  Histogram prefill;           // from that step's begin to the first token
  Histogram decode;            // from the first token to the end
  Histogram inference;         // prefill and decode
  // Their bounds and sums are tokens, not seconds.
  Histogram prompt_tokens, generation_tokens;  // of requests that ended
  Histogram step_tokens;                       // new tokens of a step
  // Duration of a step [s]: of those that compute prompts, and of those that only give tokens of answers.
  Histogram prefill_step, decode_step;
  bool bound_known = false;               // of its steps
  Histogram prefill_bound, decode_bound;  // the least that the machine needs for them [s]
  double last_step_s = 0, last_step_predicted_s = 0, last_step_bound_s = 0;
  double running_step_s = 0;  // how long the step under way has taken until now; 0: none runs
  generate::StepLine line;    // as measured at load, refined since
};

}  // namespace ridge::serve
