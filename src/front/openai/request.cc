#include "front/openai/request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "front/openai/members.h"
#include "front/openai/values.h"

namespace ridge::front::openai {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kUsualTokens = 16;  // of a completion that says nothing of it, as OpenAI's

Status read_members(OpenAiReading& reading, const dom::object& object, std::string& about) {
  std::vector<const Member*> seen;
  for (const dom::key_value_pair pair : object) {
    const Member* member = member_of(reading.call, pair.key);
    about = pair.key;
    if (member == nullptr) {
      RIDGE_TRY(read_foreign(reading, pair));
      continue;
    }
    if (std::find(seen.begin(), seen.end(), member) != seen.end())
      return invalid("member " + in_quotes(pair.key) + " is given twice");
    seen.push_back(member);
    if (!pair.value.is_null()) RIDGE_TRY(member->kind.read(reading, pair.value, member->name));
  }
  about.clear();
  return {};
}

Status finish_prompt(OpenAiReading& reading, std::string& about) {
  OpenAiRequest& request = reading.request;
  const bool may_converse = reading.call == OpenAiCall::kChat || reading.call == OpenAiCall::kTokenize;
  if (may_converse && !reading.conversation.messages.is_null()) {
    if (request.prompts.empty()) return finish_conversation(std::move(reading.conversation), request, about);
    return invalid("the request has 'messages' and 'prompt'; give one of them");
  }
  if (!request.prompts.empty()) return {};
  about = main_member(reading.call);
  return invalid("the request has no " + in_quotes(about));
}

Status check_together(OpenAiReading& reading, std::string& about) {
  OpenAiRequest& request = reading.request;
  serve::TextRequest& wanted = request.wanted;
  if (reading.best_of && *reading.best_of != wanted.choices) {
    about = "best_of";
    return invalid("'best_of' other than 'n' is not supported; leave it out");
  }
  if (reading.call != OpenAiCall::kEmbedding &&
      static_cast<int64_t>(request.prompts.size()) * wanted.choices > kMostAnswers) {
    about = "n";
    return invalid("the request asks for more than " + std::to_string(kMostAnswers) + " answers");
  }
  if (reading.top_logprobs && !reading.wants_logprobs) {
    about = "top_logprobs";
    return invalid("'top_logprobs' needs 'logprobs': true");
  }
  if (reading.wants_logprobs) wanted.logprobs = static_cast<int>(reading.top_logprobs.value_or(0));
  if (reading.has_stream_options && !request.stream) {
    about = "stream_options";
    return invalid("'stream_options' needs 'stream': true");
  }
  wanted.sampling.top_k = std::max(wanted.sampling.top_k, 0);
  if (reading.first_token_within_ms) wanted.first_token_within = from_seconds(*reading.first_token_within_ms / 1e3);
  if (reading.most_completion_tokens) wanted.most_tokens = reading.most_completion_tokens;
  if (wanted.most_tokens == 0 && !request.echo) {
    about = reading.most_completion_tokens ? "max_completion_tokens" : "max_tokens";
    return invalid(in_quotes(about) + " is 0, which generates nothing; with 'echo' it gives the prompt's logprobs");
  }
  if (wanted.most_tokens && wanted.least_tokens > *wanted.most_tokens) {
    about = "min_tokens";
    return invalid("'min_tokens' is more than the request's most tokens");
  }
  wanted.prompt_logprobs = request.echo && wanted.logprobs >= 0;
  return {};
}

}  // namespace

Result<std::string> model_named(const dom::object& request) {
  dom::element model;
  if (request["model"].get(model) != simdjson::SUCCESS || model.is_null()) return std::string();
  RIDGE_ASSIGN(const std::string_view name, read_string(model, "'model'"));
  return std::string(name);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 says so of the lists of `reading` while it is made
Result<OpenAiRequest> read_openai_request(const dom::object& object, OpenAiCall call, ModelHabits habits,
                                          std::string& about) {
  about.clear();
  OpenAiReading reading{.call = call};
  OpenAiRequest& request = reading.request;
  if (call == OpenAiCall::kCompletion) request.wanted.most_tokens = kUsualTokens;
  request.wanted.sampling = std::move(habits.sampling);
  request.answers = habits.answers;
  RIDGE_TRY(read_members(reading, object, about));
  RIDGE_TRY(finish_prompt(reading, about));
  RIDGE_TRY(check_together(reading, about));
  request.add_special = reading.add_special.value_or(request.variables.is_null());  // templates write theirs
  return std::move(request);
}
#pragma GCC diagnostic pop

}  // namespace ridge::front::openai
