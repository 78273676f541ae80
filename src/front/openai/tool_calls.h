// Takes a model's answer apart: text, thoughts (<think>…</think>), and calls of tools in the form of its kind
// (text/answer_form.h).
//
// Text outside them is given on at once. A part between marks that is not a call stays text, marks included; white
// space around calls and thoughts belongs to them. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/answer_form.h"
#include "text/json_grammar.h"

namespace ridge::front::openai {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON; of an answer that was cut, its begin
};

// Answers of a model that must call one of these tools ({"function":{"name","parameters"}}), or several of them.
// kInvalid: a schema of parameters that is not supported, with the tool's name.
Result<text::JsonGrammar> call_form(const Json& tools, bool several, const text::CallForm& form);

class ToolCallReader {
 public:
  explicit ToolCallReader(const text::CallForm& form) : form_(&form) {}
  struct Found {
    std::string text;
    std::vector<ToolCall> calls;
  };
  Found add(std::string_view text);
  // Ends the answer. A call whose end mark is missing counts; a call that was cut counts as far as it goes, if its name
  // is known. `forced`: all is calls, and none of it is text.
  Found end(bool cut, bool forced);

 private:
  struct Scan {  // through JSON
    int depth = 0;
    bool in_string = false, escaped = false;
    bool ends(char c);  // with it a list or an object is complete
  };
  static size_t value_end(std::string_view text);
  static ToolCall cut_call(std::string_view text, std::string_view arguments);
  void read(Found& found);
  bool read_text(Found& found);
  bool read_call(Found& found);
  bool is_bare() const { return !before_.ends_with(form_->begin); }
  bool may_be_bare(std::string_view text) const;
  void give(Found& found, std::string_view text);

  const text::CallForm* form_;
  std::string held_;       // not given yet
  std::string before_;     // white space and the mark before held_, while in a call
  size_t searched_ = 0;    // of held_, while in a call
  Scan scan_;              // there
  bool in_call_ = false;   // held_ is what stands behind a mark
  bool had_call_ = false;  // since the last text
  bool begun_ = false;     // text was given
};

class ThoughtReader {
 public:
  enum class Stage : uint8_t { kBefore, kThinks, kAnswers };
  explicit ThoughtReader(Stage stage) : stage_(stage) {}
  struct Found {
    std::string thought, text;
  };
  Found add(std::string_view text);
  Found end();  // of the answer

 private:
  Stage stage_;
  bool drops_blanks_ = true;  // at the begin of a thought, and of the answer behind it
  std::string held_;          // not given yet
};

}  // namespace ridge::front::openai
