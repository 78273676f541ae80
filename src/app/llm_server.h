// The requests that `ridge bench URL` sends to a language-model server of OpenAI's API: which model, how long, what words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "client/exchange.h"
#include "client/token_figures.h"
#include "llm/simulate.h"

namespace ridge::app {

struct LlmLoadRequest {
  std::string model;                                 // as the server calls it; empty: its only one
  std::optional<client::TokenRange> prompt, output;  // [tokens]; absent: as `ridge plan` assumes; not with a trace
  std::string trace;                                 // file of llm::read_trace; empty: lengths are drawn
  bool streaming = true;
  client::TokenGoals goals;
};

// The server as it was found, and what is sent to it.
struct LlmServer {
  std::string model;
  std::string owner;  // whom /v1/models says the model is from: "vllm"
  client::ServerUrl url;
  client::TokenLoad load;
  std::vector<llm::Request> trace;  // empty: lengths are drawn
  uint64_t seed = 1;
  std::vector<std::string> notes;
};

// connect → its models → one short answer, which shows that it takes the request. Errors as of bench_server().
Result<LlmServer> find_llm_server(client::Exchange& exchange, const LlmLoadRequest& request, uint64_t seed);

// The request of a number: seeded, and no two with the same beginning, so that no cache of prefixes answers for the model.
client::Request llm_request(const LlmServer& server, int64_t number);

}  // namespace ridge::app
