#include "text/template_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/template_value.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// White space at the end of a text, Unicode's too, as Python's rstrip().
void strip_end(std::string& text) {
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t at = begin;
    const char32_t c = next_code_point(text, at);
    if (!is_white_space(c) && !(c >= 0x1C && c <= 0x1F)) return;
    text.resize(begin);
  }
}

class Lexer {
  using Kind = TemplateToken::Kind;

 public:
  explicit Lexer(std::string_view source) {
    // Lines end with \n; one at the end goes.
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r') {
        source_ += '\n';
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      } else {
        source_ += source[i];
      }
    }
    if (source_.ends_with('\n')) source_.pop_back();
  }

  std::vector<TemplateToken> run() {
    bool line_begins = true;
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      std::string data = source_.substr(at_, tag - at_);
      if (tag >= source_.size()) {
        push(Kind::kData, std::move(data));
        advance(source_.size());
        break;
      }
      const char kind = source_[tag + 1];
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      strip_before(data, kind, sign, line_begins);
      push(Kind::kData, std::move(data));
      advance(tag);
      push_place_ = {line_, column_};
      advance(tag + 2 + (sign == '-' || sign == '+' ? 1 : 0));
      if (kind == '#') {
        comment();
      } else if (kind == '%' && raw()) {
      } else {
        inside(kind);
      }
      line_begins = source_[at_ - 1] == '\n';
    }
    push(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  size_t next_tag() const {
    for (size_t i = at_; i + 1 < source_.size(); ++i)
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) return i;
    return source_.size();
  }

  static void strip_before(std::string& data, char kind, char sign, bool line_begins) {
    if (sign == '-') {
      strip_end(data);
    } else if (sign != '+' && kind != '{') {
      const size_t line = data.rfind('\n') + 1;  // 0 where there is none
      if ((line > 0 || line_begins) && std::all_of(data.begin() + static_cast<ptrdiff_t>(line), data.end(), is_space))
        data.resize(line);
    }
  }

  void advance(size_t to) {
    for (; at_ < to; ++at_) {
      ++column_;
      if (source_[at_] == '\n') {
        ++line_;
        column_ = 1;
      }
    }
  }
  void skip_space() {
    size_t to = at_;
    while (to < source_.size()) {
      const size_t begin = to;
      const char32_t c = next_code_point(source_, to);
      if (!is_white_space(c) && !(c >= 0x1C && c <= 0x1F)) {
        to = begin;
        break;
      }
    }
    advance(to);
  }
  bool next_is(std::string_view text) const { return std::string_view(source_).substr(at_, text.size()) == text; }
  void push(Kind kind, std::string text) {
    if (kind == Kind::kData && text.empty()) return;
    tokens_.push_back({kind, std::move(text), line_, column_});
  }
  [[noreturn]] void fail(std::string message) const { throw TemplateError{std::move(message), line_, column_}; }

  // Behind the end of a tag: "-" takes all white space, a block's end one line's end.
  void end_tag(char sign, size_t length, bool trims_line) {
    advance(at_ + length);
    if (sign == '-')
      skip_space();
    else if (sign != '+' && trims_line && next_is("\n"))
      advance(at_ + 1);
  }

  void comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail("a comment has no end: '#}' is missing");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    advance(end);
    end_tag(sign, 2, true);
  }

  // {% raw %}…{% endraw %}; false: the block is another.
  bool raw() {
    const size_t begin = at_;
    const auto back = [&, line = line_, column = column_] {
      at_ = begin;
      line_ = line;
      column_ = column;
      return false;
    };
    skip_space();
    if (!next_is("raw") || (at_ + 3 < source_.size() && is_name_character(source_[at_ + 3]))) return back();
    advance(at_ + 3);
    skip_space();
    const char sign = next_is("-") ? '-' : ' ';
    if (sign == '-') advance(at_ + 1);
    if (!next_is("%}")) return back();
    end_tag(sign, 2, false);
    const size_t content = at_;
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos; tag = source_.find("{%", tag + 2)) {
      std::string data = source_.substr(content, tag - content);
      const char open = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      advance(tag + 2 + (open == '-' || open == '+' ? 1 : 0));
      skip_space();
      if (!next_is("endraw")) continue;
      advance(at_ + 6);
      skip_space();
      const char close = next_is("-") ? '-' : next_is("+") ? '+' : ' ';
      if (close != ' ') advance(at_ + 1);
      if (!next_is("%}")) continue;
      strip_before(data, '%', open, content == 0 || source_[content - 1] == '\n');
      push(Kind::kData, std::move(data));
      end_tag(close, 2, true);
      return true;
    }
    fail("'{% raw %}' has no '{% endraw %}'");
  }

  // The tokens of {{ … }} and {% … %}.
  void inside(char kind) {
    const std::string_view end = kind == '{' ? "}}" : "%}";
    tokens_.push_back(
        {kind == '{' ? Kind::kVariableBegin : Kind::kBlockBegin, "", push_place_.first, push_place_.second});
    int open = 0;  // brackets
    for (;;) {
      skip_space();
      if (at_ >= source_.size()) fail(fmt::format("'{}' is missing", end));
      const char sign = source_[at_];
      const bool signed_end =
          (sign == '-' || (sign == '+' && kind == '%')) && std::string_view(source_).substr(at_ + 1, 2) == end;
      if (open == 0 && (signed_end || next_is(end))) {
        push(kind == '{' ? Kind::kVariableEnd : Kind::kBlockEnd, "");
        if (signed_end) advance(at_ + 1);
        end_tag(signed_end ? sign : ' ', 2, kind == '%');
        return;
      }
      token(open);
    }
  }

  void token(int& open) {
    const char c = source_[at_];
    if (c == '\'' || c == '"') {
      string(c);
    } else if (is_digit(c)) {
      numeral();
    } else if (is_name_character(c)) {
      size_t end = at_;
      while (end < source_.size() && is_name_character(source_[end])) ++end;
      push(Kind::kName, source_.substr(at_, end - at_));
      advance(end);
    } else {
      constexpr std::array<std::string_view, 24> kOperators{"//", "**", "==", "!=", ">=", "<=", "+", "-",
                                                            "/",  "*",  "%",  "~",  "[",  "]",  "(", ")",
                                                            "{",  "}",  ">",  "<",  "=",  ".",  ":", "|"};
      const auto* found =
          std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view text) { return next_is(text); });
      const std::string_view text = found != kOperators.end() ? *found : c == ',' ? "," : "";
      if (text.empty()) fail(fmt::format("unexpected character '{}'", c));
      if (text == "(" || text == "[" || text == "{") ++open;
      if ((text == ")" || text == "]" || text == "}") && open-- == 0) fail(fmt::format("unexpected '{}'", text));
      push(Kind::kOperator, std::string(text));
      advance(at_ + text.size());
    }
  }

  void numeral() {
    size_t end = at_;
    const auto digits = [&] {
      while (end < source_.size() && (is_digit(source_[end]) ||
                                      (source_[end] == '_' && end + 1 < source_.size() && is_digit(source_[end + 1]))))
        ++end;
    };
    digits();
    bool whole = true;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      whole = false;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        whole = false;
        end = exponent;
        digits();
      }
    }
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    push(whole ? Kind::kInteger : Kind::kFloat, std::move(text));
    advance(end);
  }

  void string(char quote) {
    std::string text;
    size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        text += source_[i];
        continue;
      }
      i = escape(i + 1, text);
    }
    if (i >= source_.size()) fail("a text has no end: its quote is missing");
    push(Kind::kText, to_utf8(text));
    advance(i + 1);
  }

  // Python's escapes; returns the place of the last character of this one.
  size_t escape(size_t i, std::string& text) const {
    constexpr std::string_view kNames = "abfnrtv", kMeanings = "\a\b\f\n\r\t\v";
    const char c = source_[i];
    if (const size_t known = kNames.find(c); known != std::string_view::npos) {
      text += kMeanings[known];
    } else if (c == '\\' || c == '\'' || c == '"') {
      text += c;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      const std::string hexadecimal = source_.substr(i + 1, length);
      if (hexadecimal.size() < length || hexadecimal.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        fail(fmt::format("\\{} should be followed by {} hexadecimal digits", c, length));
      const unsigned long point = std::stoul(hexadecimal, nullptr, 16);
      if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
        fail(fmt::format("\\{}{} is not a character", c, hexadecimal));
      append_utf8(text, static_cast<char32_t>(point));
      return i + length;
    } else if (c == 'N' || (c >= '0' && c <= '7')) {
      fail(fmt::format("the escape \\{} is not supported", c));
    } else if (c != '\n') {
      text += '\\';
      text += c;
    }
    return i;
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1;
  std::pair<int, int> push_place_{1, 1};
  std::vector<TemplateToken> tokens_;
};

}  // namespace

std::vector<TemplateToken> lex_template(std::string_view source) { return Lexer(source).run(); }

}  // namespace ridge::text
