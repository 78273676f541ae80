#include "text/pre_tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

// GPT-2's, as the library has it.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Unicode's and all of ASCII's, such as $ and +.
constexpr std::string_view kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";
constexpr std::string_view kBlanks = R"(\s+)";
// "\w+|[^\w\s]+" as Rust's regex has it, whose words hold joiners too.
constexpr std::string_view kWordsOrSigns = R"([\w\x{200C}\x{200D}]+|[^\w\x{200C}\x{200D}\s]+)";

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const auto table = [] {
    std::array<std::string, 256> characters;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      append_utf8(characters[byte], printable ? byte : next++);
    }
    return characters;
  }();
  return table;
}

Result<PreTokenizer> PreTokenizer::read(const JsonPart& part) {
  PreTokenizer result;
  RIDGE_TRY(result.add(part));
  return result;
}

Status PreTokenizer::add(const JsonPart& part) {
  RIDGE_ASSIGN(const std::string_view type, part.text("type"));
  if (type == "Sequence") {
    RIDGE_ASSIGN(const std::vector<JsonPart> members, part.objects("pretokenizers"));
    for (const JsonPart& member : members) RIDGE_TRY(add(member));
  } else if (type == "ByteLevel") {
    RIDGE_ASSIGN(const bool space, part.boolean_or("add_prefix_space", true));
    RIDGE_ASSIGN(const bool cuts, part.boolean_or("use_regex", true));
    if (space) steps_.emplace_back(PrefixSpace{});
    if (cuts) RIDGE_TRY(add_split(kByteLevelPattern, Behaviour::kIsolated));
    steps_.emplace_back(ByteLevel{});
  } else if (type == "Split") {
    return add_split(part, read_pattern(part));
  } else if (type == "Punctuation") {
    return add_split(part, Pattern::regex(kPunctuation));
  } else if (type == "CharDelimiterSplit") {
    RIDGE_ASSIGN(const char32_t delimiter, part.character("delimiter"));
    std::string text;
    append_utf8(text, delimiter);
    RIDGE_ASSIGN(Pattern pattern, Pattern::literal(text));
    steps_.emplace_back(Split{std::move(pattern), Behaviour::kRemoved, false});
  } else if (type == "Digits") {
    RIDGE_ASSIGN(const bool each, part.boolean_or("individual_digits", false));
    return add_split("\\p{N}", each ? Behaviour::kIsolated : Behaviour::kContiguous);
  } else if (type == "WhitespaceSplit") {
    return add_split(kBlanks, Behaviour::kRemoved);
  } else if (type == "Whitespace") {
    return add_split(kWordsOrSigns, Behaviour::kRemoved, true);
  } else if (type == "BertPreTokenizer") {
    RIDGE_TRY(add_split(kBlanks, Behaviour::kRemoved));
    return add_split(kPunctuation, Behaviour::kIsolated);
  } else if (type == "Metaspace") {
    RIDGE_ASSIGN(const char32_t replacement, part.character("replacement"));
    RIDGE_ASSIGN(const std::string_view scheme, part.text_or("prepend_scheme", "always"));
    RIDGE_ASSIGN(const bool prefix, part.boolean_or("add_prefix_space", true));
    RIDGE_ASSIGN(const bool cuts, part.boolean_or("split", true));
    Metaspace step{{}, Prefix::kAlways};
    append_utf8(step.replacement, replacement);
    if (scheme == "first")
      step.prefix = Prefix::kFirst;
    else if (scheme == "never" || !prefix)
      step.prefix = Prefix::kNever;
    else if (scheme != "always")
      return part.wrong("prepend_scheme", "first, never or always");
    std::string mark = step.replacement;
    steps_.emplace_back(std::move(step));
    if (cuts) {
      RIDGE_ASSIGN(Pattern pattern, Pattern::literal(mark));
      steps_.emplace_back(Split{std::move(pattern), Behaviour::kMergedWithNext, false});
    }
  } else {
    return part.unknown(type,
                        "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, "
                        "Split, Whitespace, WhitespaceSplit");
  }
  return ok_status();
}

// Splits as its member "behavior" says, if it has one.
Status PreTokenizer::add_split(const JsonPart& part, Result<Pattern> pattern) {
  if (!pattern) return std::move(pattern).error();
  RIDGE_ASSIGN(const std::string_view name, part.text_or("behavior", "Isolated"));
  constexpr std::array<std::pair<std::string_view, Behaviour>, 5> kBehaviours{
      {{"Removed", Behaviour::kRemoved},
       {"Isolated", Behaviour::kIsolated},
       {"MergedWithPrevious", Behaviour::kMergedWithPrevious},
       {"MergedWithNext", Behaviour::kMergedWithNext},
       {"Contiguous", Behaviour::kContiguous}}};
  const auto* known =
      std::find_if(kBehaviours.begin(), kBehaviours.end(), [&](const auto& row) { return row.first == name; });
  if (known == kBehaviours.end())
    return part.wrong("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  RIDGE_ASSIGN(const bool invert, part.boolean_or("invert", false));
  steps_.emplace_back(Split{std::move(*pattern), known->second, invert});
  return ok_status();
}

Status PreTokenizer::add_split(std::string_view expression, Behaviour behaviour, bool invert) {
  RIDGE_ASSIGN(Pattern pattern, Pattern::regex(expression));
  steps_.emplace_back(Split{std::move(pattern), behaviour, invert});
  return ok_status();
}

// Gives the words that `word` is cut into, one by one.
Result<bool> PreTokenizer::cut(std::string_view word, const Split& split, const GiveWord& give) {
  std::optional<Match> open;  // a place that may still grow
  bool previous = false;
  Result<bool> goes_on = true;
  const auto close = [&] {
    if (open && open->begin != open->end) goes_on = give(word.substr(open->begin, open->end - open->begin));
    return goes_on && *goes_on;
  };
  const auto add = [&](Match place, bool matches) {
    const bool before = std::exchange(previous, matches);
    if (split.behaviour == Behaviour::kRemoved && matches) return true;
    const bool joins = open && ((split.behaviour == Behaviour::kContiguous && matches == before) ||
                                (split.behaviour == Behaviour::kMergedWithPrevious && matches && !before) ||
                                (split.behaviour == Behaviour::kMergedWithNext && !matches && before));
    if (joins) {
      open->end = place.end;
      return true;
    }
    if (!close()) return false;
    open = place;
    return true;
  };
  size_t from = 0;
  RIDGE_TRY(split.pattern.find(word, [&](Match match) {
    if (from != match.begin && !add({from, match.begin}, split.invert)) return false;
    from = match.end;
    return add(match, !split.invert);
  }));
  if (!goes_on || !*goes_on) return goes_on;
  if (from != word.size() && !add({from, word.size()}, split.invert)) return goes_on;
  close();
  return goes_on;
}

Status PreTokenizer::split(std::string_view text, bool first, const std::function<bool(std::string_view)>& take) const {
  if (text.empty()) return ok_status();
  RIDGE_ASSIGN([[maybe_unused]] const bool all, split_from(0, text, first, take));
  return ok_status();
}

// By the steps from that one on. False: no more is wanted.
Result<bool> PreTokenizer::split_from(size_t step, std::string_view word, bool first,
                                      const std::function<bool(std::string_view)>& take) const {
  std::string changed;
  for (; step < steps_.size(); ++step) {
    if (const auto* split = std::get_if<Split>(&steps_[step]))
      return cut(word, *split,
                 [&](std::string_view part) { return split_from(step + 1, part, std::exchange(first, false), take); });
    std::string next;
    if (std::holds_alternative<PrefixSpace>(steps_[step])) {
      if (word.front() == ' ') continue;
      next.append(1, ' ').append(word);
    } else if (std::holds_alternative<ByteLevel>(steps_[step])) {
      next.reserve(word.size() * 2);
      for (const char byte : word) next += byte_characters()[static_cast<unsigned char>(byte)];
    } else {
      const auto& metaspace = std::get<Metaspace>(steps_[step]);
      next.reserve(word.size() + word.size() / 2 + 3);
      for (const char byte : word)
        if (byte == ' ')
          next += metaspace.replacement;
        else
          next += byte;
      const bool wanted = metaspace.prefix == Prefix::kAlways || (metaspace.prefix == Prefix::kFirst && first);
      if (wanted && !next.starts_with(metaspace.replacement)) next.insert(0, metaspace.replacement);
    }
    changed = std::move(next);
    word = changed;
  }
  return take(word);
}

}  // namespace ridge::text
