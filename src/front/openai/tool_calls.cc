#include "front/openai/tool_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace ridge::front::openai {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

size_t first_of_text(std::string_view text, std::string_view blanks = kBlanks) {
  return std::min(text.find_first_not_of(blanks), text.size());
}

// `bare`: without a mark it needs arguments, to be told from JSON that is an answer.
std::optional<ToolCall> call_of(const Json& json, bool bare) {
  if (!json.is_object()) return std::nullopt;
  const auto name = json.find("name");
  if (name == json.end() || !name->is_string()) return std::nullopt;
  auto arguments = json.find("arguments");
  if (arguments == json.end()) arguments = json.find("parameters");
  if (bare && (arguments == json.end() || !arguments->is_object())) return std::nullopt;
  ToolCall call{name->get<std::string>(), "{}"};
  if (arguments != json.end())
    call.arguments = arguments->is_string() ? arguments->get<std::string>() : dump_json(*arguments);
  return call;
}

// One call, or a list of them; NAME[CALL_ID]…[ARGS]{…} is one too. None: it is something else.
std::vector<ToolCall> calls_of(std::string_view text, bool bare) {
  text.remove_prefix(first_of_text(text));
  const size_t name_end = text.find_first_of("[{");
  if (name_end != 0 && name_end != std::string_view::npos) {
    const size_t arguments = text.find('{');
    Result<Json> parsed = parse_json(arguments < text.size() ? text.substr(arguments) : "", "the arguments of a call");
    std::string_view name = text.substr(0, name_end);
    name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
    if (!parsed || name.find_first_of(kBlanks) != std::string_view::npos) return {};
    return {{std::string(name), dump_json(*parsed)}};
  }
  Result<Json> parsed = parse_json(text, "a call");
  if (!parsed) return {};
  std::vector<ToolCall> calls;
  for (const Json& each : parsed->is_array() ? *parsed : Json::array({*parsed})) {
    std::optional<ToolCall> call = call_of(each, bare);
    if (!call) return {};
    calls.push_back(std::move(*call));
  }
  return calls;
}

// Characters at the end of a text that may become the mark.
size_t begun_mark(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length)
    if (text.ends_with(mark.substr(0, length))) return length;
  return 0;
}

}  // namespace

Result<text::JsonGrammar> call_form(const Json& tools, bool several, const text::CallForm& form) {
  static const Json kNoParameters = {{"type", "object"}, {"properties", Json::object()}};
  std::vector<text::JsonInText> calls;
  for (const Json& tool : tools) {
    const Json& function = tool["function"];
    const auto parameters = function.find("parameters");
    const bool given = parameters != function.end() && !parameters->is_null();
    const std::string name = dump_json(function["name"]);
    calls.push_back({.begin = std::string(form.forced_begin),
                     .before = R"({"name": )" + name + R"(, ")" + std::string(form.arguments) + R"(": )",
                     .schema = given ? &*parameters : &kNoParameters,
                     .after = "}",
                     .end = std::string(form.forced_end),
                     .name = "the parameters of the function " + name});
  }
  Result<text::JsonGrammar> grammar = text::JsonGrammar::of(calls, several);
  if (!grammar) return invalid(grammar.error().message);
  return grammar;
}

bool ToolCallReader::Scan::ends(char c) {
  if (in_string) {
    if (!escaped && c == '"') in_string = false;
    escaped = !escaped && c == '\\';
    return false;
  }
  if (c == '"') in_string = true;
  if (c == '{' || c == '[') ++depth;
  return (c == '}' || c == ']') && --depth == 0;
}

// Behind the list or object that begins a text; its size where it does not end.
size_t ToolCallReader::value_end(std::string_view text) {
  Scan scan;
  for (size_t at = 0; at < text.size(); ++at)
    if (scan.ends(text[at])) return at + 1;
  return text.size();
}

// Its name is empty where it is not known yet.
ToolCall ToolCallReader::cut_call(std::string_view text, std::string_view arguments) {
  constexpr std::string_view kName = "\"name\"";
  const auto behind = [&](std::string_view key) -> std::string_view {
    const size_t at = text.find(key), colon = at == std::string_view::npos ? at : text.find(':', at + key.size());
    if (colon == std::string_view::npos) return {};
    return text.substr(colon + 1 + first_of_text(text.substr(colon + 1)));
  };
  const std::string_view name = behind(kName);
  size_t end = 1;
  while (end < name.size() && name[end] != '"') end += name[end] == '\\' ? 2 : 1;
  if (end >= name.size()) return {};
  Result<Json> parsed = parse_json(name.substr(0, end + 1), "the name of a call");
  if (!parsed || !parsed->is_string()) return {};
  text = name.substr(end + 1);
  const std::string_view given = behind("\"" + std::string(arguments) + "\"");
  return {parsed->get<std::string>(), std::string(given.substr(0, value_end(given)))};
}

ToolCallReader::Found ToolCallReader::add(std::string_view text) {
  held_ += text;
  Found found;
  read(found);
  return found;
}

ToolCallReader::Found ToolCallReader::end(bool cut, bool forced) {
  Found found;
  const std::string rest = std::exchange(held_, {});
  if (in_call_) {
    found.calls = calls_of(rest, is_bare());
    if (found.calls.empty() && cut) found.calls.push_back(cut_call(rest, form_->arguments));
    std::erase_if(found.calls, [](const ToolCall& call) { return call.name.empty(); });
    if (found.calls.empty()) found.text = before_ + rest;
  } else if (!had_call_ || first_of_text(rest, form_->bare ? " \t\r\n;" : kBlanks) < rest.size()) {
    found.text = rest;
  }
  if (forced) found.text.clear();
  return found;
}

void ToolCallReader::read(Found& found) {
  while (in_call_ ? read_call(found) : read_text(found)) {
  }
}

void ToolCallReader::give(Found& found, std::string_view text) {
  if (had_call_) text.remove_prefix(first_of_text(text));
  if (text.empty()) return;
  had_call_ = false;
  begun_ = true;
  found.text += text;
}

// True if a text without a mark may begin a call.
bool ToolCallReader::may_be_bare(std::string_view text) const {
  if (!form_->bare || (begun_ && !had_call_) || !text.starts_with('{')) return false;
  text.remove_prefix(1);
  text.remove_prefix(first_of_text(text));
  const auto fits = [&](std::string_view key) { return text.substr(0, key.size()) == key.substr(0, text.size()); };
  return fits("\"name\"") || fits("\"type\"");
}

// True: a call begins.
bool ToolCallReader::read_text(Found& found) {
  const bool between = form_->bare && had_call_;  // calls, which Llama separates by semicolons
  const size_t first = first_of_text(held_, between ? " \t\r\n;" : kBlanks);
  if (between && first == held_.size()) return false;
  size_t mark = held_.find(form_->begin), length = form_->begin.size();
  if (may_be_bare(std::string_view(held_).substr(first))) mark = first, length = 0;
  const size_t certain = mark == std::string::npos ? held_.size() - begun_mark(held_, form_->begin) : mark;
  const size_t last = std::string_view(held_).substr(0, certain).find_last_not_of(kBlanks);
  const size_t given = last == std::string::npos || (length == 0 && mark == first) ? 0 : last + 1;
  give(found, std::string_view(held_).substr(0, given));
  if (mark == std::string::npos) {
    held_.erase(0, given);
    return false;
  }
  before_ = held_.substr(given, mark + length - given);
  held_.erase(0, mark + length);
  in_call_ = true;
  searched_ = 0;
  scan_ = {};
  return true;
}

// A call ends with the end mark that stands in none of its strings or, without such a mark, with its JSON.
bool ToolCallReader::read_call(Found& found) {
  const std::string_view end = form_->end;
  size_t behind = 0, inside = std::string::npos;
  const bool bare_text = is_bare() && !may_be_bare(held_);
  for (; searched_ < held_.size() && inside == std::string::npos && !bare_text; ++searched_) {
    const std::string_view rest = std::string_view(held_).substr(searched_);
    if (!end.empty() && !scan_.in_string && rest.front() == end.front()) {
      if (rest.starts_with(end)) {
        inside = searched_;
        behind = inside + end.size();
        break;
      }
      if (end.starts_with(rest)) return false;
    }
    const bool complete = scan_.ends(rest.front());
    // A name's own brackets come before its arguments: NAME[CALL_ID]…[ARGS]{…}.
    const bool named = rest.front() == ']' && held_.find_first_of("[{") != first_of_text(held_);
    if (end.empty() && complete && !named) behind = inside = searched_ + 1;
  }
  if (inside == std::string::npos && !bare_text) return false;
  if (bare_text) behind = inside = 1;  // the bracket
  std::vector<ToolCall> calls = calls_of(std::string_view(held_).substr(0, inside), is_bare());
  had_call_ = !calls.empty();
  if (had_call_) {
    std::move(calls.begin(), calls.end(), std::back_inserter(found.calls));
  } else {
    begun_ = true;
    found.text += before_ + held_.substr(0, behind);
  }
  held_.erase(0, behind);
  in_call_ = false;
  return true;
}

ThoughtReader::Found ThoughtReader::add(std::string_view text) {
  Found found;
  held_ += text;
  if (stage_ == Stage::kBefore) {
    const std::string_view rest = std::string_view(held_).substr(first_of_text(held_));
    if (rest.size() < text::kThoughtBegins.size() && text::kThoughtBegins.starts_with(rest)) return found;
    const bool thinks = rest.starts_with(text::kThoughtBegins);
    if (thinks) held_.erase(0, held_.size() - rest.size() + text::kThoughtBegins.size());
    stage_ = thinks ? Stage::kThinks : Stage::kAnswers;
    drops_blanks_ = thinks;
  }
  const auto drop_blanks = [&] {
    if (!drops_blanks_) return;
    held_.erase(0, first_of_text(held_));
    drops_blanks_ = held_.empty();
  };
  if (stage_ == Stage::kThinks) {
    drop_blanks();
    const size_t mark = held_.find(text::kThoughtEnds);
    const size_t certain = mark == std::string::npos ? held_.size() - begun_mark(held_, text::kThoughtEnds) : mark;
    const size_t given = std::string_view(held_).substr(0, certain).find_last_not_of(kBlanks) + 1;
    found.thought = held_.substr(0, given);
    held_.erase(0, mark == std::string::npos ? given : mark + text::kThoughtEnds.size());
    if (mark == std::string::npos) return found;
    stage_ = Stage::kAnswers;
    drops_blanks_ = true;
  }
  drop_blanks();
  found.text = std::exchange(held_, {});
  return found;
}

ThoughtReader::Found ThoughtReader::end() {
  std::string rest = std::exchange(held_, {});
  return stage_ == Stage::kThinks ? Found{std::move(rest), {}} : Found{{}, std::move(rest)};
}

}  // namespace ridge::front::openai
