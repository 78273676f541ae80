// Any bytes are either a request of OpenAI's API or an error. The first byte chooses the call. What was read is within
// its limits, and answers made of it are JSON. As a model's text, the bytes give the same calls of tools however they
// are cut.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "front/openai/request.h"
#include "front/openai/response.h"
#include "front/openai/tool_calls.h"

using namespace ridge;
using namespace ridge::front;
using namespace ridge::front::openai;

namespace {

void check(bool right) {
  if (!right) std::abort();
}

void check_events(std::string_view events) {
  while (!events.empty()) {
    const size_t end = events.find("\n\n");
    check(end != std::string_view::npos && events.starts_with("data: "));
    check(nlohmann::json::accept(events.substr(6, end - 6)));
    events.remove_prefix(end + 2);
  }
}

void check_answers(const OpenAiRequest& request, OpenAiCall call, std::string_view bytes) {
  const OpenAiForm form{.call = call == OpenAiCall::kChat ? call : OpenAiCall::kCompletion,
                        .id = request.user,
                        .model = request.user,
                        .logprobs = request.wanted.logprobs,
                        .token_ids = request.token_ids,
                        .with_usage = request.usage,
                        .unknown = request.unknown};
  AnswerPart part;
  part.begins = true;
  part.text = bytes;
  part.tokens = {{1, part.text, -1, {{2, part.text.substr(part.text.size() / 2), -2, {}}}}};
  part.calls = {{.index = 0, .id = "1", .call = {part.text, part.text}}};
  part.finish = "stop";
  part.stop_reason = request.wanted.stop.empty() ? "" : request.wanted.stop.front();
  check_events(event_of(form, part, nullptr));
  check(nlohmann::json::accept(whole_answer(form, {&part, 1}, {})));
}

struct ReadCalls {
  std::string text;
  std::vector<ToolCall> calls;
  void take(ToolCallReader::Found found) {
    text += found.text;
    for (ToolCall& call : found.calls) calls.push_back(std::move(call));
  }
};

ReadCalls read_calls(std::string_view text, size_t size, const text::CallForm& form) {
  ToolCallReader reader(form);
  ReadCalls read;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) read.take(reader.add(text.substr(0, size)));
  read.take(reader.end(true, false));
  return read;
}

void check_tool_calls(std::string_view text) {
  for (const char* sign : {"<tool_call>", "[TOOL_CALLS]", "<|python_tag|>"}) {
    const text::CallForm& form = *text::answer_form_of(sign).calls;
    const ReadCalls whole = read_calls(text, text.size() + 1, form), bytes = read_calls(text, 1, form);
    check(whole.text == bytes.text && whole.calls.size() == bytes.calls.size());
    for (size_t i = 0; i < whole.calls.size(); ++i)
      check(whole.calls[i].name == bytes.calls[i].name && whole.calls[i].arguments == bytes.calls[i].arguments);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr std::array kCalls{OpenAiCall::kCompletion, OpenAiCall::kChat, OpenAiCall::kTokenize,
                              OpenAiCall::kDetokenize};
  const OpenAiCall call = data[0] == 'e' ? OpenAiCall::kEmbedding : kCalls[data[0] % kCalls.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Body body;
  body.start(bytes.size());
  body.append(std::as_bytes(std::span(bytes)));
  std::string about;
  JsonParser parser;
  const Result<simdjson::dom::object> object = parser.parse(body.text());
  if (!object) return 0;
  (void)model_named(*object);
  const Result<OpenAiRequest> request = read_openai_request(*object, call, {}, about);
  if (request) {
    check(request->prompts.size() * static_cast<size_t>(request->wanted.choices) <=
          (call == OpenAiCall::kEmbedding ? size_t{kMostInputs} : size_t{kMostAnswers}));
    check(request->prompts.empty() != request->variables.is_null());
    check_answers(*request, call, bytes.substr(0, 1000));
  } else {
    check(!request.error().message.empty());
  }
  check_tool_calls(bytes.substr(0, 4096));
  return 0;
}
