#include "front/openai/conversation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "front/openai/tool_calls.h"
#include "front/openai/values.h"
#include "front/request_json.h"

namespace ridge::front::openai {

namespace dom = simdjson::dom;

namespace {

Status check_parts(const dom::array& parts, const std::string& where) {
  for (const dom::element part : parts) {
    std::string_view type, content;
    if (part["type"].get_string().get(type) != simdjson::SUCCESS)
      return invalid(where + ".content has a part without a 'type'");
    if (type != "text")
      return invalid(where + ".content has a part of type '" + std::string(type) +
                     "'; this server reads only those of type 'text'");
    if (part["text"].get_string().get(content) != simdjson::SUCCESS)
      return invalid(where + ".content has a part of type 'text' without a 'text'");
  }
  return {};
}

// Templates get the arguments of a call as an object; clients send them back as the text that they got.
void parse_arguments(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  for (Json& call : *calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    Json& function = call["function"];
    const auto arguments = function.find("arguments");
    if (arguments == function.end() || !arguments->is_string()) continue;
    if (Result<Json> parsed = parse_json(arguments->get_ref<const std::string&>(), "arguments"))
      *arguments = std::move(*parsed);
  }
}

Result<Json> read_message(const dom::element& value, std::string_view name, size_t index) {
  const std::string where = std::string(name) + "[" + std::to_string(index) + "]";
  if (!value.is_object()) return wrong_type(where, "an object with 'role' and 'content'", value);
  RIDGE_ASSIGN(Json message, json_of(value, name));
  if (!message.contains("role") || !message["role"].is_string()) return invalid(where + " has no 'role'");
  dom::element content;
  const bool given = value["content"].get(content) == simdjson::SUCCESS && !content.is_null();
  if (!given) {
    message["content"] = nullptr;
  } else if (content.is_array()) {
    RIDGE_TRY(check_parts(content.get_array().value_unsafe(), where));
  } else if (!content.is_string()) {
    return wrong_type(where + ".content", "a text or a list of parts", content);
  }
  parse_arguments(message);
  // vLLM's newer name; templates know the older one.
  if (message.contains("reasoning") && !message.contains("reasoning_content"))
    message["reasoning_content"] = message["reasoning"];
  return message;
}

constexpr std::pair<std::string_view, ToolChoice> kToolChoices[] = {
    {"none", ToolChoice::kNone}, {"auto", ToolChoice::kAuto}, {"required", ToolChoice::kRequired}};

Status keep_tools(Conversation& conversation, const std::vector<std::string>& names) {
  Json chosen = Json::array();
  for (const std::string& name : names) {
    const size_t before = chosen.size();
    for (const Json& tool : conversation.tools)
      if (tool["function"]["name"] == name) chosen.push_back(tool);
    if (chosen.size() == before)
      return invalid("'tool_choice' names the function " + in_quotes(name) + ", which 'tools' has not");
  }
  conversation.tools = std::move(chosen);
  return {};
}

// Shows only the named function, if one is named; tools that may not be called are not shown.
Status choose_tools(Conversation& conversation) {
  if (conversation.tools.is_null()) {
    if (conversation.choice == ToolChoice::kNone || conversation.choice == ToolChoice::kAuto) return {};
    return invalid("'tool_choice' names tools, and the request has none");
  }
  if (conversation.choice == ToolChoice::kNone) conversation.tools = Json();
  if (!conversation.allowed.empty()) RIDGE_TRY(keep_tools(conversation, conversation.allowed));
  if (conversation.choice != ToolChoice::kFunction) return {};
  return keep_tools(conversation, {conversation.chosen});
}

}  // namespace

Status read_messages(Conversation& conversation, const dom::element& value, std::string_view name) {
  if (!value.is_array()) return wrong_member(name, "a list of messages", value);
  Json& messages = conversation.messages = Json::array();
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(Json message, read_message(each, name, messages.size()));
    messages.push_back(std::move(message));
  }
  if (messages.empty()) return invalid("'messages' is empty; a conversation has at least one message");
  return {};
}

Status read_tools(Conversation& conversation, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(Json tools, json_of(value, name));
  if (!tools.is_array()) return wrong_member(name, "a list of tools", value);
  for (const Json& tool : tools) {
    const bool is_function = tool.is_object() && tool.value("type", Json()) == "function" &&
                             tool.contains("function") && tool["function"].is_object() &&
                             tool["function"].contains("name") && tool["function"]["name"].is_string();
    if (!is_function)
      return invalid(R"('tools' should be a list of {"type":"function","function":{"name":…}}, found )" +
                     dump_json(tool).substr(0, 60));
  }
  if (!tools.empty()) conversation.tools = std::move(tools);
  return {};
}

Status read_tool_choice(Conversation& conversation, const dom::element& value, std::string_view name) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    const auto* row = std::ranges::find(kToolChoices, text, &std::pair<std::string_view, ToolChoice>::first);
    if (row == std::end(kToolChoices)) return out_of_range(name, "none, auto, required or a function", value);
    conversation.choice = row->second;
    return {};
  }
  dom::element allowed;
  if (value["allowed_tools"].get(allowed) == simdjson::SUCCESS) {
    dom::array tools;
    if (allowed["tools"].get_array().get(tools) != simdjson::SUCCESS || tools.size() == 0)
      return invalid(R"('tool_choice' should have {"allowed_tools":{"mode":"auto","tools":[…]}})");
    for (const dom::element tool : tools) {
      if (tool["function"]["name"].get_string().get(text) != simdjson::SUCCESS)
        return invalid("'tool_choice' should list functions as 'allowed_tools'");
      conversation.allowed.emplace_back(text);
    }
    dom::element mode;
    if (allowed["mode"].get(mode) == simdjson::SUCCESS) return read_tool_choice(conversation, mode, name);
    return {};
  }
  if (value["function"]["name"].get_string().get(text) != simdjson::SUCCESS)
    return invalid(
        R"('tool_choice' should be none, auto, required, {"type":"function","function":{"name":…}} or allowed_tools)");
  conversation.choice = ToolChoice::kFunction;
  conversation.chosen = text;
  return {};
}

Status read_documents(Conversation& conversation, const dom::element& value, std::string_view name) {
  if (!value.is_array()) return wrong_member(name, "a list of documents", value);
  RIDGE_ASSIGN(conversation.documents, json_of(value, name));
  return {};
}

Status finish_conversation(Conversation conversation, OpenAiRequest& request, std::string& about) {
  about = "tool_choice";
  RIDGE_TRY(choose_tools(conversation));
  request.has_tools = !conversation.tools.is_null();
  request.one_call = !conversation.parallel_calls;
  about = "tools";
  const bool named = conversation.choice == ToolChoice::kFunction;
  request.must_call = request.has_tools && (named || conversation.choice == ToolChoice::kRequired);
  if (request.must_call) {
    RIDGE_ASSIGN(request.wanted.form,
                 call_form(conversation.tools, conversation.parallel_calls && !named, *request.answers.calls));
    if (conversation.tools.size() == 1) request.called = conversation.tools[0]["function"]["name"];
  }
  about = "continue_final_message";
  if (request.continue_final && conversation.add_generation_prompt)
    return invalid("'continue_final_message' goes with 'add_generation_prompt': false");
  about.clear();
  // The template gets them as from vLLM; chat_template_kwargs comes last.
  Json& variables = request.variables;
  variables = Json::object();
  if (!conversation.documents.is_null()) variables["documents"] = std::move(conversation.documents);
  if (!conversation.reasoning_effort.empty()) variables["reasoning_effort"] = conversation.reasoning_effort;
  if (conversation.reasoning_effort == "none") variables["enable_thinking"] = false;
  if (!conversation.template_arguments.is_null()) variables.update(conversation.template_arguments);
  variables["messages"] = std::move(conversation.messages);
  if (request.has_tools) variables["tools"] = std::move(conversation.tools);
  variables["add_generation_prompt"] = conversation.add_generation_prompt;
  return {};
}

}  // namespace ridge::front::openai
