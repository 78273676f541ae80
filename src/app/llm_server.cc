#include "app/llm_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "app/decoder_model.h"
#include "app/known_machine.h"
#include "base/json.h"
#include "base/random.h"
#include "client/protocol.h"
#include "llm/trace.h"

namespace ridge::app {
namespace {

// Each is one token, with its blank, for GPT-2, Llama and Qwen: a prompt of n words has about n tokens.
constexpr std::array<std::string_view, 64> kWords = {
    "the",    "and",    "time",  "people", "water", "house", "school", "world",  "small", "large",  "first",
    "last",   "long",   "great", "little", "own",   "other", "old",    "right",  "high",  "place",  "hand",
    "part",   "child",  "eye",   "woman",  "week",  "case",  "point",  "work",   "group", "number", "room",
    "area",   "money",  "story", "fact",   "month", "book",  "word",   "side",   "kind",  "head",   "service",
    "friend", "power",  "hour",  "game",   "line",  "end",   "member", "law",    "car",   "city",   "name",
    "team",   "minute", "idea",  "body",   "back",  "face",  "level",  "office", "door"};

uint64_t drawn(uint64_t seed, int64_t number) {
  return split_mix(split_mix(seed) + static_cast<uint64_t>(number) * kGoldenGamma);
}

int64_t draw(const client::TokenRange& range, uint64_t random) {
  return range.low + static_cast<int64_t>(random % static_cast<uint64_t>(range.high - range.low + 1));
}

std::string prompt_of(int64_t words, uint64_t random) {
  std::string text;
  text.reserve(static_cast<size_t>(words) * 6);
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) text += ' ';
    text += kWords[split_mix(random + static_cast<uint64_t>(i) * kGoldenGamma) % kWords.size()];
  }
  return text;
}

std::string fields() {
  const char* key = std::getenv("OPENAI_API_KEY");
  return key != nullptr && *key != '\0' ? fmt::format("Authorization: Bearer {}\r\n", key) : "";
}

client::Request post(const LlmServer& server, int64_t prompt, int64_t output, uint64_t words) {
  Json body;
  body["model"] = server.model;
  std::string text = prompt_of(prompt, words);
  if (server.url.endpoint.ends_with("/chat/completions"))
    body["messages"] = Json::array({Json{{"role", "user"}, {"content", std::move(text)}}});
  else
    body["prompt"] = std::move(text);
  body["max_tokens"] = output;
  body["temperature"] = 0;
  if (server.load.ignore_eos) body["ignore_eos"] = true;
  if (server.load.streaming) {
    body["stream"] = true;
    body["stream_options"]["include_usage"] = true;
  }
  return {"", client::http_request(server.url, "POST", server.url.prefix + server.url.endpoint, dump_json(body),
                                   "Content-Type: application/json\r\n" + fields())};
}

struct ListedModel {
  std::string id, owner;
};

Result<std::vector<ListedModel>> models_of(client::Exchange& exchange) {
  const client::ServerUrl& url = exchange.url();
  const std::string path = url.prefix + "/v1/models";
  const std::string what = fmt::format("GET {}{}", client::server_text(url), path);
  const Result<client::Response> answer =
      exchange.ask(client::Request{"", client::http_request(url, "GET", path, "", fields())});
  if (!answer) return wrap(answer.error(), what);
  if (answer->status != 200)
    return Error{Code::kUnavailable, fmt::format("{}: {} {}", what, answer->status, client::error_text(*answer))};
  RIDGE_ASSIGN(const Json json, parse_json(answer->body, what));
  std::vector<ListedModel> models;
  const auto data = json.is_object() ? json.find("data") : json.end();
  if (!json.is_object() || data == json.end() || !data->is_array())
    return Error{Code::kUnavailable, what + ": the answer has no list 'data'"};
  for (const Json& entry : *data) {
    RIDGE_ASSIGN(std::string id, json_member<std::string>(entry, "id"));
    RIDGE_ASSIGN(std::string owner, json_member_or<std::string>(entry, "owned_by", ""));
    models.push_back({std::move(id), std::move(owner)});
  }
  return models;
}

// A server need not have the list where the model is named.
Status choose_model(client::Exchange& exchange, LlmServer& server) {
  const Result<std::vector<ListedModel>> models = models_of(exchange);
  if (!models && server.model.empty()) return wrap(models.error(), "name the model by --model-name");
  if (!models) return {};
  std::vector<std::string> ids;
  for (const ListedModel& model : *models) ids.push_back(model.id);
  if (server.model.empty() && ids.size() != 1)
    return invalid(fmt::format("the server at {} has {} models{}{}; name one by --model-name",
                               client::server_text(server.url), ids.size(), ids.empty() ? "" : ": ",
                               fmt::join(ids, ", ")));
  if (server.model.empty()) server.model = ids.front();
  const auto found = std::find(ids.begin(), ids.end(), server.model);
  if (found == ids.end())
    return invalid(fmt::format("--model-name {}: the server at {} has {}", server.model,
                               client::server_text(server.url), fmt::join(ids, ", ")));
  server.owner = (*models)[static_cast<size_t>(found - ids.begin())].owner;
  return {};
}

// A server that is busy, or fails, is for the load to count.
Status try_request(client::Exchange& exchange, const LlmServer& server) {
  const Result<client::Response> answer = exchange.ask(post(server, 1, 1, 0));
  if (!answer || answer->status == 200 || answer->status == 429 || answer->status >= 500) return {};
  return Error{client::code_of_status(answer->status),
               fmt::format("POST {}: {} {}", client::text_of(server.url), answer->status, client::error_text(*answer))};
}

// ignore_eos (vLLM's, SGLang's) makes answers as long as asked; a strict server refuses it.
Status choose_form(client::Exchange& exchange, LlmServer& server) {
  Status first = try_request(exchange, server);
  if (first || first.error().code != Code::kInvalid) return first;
  server.load.ignore_eos = false;
  if (!try_request(exchange, server)) return first;
  server.notes.push_back("Answers may end before the length asked: the server refused ignore_eos (" +
                         first.error().message + ").");
  return {};
}

}  // namespace

Result<LlmServer> find_llm_server(client::Exchange& exchange, const LlmLoadRequest& request, uint64_t seed) {
  LlmServer server;
  server.model = request.model;
  server.url = exchange.url();
  server.seed = seed;
  server.words = request.words.value_or(std::random_device()());
  server.load.streaming = request.streaming;
  server.load.goals = request.goals;
  server.load.trace = request.trace;
  const llm::Workload usual;
  server.load.prompt = request.prompt.value_or(client::TokenRange{usual.prompt_min, usual.prompt_max});
  server.load.output = request.output.value_or(client::TokenRange{usual.output_min, usual.output_max});
  if (!request.trace.empty()) {
    RIDGE_ASSIGN(server.trace, llm::read_trace(request.trace));
    const llm::Lengths lengths = llm::lengths_of(server.trace);
    server.load.prompt = {lengths.prompt_min, lengths.prompt_max};
    server.load.output = {lengths.output_min, lengths.output_max};
  }
  RIDGE_TRY(choose_model(exchange, server));
  RIDGE_TRY(choose_form(exchange, server));
  return server;
}

client::Request llm_request(const LlmServer& server, int64_t load, int64_t number) {
  const uint64_t words = drawn(drawn(server.words, load), number);
  if (!server.trace.empty()) {
    const llm::Request& given = server.trace[static_cast<size_t>(number) % server.trace.size()];
    return post(server, given.prompt, given.output, words);
  }
  return post(server, draw(server.load.prompt, drawn(server.seed, number)),
              draw(server.load.output, drawn(server.seed + 1, number)), words);
}

Result<llm::cpu::KnownLimit> know_limit(const std::string& path, const LimitRequest& request,
                                        const RunControl& control) {
  const std::string checkpoint = checkpoint_folder(path);
  RIDGE_ASSIGN(const llm::Model model, read_decoder_model(checkpoint));
  RIDGE_ASSIGN(const engine::WeightFormat weights, engine::form_of(checkpoint, request.weights));
  const int64_t bytes = llm::cpu::weight_bytes_of(model, weights);
  cost::DeviceLimits limits;
  double quota = 1;
  if (request.device) {
    RIDGE_ASSIGN(limits, cost::limits_of(*request.device));
  } else {
    RIDGE_ASSIGN(const machine::Machine machine, know_machine(false, control));
    const int threads = machine::usable_threads(machine);
    RIDGE_ASSIGN(limits, cost::limits_of(machine, threads));
    quota = machine::quota_factor(machine, threads);
  }
  client::TokenLimitOf of{path, std::string(name_of(names_of(weights), weights)),
                          std::string(name_of(names_of(request.cache), request.cache)), static_cast<double>(bytes),
                          limits.device};
  return llm::cpu::KnownLimit{llm::cpu::DecoderLimit(model, weights, request.cache, bytes, std::move(limits), quota),
                              std::move(of)};
}

}  // namespace ridge::app
