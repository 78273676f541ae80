#include "front/openai/endpoint.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "front/error_text.h"
#include "front/http/coding_fields.h"
#include "front/json_text.h"
#include "front/openai/answer.h"
#include "front/openai/request.h"
#include "front/openai/response.h"
#include "front/openai/values.h"
#include "front/request_json.h"
#include "front/span_id.h"
#include "serve/embedding.h"
#include "serve/text_model.h"

namespace ridge::front::openai {
namespace {

http::Response refusal(const Error& error, std::string about) {
  http::Response response = http::inference_error_response(error);
  response.error_about = std::move(about);
  return response;
}

Json card_of(const std::string& name, int64_t created, Json most_tokens) {
  return {{"id", name},
          {"object", "model"},
          {"created", created},
          {"owned_by", "ridge"},
          {"root", name},
          {"parent", nullptr},
          {"max_model_len", std::move(most_tokens)}};
}
// `chat`: it has a chat template that can be read.
Json card_of(const serve::TextModel& model) {
  Json card = card_of(model.name(), model.created(), model.context());
  card["chat"] = model.chats();
  if (model.random_weights()) card["random_weights"] = true;
  return card;
}
// `task` tells it from language models.
Json card_of(const serve::Encoder& encoder) {
  Json card = card_of(encoder.model, encoder.created, encoder.most_tokens > 0 ? Json(encoder.most_tokens) : Json());
  card["task"] = "embed";
  return card;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t last = text.find_last_not_of(kBlanks);
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  return text.substr(std::min(text.size(), text.find_first_not_of(kBlanks)));
}

// Templates end a message with marks, and may trim it: the text is cut behind the last message's last place.
Result<std::string> cut_behind_last_message(std::string text, const Json& variables) {
  const Json* content = &variables["messages"].back()["content"];
  if (content->is_array() && !content->empty()) content = &content->back()["text"];
  const std::string last = content->is_string() ? content->get<std::string>() : "";
  const size_t whole = text.rfind(last), cut = whole == std::string::npos ? text.rfind(without_blanks(last)) : whole;
  if (last.empty() || cut == std::string::npos)
    return invalid(
        "'continue_final_message' finds no text of the last message in what the model's template makes of it");
  text.resize(cut + (whole == std::string::npos ? without_blanks(last).size() : last.size()));
  return text;
}

// A model's reader of texts.
struct Reader {
  const std::string& model;
  const text::Tokenizer& tokenizer;
  int64_t most_tokens = 0;  // of one text; 0: any number

  // The text of a prompt stays what it is.
  Result<std::vector<int32_t>> tokens_of(Prompt& prompt, bool with_special) const {
    const size_t most = most_tokens > 0 ? static_cast<size_t>(most_tokens) : SIZE_MAX;
    auto* const given = std::get_if<std::vector<int32_t>>(&prompt);
    Result<std::vector<int32_t>> tokens =
        given != nullptr ? std::move(*given) : tokenizer.encode(std::get<std::string>(prompt), with_special, most);
    if (!tokens || tokens->size() <= most) return tokens;
    return invalid("a text has more than " + std::to_string(most) + " tokens, which is the most that model '" + model +
                   "' takes; shorten it");
  }
};

// Text of tokens that were the prompt, or the text that it still has.
std::string text_of(Prompt& prompt, std::span<const int32_t> tokens, const text::Tokenizer& tokenizer) {
  if (auto* text = std::get_if<std::string>(&prompt)) return std::move(*text);
  return tokenizer.decode(tokens, true);
}

Reader reader_of(const serve::TextModel& model) { return {model.name(), model.tokenizer(), model.context()}; }

// A conversation becomes a text.
Status apply_template(OpenAiRequest& request, const serve::TextModel& model, ThoughtReader::Stage& thoughts) {
  if (request.variables.is_null()) return {};
  RIDGE_ASSIGN(std::string text, model.prompt_of(request.variables));
  if (request.answers.thinks && !request.wanted.form) {
    const std::string_view end = without_blanks(text);
    thoughts = end.ends_with(text::kThoughtBegins) ? ThoughtReader::Stage::kThinks
               : end.ends_with(text::kThoughtEnds) ? ThoughtReader::Stage::kAnswers
                                                   : ThoughtReader::Stage::kBefore;
  }
  if (request.continue_final) {
    RIDGE_ASSIGN(text, cut_behind_last_message(std::move(text), request.variables));
  }
  request.prompts.emplace_back(std::move(text));
  return {};
}

http::Response tokens_response(const OpenAiRequest& request, const serve::TextModel& model,
                               std::span<const int32_t> tokens) {
  Json texts;
  if (request.token_texts) {
    texts = Json::array();
    for (const int32_t token : tokens) texts.push_back(model.tokenizer().piece_of(token));
  }
  http::Response response;
  response.text = dump_json({{"count", tokens.size()},
                             {"max_model_len", model.context()},
                             {"tokens", std::vector<int32_t>(tokens.begin(), tokens.end())},
                             {"token_strs", std::move(texts)}});
  return response;
}

http::Response text_response(OpenAiRequest& request, const serve::TextModel& model) {
  const Result<std::vector<int32_t>> tokens = reader_of(model).tokens_of(request.prompts.front(), false);
  if (!tokens) return refusal(tokens.error(), "tokens");
  for (const int32_t token : *tokens)
    if (model.tokenizer().piece_of(token).empty())
      return refusal(invalid("model '" + model.name() + "' has no token " + std::to_string(token)), "tokens");
  http::Response response;
  response.text = dump_json({{"prompt", model.tokenizer().decode(*tokens, true)}});
  return response;
}

// The model of a request that names none.
template <typename Model>
Result<Model> only_one(std::vector<Model> all, const char* what) {
  if (all.size() == 1) return std::move(all.front());
  return invalid(all.empty() ? std::string("this server serves no ") + what
                             : "the request has no 'model', and this server serves several; GET /v1/models lists them");
}

// Numbers written where the answer is sent from; more are a thread's work: they take 0.28 ms (infer_endpoint.cc).
constexpr size_t kFewNumbers = 8 * 1024;

// Embeddings on their way to a client.
struct EmbeddingsAnswer {
  http::Responder responder;
  std::string model;
  bool base64 = false;
  std::optional<int64_t> dimensions;
  std::vector<std::string> unknown;  // members of the request
  int64_t tokens = 0;
  std::shared_ptr<Trace> trace;  // null: not traced
  MemoryHold memory;
  Result<serve::Vectors> vectors{Error{}};

  size_t numbers() const { return vectors && !vectors->empty() ? vectors->size() * vectors->front().size() : 0; }

  // Adds the text of the access log and the trace.
  http::Response response() {
    http::Response response = encoded();
    response.model = model;
    if (trace && response.status >= 500) trace->record.error = error_text(response.error, kLongestTracedError);
    response.trace = std::move(trace);
    return response;
  }

 private:
  static constexpr size_t kLongestTracedError = 1024;  // [bytes]

  http::Response encoded() {
    if (!vectors) return http::inference_error_response(vectors.error());
    for (std::vector<float>& vector : *vectors) {
      if (!dimensions) break;
      if (*dimensions > static_cast<int64_t>(vector.size()))
        return refusal(invalid("'dimensions' is " + std::to_string(*dimensions) + "; embeddings of model '" + model +
                               "' have " + std::to_string(vector.size())),
                       "dimensions");
      vector.resize(static_cast<size_t>(*dimensions));
      serve::normalise(vector);
    }
    http::Response response;
    response.text = embeddings_answer(model, *vectors, base64, tokens, unknown);
    return response;
  }
};

constexpr uint64_t kBodyRoom = uint64_t{1} << 20;  // [bytes] beside its texts
constexpr uint64_t kToRead = 8;  // [bytes] of memory per byte of a body, of at least kBodyRoom, while it is read
constexpr uint64_t kAnswerBytes = 2048;  // of one that has not begun

// Memory kept for a request until its answers end; its form takes no more than its body had.
uint64_t kept_bytes(const OpenAiAnswerOptions& options, uint64_t body_bytes) {
  uint64_t bytes = body_bytes;
  for (const AnswerPrompt& prompt : options.prompts)
    bytes += prompt.ids.size() * sizeof(int32_t) + prompt.echo.size() +
             options.choices * (prompt.echo.size() + kAnswerBytes);
  return bytes;
}

// Cached prefixes of a key, and of a salt, are shared with no other: the number is a part of a digest of both.
uint64_t prefix_group_of(const std::string& key, const std::string& salt) {
  if (key.empty() && salt.empty()) return 0;
  const std::string both = std::to_string(key.size()) + ":" + key + salt;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(both.data()), both.size(), digest.data());
  uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof(number));
  return number | uint64_t{1} << 63;
}

int64_t seconds_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

}  // namespace

// A request in progress: what is needed of its head, and its body.
struct OpenAiEndpoint::Call {
  OpenAiCall call;
  std::shared_ptr<const Body> body;
  std::string content_encoding;
  std::string trace_parent, trace_state;
  std::string key;  // its name
  MemoryHold memory;
  TimePoint arrived;
  std::stop_token client;
  http::Responder responder;
  // The version that answers, found once; one of them.
  serve::TextModelPtr model = {};
  serve::EncoderPtr encoder = {};

  void send(http::Response response) { responder.send(std::move(response)); }
};

OpenAiEndpoint::OpenAiEndpoint(serve::Service& service, OpenAiOptions options)
    : service_(service), options_(std::move(options)), threads_("text", options_.threads, options_.most_waiting) {}

void OpenAiEndpoint::handle(const http::Request& request, OpenAiCall call, http::Responder responder) {
  auto held = std::make_shared<Call>(
      Call{.call = call,
           .body = request.body,
           .content_encoding = std::string(request.content_encoding.value_or("")),
           .trace_parent = std::string(request.trace_parent),
           .trace_state = std::string(request.trace_state),
           .key = options_.keys ? options_.keys->current()->name_of(request.credentials) : std::string(),
           .memory = MemoryHold(options_.memory),
           .arrived = request.arrived,
           .client = request.client,
           .responder = std::move(responder)});
  const bool accepted = threads_.run([this, held] {
    try {
      run(*held);
    } catch (const std::bad_alloc&) {
      held->send(http::error_response(503, "not enough memory for this request"));
    }
  });
  if (!accepted)
    held->send(http::inference_error_response(
        Error{Code::kUnavailable, "too many requests are waiting to be read; try again later"}));
}

Result<serve::TextModelPtr> OpenAiEndpoint::model_of(const std::string& name) const {
  return name.empty() ? only_one(service_.text_models(), "language model") : service_.text_model(name);
}

Result<serve::EncoderPtr> OpenAiEndpoint::encoder_of(const std::string& name) const {
  return name.empty() ? only_one(service_.encoders(), "model that makes embeddings") : service_.encoder(name);
}

SizeLimit OpenAiEndpoint::body_limit(OpenAiCall call) const {
  uint64_t most = 0;
  const auto take = [&](int64_t tokens, const text::Tokenizer& tokenizer) {
    most = std::max(most, static_cast<uint64_t>(tokens) * tokenizer.longest());
  };
  if (call == OpenAiCall::kEmbedding)
    for (const serve::EncoderPtr& encoder : service_.encoders()) take(kMostInputTokens, encoder->tokenizer);
  else
    for (const serve::TextModelPtr& model : service_.text_models()) take(model->context(), model->tokenizer());
  if (kBodyRoom + most < options_.max_input_bytes) return {kBodyRoom + most};
  return {options_.max_input_bytes, kInputSizeOption};
}

void OpenAiEndpoint::run(Call& call) {
  if (call.client.stop_requested()) return;
  Result<std::shared_ptr<const Body>> body =
      http::unpacked(std::move(call.body), call.content_encoding, body_limit(call.call), 0);
  if (!body) return call.send(http::body_error_response(body.error()));
  const uint64_t body_bytes = (*body)->size(), most_to_read = kToRead * std::max(body_bytes, kBodyRoom);
  const uint64_t to_read = bytes_to_read((*body)->text());
  if (to_read > most_to_read)
    return call.send(refusal(invalid("the request has so many values that reading its " + std::to_string(body_bytes) +
                                     " bytes takes " + std::to_string(to_read) + "; this server gives it " +
                                     std::to_string(most_to_read) + ": send fewer values"),
                             ""));
  if (!call.memory.set(std::max(to_read, kToRead * body_bytes))) throw std::bad_alloc();
  std::string about;
  Result<OpenAiRequest> request = read(call, **body, about);
  body = std::shared_ptr<const Body>();
  if (!request) return call.send(refusal(request.error(), std::move(about)));
  log_unknown(request->unknown);
  switch (call.call) {
    case OpenAiCall::kEmbedding: return embed(call, std::move(*request));
    case OpenAiCall::kDetokenize: return call.send(text_response(*request, *call.model));
    default: return generate(call, std::move(*request), body_bytes);
  }
}

// What a request leaves out is as the version has it that answers.
Result<OpenAiRequest> OpenAiEndpoint::read(Call& call, const Body& body, std::string& about) const {
  JsonParser parser;
  RIDGE_ASSIGN(const simdjson::dom::object object, parser.parse(body.text()));
  about = "model";
  RIDGE_ASSIGN(const std::string name, model_named(object));
  ModelHabits habits;
  if (call.call == OpenAiCall::kEmbedding) {
    RIDGE_ASSIGN(call.encoder, encoder_of(name));
  } else {
    RIDGE_ASSIGN(call.model, model_of(name));
    habits = {call.model->usual_sampling(), call.model->answer_form()};
  }
  return read_openai_request(object, call.call, std::move(habits), about);
}

// Each name is logged once, and no more than kMostNames of them: clients can neither fill the log nor memory.
void OpenAiEndpoint::log_unknown(const std::vector<std::string>& members) {
  constexpr size_t kMostNames = 100;
  for (const std::string& member : members) {
    MutexLock lock(mutex_);
    if (unknown_.size() == kMostNames || !unknown_.insert(member).second) continue;
    std::string name;
    append_json_string(name, member);  // nothing that ends a line
    log::warning("requests have the member {}, which is not known here and has no effect (said once){}", name,
                 unknown_.size() == kMostNames ? "; further unknown members are not logged" : "");
  }
}

void OpenAiEndpoint::generate(Call& call, OpenAiRequest request, uint64_t body_bytes) {
  serve::TextModel& model = *call.model;
  OpenAiAnswerOptions options;
  if (Status applied = apply_template(request, model, options.thoughts); !applied)
    return call.send(refusal(applied.error(), "messages"));
  for (Prompt& prompt : request.prompts) {
    Result<std::vector<int32_t>> tokens = reader_of(model).tokens_of(prompt, request.add_special);
    if (!tokens) return call.send(refusal(tokens.error(), "prompt"));
    if (call.call == OpenAiCall::kTokenize) return call.send(tokens_response(request, model, *tokens));
    AnswerPrompt& kept = options.prompts.emplace_back();
    if (request.echo) kept.echo = text_of(prompt, *tokens, model.tokenizer());
    kept.ids = std::move(*tokens);
    prompt = {};
  }
  serve::TextRequest& wanted = request.wanted;
  if (options_.keys) options.keys = options_.keys->current();
  options.key = call.key;
  wanted.prefix_group = prefix_group_of(call.key, request.cache_salt);
  wanted.key = call.key.empty() ? std::move(request.user) : std::move(call.key);
  options.form = {.call = call.call,
                  .id = (call.call == OpenAiCall::kChat ? "chatcmpl-" : "cmpl-") + new_trace_id(),
                  .model = model.name(),
                  .created = seconds_now(),
                  .logprobs = wanted.logprobs,
                  .token_ids = request.token_ids,
                  .with_usage = request.usage,
                  .unknown = std::move(request.unknown)};
  options.choices = static_cast<size_t>(wanted.choices);
  options.stream = request.stream;
  options.usage_always = request.usage_always;
  if (request.has_tools) options.calls = request.answers.calls;
  options.one_call = request.one_call;
  options.must_call = request.must_call;
  options.called = std::move(request.called);
  options.without_thoughts = request.without_thoughts;
  if (call.call == OpenAiCall::kChat) wanted.marks = request.answers.marks(request.has_tools);
  if (options_.tracer)
    options.trace = options_.tracer->begin({.protocol = "http",
                                            .model = options.form.model,
                                            .parent = call.trace_parent,
                                            .state = call.trace_state,
                                            .arrived = call.arrived});
  if (!call.memory.set(kept_bytes(options, body_bytes))) throw std::bad_alloc();
  options.memory = std::move(call.memory);
  const auto answer = std::make_shared<OpenAiAnswer>(std::move(options), std::move(call.responder));
  for (size_t i = 0; i < answer->prompts().size(); ++i) {
    wanted.prompt = answer->prompts()[i].ids;  // NOLINT(bugprone-use-after-move): the last one takes it
    const bool last = i + 1 == answer->prompts().size();
    Result<std::unique_ptr<serve::TextTicket>> ticket =
        model.generate(last ? std::move(wanted) : wanted, answer->sink_of(i));
    if (!ticket) return answer->refuse(ticket.error());
    answer->hold(std::move(*ticket));
  }
  answer->complete(call.client);
}

void OpenAiEndpoint::embed(Call& call, OpenAiRequest request) {
  serve::EmbeddingRequest wanted{.texts = {}, .arrived = call.arrived, .cancelled = call.client};
  auto answer = std::make_shared<EmbeddingsAnswer>(EmbeddingsAnswer{.responder = std::move(call.responder),
                                                                    .model = call.encoder->model,
                                                                    .base64 = request.base64,
                                                                    .dimensions = request.dimensions,
                                                                    .unknown = std::move(request.unknown),
                                                                    .trace = {},
                                                                    .memory = std::move(call.memory)});
  const Reader reader{answer->model, call.encoder->tokenizer, call.encoder->most_tokens};
  for (Prompt& prompt : request.prompts) {
    Result<std::vector<int32_t>> tokens = reader.tokens_of(prompt, request.add_special);
    prompt = {};
    if (!tokens) return answer->responder.send(refusal(tokens.error(), "input"));
    answer->tokens += static_cast<int64_t>(tokens->size());
    if (answer->tokens > kMostInputTokens)
      return answer->responder.send(refusal(
          invalid("the inputs have more than " + std::to_string(kMostInputTokens) + " tokens together"), "input"));
    wanted.texts.push_back(std::move(*tokens));
  }
  if (const Status right = serve::check_texts(*call.encoder, wanted.texts); !right)
    return answer->responder.send(refusal(right.error(), "input"));
  if (options_.keys) count_tokens(options_.keys->current().get(), call.key, answer->tokens, 0);
  answer->memory.set(static_cast<uint64_t>(answer->tokens) * sizeof(int32_t));
  if (options_.tracer)
    answer->trace = options_.tracer->begin({.protocol = "http",
                                            .model = answer->model,
                                            .parent = call.trace_parent,
                                            .state = call.trace_state,
                                            .arrived = call.arrived});
  wanted.stages = stages_of(answer->trace);
  const auto infer = [this](serve::InferRequest one, serve::InferDone done) {
    service_.infer(std::move(one), std::move(done));
  };
  serve::embed(infer, std::move(call.encoder), std::move(wanted), [this, answer](Result<serve::Vectors> vectors) {
    answer->vectors = std::move(vectors);
    http::Responder back = std::move(answer->responder);
    // On the connection's thread, which does not outlive this endpoint.
    back.send_later([this, answer](const http::ReplyTo& reply_to) -> std::optional<http::Response> {
      if (answer->numbers() <= kFewNumbers) return answer->response();
      answer->responder = http::Responder(reply_to);
      const bool accepted = threads_.run([answer] { answer->responder.send(answer->response()); });
      if (!accepted) answer->responder.send(answer->response());  // too many wait, but a finished answer is kept
      return std::nullopt;
    });
  });
}

http::Response models_response(const serve::Service& service) {
  Json cards = Json::array();
  for (const serve::TextModelPtr& model : service.text_models()) cards.push_back(card_of(*model));
  for (const serve::EncoderPtr& encoder : service.encoders()) cards.push_back(card_of(*encoder));
  http::Response response;
  response.text = dump_json({{"object", "list"}, {"data", std::move(cards)}});
  return response;
}

Json model_card(const serve::Service& service, const std::string& model) {
  if (const Result<serve::TextModelPtr> found = service.text_model(model)) return card_of(**found);
  const Result<serve::EncoderPtr> encoder = service.encoder(model);
  return encoder ? card_of(**encoder) : Json();
}

}  // namespace ridge::front::openai
