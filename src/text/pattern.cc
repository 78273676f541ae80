#include "text/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace ridge::text {
namespace {

// Steps of one match, a hundred times what a megabyte of text needs in published patterns.
constexpr uint32_t kMatchLimit = 10'000'000;

// Ruby's classes, as \p{…} of PCRE2: its own \s has U+180E too, and its \w lacks marks. As they stand within brackets.
constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

Error refused(std::string_view expression, std::string_view part) {
  return {Code::kUnsupported,
          fmt::format("regular expression '{}': '{}' is not supported", expression.substr(0, 200), part)};
}

// Oniguruma's syntax → PCRE2's.
class Translation {
 public:
  explicit Translation(std::string_view expression) : expression_(expression) {}

  Result<std::string> run() {
    while (at_ < expression_.size()) {
      const char c = expression_[at_];
      if (c == '\\') {
        RIDGE_TRY(escape());
      } else if (in_class_) {
        RIDGE_TRY(in_brackets(c));
      } else {
        RIDGE_TRY(outside(c));
      }
    }
    return std::move(out_);
  }

 private:
  bool next_is(std::string_view text) const { return expression_.substr(at_, text.size()) == text; }
  void copy(size_t count) {
    out_ += expression_.substr(at_, count);
    at_ += count;
  }

  Status escape() {
    if (at_ + 1 >= expression_.size()) return refused(expression_, "\\ at the end");
    const char kind = expression_[at_ + 1];
    at_class_begin_ = false;
    const auto instead = [&](std::string_view text) {
      out_ += text;
      at_ += 2;
      return ok_status();
    };
    switch (kind) {
      case 's': return instead("\\p{White_Space}");
      case 'S': return instead("\\P{White_Space}");
      case 'd': return instead("\\p{Nd}");
      case 'D': return instead("\\P{Nd}");
      case 'w': return instead(in_class_ ? std::string(kWord) : fmt::format("[{}]", kWord));
      case 'W':
        if (in_class_) return refused(expression_, "\\W within brackets");
        return instead(fmt::format("[^{}]", kWord));
      case 'u':
        out_ += fmt::format("\\x{{{}}}", expression_.substr(at_ + 2, 4));
        at_ = std::min(at_ + 6, expression_.size());
        return ok_status();
      case 'p':
      case 'P':
      case 'x': {
        const size_t end = expression_.substr(at_ + 2, 1) == "{" ? expression_.find('}', at_) : at_ + 1;
        copy(end == std::string_view::npos ? expression_.size() - at_ : end + 1 - at_);
        return ok_status();
      }
      case 'n':
      case 'r':
      case 't':
      case 'f': copy(2); return ok_status();
      default: break;
    }
    const bool letter = (kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z') || (kind >= '0' && kind <= '9');
    if (letter) return refused(expression_, expression_.substr(at_, 2));
    copy(2);
    return ok_status();
  }

  Status in_brackets(char c) {
    if (c == '[') return refused(expression_, "[ within brackets");
    if (next_is("&&")) return refused(expression_, "&& within brackets");
    if (c == ']' && !at_class_begin_) in_class_ = false;
    if (c != '^') at_class_begin_ = false;
    copy(1);
    return ok_status();
  }

  Status outside(char c) {
    if (c == '[') {
      in_class_ = at_class_begin_ = true;
    } else if (c == '(' && next_is("(?")) {
      for (std::string_view known : {"(?i:", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"})
        if (next_is(known)) {
          copy(known.size());
          return ok_status();
        }
      return refused(expression_, expression_.substr(at_, 3));
    } else if (next_is("(*")) {
      return refused(expression_, "(*");
    } else if (next_is("}+")) {  // possessive there, not here
      return refused(expression_, "}+");
    }
    copy(1);
    return ok_status();
  }

  std::string_view expression_;
  size_t at_ = 0;
  bool in_class_ = false, at_class_begin_ = false;
  std::string out_;
};

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_context* limits = nullptr;
  ~Compiled() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }
};

Pattern::Pattern(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Result<Pattern> Pattern::compile(std::string_view expression, unsigned options, std::string_view shown) {
  int error = 0;
  size_t place = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                 options | PCRE2_UTF, &error, &place, nullptr);
  if (!compiled->code) {
    std::array<unsigned char, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return invalid(
        fmt::format("regular expression '{}': {}", shown.substr(0, 200), reinterpret_cast<char*>(text.data())));
  }
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);  // where there is none, the interpreter matches
  compiled->limits = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(compiled->limits, kMatchLimit);
  return Pattern(std::move(compiled));
}

Result<Pattern> Pattern::regex(std::string_view expression) {
  RIDGE_ASSIGN(const std::string translated, Translation(expression).run());
  return compile(translated, PCRE2_UCP | PCRE2_MULTILINE, expression);
}

Result<Pattern> Pattern::literal(std::string_view text) {
  if (text.empty()) return invalid("a text to look for is empty");
  return compile(text, PCRE2_LITERAL, text);
}

Status Pattern::find(std::string_view text, const std::function<bool(Match)>& take) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(pcre2_match_data_create(1, nullptr),
                                                                                 &pcre2_match_data_free);
  std::optional<size_t> last;  // where the last match ended
  size_t from = 0;
  while (from <= text.size()) {
    const auto match = [&](uint32_t options) {
      return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                         options | PCRE2_NO_UTF_CHECK, data.get(), compiled_->limits);
    };
    int outcome = match(0);
    if (outcome == PCRE2_ERROR_JIT_STACKLIMIT) outcome = match(PCRE2_NO_JIT);
    if (outcome == PCRE2_ERROR_NOMATCH) break;
    if (outcome < 0) {
      std::array<unsigned char, 256> message{};
      pcre2_get_error_message(outcome, message.data(), message.size());
      return invalid(fmt::format("the tokenizer's pattern cannot be matched against this text at byte {}: {}", from,
                                 reinterpret_cast<char*>(message.data())));
    }
    const size_t* place = pcre2_get_ovector_pointer(data.get());
    if (place[0] == place[1] && last == place[1]) {
      do ++from;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80);
      continue;
    }
    if (!take({place[0], place[1]})) break;
    last = from = place[1];
  }
  return ok_status();
}

}  // namespace ridge::text
