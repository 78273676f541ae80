#include "serve/text_request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

namespace ridge::serve {
namespace {

constexpr int kMostChoices = 128;  // as OpenAI has it

Status check_lengths(const TextLimits& limits, const TextRequest& request) {
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt == 0) return invalid("the prompt is empty; it needs one token at least");
  if (request.most_tokens.value_or(0) < 0)
    return invalid(fmt::format("{} tokens are to be generated, which is less than none", *request.most_tokens));
  const int64_t answer = request.most_tokens.value_or(1);
  if (answer > limits.context || prompt > limits.context - answer)
    return invalid(
        fmt::format("the prompt has {} tokens and {} are to be generated, but model '{}' takes {} together; "
                    "shorten the prompt or ask for fewer tokens",
                    prompt, answer, limits.model, limits.context));
  if (request.least_tokens < 0 || request.least_tokens > request.most_tokens.value_or(limits.context - prompt))
    return invalid(fmt::format("the least number of tokens is {}, which is not between 0 and the most of them",
                               request.least_tokens));
  return {};
}

Status check_tokens(const TextLimits& limits, std::span<const int32_t> tokens, const char* which) {
  for (const int32_t token : tokens)
    if (token < 0 || token >= limits.vocabulary)
      return invalid(fmt::format("{} has the token {}, and those of model '{}' are 0 to {}", which, token, limits.model,
                                 limits.vocabulary - 1));
  return {};
}

}  // namespace

Status check_text_request(const TextLimits& limits, const TextRequest& request) {
  RIDGE_TRY(check_lengths(limits, request));
  RIDGE_TRY(check_tokens(limits, request.prompt, "the prompt"));
  RIDGE_TRY(check_tokens(limits, request.stop_tokens, "the list of stop tokens"));
  for (const auto& [token, bias] : request.sampling.logit_bias)
    RIDGE_TRY(check_tokens(limits, std::span(&token, 1), "logit_bias"));
  if (request.choices < 1 || request.choices > kMostChoices)
    return invalid(fmt::format("{} choices were asked for; 1 to {} are possible", request.choices, kMostChoices));
  if (request.logprobs > limits.vocabulary)
    return invalid(fmt::format("{} alternatives were asked for each token, and model '{}' has {} tokens",
                               request.logprobs, limits.model, limits.vocabulary));
  if (std::ranges::any_of(request.stop, &std::string::empty)) return invalid("a stop text is empty; leave it out");
  if (request.form && !limits.has_end)
    return invalid(
        fmt::format("response_format and a call that must be made need a token that ends an answer, and the files of "
                    "model '{}' name none "
                    "(eos_token_id of generation_config.json)",
                    limits.model));
  if (request.form && request.least_tokens > 0)
    return invalid(
        "min_tokens cannot be had together with response_format or a call that must be made: their form says where the "
        "answer may end");
  return {};
}

}  // namespace ridge::serve
