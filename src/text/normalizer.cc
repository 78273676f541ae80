#include "text/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "text/unicode.h"

namespace ridge::text {
namespace {

// Marks in a row that utf8proc sorts itself, in quadratic time.
constexpr size_t kMarksInARow = 256;

int combining_class(char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class; }

// Marks that make up `c`, one or several (only U+0344, U+0F73, U+0F75 and U+0F81); empty: it is not a mark.
std::u32string as_marks(char32_t c) {
  switch (c) {
    case 0x344: return {0x308, 0x301};
    case 0xF73: return {0xF71, 0xF72};
    case 0xF75: return {0xF71, 0xF74};
    case 0xF81: return {0xF71, 0xF80};
    default: return combining_class(c) ? std::u32string(1, c) : std::u32string();
  }
}

// The same text with its longest rows of marks in canonical order, so that utf8proc finds nothing to sort in them.
std::string with_ordered_marks(std::string_view text) {
  std::string ordered;
  std::u32string marks;
  const auto flush = [&] {
    if (marks.size() > kMarksInARow)
      std::stable_sort(marks.begin(), marks.end(),
                       [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    for (const char32_t mark : marks) append_utf8(ordered, mark);
    marks.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const std::u32string parts = as_marks(c);
    if (parts.empty()) {
      flush();
      append_utf8(ordered, c);
    }
    marks += parts;
  }
  flush();
  return ordered;
}

bool has_marks_in_a_row(std::string_view text) {
  size_t row = 0;
  for (size_t at = 0; at < text.size();) {
    row = as_marks(next_code_point(text, at)).empty() ? 0 : row + 1;
    if (row > kMarksInARow / 2) return true;
  }
  return false;
}

Result<std::string> unicode_form(const std::string& text, int options) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text;
  const std::string source = has_marks_in_a_row(text) ? with_ordered_marks(text) : text;
  utf8proc_uint8_t* result = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(source.data()),
                   static_cast<utf8proc_ssize_t>(source.size()), &result, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  if (length < 0) return invalid(std::string("cannot normalize the text: ") + utf8proc_errmsg(length));
  return std::string(reinterpret_cast<const char*>(result), static_cast<size_t>(length));
}

// The text with `change` of each character appended.
std::string each_character(std::string_view text, auto change) {
  std::string changed;
  changed.reserve(text.size() + text.size() / 4);
  for (size_t at = 0; at < text.size();) change(next_code_point(text, at), changed);
  return changed;
}

utf8proc_category_t kind_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Control characters go, white space becomes a space.
void append_clean(char32_t c, std::string& text) {
  const bool blank = c == '\t' || c == '\n' || c == '\r';
  const utf8proc_category_t category = kind_of(c);
  const bool control =
      category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
  if (c == 0xFFFD || (control && !blank)) return;
  append_utf8(text, is_white_space(c) ? U' ' : c);
}

std::string without_blanks(std::string_view text, bool left, bool right) {
  size_t begin = text.size(), end = 0;  // around everything but white space
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    if (is_white_space(next_code_point(text, at))) continue;
    begin = std::min(begin, here);
    end = at;
  }
  if (begin > end) return left || right ? std::string() : std::string(text);
  if (right) text = text.substr(0, end);
  return std::string(text.substr(left ? begin : 0));
}

Status check_growth(size_t bytes, size_t most) {
  if (bytes <= most) return ok_status();
  return invalid(
      fmt::format("the normalizer of the model's tokenizer.json makes more than {} bytes of this text, over "
                  "16 times its length; see its steps of the types Replace and Prepend",
                  most));
}

// The library's ranges, which are BERT's but for their last but one.
bool is_chinese(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 7> kRanges{{{0x3400, 0x4DBF},
                                                                  {0x4E00, 0x9FFF},
                                                                  {0xF900, 0xFAFF},
                                                                  {0x20000, 0x2A6DF},
                                                                  {0x2A700, 0x2B81F},
                                                                  {0x2B920, 0x2CEAF},
                                                                  {0x2F800, 0x2FA1F}}};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [&](const auto& range) { return c >= range.first && c <= range.second; });
}

}  // namespace

Result<Pattern> read_pattern(const JsonPart& part) {
  RIDGE_ASSIGN(const JsonPart pattern, part.object("pattern"));
  const bool literal = pattern.has("String");
  RIDGE_ASSIGN(const std::string_view text, pattern.text(literal ? "String" : "Regex"));
  auto compiled = literal ? Pattern::literal(text) : Pattern::regex(text);
  if (!compiled) return wrap(std::move(compiled).error(), pattern.where());
  return compiled;
}

Result<std::string> replace_all(std::string_view text, const Pattern& pattern, std::string_view instead, size_t most) {
  std::string result;
  size_t from = 0;
  RIDGE_TRY(pattern.find(text, [&](Match match) {
    result.append(text.substr(from, match.begin - from)).append(instead);
    from = match.end;
    return result.size() <= most;
  }));
  RIDGE_TRY(check_growth(result.size() + text.size() - from, most));
  result += text.substr(from);
  return result;
}

Result<Normalizer> Normalizer::read(const JsonPart& part) {
  Normalizer normalizer;
  RIDGE_TRY(normalizer.add(part));
  return normalizer;
}

Status Normalizer::add(const JsonPart& part) {
  RIDGE_ASSIGN(const std::string_view type, part.text("type"));
  if (type == "Sequence") {
    RIDGE_ASSIGN(const std::vector<JsonPart> members, part.objects("normalizers"));
    for (const JsonPart& member : members) RIDGE_TRY(add(member));
  } else if (type == "Prepend") {
    RIDGE_ASSIGN(const std::string_view text, part.text("prepend"));
    steps_.emplace_back(Prepend{std::string(text)});
  } else if (type == "Replace") {
    RIDGE_ASSIGN(Pattern pattern, read_pattern(part));
    RIDGE_ASSIGN(const std::string_view instead, part.text("content"));
    steps_.emplace_back(Replace{std::move(pattern), std::string(instead)});
  } else if (type == "BertNormalizer") {
    Bert step;
    RIDGE_ASSIGN(step.cleans, part.boolean_or("clean_text", true));
    RIDGE_ASSIGN(step.parts_chinese, part.boolean_or("handle_chinese_chars", true));
    RIDGE_ASSIGN(step.lowers, part.boolean_or("lowercase", true));
    RIDGE_ASSIGN(step.strips_accents, part.boolean_or("strip_accents", step.lowers));
    steps_.emplace_back(step);
  } else if (type == "Lowercase") {
    steps_.emplace_back(Bert{.lowers = true});
  } else if (type == "StripAccents") {
    steps_.emplace_back(StripMarks{});
  } else if (type == "Strip") {
    Strip step{};
    RIDGE_ASSIGN(step.left, part.boolean_or("strip_left", true));
    RIDGE_ASSIGN(step.right, part.boolean_or("strip_right", true));
    steps_.emplace_back(step);
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    steps_.emplace_back(UnicodeForm{UTF8PROC_STABLE | (type.back() == 'C' ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                    (type.size() == 4 ? UTF8PROC_COMPAT : 0)});
  } else {
    return part.unknown(
        type, "BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence, Strip, StripAccents");
  }
  return ok_status();
}

Result<std::string> Normalizer::bert(std::string text, const Bert& step) {
  if (step.cleans) text = each_character(text, append_clean);
  if (step.parts_chinese)
    text = each_character(text, [](char32_t c, std::string& parted) {
      if (is_chinese(c)) parted += ' ';
      append_utf8(parted, c);
      if (is_chinese(c)) parted += ' ';
    });
  if (step.strips_accents) {
    RIDGE_ASSIGN(text, unicode_form(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE));
    text = each_character(text, [](char32_t c, std::string& bare) {
      if (kind_of(c) != UTF8PROC_CATEGORY_MN) append_utf8(bare, c);
    });
  }
  if (step.lowers) text = each_character(text, [](char32_t c, std::string& lower) { append_lower(lower, c); });
  return text;
}

Result<std::string> Normalizer::normalize(std::string text) const {
  const size_t most = 16 * text.size() + 1024;
  for (const Step& step : steps_) {
    if (const auto* form = std::get_if<UnicodeForm>(&step)) {
      RIDGE_ASSIGN(text, unicode_form(text, form->options));
    } else if (const auto* of_bert = std::get_if<Bert>(&step)) {
      RIDGE_ASSIGN(text, bert(std::move(text), *of_bert));
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      RIDGE_TRY(check_growth(text.size() + prepend->text.size(), most));
      if (!text.empty()) text.insert(0, prepend->text);
    } else if (std::holds_alternative<StripMarks>(step)) {
      text = each_character(text, [](char32_t c, std::string& bare) {
        if (kind_of(c) < UTF8PROC_CATEGORY_MN || kind_of(c) > UTF8PROC_CATEGORY_ME) append_utf8(bare, c);
      });
    } else if (const auto* strip = std::get_if<Strip>(&step)) {
      text = without_blanks(text, strip->left, strip->right);
    } else {
      const auto& replace = std::get<Replace>(step);
      RIDGE_ASSIGN(text, replace_all(text, replace.pattern, replace.instead, most));
    }
    RIDGE_TRY(check_growth(text.size(), most));
  }
  return text;
}

}  // namespace ridge::text
