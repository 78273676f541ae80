#include "front/http/tool_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"

namespace ridge::front::http {
namespace {

constexpr std::string_view kCallBegins = "<tool_call>", kCallEnds = "</tool_call>";
constexpr std::string_view kBlanks = " \t\r\n";

std::optional<ToolCall> call_of(std::string_view text) {
  Result<Json> parsed = parse_json(text, "a call");
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto name = parsed->find("name");
  if (name == parsed->end() || !name->is_string()) return std::nullopt;
  auto arguments = parsed->find("arguments");
  if (arguments == parsed->end()) arguments = parsed->find("parameters");
  ToolCall call{name->get<std::string>(), "{}"};
  if (arguments != parsed->end())
    call.arguments = arguments->is_string() ? arguments->get<std::string>() : dump_json(*arguments);
  return call;
}

// Characters at the end of a text that may become the mark.
size_t begun_mark(std::string_view text) {
  for (size_t length = std::min(text.size(), kCallBegins.size() - 1); length > 0; --length)
    if (text.ends_with(kCallBegins.substr(0, length))) return length;
  return 0;
}

}  // namespace

Result<text::JsonGrammar> call_form(const Json& tools, bool several) {
  static const Json kNoParameters = {{"type", "object"}, {"properties", Json::object()}};
  std::vector<text::JsonInText> calls;
  for (const Json& tool : tools) {
    const Json& function = tool["function"];
    const auto parameters = function.find("parameters");
    const bool given = parameters != function.end() && !parameters->is_null();
    const std::string name = dump_json(function["name"]);
    calls.push_back({.begin = std::string(kCallBegins),
                     .before = R"({"name": )" + name + R"(, "arguments": )",
                     .schema = given ? &*parameters : &kNoParameters,
                     .after = "}",
                     .end = std::string(kCallEnds),
                     .name = "the parameters of the function " + name});
  }
  Result<text::JsonGrammar> form = text::JsonGrammar::of(calls, several);
  if (!form) return invalid(form.error().message);
  return form;
}

ToolCallReader::Found ToolCallReader::add(std::string_view text) {
  held_ += text;
  Found found;
  read(found);
  return found;
}

ToolCallReader::Found ToolCallReader::end() {
  Found found;
  std::string rest = std::exchange(held_, {});
  if (in_call_) {
    if (std::optional<ToolCall> call = call_of(rest))
      found.calls.push_back(std::move(*call));
    else
      found.text = blanks_ + std::string(kCallBegins) + rest;
  } else if (!had_call_ || rest.find_first_not_of(kBlanks) != std::string::npos) {
    found.text = std::move(rest);
  }
  return found;
}

void ToolCallReader::read(Found& found) {
  while (in_call_ ? read_call(found) : read_text(found)) {
  }
}

void ToolCallReader::give(Found& found, std::string_view text) {
  if (had_call_) text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (text.empty()) return;
  had_call_ = false;
  found.text += text;
}

// True: a mark was found.
bool ToolCallReader::read_text(Found& found) {
  const size_t mark = held_.find(kCallBegins);
  const size_t certain = mark == std::string::npos ? held_.size() - begun_mark(held_) : mark;
  const size_t last = std::string_view(held_).substr(0, certain).find_last_not_of(kBlanks);
  const size_t given = last == std::string::npos ? 0 : last + 1;
  give(found, std::string_view(held_).substr(0, given));
  if (mark == std::string::npos) {
    held_.erase(0, given);
    return false;
  }
  blanks_ = held_.substr(given, mark - given);
  held_.erase(0, mark + kCallBegins.size());
  in_call_ = true;
  searched_ = 0;
  return true;
}

bool ToolCallReader::read_call(Found& found) {
  const size_t mark = held_.find(kCallEnds, searched_);
  if (mark == std::string::npos) {
    searched_ = held_.size() - std::min(held_.size(), kCallEnds.size() - 1);
    return false;
  }
  const std::string_view inside = std::string_view(held_).substr(0, mark);
  if (std::optional<ToolCall> call = call_of(inside)) {
    found.calls.push_back(std::move(*call));
    had_call_ = true;
  } else {
    had_call_ = false;
    found.text.append(blanks_).append(kCallBegins).append(inside).append(kCallEnds);
  }
  held_.erase(0, mark + kCallEnds.size());
  in_call_ = false;
  return true;
}

}  // namespace ridge::front::http
