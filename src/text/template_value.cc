#include "text/template_value.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr size_t kMostSteps = 1'000'000, kBytesOfStep = 256;
constexpr int kDeepestValue = 250;

int depth_of(const Value& value) {
  if (const Items* items = value.items()) return items->depth;
  if (const Members* members = value.members()) return members->depth;
  return 0;
}

bool printable(char32_t c) {
  if (c == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

std::string python_quoted(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\\' || c == static_cast<char32_t>(quote)) {
      out += '\\';
      append_utf8(out, c);
    } else if (printable(c)) {
      append_utf8(out, c);
    } else {
      out += c < 0x100     ? fmt::format("\\x{:02x}", static_cast<uint32_t>(c))
             : c < 0x10000 ? fmt::format("\\u{:04x}", static_cast<uint32_t>(c))
                           : fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
    }
  }
  return out + quote;
}

// Comparing texts costs no step: the caller has paid for them.
bool same_key(const Value& left, const Value& right, Budget& budget) {
  return left.text() && right.text() ? *left.text() == *right.text() : equal(left, right, budget);
}

// Writes str() and repr(), which differ for texts alone.
class Printer {
 public:
  Printer(Budget& budget, std::string& out) : budget_(budget), out_(out) {}

  void print(const Value& value, bool inside) {
    const size_t before = out_.size();
    if (const std::string* text = value.text()) {
      if (inside && value.safe) out_ += "Markup(";
      out_ += inside ? python_quoted(*text) : *text;
      if (inside && value.safe) out_ += ')';
    } else if (const Items* items = value.items()) {
      out_ += items->tuple ? '(' : '[';
      separate(items->values, [&](const Value& item) { print(item, true); });
      if (items->tuple && items->values.size() == 1) out_ += ',';
      out_ += items->tuple ? ')' : ']';
      budget_.charge();
      return;
    } else if (const Members* members = value.members()) {
      out_ += '{';
      separate(members->values, [&](const auto& member) {
        print(member.first, true);
        out_ += ": ";
        print(member.second, true);
      });
      out_ += '}';
      budget_.charge();
      return;
    } else {
      scalar(value, inside);
    }
    budget_.charge(out_.size() - before);
  }

 private:
  template <typename Values, typename Each>
  void separate(const Values& values, Each each) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      each(values[i]);
    }
  }

  void scalar(const Value& value, bool inside) {
    if (value.undefined()) {
      if (inside) out_ += "Undefined";
    } else if (value.is<None>()) {
      out_ += "None";
    } else if (value.is<bool>()) {
      out_ += std::get<bool>(value.data) ? "True" : "False";
    } else if (value.is<int64_t>()) {
      out_ += std::to_string(std::get<int64_t>(value.data));
    } else if (value.is<double>()) {
      out_ += python_float(std::get<double>(value.data));
    } else {
      throw TemplateError{fmt::format("a {} cannot be printed", type_name(value))};
    }
  }

  Budget& budget_;
  std::string& out_;
};

class JsonWriter {
 public:
  JsonWriter(const JsonForm& form, Budget& budget) : form_(form), budget_(budget) {}

  void write(const Value& value, int level) {
    if (const Items* items = value.items()) {
      group('[', ']', items->values, level, [&](const Value& item) { write(item, level + 1); });
    } else if (const Members* members = value.members()) {
      auto sorted = members->values;
      budget_.charge(sorted.size() * sizeof(sorted[0]));
      if (form_.sort_keys)
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](const auto& a, const auto& b) { return compare(a.first, b.first, budget_) < 0; });
      group('{', '}', sorted, level, [&](const auto& member) {
        text(key_text(member.first));
        out_ += form_.key_separator;
        write(member.second, level + 1);
      });
    } else if (const std::string* string = value.text()) {
      text(*string);
    } else if (value.is<None>()) {
      out_ += "null";
    } else if (value.is<bool>()) {
      out_ += std::get<bool>(value.data) ? "true" : "false";
    } else if (value.is<double>() && !std::isfinite(std::get<double>(value.data))) {
      const double number = std::get<double>(value.data);
      out_ += std::isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
    } else if (value.is<int64_t>() || value.is<double>()) {
      out_ += to_text(value, budget_);
    } else {
      throw TemplateError{fmt::format("Object of type {} is not JSON serializable", type_name(value))};
    }
  }
  std::string take() { return std::move(out_); }

 private:
  template <typename Values, typename Each>
  void group(char begin, char end, const Values& values, int level, Each each) {
    out_ += begin;
    const auto line = [&](int levels) {
      if (form_.indent < 0) return;
      out_ += '\n';
      out_.append(static_cast<size_t>(form_.indent) * static_cast<size_t>(levels), ' ');
    };
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t before = out_.size();
      if (i > 0) out_ += form_.item_separator;
      line(level + 1);
      budget_.charge(out_.size() - before);
      each(values[i]);
    }
    if (!values.empty()) line(level);
    budget_.charge();
    out_ += end;
  }

  std::string key_text(const Value& key) {
    if (key.is<bool>()) return std::get<bool>(key.data) ? "true" : "false";
    if (key.is<None>()) return "null";
    if (key.text() || is_number(key)) return to_text(key, budget_);
    throw TemplateError{fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key))};
  }

  void text(std::string_view string) {
    budget_.charge(string.size());
    out_ += '"';
    for (size_t at = 0; at < string.size();) {
      const char32_t c = next_code_point(string, at);
      switch (c) {
        case '"': out_ += "\\\""; break;
        case '\\': out_ += "\\\\"; break;
        case '\n': out_ += "\\n"; break;
        case '\r': out_ += "\\r"; break;
        case '\t': out_ += "\\t"; break;
        case '\f': out_ += "\\f"; break;
        case '\b': out_ += "\\b"; break;
        default:
          if (c >= 0x20 && (c < 0x7F || !form_.ascii)) {
            append_utf8(out_, c);
          } else if (c < 0x10000) {
            out_ += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
          } else {
            const auto rest = static_cast<uint32_t>(c) - 0x10000;
            out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
          }
      }
    }
    out_ += '"';
  }

  const JsonForm& form_;
  Budget& budget_;
  std::string out_;
};

}  // namespace

void Budget::charge(size_t bytes) {
  steps_ += 1 + bytes / kBytesOfStep;
  if (steps_ > kMostSteps || bytes / kBytesOfStep > kMostSteps)
    throw TemplateError{"the template runs for more than a million steps, or makes more text than they allow"};
}

const Items* Value::items() const {
  const auto* held = std::get_if<std::shared_ptr<const Items>>(&data);
  return held ? held->get() : nullptr;
}
const Members* Value::members() const {
  const auto* held = std::get_if<std::shared_ptr<const Members>>(&data);
  return held ? held->get() : nullptr;
}
const Value* Members::find(std::string_view key) const {
  for (const auto& [name, value] : values)
    if (name.text() && *name.text() == key) return &value;
  return nullptr;
}
const Value* Members::find(const Value& key, Budget& budget) const {
  for (const auto& [name, value] : values)
    if (same_key(name, key, budget)) return &value;
  return nullptr;
}

Value text_value(std::string text, bool safe) { return {std::make_shared<const std::string>(std::move(text)), safe}; }
Value undefined_value(std::string name) { return {Undefined{std::move(name)}}; }

Value list_value(std::vector<Value> values, bool tuple) {
  int deepest = 0;
  for (const Value& value : values) deepest = std::max(deepest, depth_of(value));
  if (deepest >= kDeepestValue) throw TemplateError{fmt::format("a list is nested deeper than {}", kDeepestValue)};
  return {std::make_shared<const Items>(Items{std::move(values), tuple, deepest + 1})};
}

Value dict_value(std::vector<std::pair<Value, Value>> values) {
  int deepest = 0;
  for (const auto& [key, value] : values) deepest = std::max({deepest, depth_of(key), depth_of(value)});
  if (deepest >= kDeepestValue) throw TemplateError{fmt::format("a dict is nested deeper than {}", kDeepestValue)};
  return {std::make_shared<const Members>(Members{std::move(values), deepest + 1})};
}

void set_member(std::vector<std::pair<Value, Value>>& values, Value key, Value value, Budget& budget) {
  if (key.members() || (key.items() && !key.items()->tuple))
    throw TemplateError{fmt::format("unhashable type: '{}'", type_name(key))};
  for (auto& [known, old] : values) {
    if (!same_key(known, key, budget)) continue;
    old = std::move(value);
    return;
  }
  values.emplace_back(std::move(key), std::move(value));
}

Value from_json(const Json& json) {
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return {json.get<double>()};
  if (json.is_number_integer()) return {json.get<int64_t>()};
  if (json.is_number_float()) return {json.get<double>()};
  if (json.is_string()) return text_value(to_utf8(json.get_ref<const std::string&>()));
  if (json.is_array()) {
    std::vector<Value> values;
    for (const Json& item : json) values.push_back(from_json(item));
    return list_value(std::move(values));
  }
  if (json.is_object()) {
    std::vector<std::pair<Value, Value>> values;
    for (const auto& [key, item] : json.items()) values.emplace_back(text_value(to_utf8(key)), from_json(item));
    return dict_value(std::move(values));
  }
  return {None{}};
}

bool truth(const Value& value) {
  if (value.undefined() || value.is<None>()) return false;
  if (is_number(value)) return number(value) != 0;
  if (const std::string* text = value.text()) return !text->empty();
  if (const Items* items = value.items()) return !items->values.empty();
  if (const Members* members = value.members()) return !members->values.empty();
  return true;
}

std::string_view type_name(const Value& value) {
  static constexpr std::array<std::string_view, 13> kNames{"Undefined", "NoneType", "bool",  "int",       "float",
                                                           "str",       "list",     "dict",  "Namespace", "LoopContext",
                                                           "Macro",     "function", "method"};
  const Items* items = value.items();
  return items && items->tuple ? "tuple" : kNames[value.data.index()];
}

bool is_number(const Value& value) { return value.is<bool>() || value.is<int64_t>() || value.is<double>(); }

double number(const Value& value) {
  if (value.is<double>()) return std::get<double>(value.data);
  if (value.is<bool>()) return std::get<bool>(value.data) ? 1 : 0;
  return static_cast<double>(std::get<int64_t>(value.data));
}

bool equal(const Value& left, const Value& right, Budget& budget) {
  budget.charge();
  if (is_number(left) && is_number(right)) {
    if (left.is<int64_t>() && right.is<int64_t>()) return std::get<int64_t>(left.data) == std::get<int64_t>(right.data);
    return number(left) == number(right);
  }
  if (left.data.index() != right.data.index()) return false;
  if (left.undefined() || left.is<None>()) return true;
  if (const std::string* text = left.text()) return *text == *right.text();
  if (const Items* items = left.items()) {
    const Items& others = *right.items();
    if (items->tuple != others.tuple || items->values.size() != others.values.size()) return false;
    for (size_t i = 0; i < items->values.size(); ++i)
      if (!equal(items->values[i], others.values[i], budget)) return false;
    return true;
  }
  if (const Members* members = left.members()) {
    if (members->values.size() != right.members()->values.size()) return false;
    for (const auto& [key, value] : members->values) {
      const Value* other = right.members()->find(key, budget);
      budget.charge(members->values.size());
      if (!other || !equal(value, *other, budget)) return false;
    }
    return true;
  }
  if (left.is<Namespace*>()) return std::get<Namespace*>(left.data) == std::get<Namespace*>(right.data);
  if (left.is<const Macro*>()) return std::get<const Macro*>(left.data) == std::get<const Macro*>(right.data);
  return false;
}

int compare(const Value& left, const Value& right, Budget& budget) {
  budget.charge();
  const auto order = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
  if (left.is<int64_t>() && right.is<int64_t>())
    return order(std::get<int64_t>(left.data), std::get<int64_t>(right.data));
  if (is_number(left) && is_number(right)) return order(number(left), number(right));
  if (left.text() && right.text()) return order(*left.text(), *right.text());
  if (left.items() && right.items()) {
    const auto &a = left.items()->values, &b = right.items()->values;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!equal(a[i], b[i], budget)) return compare(a[i], b[i], budget);
    return order(a.size(), b.size());
  }
  throw TemplateError{fmt::format("'{}' and '{}' cannot be ordered", type_name(left), type_name(right))};
}

std::string python_float(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string to_text(const Value& value, Budget& budget) {
  std::string out;
  Printer(budget, out).print(value, false);
  return out;
}

std::string to_repr(const Value& value, Budget& budget) {
  std::string out;
  Printer(budget, out).print(value, true);
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string to_json_text(const Value& value, const JsonForm& form, Budget& budget) {
  JsonWriter writer(form, budget);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace ridge::text
