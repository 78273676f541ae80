// Requests of `ridge bench URL` to a language-model server of OpenAI's API: model, lengths, words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "base/clock.h"
#include "base/result.h"
#include "catalogue/catalogue.h"
#include "client/exchange.h"
#include "client/token_figures.h"
#include "engine/decoder.h"
#include "llm/cpu/token_limit.h"
#include "llm/simulate.h"

namespace ridge::app {

// Whose limit stands beside the figures.
struct LimitRequest {
  std::optional<engine::WeightFormat> weights;  // absent: as `ridge bench FOLDER`
  engine::CacheForm cache = engine::CacheForm::kU8;
  std::optional<catalogue::CatalogueDevice> device;  // absent: this machine's CPUs
};

struct LlmLoadRequest {
  std::string model;                                 // as the server calls it; empty: its only one
  std::optional<client::TokenRange> prompt, output;  // [tokens]; absent: as `ridge size` assumes; not with a trace
  std::string trace;                                 // file of llm::read_trace; empty: lengths are drawn
  std::optional<uint64_t> words;                     // seed of the prompts' words; absent: others in each run
  bool streaming = true;
  client::TokenGoals goals;
  LimitRequest limit;
};

// The server as it was found, and what is sent to it.
struct LlmServer {
  std::string model;
  std::string owner;  // whom /v1/models says the model is from: "vllm"
  client::ServerUrl url;
  client::TokenLoad load;
  std::vector<llm::Request> trace;  // empty: lengths are drawn
  uint64_t seed = 1;                // of lengths
  uint64_t words = 1;               // of prompts
  std::vector<std::string> notes;
};

// connect → its models → one short answer, which shows that it takes the request. Errors as of bench_server().
Result<LlmServer> find_llm_server(client::Exchange& exchange, const LlmLoadRequest& request, uint64_t seed);

// The numbered request of one of several loads: no two begin alike, so that no prefix cache answers for the model.
client::Request llm_request(const LlmServer& server, int64_t load, int64_t number);

// `path`: a folder, its config.json, or a GGUF file. Errors: no such model, or no limits of the device.
Result<llm::cpu::KnownLimit> know_limit(const std::string& path, const LimitRequest& request,
                                        const RunControl& control);

}  // namespace ridge::app
