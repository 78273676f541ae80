#include "text/template_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/template_items.h"
#include "text/template_methods.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr int64_t kMostPrecision = 1000;

// [[fill]align][sign][#][0][width][grouping][.precision][type]
// (https://docs.python.org/3/library/string.html#format-specification-mini-language), and what of it stands behind a %.
struct Form {
  std::string fill = " ";
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false;  // #
  int64_t width = 0, precision = -1;
};

int64_t read_count(std::string_view text, size_t& at, int64_t otherwise) {
  int64_t number = otherwise;
  const auto [end, failure] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (failure == std::errc::result_out_of_range) refuse("a width or precision is too large");
  at = static_cast<size_t>(end - text.data());
  return number;
}

bool is_one_of(std::string_view text, size_t at, std::string_view known) {
  return at < text.size() && known.find(text[at]) != std::string_view::npos;
}

void read_precision(std::string_view text, size_t& at, Form& form) {
  if (!is_one_of(text, at, ".")) return;
  form.precision = read_count(text, ++at, 0);
  if (form.precision > kMostPrecision) refuse("a precision is too large");
}

Form form_of(std::string_view text) {
  Form form;
  size_t at = 0, behind = 0;
  if (!text.empty()) next_code_point(text, behind);
  if (is_one_of(text, behind, "<>=^")) {
    form.fill = text.substr(0, behind);
    form.align = text[behind];
    at = behind + 1;
  } else if (is_one_of(text, 0, "<>=^")) {
    form.align = text[at++];
  }
  if (is_one_of(text, at, "+- ")) form.sign = text[at++];
  if (is_one_of(text, at, "#")) form.alternate = ++at > 0;
  if (is_one_of(text, at, "0") && at <= 1) {
    if (form.align == 0) form.align = '=';
    form.fill = "0";
  }
  form.width = read_count(text, at, 0);
  if (is_one_of(text, at, ",_")) form.grouping = text[at++];
  read_precision(text, at, form);
  if (at < text.size()) form.type = text[at++];
  if (at < text.size()) refuse(fmt::format("the format '{}' is not understood", text));
  return form;
}

// The digits of a number without its sign.
std::string digits_of(const Value& value, const Form& form, char type) {
  const std::string hash = form.alternate ? "#" : "";
  if (type == 'd' || type == 'x' || type == 'X' || type == 'o' || type == 'b') {
    if (value.is<double>()) refuse(fmt::format("the format '{}' is not for a float", type));
    const auto whole = static_cast<int64_t>(value.is<bool>() ? number(value) : std::get<int64_t>(value.data));
    const uint64_t size = whole < 0 ? 0 - static_cast<uint64_t>(whole) : static_cast<uint64_t>(whole);
    if (type == 'o' && form.alternate) return fmt::format("0o{:o}", size);
    return fmt::format(fmt::runtime("{:" + (type == 'd' ? "" : hash) + type + "}"), size);
  }
  const double size = std::abs(number(value)) * (type == '%' ? 100 : 1);
  if (type == 0 && form.precision < 0) return python_float(size);
  const char as = type == '%' ? 'f' : type == 0 ? 'g' : type;
  if (std::string_view("eEfFgG").find(as) == std::string_view::npos)
    refuse(fmt::format("the format '{}' is not for a number", type));
  const int64_t precision = form.precision < 0 ? 6 : form.precision;
  std::string digits = fmt::format(fmt::runtime(fmt::format("{{:{}.{}{}}}", hash, precision, as)), size);
  if (type == 0 && digits.find_first_not_of("0123456789") == std::string::npos) digits += ".0";
  return type == '%' ? digits + '%' : digits;
}

std::string grouped(std::string digits, char grouping) {
  const size_t whole = std::min(digits.size(), digits.find_first_not_of("0123456789"));
  for (size_t at = whole; grouping != 0 && at > 3;) digits.insert(at -= 3, 1, grouping);
  return digits;
}

std::string formatted(const Value& value, Form form, Budget& budget) {
  if (!is_number(value)) {
    if (form.type != 0 && form.type != 's') refuse(fmt::format("a {} has no format '{}'", type_name(value), form.type));
    std::string text = to_text(value, budget);
    if (form.precision >= 0) {
      size_t end = 0;
      for (int64_t i = 0; i < form.precision && end < text.size(); ++i) next_code_point(text, end);
      text.resize(end);
    }
    return aligned(std::move(text), form.width, form.fill, form.align == '>' || form.align == '^' ? form.align : '<',
                   budget);
  }
  if (form.type == 0 && !value.is<double>()) form.type = 'd';
  const bool negative = std::signbit(number(value)) && (value.is<double>() || number(value) != 0);
  std::string text = grouped(digits_of(value, form, form.type), form.grouping);
  if (negative || form.sign != '-') text.insert(0, 1, negative ? '-' : form.sign);
  return aligned(std::move(text), form.width, form.fill, form.align == 0 ? '>' : form.align, budget);
}

std::string converted(const Value& value, char conversion, bool safe, Budget& budget) {
  const std::string text = conversion == 's' ? to_text(value, budget) : to_repr(value, budget);
  return safe && !value.safe ? escaped(text) : text;
}

// Resolves "0.name[key]".
Value field_of(std::string_view path, const Arguments& given, size_t& next, Budget& budget) {
  const size_t end = std::min(path.size(), path.find_first_of(".["));
  const std::string_view first = path.substr(0, end);
  Value value;
  if (first.find_first_not_of("0123456789") == std::string_view::npos) {
    size_t at = 0;
    const size_t place = first.empty() ? next++ : static_cast<size_t>(read_count(first, at, 0));
    if (place >= given.places.size()) refuse(fmt::format("format: there is no argument {}", place));
    value = given.places[place];
  } else {
    const auto found =
        std::find_if(given.names.begin(), given.names.end(), [&](const auto& named) { return named.first == first; });
    if (found == given.names.end()) refuse(fmt::format("format: there is no argument '{}'", first));
    value = found->second;
  }
  for (std::string_view rest = path.substr(end); !rest.empty();) {
    const bool item = rest.front() == '[';
    const size_t last = item ? rest.find(']') : std::min(rest.size(), rest.find_first_of(".[", 1));
    if (last == std::string_view::npos || last == 1) refuse("format: a field's name is not understood");
    const std::string key(rest.substr(1, last - 1));
    value = item ? get_path(value, text_value(key), budget) : get_attribute(value, key);
    rest.remove_prefix(item ? last + 1 : last);
  }
  return value;
}

std::string braces(std::string_view pattern, bool safe, const Arguments& given, size_t& next, int level,
                   Budget& budget) {
  std::string out;
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at++];
    budget.charge();
    if (c != '{' && c != '}') {
      out += c;
    } else if (at < pattern.size() && pattern[at] == c) {
      out += pattern[at++];
    } else {
      size_t end = at;
      for (int depth = c == '{' ? 1 : 0; depth > 0 && end < pattern.size(); ++end)
        depth += pattern[end] == '{' ? 1 : pattern[end] == '}' ? -1 : 0;
      if (c == '}' || end == at || pattern[end - 1] != '}' || level > 1) refuse("format: braces that do not match");
      const std::string_view field = pattern.substr(at, end - 1 - at);
      const size_t name_end = std::min(field.size(), field.find_first_of("!:"));
      Value value = field_of(field.substr(0, name_end), given, next, budget);
      size_t form_at = name_end;
      if (form_at < field.size() && field[form_at] == '!') {
        if (form_at + 1 >= field.size() || !is_one_of(field, form_at + 1, "rs"))
          refuse("format: known conversions are !r and !s");
        value = text_value(converted(value, field[form_at + 1], false, budget));
        form_at += 2;
      }
      if (form_at < field.size() && field[form_at] != ':') refuse("format: expected ':' behind a conversion");
      const std::string form =
          form_at < field.size() ? braces(field.substr(form_at + 1), false, given, next, level + 1, budget) : "";
      const std::string text = form.empty() ? to_text(value, budget) : formatted(value, form_of(form), budget);
      out += safe && !value.safe ? escaped(text) : text;
      at = end;
    }
    budget.charge(out.size() / 64);
  }
  return out;
}

}  // namespace

std::string aligned(std::string text, int64_t width, std::string_view fill, char align, Budget& budget) {
  const auto length = static_cast<int64_t>(count_code_points(text));
  if (width <= length) return text;
  const auto missing = static_cast<size_t>(width - length);
  budget.charge(missing * fill.size());
  size_t left = align == '<' ? 0 : missing;
  if (align == '^') left = missing / 2;
  if (align == 'c') left = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  std::string before, after;
  for (size_t i = 0; i < missing; ++i) (i < left ? before : after) += fill;
  const size_t sign = align == '=' && !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
  return text.substr(0, sign) + before + text.substr(sign) + after;
}

std::string percent_formatted(const Value& pattern, const Value& arguments, Budget& budget) {
  const std::string& text = *pattern.text();
  const Items* tuple = arguments.items() && arguments.items()->tuple ? arguments.items() : nullptr;
  const size_t count = tuple ? tuple->values.size() : 1;
  size_t next = 0;
  const auto take = [&]() -> const Value& {
    if (next >= count) refuse("not enough arguments for format string");
    return tuple ? tuple->values[next++] : (++next, arguments);
  };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      const size_t end = std::min(text.size(), text.find('%', at));
      out.append(text, at, end - at);
      at = end;
      continue;
    }
    budget.charge();
    std::optional<Value> named;
    if (is_one_of(text, ++at, "(")) {
      const size_t end = text.find(')', at);
      if (end == std::string::npos || !arguments.members()) refuse("format requires a mapping");
      named = get_item(arguments, text_value(text.substr(at + 1, end - at - 1)), budget);
      if (named->undefined()) refuse("the mapping of a format lacks a key");
      next = 1;
      at = end + 1;
    }
    Form form;
    form.align = '>';
    bool zeros = false, left = false;
    for (; is_one_of(text, at, "-+ #0"); ++at) {
      zeros = zeros || text[at] == '0';
      left = left || text[at] == '-';
      form.alternate = form.alternate || text[at] == '#';
      if (text[at] == '+' || (text[at] == ' ' && form.sign != '+')) form.sign = text[at];
    }
    form.width = read_count(text, at, 0);
    read_precision(text, at, form);
    if (at >= text.size()) refuse("incomplete format");
    const char type = text[at++];
    if (type == '%') {
      out += '%';
      continue;
    }
    const Value value = named ? *named : take();
    const bool whole = type == 'd' || type == 'i' || type == 'u';
    form.type = whole ? 'd' : type;
    if (type == 's' || type == 'r') {
      form.type = 's';
      if (left) form.align = '<';
      out += formatted(text_value(converted(value, type, pattern.safe, budget)), form, budget);
      continue;
    }
    if (!is_number(value)) refuse(fmt::format("%{} format: a number is required, not {}", type, type_name(value)));
    if (zeros) form.fill = "0", form.align = '=';
    if (left) form.fill = " ", form.align = '<';
    const bool cut = whole && value.is<double>() && std::abs(number(value)) < 9e18;
    out += formatted(cut ? Value{static_cast<int64_t>(number(value))} : value, form, budget);
  }
  if (next < count && !arguments.members() && !(arguments.items() && !tuple))
    refuse("not all arguments converted during string formatting");
  return out;
}

std::string brace_formatted(const Value& pattern, const Arguments& given, Budget& budget) {
  size_t next = 0;
  return braces(*pattern.text(), pattern.safe, given, next, 0, budget);
}

}  // namespace ridge::text
