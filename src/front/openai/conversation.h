// Conversations: their messages, and the tools that the model may or must call. Pure.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "front/openai/request.h"

namespace ridge::front::openai {

enum class ToolChoice : uint8_t { kNone, kAuto, kRequired, kFunction };

struct Conversation {
  Json messages = {}, tools = {}, template_arguments = {}, documents = {};  // null: not given
  std::string reasoning_effort = {};
  ToolChoice choice = ToolChoice::kAuto;
  std::string chosen = {};                // function
  std::vector<std::string> allowed = {};  // functions; empty: all
  bool parallel_calls = true;
  bool add_generation_prompt = true;
};

Status read_messages(Conversation& conversation, const simdjson::dom::element& value, std::string_view name);
Status read_tools(Conversation& conversation, const simdjson::dom::element& value, std::string_view name);
Status read_documents(Conversation& conversation, const simdjson::dom::element& value, std::string_view name);
Status read_tool_choice(Conversation& conversation, const simdjson::dom::element& value, std::string_view name);

// The variables of the chat template, and the form of an answer that must be a call. Errors: kInvalid; `about` is then
// the member that is wrong.
Status finish_conversation(Conversation conversation, OpenAiRequest& request, std::string& about);

}  // namespace ridge::front::openai
