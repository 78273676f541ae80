#include "client/token_stream.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/wire.h"

namespace ridge::client {
namespace {

constexpr size_t kMostUnstreamed = 64 << 20;  // [bytes] of an answer that is not streamed
constexpr size_t kShownOfData = 120;          // [bytes] of what was received, in errors

// Where a choice has its text: completions, chat; behind "delta" of a stream, "message" of a whole answer.
constexpr std::array<const char*, 4> kTexts = {"text", "content", "reasoning_content", "reasoning"};

bool has_text(const Json& part) {
  for (const char* name : kTexts)
    if (const auto at = part.find(name);
        at != part.end() && at->is_string() && !at->get_ref<const std::string&>().empty())
      return true;
  const auto calls = part.find("tool_calls");
  return calls != part.end() && calls->is_array() && !calls->empty();
}

bool choice_has_text(const Json& choice) {
  if (!choice.is_object()) return false;
  for (const char* inner : {"delta", "message"})
    if (const auto at = choice.find(inner); at != choice.end() && at->is_object() && has_text(*at)) return true;
  return has_text(choice);
}

}  // namespace

void TokenStream::begin(int64_t number) {
  parser_.reset();
  body_.clear();
  record_ = {};
  record_.number = number;
  done_ = usage_ = has_text_ = false;
  failure_ = 0;
  why_.clear();
}

void TokenStream::take(std::string_view body) {
  if (failure_ != 0) return;
  if (!streaming_) {
    if (body_.size() + body.size() > kMostUnstreamed) return fail(kBadAnswer, "the answer is longer than 64 MiB");
    body_.append(body);
    return;
  }
  now_ = clock_.now();
  if (!parser_.feed(body, [this](std::string_view data) { take_event(data); }) && failure_ == 0)
    fail(kBadAnswer, parser_.problem());
}

void TokenStream::take_event(std::string_view data) {
  if (failure_ != 0 || done_) return;
  if (data == "[DONE]") return void(done_ = true);
  const Result<Json> json = parse_json(data, "an event of the stream");
  if (!json) return fail(kBadAnswer, fmt::format("{}: '{}'", json.error().message, data.substr(0, kShownOfData)));
  read(*json);
}

// A chunk of a stream, or a whole answer.
void TokenStream::read(const Json& json) {
  if (!json.is_object()) return fail(kBadAnswer, "an event of the stream is not a JSON object");
  if (const auto error = json.find("error"); error != json.end() && !error->is_null())
    return fail(kErrorInAnswer, error_of(json));
  const auto choices = json.find("choices");
  if (choices == json.end() || !choices->is_array())
    return fail(kBadAnswer,
                fmt::format("'choices' is {}, not a list", choices == json.end() ? "absent" : choices->type_name()));
  for (const Json& choice : *choices) {
    if (!choice_has_text(choice)) continue;
    has_text_ = true;
    if (!streaming_) continue;
    if (record_.events++ == 0)
      record_.first = now_;
    else
      record_.gaps_ms.push_back(static_cast<float>(to_ms(now_ - record_.last)));
    record_.last = now_;
  }
  const auto usage = json.find("usage");
  if (usage == json.end() || usage->is_null()) return;
  const Result<int64_t> prompt = json_member<int64_t>(*usage, "prompt_tokens");
  const Result<int64_t> output = json_member<int64_t>(*usage, "completion_tokens");
  if (!prompt || !output)
    return fail(kBadAnswer, "usage: " + (prompt ? output.error().message : prompt.error().message));
  record_.prompt_tokens = *prompt;
  record_.output_tokens = *output;
  usage_ = true;
}

int TokenStream::end(TimePoint sent, std::string& why) {
  if (!streaming_ && failure_ == 0) {
    const Result<Json> json = parse_json(body_, "the answer");
    if (json)
      read(*json);
    else
      fail(kBadAnswer, fmt::format("{}: '{}'", json.error().message, body_.substr(0, kShownOfData)));
  } else if (failure_ == 0 && !parser_.end([this](std::string_view data) { take_event(data); })) {
    fail(kBadAnswer, parser_.problem());
  }
  if (failure_ == 0 && streaming_ && !done_) fail(kNoDone, "the stream ended without 'data: [DONE]'");
  if (failure_ == 0 && !has_text_) fail(kNoTokens, "the answer has no text");
  if (failure_ == 0 && !usage_)
    fail(kNoUsage, streaming_ ? "the server sent no 'usage', which stream_options.include_usage asked for"
                              : "the answer has no 'usage'");
  if (failure_ == 0) {
    record_.sent = sent;
    records_.push_back(std::move(record_));
  }
  why = std::move(why_);
  return failure_;
}

void TokenStream::fail(int failure, std::string why) {
  failure_ = failure;
  why_ = std::move(why);
}

}  // namespace ridge::client
