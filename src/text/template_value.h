// Values of a template, as Python's: what they print, how they compare. They do not change, but for namespaces. Errors
// within a template are exceptions (TemplateError), which ChatTemplate catches: none leaves this folder.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace ridge::text {

struct TemplateError : std::exception {
  explicit TemplateError(std::string text, int at_line = 0, int at_column = 0)
      : message(std::move(text)), line(at_line), column(at_column) {}
  std::string message;
  int line, column;  // from 1; 0: not known yet
};

// Limits the cost of a run to a million steps; a step makes up to 256 bytes.
class Budget {
 public:
  void charge(size_t bytes = 0);

 private:
  size_t steps_ = 0;
};

struct Value;
struct Members;
struct Items;
struct Method;
struct Namespace;
struct Loop;
struct Macro;

struct Undefined {
  std::string name;
};
struct None {};
struct Function {
  std::string_view name;
};
using Text = std::shared_ptr<const std::string>;

struct Value {
  std::variant<Undefined, None, bool, int64_t, double, Text, std::shared_ptr<const Items>,
               std::shared_ptr<const Members>, Namespace*, const Loop*, const Macro*, Function,
               std::shared_ptr<const Method>>
      data;
  bool safe = false;  // of a text: it is a Markup, whose + escapes what it is joined with

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  bool undefined() const { return is<Undefined>(); }
  const std::string* text() const { return is<Text>() ? std::get<Text>(data).get() : nullptr; }
  const Items* items() const;
  const Members* members() const;
};

// A list or a tuple.
struct Items {
  std::vector<Value> values;
  bool tuple = false;
  int depth = 1;
};
// A dict; keys are what Python can hash.
struct Members {
  std::vector<std::pair<Value, Value>> values;
  int depth = 1;
  const Value* find(std::string_view key) const;
  const Value* find(const Value& key, Budget& budget) const;
};
// value.name, where that is a method of Python's.
struct Method {
  Value self;
  std::string name;
};
struct Namespace {
  std::vector<std::pair<std::string, Value>> values;
};

Value text_value(std::string text, bool safe = false);
Value undefined_value(std::string name);
// TemplateError: nested deeper than anything that is meant (destroying a value recurses).
Value list_value(std::vector<Value> values, bool tuple = false);
Value dict_value(std::vector<std::pair<Value, Value>> values);
// Sets values[key]; TemplateError: a key that Python cannot hash.
void set_member(std::vector<std::pair<Value, Value>>& values, Value key, Value value, Budget& budget);
Value from_json(const Json& json);

bool truth(const Value& value);
std::string_view type_name(const Value& value);  // Python's
bool equal(const Value& left, const Value& right, Budget& budget);
// -1, 0, 1; TemplateError: not of a kind that compares.
int compare(const Value& left, const Value& right, Budget& budget);
// The number that a value is: int, float or bool.
bool is_number(const Value& value);
double number(const Value& value);

std::string to_text(const Value& value, Budget& budget);  // str()
std::string to_repr(const Value& value, Budget& budget);  // repr()
std::string escaped(std::string_view text);               // for HTML, as markupsafe has it
std::string python_float(double number);

struct JsonForm {
  int indent = -1;  // -1: one line
  std::string item_separator = ", ", key_separator = ": ";
  bool sort_keys = false, ascii = false;
};
std::string to_json_text(const Value& value, const JsonForm& form, Budget& budget);  // json.dumps()

}  // namespace ridge::text
