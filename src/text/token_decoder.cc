#include "text/token_decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr size_t kLongestGrown = size_t{64}
                                 << 10;  // [bytes] that a step makes of a shorter text; else it stays as it is
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The bytes behind a token of a byte-level model; a text that is none stands for itself.
std::string level_bytes(std::string_view piece) {
  static const auto table = [] {
    std::unordered_map<char32_t, char> bytes;
    for (size_t byte = 0; byte < 256; ++byte) {
      size_t at = 0;
      bytes.emplace(next_code_point(byte_characters()[byte], at), static_cast<char>(byte));
    }
    return bytes;
  }();
  std::string bytes;
  for (size_t at = 0; at < piece.size();) {
    const auto found = table.find(next_code_point(piece, at));
    if (found == table.end()) return std::string(piece);
    bytes += found->second;
  }
  return bytes;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The byte of "<0x0A>". Rust's reading of numbers takes "<0x+A>" too.
std::optional<char> fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  const int high = piece[3] == '+' ? 0 : digit(piece[3]), low = digit(piece[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// The texts of a row of such bytes: one, or U+FFFD for each of them.
std::string row_text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) text += kReplacement;
  return text;
}

std::string without_marks(std::string_view piece, std::string_view mark, std::string_view instead) {
  std::string text;
  while (!piece.empty()) {
    if (piece.starts_with(mark)) {
      text += instead;
      piece.remove_prefix(mark.size());
    } else {
      text += piece.front();
      piece.remove_prefix(1);
    }
  }
  return text;
}

// A piece of WordPiece that is not the first.
std::string inside_text(const std::string& piece, std::string_view prefix) {
  return piece.starts_with(prefix) ? piece.substr(prefix.size()) : " " + piece;
}

// English as written, of the words between which WordPiece puts spaces; as the library has it.
std::string cleaned_up(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kInstead{{{" .", "."},
                                                                                    {" ?", "?"},
                                                                                    {" !", "!"},
                                                                                    {" ,", ","},
                                                                                    {" ' ", "'"},
                                                                                    {" n't", "n't"},
                                                                                    {" 'm", "'m"},
                                                                                    {" do not", " don't"},
                                                                                    {" 's", "'s"},
                                                                                    {" 've", "'ve"},
                                                                                    {" 're", "'re"}}};
  for (const auto& [found, instead] : kInstead) text = without_marks(text, found, instead);
  return text;
}

}  // namespace

Result<TokenDecoder> TokenDecoder::read(const JsonPart& part) {
  TokenDecoder decoder;
  decoder.steps_.clear();
  RIDGE_TRY(decoder.add(part));
  return decoder;
}

Status TokenDecoder::add(const JsonPart& part) {
  RIDGE_ASSIGN(const std::string_view type, part.text("type"));
  if (type == "Sequence") {
    RIDGE_ASSIGN(const std::vector<JsonPart> members, part.objects("decoders"));
    for (const JsonPart& member : members) RIDGE_TRY(add(member));
  } else if (type == "ByteLevel") {
    steps_.emplace_back(ByteLevel{});
  } else if (type == "ByteFallback") {
    steps_.emplace_back(ByteFallback{});
  } else if (type == "Fuse") {
    steps_.emplace_back(Fuse{});
  } else if (type == "Metaspace") {
    RIDGE_ASSIGN(const char32_t replacement, part.character("replacement"));
    RIDGE_ASSIGN(const std::string_view scheme, part.text_or("prepend_scheme", "always"));
    RIDGE_ASSIGN(const bool prefix, part.boolean_or("add_prefix_space", true));
    Metaspace step{{}, scheme != "never" && prefix};
    append_utf8(step.replacement, replacement);
    steps_.emplace_back(std::move(step));
  } else if (type == "WordPiece") {
    RIDGE_ASSIGN(const std::string_view prefix, part.text_or("prefix", "##"));
    RIDGE_ASSIGN(const bool cleans_up, part.boolean_or("cleanup", true));
    steps_.emplace_back(WordPiece{std::string(prefix), cleans_up});
  } else if (type == "Replace") {
    RIDGE_ASSIGN(Pattern pattern, read_pattern(part));
    RIDGE_ASSIGN(const std::string_view instead, part.text("content"));
    steps_.emplace_back(Replace{std::move(pattern), std::string(instead)});
  } else if (type == "Strip") {
    RIDGE_ASSIGN(const char32_t content, part.character("content"));
    RIDGE_ASSIGN(const int64_t begin, part.integer_or("start", 0));
    RIDGE_ASSIGN(const int64_t end, part.integer_or("stop", 0));
    Strip step{{}, static_cast<size_t>(std::max<int64_t>(0, begin)), static_cast<size_t>(std::max<int64_t>(0, end))};
    append_utf8(step.content, content);
    steps_.emplace_back(std::move(step));
  } else {
    return part.unknown(type, "ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece");
  }
  return ok_status();
}

std::string TokenDecoder::Replace::applied_to(std::string text) const {
  auto replaced = replace_all(text, pattern, instead, std::max(text.size(), kLongestGrown));
  return replaced ? std::move(*replaced) : std::move(text);
}

std::string TokenDecoder::bytes_of(std::string_view piece) const {
  std::string bytes(piece);
  for (const Step& step : steps_) {
    if (std::holds_alternative<ByteLevel>(step)) {
      bytes = level_bytes(bytes);
    } else if (std::holds_alternative<ByteFallback>(step)) {
      if (const auto byte = fallback_byte(bytes)) return std::string(1, *byte);
    } else if (const auto* metaspace = std::get_if<Metaspace>(&step)) {
      bytes = without_marks(bytes, metaspace->replacement, " ");
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      bytes = replace->applied_to(std::move(bytes));
    } else if (const auto* words = std::get_if<WordPiece>(&step)) {
      bytes = inside_text(bytes, words->prefix);
    }
  }
  return bytes;
}

DecoderChain::DecoderChain(const TokenDecoder& decoder) : decoder_(decoder), states_(decoder.steps_.size()) {
  bool fused = false;
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i].fused = fused;
    const auto& step = decoder.steps_[i];
    if (std::holds_alternative<TokenDecoder::ByteLevel>(step) || std::holds_alternative<TokenDecoder::Fuse>(step))
      fused = true;
  }
}

std::string DecoderChain::add(std::string_view piece) {
  pass(0, std::string(piece));
  return taken();
}

std::string DecoderChain::end() {
  for (size_t step = 0; step < states_.size(); ++step) end_step(step);
  return taken();
}

std::string DecoderChain::taken() { return std::exchange(out_, {}); }

void DecoderChain::pass(size_t index, std::string token) {
  if (index == states_.size()) {
    out_ += token;
    return;
  }
  State& state = states_[index];
  const auto& step = decoder_.steps_[index];
  const bool first = std::exchange(state.first, false);
  // These need the whole token, not its parts.
  const bool needs_whole = std::holds_alternative<TokenDecoder::ByteLevel>(step) ||
                           std::holds_alternative<TokenDecoder::ByteFallback>(step) ||
                           std::holds_alternative<TokenDecoder::Replace>(step) ||
                           std::holds_alternative<TokenDecoder::WordPiece>(step);
  if (state.fused && needs_whole) {
    state.held += token;
  } else if (std::holds_alternative<TokenDecoder::ByteLevel>(step)) {
    state.held += level_bytes(token);
    const size_t certain = certain_length(state.held);
    if (certain == 0) return;
    std::string text = to_utf8(std::string_view(state.held).substr(0, certain));
    state.held.erase(0, certain);
    pass(index + 1, std::move(text));
  } else if (std::holds_alternative<TokenDecoder::ByteFallback>(step)) {
    if (const auto byte = fallback_byte(token)) {
      state.held += *byte;
      return;
    }
    end_step(index);
    pass(index + 1, std::move(token));
  } else if (std::holds_alternative<TokenDecoder::Fuse>(step)) {
    pass(index + 1, std::move(token));
  } else if (std::holds_alternative<TokenDecoder::Spaces>(step)) {
    pass(index + 1, first ? std::move(token) : " " + token);
  } else if (const auto* metaspace = std::get_if<TokenDecoder::Metaspace>(&step)) {
    const bool drops = metaspace->drops_first && (first || state.fused);
    pass(index + 1, without_marks(token, metaspace->replacement, drops ? "" : " "));
  } else if (const auto* words = std::get_if<TokenDecoder::WordPiece>(&step)) {
    if (!first) token = inside_text(token, words->prefix);
    pass(index + 1, words->cleans_up ? cleaned_up(std::move(token)) : std::move(token));
  } else if (const auto* replace = std::get_if<TokenDecoder::Replace>(&step)) {
    pass(index + 1, replace->applied_to(std::move(token)));
  } else {
    const auto& strip = std::get<TokenDecoder::Strip>(step);
    std::string_view rest = token;
    if (!state.fused) state.stripped = 0, state.beginning = true;
    while (state.beginning && !rest.empty()) {
      if (state.stripped < strip.begin && rest.starts_with(strip.content)) {
        ++state.stripped;
        rest.remove_prefix(strip.content.size());
      } else {
        state.beginning = false;
      }
    }
    state.held += rest;
    size_t end = state.held.size();
    for (size_t i = 0; i < strip.end && std::string_view(state.held).substr(0, end).ends_with(strip.content); ++i)
      end -= strip.content.size();
    std::string text = state.held.substr(0, end);
    // Held text of a whole token is dropped; that of one in parts becomes text when more follows.
    state.held.erase(0, state.fused ? end : state.held.size());
    pass(index + 1, std::move(text));
  }
}

void DecoderChain::end_step(size_t index) {
  State& state = states_[index];
  const auto& step = decoder_.steps_[index];
  std::string held = std::exchange(state.held, {});
  if (held.empty() || std::holds_alternative<TokenDecoder::Strip>(step)) return;
  if (const auto* replace = std::get_if<TokenDecoder::Replace>(&step)) {
    held = replace->applied_to(std::move(held));
  } else if (const auto* words = std::get_if<TokenDecoder::WordPiece>(&step)) {  // one token
    if (words->cleans_up) held = cleaned_up(std::move(held));
  } else if (std::holds_alternative<TokenDecoder::ByteLevel>(step)) {
    held = to_utf8(state.fused ? level_bytes(held) : held);
  } else if (state.fused) {  // ByteFallback
    if (const auto byte = fallback_byte(held)) held = row_text(std::string(1, *byte));
  } else {
    held = row_text(held);
  }
  pass(index + 1, std::move(held));
}

}  // namespace ridge::text
