// Calls of tools in a model's text, in the form that Hermes and Qwen models are trained on: <tool_call>{"name":…,"arguments":{…}}</tool_call>.
//
// Text that cannot be a part of one is given on at once. What stands between the marks and is no call stays text, marks included. White space around
// calls belongs to them. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/json_grammar.h"

namespace ridge::front::http {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON
};

// What a model may write that must call one of these tools ({"function":{"name","parameters"}}), or several of them. kInvalid: a schema of parameters
// that is not supported, with the tool's name.
Result<text::JsonGrammar> call_form(const Json& tools, bool several);

class ToolCallReader {
 public:
  struct Found {
    std::string text;
    std::vector<ToolCall> calls;
  };
  Found add(std::string_view text);
  Found end();  // of the answer: a call whose end mark is missing counts

 private:
  void read(Found& found);
  bool read_text(Found& found);
  bool read_call(Found& found);
  void give(Found& found, std::string_view text);

  std::string held_;       // not given yet
  std::string blanks_;     // before the mark, while in a call
  size_t searched_ = 0;    // of held_, without a mark
  bool in_call_ = false;   // held_ is what stands behind a mark
  bool had_call_ = false;  // since the last text
};

}  // namespace ridge::front::http
